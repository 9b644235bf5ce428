"""Logs of other tools in the commands: each to a result in one command, or one line that helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runner_logs import LOGS, READ_AS, load_log, write_log

from adjudge.cli import run

#: How each log is brought to a rate or a ranking; without labels of people there is no rate, and
#: the result says what to label (exit 2).
COMMANDS = {
    "argilla.json": "rank LOG --method hard-elo",
    "deepeval.json": "estimate LOG",
    "deepeval_latest.json": "estimate LOG",
    "inspect.eval": "estimate LOG --by metric",
    "inspect.json": "estimate LOG --by metric",
    "judgearena.jsonl": "rank LOG --method hard-elo",
    "label_studio.json": "estimate LOG",
    "label_studio_tasks.json": "estimate LOG",
    "langfuse.json": "estimate LOG --by metric",
    "lm_eval.jsonl": "estimate LOG",
    "mlflow.json": "estimate LOG",
    "mlflow_trace.json": "estimate LOG",
    "phoenix.csv": "estimate LOG",
    "phoenix.json": "estimate LOG",
    "promptfoo.json": "estimate LOG",
    "promptfoo.jsonl": "estimate LOG",
    "ragas.csv": "estimate LOG",
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
    untried = name.startswith(("langfuse", "judgearena"))
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
        "label started from the judge's answer": 1,
        "no label": 1,
        "human tie": 1,
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "estimate inspect.eval",
            "has 2 metrics: match, model_graded_qa; estimate a rate for each",
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
    assert printed == written
    assert printed["statuses"] == {"ok": 22, "unparsed": 2}
    assert rows.read_text(encoding="utf-8").count("\n") == 25


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
