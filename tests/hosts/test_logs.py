"""The tools' own logs of today, back through evaluate, estimate and compare, equal to a reading by
hand with each tool's own classes.

Every tool grades the same 60 questions of two systems with a scripted judge: no network, no model.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from adjudge import compare, estimate, evaluate

pytestmark = [pytest.mark.hosts, pytest.mark.filterwarnings("ignore")]
QUESTIONS = [f"q{n}" for n in range(60)]
_RANDOM = random.Random(4)
#: What people say about each answer, and the judge: it is wrong now and then.
PEOPLE = {
    system: {q: int(_RANDOM.random() < rate) for q in QUESTIONS}
    for system, rate in (("old", 0.5), ("new", 0.75))
}
JUDGE = {
    system: {q: passed if _RANDOM.random() < 0.85 else 1 - passed for q, passed in said.items()}
    for system, said in PEOPLE.items()
}
Grades = Mapping[str, int]


def check(
    logs: Mapping[str, Path],
    read: Callable[[Path], Grades],
    tmp_path: Path,
    ids: Callable[[Path], Mapping[str, str]] = lambda _: {q: q for q in QUESTIONS},
) -> None:
    """All three commands on these logs of the old and the new system, against `read`.

    `ids` are those that the tool gave its answers, by question.
    """
    for system, log in logs.items():
        by_hand = read(log)
        assert by_hand == JUDGE[system], "the tool logged what the judge said"
        labels = tmp_path / f"{system}.csv"
        rows = [f"{row},{PEOPLE[system][q]}" for q, row in ids(log).items()]
        labels.write_text("\n".join(["id,human", *rows]))
        [judge] = evaluate(log, labels=labels).judges
        agreed = sum(by_hand[q] == PEOPLE[system][q] for q in QUESTIONS)
        assert judge.agreement == pytest.approx(agreed / 60)
        # All rows are labelled: the corrected rate is people's, the naive rate the judge's.
        rate: Any = estimate(log, labels=labels)
        assert rate.naive == pytest.approx(sum(by_hand.values()) / 60)
        assert rate.estimate == pytest.approx(sum(PEOPLE[system].values()) / 60)
    found = compare(logs["old"], logs["new"]).difference
    rates = {system: sum(read(log).values()) / 60 for system, log in logs.items()}
    assert found.judge.estimate == pytest.approx(rates["new"] - rates["old"])
    pairs = zip(read(logs["old"]).values(), read(logs["new"]).values(), strict=True)
    assert found.discordant == sum(before != after for before, after in pairs)


def test_logs_of_inspect(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: make hosts")
    from inspect_ai import Task
    from inspect_ai import eval as run_inspect
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import model_graded_qa

    def say(model: str, text: str) -> ModelOutput:
        output = ModelOutput.from_content(model, text)
        output.usage = ModelUsage()  # else tokens are counted, with a file from the network
        return output

    def judge_of(system: str) -> Any:
        def grade(messages: Any, *_: Any) -> ModelOutput:
            prompt = messages[-1].text
            [asked] = [q for q in QUESTIONS if f"Is it {q}?" in prompt]
            said = "C" if JUDGE[system][asked] else "I"
            return say("judge", f"Because.\n\nGRADE: {said}")

        return get_model("mockllm/judge", custom_outputs=grade, memoize=False)

    logs = {}
    for system in PEOPLE:
        answers = get_model(
            f"mockllm/{system}",
            custom_outputs=[say(system, "It is.") for _ in QUESTIONS],
            memoize=False,
        )
        task = Task(
            dataset=[Sample(id=q, input=f"Is it {q}?", target="It is.") for q in QUESTIONS],
            scorer=model_graded_qa(model=judge_of(system)),
        )
        [log] = run_inspect(task, model=answers, display="none", log_dir=str(tmp_path / system))
        assert log.status == "success"
        logs[system] = Path(log.location)

    def read(log: Path) -> Grades:
        samples = read_eval_log(str(log)).samples or []
        return {str(s.id): int((s.scores or {})["model_graded_qa"].value == "C") for s in samples}

    check(logs, read, tmp_path)


def test_logs_of_deepeval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    monkeypatch.setenv("DEEPEVAL_DISABLE_DOTENV", "1")
    pytest.importorskip("deepeval", reason="deepeval is not installed: make hosts")
    from deepeval import evaluate as run_deepeval
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase, LLMTestCaseParams

    class Scripted(DeepEvalBaseLLM):
        """A judge that reads the question's name and looks up what it says."""

        def __init__(self, system: str) -> None:
            self.system = system
            super().__init__("scripted")

        def load_model(self, *_: Any, **__: Any) -> Any:
            return self

        def get_model_name(self, *_: Any, **__: Any) -> str:
            return "scripted"

        def generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            [asked] = [q for q in QUESTIONS if f"Is it {q}?" in prompt]
            said = {"score": 10 * JUDGE[self.system][asked], "reason": "Because."}
            return json.dumps(said) if schema is None else schema(**said)

        async def a_generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return self.generate(prompt, schema)

    logs = {}
    for system in PEOPLE:
        metric = GEval(
            name="correctness",
            evaluation_steps=["Is the answer right?"],
            evaluation_params=[LLMTestCaseParams.INPUT, LLMTestCaseParams.ACTUAL_OUTPUT],
            model=Scripted(system),
            async_mode=False,
        )
        cases = [LLMTestCase(name=q, input=f"Is it {q}?", actual_output="Yes.") for q in QUESTIONS]
        run_deepeval(
            cases,
            metrics=[metric],
            async_config=AsyncConfig(run_async=False),
            display_config=DisplayConfig(print_results=False, show_indicator=False),
        )
        [latest] = [p for p in Path(".deepeval").glob(".latest*") if "full" not in p.name]
        logs[system] = Path(shutil.copy(latest, tmp_path / f"{system}.json"))

    def read(log: Path) -> Grades:
        run = json.loads(log.read_text())
        cases = (run.get("testRunData") or run)["testCases"]
        return {case["name"]: int(case["metricsData"][0]["success"]) for case in cases}

    check(logs, read, tmp_path)


ANSWER = """
module.exports = class {
  id() { return 'SYSTEM'; }
  async callApi() { return { output: 'It is.' }; }
};
"""
GRADER = """
const said = SAID;
module.exports = class {
  id() { return 'judge'; }
  async callApi(prompt) {
    const [, question] = prompt.match(/Is it (q[0-9]+)\\?/);
    const pass = said[question] === 1;
    return { output: JSON.stringify({ pass, score: said[question], reason: 'Because.' }) };
  }
};
"""


def test_logs_of_promptfoo(tmp_path: Path) -> None:
    program = os.environ.get("PROMPTFOO")
    if program is None:
        pytest.skip("promptfoo is not installed: make hosts")
    environment = os.environ | {
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "promptfoo"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }
    rubric = {"type": "llm-rubric", "metric": "correctness", "provider": "file://judge.js"}
    logs = {}
    for system in PEOPLE:
        folder = tmp_path / f"run-{system}"
        folder.mkdir()
        (folder / "answer.js").write_text(ANSWER.replace("SYSTEM", system))
        (folder / "judge.js").write_text(GRADER.replace("SAID", json.dumps(JUDGE[system])))
        config = {
            "prompts": ["Is it {{question}}?"],
            "providers": ["file://answer.js"],
            "tests": [
                {"vars": {"question": q}, "assert": [{**rubric, "value": f"Is it {q}? It is."}]}
                for q in QUESTIONS
            ],
        }
        (folder / "promptfooconfig.json").write_text(json.dumps(config))
        command = [program, "eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache"]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        logs[system] = folder / "out.json"
        assert logs[system].exists(), done.stdout + done.stderr

    def results(log: Path) -> list[Any]:
        found = json.loads(log.read_text())["results"]["results"]
        return sorted(found, key=lambda one: QUESTIONS.index(one["vars"]["question"]))

    def read(log: Path) -> Grades:
        return {
            one["vars"]["question"]: int(one["gradingResult"]["componentResults"][0]["pass"])
            for one in results(log)
        }

    check(logs, read, tmp_path, lambda log: {o["vars"]["question"]: o["id"] for o in results(log)})
