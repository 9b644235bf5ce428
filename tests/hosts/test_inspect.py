"""Inspect itself: the example of docs/integrations.md, a log scored later, what is unscored."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from integration_page import example

from adjudge.data import convert_log

pytestmark = [pytest.mark.hosts, pytest.mark.filterwarnings("ignore")]
JUDGE = "simulated:accuracy=0.85,noise=0.5"


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: make hosts")


def test_the_example_goes_from_a_task_to_a_corrected_rate(page_files: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(example("Inspect", "py"), "integrations.md", "exec"), names)  # noqa: S102
    log, grades, rate = names["log"], names["grades"], names["rate"]
    assert log.status == "success"
    [scored] = log.results.scores
    accepted = {row["id"]: row["accepted"] for row in grades.to_dicts()}
    assert (scored.scored_samples, scored.unscored_samples) == (
        sum(accepted.values()),
        300 - sum(accepted.values()),
    )
    assert 0 < scored.unscored_samples < 150
    for sample in log.samples:
        score = sample.scores["policy_judge"]
        if accepted[sample.id]:
            assert score.value == ("C" if score.metadata["verdict"] == "pass" else "I")
        else:
            assert math.isnan(score.value)
            assert score.reason == "abstained"
            assert score.explanation.startswith("abstained: too uncertain")
    # The file that Inspect wrote, as every command reads it: abstentions have no grade there.
    [written] = (page_files / "logs").glob("*.eval")
    read = convert_log(written).rows
    graded = read.filter(pl.col("status") == "ok")
    said = {row["id"]: "C" if row["p_pass"] == 1 else "I" for row in graded.to_dicts()}
    assert said == {
        sample.id: sample.scores["policy_judge"].value
        for sample in log.samples
        if accepted[sample.id]
    }
    assert rate.n_test + rate.n_calibration == 300
    assert rate.low < 2 / 3 < rate.high


def test_a_log_is_scored_afterwards_by_the_scorers_name(page_files: Path) -> None:
    (page_files / "task.py").write_text(
        "from inspect_ai import Task, task\n"
        "from inspect_ai.dataset import Sample\n"
        "from inspect_ai.model import ModelOutput\n"
        "from inspect_ai.solver import solver\n\n"
        "@solver\ndef answer():\n"
        "    async def solve(state, generate):\n"
        "        state.output = ModelOutput.from_content('none', '7')\n"
        "        return state\n"
        "    return solve\n\n"
        "@task\ndef sums():\n"
        "    samples = [Sample(id=n, input=f'{n}?', target=str(n)) for n in range(20)]\n"
        "    return Task(dataset=samples, solver=answer())\n"
    )
    program = str(Path(sys.executable).parent / "inspect")
    quiet = ["--display", "plain", "--log-dir", "logs"]
    command = [program, "eval", "task.py", "--model", "mockllm/model", "--no-score", *quiet]
    subprocess.run(command, cwd=page_files, check=True, capture_output=True, timeout=300)
    [log] = (page_files / "logs").glob("*.eval")
    command = [program, "score", str(log), "--scorer", "adjudge/policy_judge", "--overwrite"]
    command += ["--action", "append", "-S", "policy=graded_policy.json", "-S", f"judge={JUDGE}"]
    subprocess.run([*command, *quiet], cwd=page_files, check=True, capture_output=True, timeout=300)
    from inspect_ai.log import read_eval_log

    from adjudge.integrations.inspect import log_grades

    grades = log_grades(read_eval_log(str(log)))
    assert grades.height == 20
    assert set(grades["judge_name"]) == {"simulated:accuracy=0.85,position_bias=0,noise=0.5,seed=0"}
    assert grades["p_pass"].null_count() == 0
    assert set(grades["response"]) == {"7"}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_cannot_be_asked_is_unscored_with_its_reason(page_files: Path, backend: str) -> None:
    """In a process of its own: Inspect chooses its event loop once."""
    program = page_files / "program.py"
    program.write_text(UNUSUAL)
    done = subprocess.run(
        [sys.executable, str(program)], cwd=page_files, capture_output=True, text=True,
        timeout=300, env={**os.environ, "INSPECT_ASYNC_BACKEND": backend},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert lines[-4] == "success"
    assert lines[-3].startswith(
        "sound scoring_failed prompt = 'list': message 1 contains a part of type 'audio'"
    )
    assert lines[-2].startswith("chat")
    assert lines[-1] == "[system]\\nAdd.\\n\\n[user]\\n1 + 1?"


UNUSUAL = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ContentAudio, ContentImage
from inspect_ai.model import ContentText
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from adjudge.integrations.inspect import log_grades, policy_judge

pixel = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
         "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
def answer(*_):
    output = ModelOutput.from_content("mockllm/model", "2")
    output.usage = ModelUsage()
    return output

chat = [ChatMessageSystem(content="Add."), ChatMessageUser(content="1 + 1?")]
picture = [ChatMessageUser(content=[ContentText(text="What?"), ContentImage(image=pixel)])]
wave = ContentAudio(audio="data:audio/wav;base64,UklGRg==", format="wav")
sound = [ChatMessageUser(content=[ContentText(text="What?"), wave])]
[log] = eval(
    Task(
        dataset=[
            Sample(id="chat", input=chat, target="2"), Sample(id="picture", input=picture),
            Sample(id="sound", input=sound),
        ],
        scorer=policy_judge("graded_policy.json", "simulated:accuracy=0.85,noise=0.5"),
    ),
    model=get_model("mockllm/model", custom_outputs=answer), display="none", log_dir="logs",
)
scores = {sample.id: sample.scores["policy_judge"] for sample in log.samples}
print(log.status)
print("sound", scores["sound"].reason, scores["sound"].explanation)
print("chat", scores["chat"].value)
rows = {row["id"]: row for row in log_grades(log).to_dicts()}
assert rows["sound"]["prompt"] is None and rows["sound"]["status"] == "error"
# A picture is kept by the hash of its bytes, which Inspect keeps beside the messages.
assert rows["picture"]["status"] == "ok" and "sha256" in rows["picture"]["prompt"]
assert "attachment" not in rows["picture"]["prompt"] and pixel[40:] not in rows["picture"]["prompt"]
print(repr(rows["chat"]["prompt"])[1:-1])
"""
