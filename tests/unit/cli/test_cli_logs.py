"""Logs of other tools in the commands: each to a result in one command, or one line that helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from runner_logs import LOGS, READ_AS, load_log, write_log

from adjudge.cli import run

#: How each log is brought to a rate or a ranking; without labels of people there is no rate, and
#: the result says what to label (exit 2).
COMMANDS = {
    "argilla.json": "rank LOG --method hard-elo",
    "deepeval.json": "estimate LOG",
    "autoevals.jsonl": "estimate LOG",
    "deepeval_conversations.json": "estimate LOG --by metric",
    "deepeval_latest.json": "estimate LOG",
    "inspect.eval": "estimate LOG --by metric",
    "inspect.json": "estimate LOG --by metric",
    "inspect_agent.eval": "estimate LOG --by metric",
    "inspect_people.eval": "estimate LOG",
    "inspect_ratings.eval": "estimate LOG",
    "judgearena.jsonl": "rank LOG --method hard-elo",
    "label_studio.json": "estimate LOG",
    "label_studio_tasks.json": "estimate LOG",
    "langfuse.json": "estimate LOG --by metric",
    "langfuse_blob.jsonl": "estimate LOG --by metric",
    "langfuse_on_trace.csv": "estimate LOG --by metric",
    "langfuse_ui.csv": "estimate LOG --by metric",
    "langfuse_ui.json": "estimate LOG --by metric",
    "langfuse_v2.json": "estimate LOG --by metric",
    "langfuse_v3.json": "estimate LOG --by metric",
    "langsmith_feedback.json": "estimate LOG",
    "lm_eval.jsonl": "estimate LOG",
    "mlflow.json": "estimate LOG",
    "mlflow_trace.json": "estimate LOG",
    "openevals.json": "estimate LOG --by metric",
    "openinference.jsonl": "estimate LOG",
    "opik.jsonl": "estimate LOG",
    "opik_results.json": "estimate LOG",
    "phoenix.csv": "estimate LOG",
    "phoenix.json": "estimate LOG",
    "promptfoo.json": "estimate LOG",
    "promptfoo.jsonl": "estimate LOG",
    "pydantic_evals.json": "estimate LOG --by metric",
    "ragas.csv": "estimate LOG",
    "weave.jsonl": "estimate LOG",
}


def call(command: str, log: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any, list[str]]:
    """The exit code, the JSON that was printed and the remarks."""
    code = run([*(str(log) if word == "LOG" else word for word in command.split()), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err.splitlines()


@pytest.mark.parametrize("name", READ_AS)
def test_each_log_to_a_rate_or_a_ranking_in_one_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result, remarks = call(COMMANDS[name], LOGS / name, capsys)
    assert code in (0, 2)
    assert result["kind"]
    assert "read as" in remarks[0]
    untried = name.startswith("judgearena")
    assert any(line.startswith("note: untried") for line in remarks) == untried


@pytest.mark.parametrize("name", READ_AS)
def test_a_converted_log_gives_what_the_log_gives(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Pairs that are judgments already are estimated by columns that only a log implies.
    command = "diagnose bias LOG" if READ_AS[name][1] == "judgments" else COMMANDS[name]
    path = tmp_path / "rows.jsonl"
    assert run(["convert", str(LOGS / name), "-o", str(path)]) == 0
    capsys.readouterr()
    code, of_log, _ = call(command, LOGS / name, capsys)
    again, of_rows, _ = call(command, path, capsys)
    read = of_log.pop("dropped"), of_rows.pop("dropped")
    for result, file in ((of_log, LOGS / name), (of_rows, path)):
        if result.get("advice"):  # a command with the file's name
            result["advice"] = result["advice"].replace(str(file), "FILE")
    assert (code, of_log) == (again, of_rows)
    assert set(read[1].items()) <= set(read[0].items())


def labelled_run(folder: Path) -> Path:
    """promptfoo results of 40 tests, each with a grade, every second one with a thumb."""
    content = load_log("promptfoo.json")
    (row,) = [r for r in content["results"]["results"] if r["id"].startswith("e89a24ab")]
    results = []
    for at in range(40):
        one = json.loads(json.dumps(row))
        judge, _, human = one["gradingResult"]["componentResults"]
        right = at % 3 != 0
        judge |= {"pass": right, "score": 0.9 if right else 0.1}
        human["pass"] = right != (at % 13 == 0)
        one["gradingResult"]["componentResults"] = [judge, human] if at % 2 else [judge]
        one |= {"id": f"r{at}", "vars": {"id": f"q{at}"}}
        results.append(one)
    content["results"]["results"] = results
    return write_log(content, folder / "run.json")


def test_calibrate_select_and_evaluate_read_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, policy = labelled_run(tmp_path), tmp_path / "policy.json"
    code, made, _ = call(f"calibrate LOG --alpha 0.4 -o {policy}", log, capsys)
    assert code == 0
    assert (made["about"], made["n_calibration"], made["judges"]) == (
        "grades",
        20,
        ["file://judge.js"],
    )
    code, chosen, _ = call(f"select LOG --policy {policy}", log, capsys)
    assert (code, chosen["n"]) == (0, 40)
    assert call("evaluate LOG --splits 2", log, capsys)[0] == 0


def test_a_rate_out_of_a_log_is_clustered_by_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rate, _ = call("estimate LOG", labelled_run(tmp_path), capsys)
    assert code == 0
    assert rate["n_test"] == 20
    code, rate, _ = call("estimate LOG", LOGS / "promptfoo.json", capsys)
    assert any("cluster" in text for text in rate["assumptions"])
    assert rate["dropped"]["status unparsed"] == 2


def test_labels_of_label_studio_join_by_the_rows_own_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = load_log("label_studio.json")
    content[1]["annotations"][0]["parent_prediction"] = 2
    labels = write_log(content, tmp_path / "labels.json")
    judged = tmp_path / "judged.jsonl"
    judged.write_text("".join(json.dumps({"id": f"p{k}", "p_a": 0.9}) + "\n" for k in range(4)))
    _, policy, _ = call(f"calibrate LOG --labels {labels}", judged, capsys)
    assert policy["n_calibration"] == 1
    assert policy["dropped"] == {
        "a cancelled annotation": 1,
        "label started from the judge's answer: not used, its row is unlabelled": 1,
        "no label": 1,
        "human tie": 1,
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "estimate inspect.eval",
            "has 2 metrics: match, model_graded_qa; a rate is about one: keep the rows of one",
        ),
        (
            "diagnose bias inspect.eval",
            "looks like an Inspect log, which holds grades; use such a file",
        ),
        ("diagnose transitivity inspect.json", "looks like an Inspect log, which holds grades;"),
        ("diagnose transitivity mlflow.json", "looks like MLflow traces, not a tournaments file;"),
        ("rank inspect.eval", "inspect has no battles; it gives grades or items"),
        ("rank label_studio.json", "column model_a: is missing; battles need the names of both"),
        (
            "diagnose scores mlflow.json",
            "looks like MLflow traces, not a scores file; it holds",
        ),
        (
            "estimate lm_eval_results.json",
            "is a summary of lm-eval, without rows; give the",
        ),
        (
            "estimate label_studio_min.json",
            "JSON_MIN has task numbers instead of your ids; export",
        ),
        ("estimate promptfoo.csv", "is promptfoo's CSV, which mixes graders and people; export"),
        (
            "calibrate deepeval.json",
            "no labelled verdict is left (3 no label)",
        ),
        ("convert inspect.eval --rows labels", "inspect can be read as grades or items"),
        ("convert inspect.eval --rows words", "choose one of pairs, battles, judgments, grades"),
    ],
)
def test_a_wrong_file_gets_one_line_with_the_remedy(
    words: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = [str(LOGS / word) if (LOGS / word).is_file() else word for word in words.split()]
    assert run(verb) == 1
    said = [text for text in capsys.readouterr().err.splitlines() if text.startswith("adjudge")]
    assert len(said) == 1
    assert line in said[0]


def test_convert_writes_rows_and_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, summary = tmp_path / "rows.csv", tmp_path / "log.json"
    command = f"convert LOG -o {rows} --summary {summary}"
    code, printed, remarks = call(command, LOGS / "inspect.eval", capsys)
    assert (code, remarks) == (0, [f"wrote {rows}", f"wrote {summary}"])
    written = json.loads(summary.read_text(encoding="utf-8"))
    assert written.pop("command").startswith("adjudge convert ")
    assert written.pop("digest").startswith("sha256:")
    assert printed == written
    assert printed["statuses"] == {"ok": 22, "unparsed": 2}
    assert pl.read_csv(rows).height == 24


@pytest.mark.parametrize(
    ("log", "step"),
    [
        ("lm_eval.jsonl", "label LOG -o labels.csv"),
        ("inspect.eval", "estimate rows.csv --by metric"),
        ("phoenix.json", "estimate rows.csv"),
    ],
)
def test_the_step_after_a_conversion_can_be_taken(
    log: str, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows without labels are labelled first: an estimate would have nothing to work with."""
    assert run(["convert", str(LOGS / log), "-o", "rows.csv"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "next: adjudge " + step.replace("LOG", str(LOGS / log))


def _two_runs(tool: str, folder: Path) -> tuple[list[Path], list[str], dict[tuple[str, str], int]]:
    """Two runs of a tool on 60 questions: files, names of the systems, what the judge said."""
    names = ["example/old", "example/new"]
    files = []
    said = {}
    for at, name in enumerate(names):
        right = {n: (n * (7 + at)) % 10 < 5 + at for n in range(60)}
        if tool == "lm-eval":
            [sample, *_] = load_log("lm_eval.jsonl")
            rows = [
                {**sample, "doc_id": n, "doc_hash": f"d{n}", "exact_match": float(ok)}
                for n, ok in right.items()
            ]
            run_of = f"2026-11-1{at}T09-00-40.478234"
            place = folder / name.replace("/", "__")
            place.mkdir()
            files.append(write_log(rows, place / f"samples_facts_{run_of}.jsonl"))
            write_log({"results": {}, "model_name": name}, place / f"results_{run_of}.json")
        elif tool == "inspect":
            log = load_log("inspect.json")
            graded = log["samples"][0]
            qa = {**graded["scores"]["model_graded_qa"], "history": []}
            log["eval"]["config"]["epochs"] = 1
            log["eval"]["model"] = name
            log["samples"] = [
                {
                    **graded,
                    "id": str(n),
                    "epoch": 1,
                    "scores": {"model_graded_qa": {**qa, "value": "C" if ok else "I"}},
                }
                for n, ok in right.items()
            ]
            files.append(write_log(log, folder / f"{at}.json"))
        else:
            log = load_log("deepeval.json")
            case = log["testCases"][0]
            [metric] = case["metricsData"]
            log["testCases"] = [
                {
                    **case,
                    "name": str(n),
                    "input": f"q{n}",
                    "metricsData": [{**metric, "score": 0.9 if ok else 0.1, "success": ok}],
                }
                for n, ok in right.items()
            ]
            files.append(write_log(log, folder / f"{at}.json"))
        said |= {(str(n), name): int(ok) for n, ok in right.items()}
    systems = ["0.json", "1.json"] if tool == "deepeval" else names
    return files, systems, said


@pytest.mark.parametrize("tool", ["lm-eval", "inspect", "deepeval"])
def test_labels_join_two_logs_that_are_compared(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By id and system. lm-eval's systems are the models of its results, not times of its files."""
    files, systems, said = _two_runs(tool, tmp_path)
    labels = tmp_path / "labels.csv"
    people = [
        f"{n},{system},{int((n + at) % 3 > 0)}"
        for n in range(40)
        for at, system in enumerate(systems)
    ]
    labels.write_text("\n".join(["id,model,human", *people]), encoding="utf-8")
    words = ["compare", *map(str, files), "--a", systems[0], "--b", systems[1]]
    assert run([*words, "--labels", str(labels), "--json"]) in (0, 2)
    result = json.loads(capsys.readouterr().out)
    ends = ("old", "new")
    means = [sum(ok for (_, name), ok in said.items() if name.endswith(end)) / 60 for end in ends]
    by_judge = {system["name"]: system["mean"] for system in result["systems"]}
    assert by_judge == pytest.approx(dict(zip(systems, means, strict=True)))
    assert result["n_labelled"] == 40


def test_metrics_of_a_log_can_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    code, result, _ = call("compare LOG --by metric", LOGS / "langfuse_v2.json", capsys)
    assert code in (0, 2)
    assert [system["name"] for system in result["systems"]] == [
        "correctness",
        "is_correct",
        "verdict",
    ]


#: Of each log: the metric, whose labels it has, and by hand on how many labelled verdicts the judge
#: is right. It passes q3, which people fail, and fails q7, which they pass; q5 it could not grade.
BY_HAND = {
    "langsmith.json": ("correctness", "human=correctness", 8, 12),
    "langsmith_table.csv": ("correctness", "human=correctness", 8, 12),
    "langsmith_feedback.json": ("correctness", None, 4, 6),
    "langfuse_v2.json": ("is_correct", None, 3, 5),  # people disagree on q4
    "langfuse_v3.json": ("verdict", None, 3, 5),
    "langfuse_ui.csv": ("correctness", None, 3, 5),
    "langfuse_blob.jsonl": ("verdict", None, 3, 5),
    "langfuse_on_trace.csv": ("verdict", None, 3, 5),
    "otel_events.jsonl": ("Correctness", "Correctness (evaluator.kind human)=Correctness", 4, 6),
    "openinference.jsonl": ("correctness", None, 4, 6),
    "pydantic_evals.json": ("correctness", "Human=correctness", 7, 11),  # q6 failed once
    "inspect_people.eval": ("model_graded_qa", "human=model_graded_qa", 7, 11),
    "opik.jsonl": ("correctness", None, 4, 6),
    "weave.jsonl": ("correctness", "correct=correctness", 8, 12),
    "braintrust.json": ("Factuality", "human=Factuality", 7, 11),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_how_good_the_judge_is_in_one_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    metric, people, right, labelled = BY_HAND[name]
    words = ["evaluate", str(LOGS / name), "--protocol", metric, "--json"]
    code = run([*words, *(["--human-metric", people] if people else [])])
    assert code in (0, 2)
    result = json.loads(capsys.readouterr().out)
    [judge] = [
        row for row in result["judges"] if len(result["judges"]) == 1 or row["judge"] == metric
    ]
    assert judge["n"] == labelled
    assert judge["agreement"] == pytest.approx(right / labelled)
    assert "reason" not in result["slices_by"]
