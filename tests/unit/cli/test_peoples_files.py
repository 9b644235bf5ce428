"""Twelve files as people have them, each to a result in one command; wrong files to one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from peoples_files import FILES, ROWS

from adjudge.cli import run

#: What is said of each file before its result.
REMARKS = {
    "semicolons": ["read ID as id, Label as label, prob_a as p_a"],
    "bom": ["read Judge Verdict as judge, Human Label as human"],
    "other_names": [
        "read instruction as prompt, output_1 as response_a, output_2 as response_b",
        "no column id: the id of a row is a hash of its prompt, response_a, response_b",
    ],
    "one_and_two": [
        "read question as prompt, answer_a as response_a, answer_b as response_b, "
        "preference as label",
        "no column id: the id of a row is a hash of its prompt, response_a, response_b",
    ],
    "chosen_rejected": ["read as pairs of a chosen and a rejected response"],
    "excel": ["read Judge as judge, Human as human, Question as prompt"],
    "model_names": ["read model_1 as model_a, model_2 as model_b"],
    "gaps": [],
    "decimals": [
        "read question as prompt, score as judge_score",
        "no column doc_id: rows with the same prompt are one document",
    ],
    "json_object": ["the rows are in results; not read: run, settings"],
    "saved_dataset": ["read as pairs of a chosen and a rejected response"],
    "gzipped": [
        "read uid as id, query as prompt, response_1 as response_a, response_2 as response_b, "
        "winner as label"
    ],
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_one_command_takes_it_to_a_result(
    make: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(Path())
    assert run([*FILES[make].format(path).split(), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["kind"]
    said = [
        line.removeprefix(f"{path}: ") for line in printed.err.splitlines() if str(path) in line
    ]
    assert said == REMARKS[make.__name__]


def test_what_was_read_is_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    by_name = {make.__name__: (make, command) for make, command in FILES.items()}

    def result(name: str) -> dict[str, object]:
        make, command = by_name[name]
        assert run([*command.format(make(Path())).split(), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    # The three files of grades hold the same judge and the same people, in other words.
    rates = [result(name)["estimate"] for name in ("bom", "excel")]
    assert rates[0] == rates[1]
    gaps = result("gaps")
    assert gaps["dropped"] == {"no judge verdict": 1}
    assert gaps["n_test"] == ROWS // 2
    assert result("semicolons")["n_calibration"] == ROWS
    assert result("model_names")["models"][0]["model"] == "claude"  # type: ignore[index]
    result("one_and_two")
    labels = pl.read_csv("one_and_two.csv", separator="\t")["preference"]
    judged = pl.read_ndjson("judged.jsonl")["label"]
    assert judged.to_list() == ["AB"[one - 1] for one in labels]
    result("chosen_rejected")
    chosen = pl.read_ndjson("judged.jsonl")
    assert chosen["label"].equals(chosen["chosen_at"].alias("label"))
    assert 20 < (chosen["label"] == "A").sum() < 60


@pytest.mark.parametrize(
    ("text", "command", "line"),
    [
        (
            "text,one,two\nq,a,b\n",
            "judge {} --judge simulated: -o o.jsonl",
            "has no columns prompt, response_a, response_b; name yours: --column prompt=NAME "
            "--column response_a=NAME --column response_b=NAME (columns=); "
            "columns here: text, one, two",
        ),
        (
            "question,instruction,output_1,output_2\nq,i,a,b\n",
            "judge {} --judge simulated: -o o.jsonl",
            "question and instruction can each be prompt; choose one: --column prompt=question "
            "(columns=)",
        ),
        (
            "question,output_1,output_2,winner\nq,a,b,0\n",
            "judge {} --judge simulated: -o o.jsonl",
            ", row 1, column label: '0' can mean either answer; choose one: --labels-as '0=A,1=B' "
            "(or 0=B,1=A)",
        ),
        (
            "question,answer\nq,a\n",
            "judge {} --judge simulated: -o o.jsonl",
            "looks like an items file of adjudge, not a pairs file; use such a file with adjudge "
            "judge with a scoring protocol; or name your response_a, response_b: --column "
            "response_a=NAME (columns=); columns here: question, answer",
        ),
        (
            "question,answer\nq,a\n",
            "estimate {}",
            "looks like an items file of adjudge, not a table of judge and human; use such a file "
            "with adjudge judge with a scoring protocol; or name your judge: --column judge=NAME "
            "(columns=); columns here: question, answer",
        ),
        (
            "prompt,chosen,rejected\nq,a,b\n",
            "rank {}",
            "chosen-rejected has no battles; it gives pairs: use such a file with adjudge judge "
            "with a protocol for pairs",
        ),
        (
            "judge,human\n1,1\n",
            "estimate {} --column human=humna",
            ", column humna: is not in the file; columns here: judge, human",
        ),
        (
            "model_a,model_b,winner\nx,y,z\n",
            "rank {}",
            ", row 1, column winner: 'z' is not known; use model_a, model_b, tie or tie (bothbad), "
            "or give its meaning: --labels-as 'z=...'",
        ),
        (
            "id,p_a\n1,0.5\n",
            "calibrate {} --labels {}",
            "looks like a judgments file of adjudge, not a labels file; use such a file with "
            "adjudge calibrate, select and evaluate; or name your label: --column label=NAME "
            "(columns=); columns here: id, p_a",
        ),
    ],
)
def test_a_wrong_file_gets_one_line(
    text: str, command: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.csv").write_text(text)
    assert run(command.format("rows.csv", "rows.csv").split()) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last in (f"adjudge: rows.csv: {line}", f"adjudge: rows.csv{line}")


def test_columns_of_one_name_in_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    """--column is of all files of a command, --labels-as of all columns of labels."""
    rows = [f"k{i},{0.9 if i % 9 else 0.2}" for i in range(60)]
    Path("judged.csv").write_text("key,prob\n" + "\n".join(rows))
    Path("people.csv").write_text("key,said\n" + "\n".join(f"k{i},up" for i in range(60)))
    command = "calibrate judged.csv --labels people.csv --alpha 0.2 --json --column id=key"
    named = [*command.split(), "--column", "p_a=prob", "--column", "label=said"]
    assert run([*named, "--labels-as", "up=A,down=B"]) == 0
    policy = json.loads(capsys.readouterr().out)
    assert (policy["n_calibration"], policy["groups"][0]["n_errors"]) == (60, 7)
    assert run(named) == 1
    assert "people.csv, row 1, column label: 'up' is not known" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "judge x --judge simulated:", "calibrate x", "select x --policy p", "evaluate x",
        "estimate x", "plan rate x", "plan selection x", "plan battles x --budget 1",
        "plan labels x", "diagnose transitivity x", "diagnose scores x",
        "diagnose bias x", "rank x", "label x --export-only", "replies --pairs x",
    ],
)  # fmt: skip
def test_every_verb_that_reads_rows_takes_names(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "--column", "nonsense"]) == 1
    text = capsys.readouterr().err
    assert "--column = 'nonsense': write OURS=YOURS, like prompt=question" in text
