"""`adjudge start` tells what a file can be read as and which commands answer what."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path
from typing import IO

import polars as pl
import pytest

from adjudge.cli.app import run
from adjudge.data import files, tables

PAIRS = {"prompt": ["q", "r"], "response_a": ["x", "y"], "response_b": ["v", "w"]}
JUDGED = {"id": ["1", "2"], "p_a": [0.9, 0.2]}
BATTLES = {"model_a": ["m", "n"], "model_b": ["n", "o"], "winner": ["model_a", "tie"]}


def guide(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["start", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("rows", "kinds", "first"),
    [
        (PAIRS, [("pairs", 2, None)], "adjudge judge f.csv --judge openai:MODEL -o judged.jsonl"),
        (
            JUDGED,
            [("judgments of pairs", 2, 0)],
            "adjudge plan labels f.csv --write-ids to_label.csv",
        ),
        (
            {**JUDGED, "label": ["A", None]},
            [("judgments of pairs", 2, 1)],
            "adjudge evaluate f.csv",
        ),
        ({"judge": [1, 0], "human": [1, None]}, [("grades", 2, 1)], "adjudge evaluate f.csv"),
        (
            {"judge": [1, 5, 3], "human": [2, None, 4]},
            [("scores of answers", 3, 2)],
            "adjudge evaluate f.csv",
        ),
        (
            {"model": ["old", "new"], "judge": [1, 0], "prompt_id": ["q", "q"]},
            [("grades", 2, 0), ("several systems", 2, 0)],
            "adjudge plan labels f.csv --write-ids to_label.csv",
        ),
        (
            {"doc_id": ["d", "e"], "judge_score": [4, 5], "human_score": [4, 4]},
            [("scores", 2, 2)],
            "adjudge evaluate f.csv",
        ),
        (BATTLES, [("battles", 2, None)], "adjudge rank f.csv"),
    ],
)
def test_a_file_and_its_commands(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rows: dict[str, list[object]],
    kinds: list[tuple[str, int, int | None]],
    first: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(rows).write_csv("f.csv")
    found = guide(capsys, "f.csv")
    read_as = found["read_as"]
    assert isinstance(read_as, list)
    assert [(each["rows_kind"], each["rows"], each["labels"]) for each in read_as] == kinds
    answers = found["answers"]
    assert isinstance(answers, list)
    assert answers[0]["command"] == first


@pytest.mark.parametrize(
    ("rows", "command", "labels"),
    [
        ({"gpt4": [0.9, 0.2, 0.6], "gold": [1, 0, None]}, "--column judge=gpt4", 2),
        ({"llm": ["Good", "bad", "BAD"], "Label": ["good", "bad", "Good"]}, "judge=llm", 3),
        ({"GPT-4": [1, 0, 1], "Qwen": [1, 1, 0], "human": [1, 0, None]}, "--judge Qwen", 2),
        (
            {"Qwen says": ["up", "down", "up"], "annotator": ["up", "down", "down"]},
            "--column human=annotator --column 'judge=Qwen says'",
            3,
        ),
        (
            {"output_b": ["x", "y", "z"], "Qwen": ["output_1", "tie", "b"], "vote": [1, 2, None]},
            "--column judge=Qwen",
            2,
        ),
        ({"output_b": ["x", "y", "z"], "judge": ["a", "b", "b"], "winner": [1, 1, 2]}, "", 3),
    ],
)
def test_a_judge_among_texts_is_seen_by_its_values(
    capsys: pytest.CaptureFixture[str],
    rows: dict[str, list[object]],
    command: str,
    labels: int,
) -> None:
    texts = {
        "question": ["p", "q", "r"],
        "answer_a" if "output_b" in rows else "answer": list("uvw"),
    }
    pl.DataFrame({**texts, **rows}, strict=False).write_csv("f.csv")
    found = guide(capsys, "f.csv")
    answers, read_as = found["answers"], found["read_as"]
    assert isinstance(answers, list)
    assert isinstance(read_as, list)
    first = answers[0]["command"]
    assert first.startswith("adjudge evaluate f.csv")
    assert command in first
    assert read_as[0]["labels"] == labels
    assert run(shlex.split(first)[1:]) == 0
    # People can still be asked about the texts, of which no column is a judge's.
    asked = [each["command"] for each in answers if each["command"].startswith("adjudge label")]
    assert asked == ["adjudge label f.csv -o labels.csv"]


def test_verdicts_without_labels_beside_their_texts(capsys: pytest.CaptureFixture[str]) -> None:
    """The draw of rows to label works, with and without ids, also for a judge in a column."""
    texts = {"PROMPT": ["p", "q", "r"], "Response": ["u", "v", "w"]}
    pl.DataFrame({"ID": [1, 2, 3], **texts, "JUDGE": [1, 0, 1]}).write_csv("f.csv")
    answers = guide(capsys, "f.csv")["answers"]
    assert isinstance(answers, list)
    assert answers[0]["command"] == "adjudge plan labels f.csv --write-ids to_label.csv"
    pl.DataFrame({**texts, "Qwen": [4, 2, 5]}).write_csv("g.csv")
    pl.DataFrame({"id": [1, 1], "judge_name": ["m", "n"], "judge": [0, 1]}).write_csv("h.csv")
    lines = {"f.csv": "", "g.csv": "--judge Qwen", "h.csv": "--judge m --judge n"}
    for file, judges in lines.items():
        assert run(shlex.split(f"evaluate {file} {judges}")) == 2
        following = capsys.readouterr().out.splitlines()[-1].removeprefix("next: adjudge ")
        assert run(shlex.split(following)) == 0
        assert pl.read_csv("to_label.csv").height == pl.read_csv(file)[:, 0].n_unique()


@pytest.mark.parametrize("log", ["deepeval.json", "inspect_agent.eval", "opik_results.json"])
def test_a_log_without_labels(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(Path(__file__).parents[2] / "fixtures" / "runner_logs" / log)
    found = guide(capsys, file)
    assert found["read_as"]
    command = f"adjudge plan labels {shlex.quote(file)} --write-ids to_label.csv"
    answers = found["answers"]
    assert isinstance(answers, list)
    assert [answer["command"] for answer in answers] == [command]
    assert run(shlex.split(command)[1:]) == 0, "also with several metrics"
    assert Path("to_label.csv").exists()


def test_names_of_columns_go_into_the_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my file.csv"
    pl.DataFrame({"id": ["1"], "P of A": [0.9], "label": ["B"]}).write_csv(file)
    assert run(["start", str(file), "--column", "p_a=P of A"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].endswith("judgments of pairs (1 row, 1 label)")
    assert f"adjudge evaluate '{file}' --column 'p_a=P of A'" in shown.out
    assert shown.err == ""  # what the readers recognise is part of the result


def test_no_rows_of_any_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.csv").write_text("x,y\n1,2\n")
    assert run(["start", str(tmp_path / "odd.csv")]) == 1
    error = capsys.readouterr().err
    assert "columns here: x, y; say what yours hold: --column judge=NAME (pass or fail)" in error


@pytest.mark.parametrize(
    ("rows", "kinds", "commands"),
    [
        (
            "id,metric,judge,human\n1,exact,1,1\n1,style,0,1\n2,exact,0,\n2,style,1,\n",
            ["grades by several metrics"],
            ["adjudge evaluate f.csv", "adjudge estimate f.csv --by metric"],
        ),
        (
            "id,p_pass,human\n1,0.9,1\n2,0.2,0\n3,0.7,\n",
            ["grades", "judgments of answers"],
            [
                "adjudge evaluate f.csv",
                "adjudge estimate f.csv",
                "adjudge calibrate f.csv --alpha 0.1 -o policy.json",
            ],
        ),
    ],
)
def test_grades_are_not_judgments_of_pairs(
    capsys: pytest.CaptureFixture[str], rows: str, kinds: list[str], commands: list[str]
) -> None:
    Path("f.csv").write_text(rows)
    shown = guide(capsys, "f.csv")
    read_as, answers = shown["read_as"], shown["answers"]
    assert isinstance(read_as, list)
    assert isinstance(answers, list)
    assert [each["rows_kind"] for each in read_as] == kinds
    assert [each["command"] for each in answers] == commands


@pytest.mark.parametrize("kind", ["eval", "xlsx"])
def test_an_archive_that_unpacks_to_too_much_is_opened_once(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first reader's refusal ends the search for a kind of rows; nothing is unpacked."""
    path = Path(f"large.{kind}")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("header.json", "xl/workbook.xml" if kind == "xlsx" else "samples/q1.json"):
            archive.writestr(name, json.dumps({"eval": {"model": "m"}}) + " " * 2**27)
        archive.writestr("samples/q2.json", " " * 2**24)
    opened: list[str] = []
    read: list[str] = []
    refuse_large_book, unpack = files._refuse_large_book, files.Archive._unpack

    class CountedArchive(files.Archive):
        def __init__(self, path: Path, stream: IO[bytes]) -> None:
            opened.append(path.name)
            super().__init__(path, stream)

        def _unpack(self, member: zipfile.ZipInfo) -> bytes:
            read.append(member.filename)
            return unpack(self, member)

    def refuse(path: str | Path) -> None:
        opened.append(Path(path).name)
        refuse_large_book(path)

    monkeypatch.setattr(tables, "Archive", CountedArchive)
    monkeypatch.setattr(files, "_refuse_large_book", refuse)
    assert run(["start", str(path)]) == 1
    limit, remedy = {
        "eval": ("the archive unpacks to more than 256 MiB", "export it as JSON, or split it"),
        "xlsx": ("unpacks to more than 200 times its size", "export it as CSV"),
    }[kind]
    assert capsys.readouterr().err == f"adjudge: {path}: {limit}; {remedy}\n"
    assert (opened, read) == ([path.name], [])


def test_a_command_is_listed_once_and_only_if_it_has_something_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("f.csv").write_text("id,judge,human\n1,1,1\n2,0,1\n")
    answers = guide(capsys, "f.csv")["answers"]
    assert answers == [
        {
            "question": "How good is the judge, and where is it wrong?",
            "command": "adjudge evaluate f.csv",
        },
        {"question": "What rate can I report?", "command": "adjudge estimate f.csv"},
    ]
    # A plan needs verdicts of 0 and 1, and labels of both.
    for rows, plans in (
        ("1,1,1\n2,0,0\n3,0,", 1),
        ("1,1,1\n2,0,", 0),
        ("1,0.9,1\n2,0.1,0\n3,1,", 0),
    ):
        Path("f.csv").write_text(f"id,judge,human\n{rows}\n")
        shown = guide(capsys, "f.csv")
        assert isinstance(shown["answers"], list)
        assert isinstance(shown["refused"], dict)
        commands = [each["command"] for each in shown["answers"]]
        assert sum("plan rate" in command for command in commands) == plans
        assert "grades" not in shown["refused"]
    log = Path(__file__).parents[2] / "fixtures" / "runner_logs" / "label_studio_tasks.json"
    listed = guide(capsys, str(log))["answers"]
    assert isinstance(listed, list)
    commands = [each["command"] for each in listed]
    assert len(commands) == len({*commands}) > 1


def test_two_judges_and_two_people_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Words in any case, with gaps and failures, are no reason to propose nothing."""
    rows = {
        "Question": [f"How do I pay order {number}?" for number in range(24)],
        "Answer": [f"Order {number} is paid on the page Orders." for number in range(24)],
        "GPT-4 verdict": ["Good", "good", "bad", "ERROR", "GOOD", None] * 4,
        "Claude verdict": ["good", "Bad", "Bad", "good", "timeout", "good"] * 4,
        "Anna (human)": ["Good", "good", "BAD", None, "bad", "good"] * 4,
        "Ben (human)": ["good", None, "bad", None, "Good", "GOOD"] * 4,
    }
    pl.DataFrame(rows).write_csv("f.csv")
    answers = guide(capsys, "f.csv")["answers"]
    assert isinstance(answers, list)
    command = answers[0]["command"]
    assert command == (
        "adjudge evaluate f.csv --judge 'GPT-4 verdict' --judge 'Claude verdict' "
        "--raters 'Anna (human),Ben (human)'"
    )
    assert run(shlex.split(command)[1:]) == 0


def test_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["start"]) == 0
    assert "adjudge demo --judge simulated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("judge", "asked", "words"),
    [
        ("judge", "Which is better?", "AB"),
        ("GPT-4 says", "Which is better?", "AB"),
        ("llm_judge", "user feedback", "👍👎"),
        ("What did the LLM judge say?", "Is the answer correct?", ("Yes", "No")),
    ],
)
def test_what_a_form_asked_people_is_seen(
    judge: str, asked: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {
        judge: [words[at % 2] for at in range(40)],
        asked: [words[at % 3 % 2] for at in range(40)],
    }
    texts = {name: [f"{name} {at}" for at in range(40)] for name in ("prompt", "response_a")}
    pair = {**texts, "response_b": texts["response_a"][::-1]} if words == "AB" else {}
    path = tmp_path / "form.csv"
    pl.DataFrame({**pair, **said}).write_csv(path)
    assert run(["start", str(path)]) == 0
    listed = capsys.readouterr().out
    command = next(line for line in listed.splitlines() if line.startswith("adjudge evaluate"))
    assert asked in command
    assert run([*shlex.split(command)[1:], "--json"]) == 0
    [measured] = json.loads(capsys.readouterr().out)["judges"]
    assert measured["n"] == 40
    right = sum(a == b for a, b in zip(said[judge], said[asked], strict=True))
    assert measured["agreement"] == right / 40
