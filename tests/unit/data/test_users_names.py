"""Columns by the user's names: in a second file, in options, in messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adjudge.cli import run
from adjudge.data import prepare_battles, prepare_grades, prepare_judgments, prepare_scores
from adjudge.data.source import Source
from adjudge.diagnosis import diagnose_bias
from adjudge.errors import ArgumentError, DataError

GRADES: dict[str, list[Any]] = {"Ticket ID": ["t1", "t2", "t3"], "Grade": ["pass", "fail", "pass"]}
LABELS: dict[str, list[Any]] = {"Ticket": ["t1", "t2"], "Expert": ["pass", "pass"], "Grade": [9, 9]}
NAMES = {"id": "Ticket ID", "judge": "Grade"}
OF_LABELS = {"id": "Ticket", "label": "Expert"}
BATTLES: dict[str, list[Any]] = {
    "left_model": ["x", "x"],
    "right_model": ["y", "z"],
    "preference": ["A", "B"],
    "question_id": ["p", "q"],
    "robot": ["B", "B"],
}


def test_labels_have_column_names_of_their_own() -> None:
    rows = prepare_grades(GRADES, labels=LABELS, columns=NAMES, labels_columns=OF_LABELS)
    assert rows.human.tolist() == pytest.approx([1, 1, float("nan")], nan_ok=True)
    pairs = {"Ticket ID": ["t1", "t2"], "p": [0.9, 0.2]}
    votes = {"Ticket": ["t2"], "Expert": ["B"], "p": ["x"]}
    judged = prepare_judgments(
        pairs, labels=votes, columns={"id": "Ticket ID", "p_a": "p"}, labels_columns=OF_LABELS
    )
    assert judged.frame["label"].to_list() == [None, "B"]
    scores = {"Ticket ID": ["t1", "t2"], "doc_id": ["1", "2"], "judge_score": [3, 4]}
    people = {"Ticket": ["t1", "t2"], "Expert": [3, 5]}
    scored = prepare_scores(
        scores, labels=people, columns={"id": "Ticket ID"}, labels_columns=OF_LABELS
    )
    assert scored.frame["human_scores"].to_list() == [[3.0], [5.0]]


def test_all_names_that_no_file_has_are_refused_at_once() -> None:
    with (
        pytest.raises(DataError) as caught,
        Source(
            GRADES,
            labels=LABELS,
            columns={"judge": "Mark"},
            labels_columns={"id": "No", "label": "Vo"},
        ) as source,
    ):
        assert source.rows
    assert "has no Mark; the dict of columns has no No, Vo; columns of" in str(caught.value)
    assert "Ticket ID, Grade; columns of the dict of columns: Ticket, Expert" in str(caught.value)
    with pytest.raises(ArgumentError, match="give the labels file too: --labels FILE"):
        prepare_grades(GRADES, columns=NAMES, labels_columns=OF_LABELS)


@pytest.mark.parametrize(("verb", "lacks"), [("estimate", "judge"), ("calibrate", "p_a")])
def test_what_both_files_lack_is_in_one_line(
    verb: str, lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("T,Gr\n1,pass\n2,fail\n")
    Path("labels.csv").write_text("Tick,Opinion\n1,pass\n")
    assert run([verb, "rows.csv", "--labels", "labels.csv", *verb_options(verb)]) == 1
    shown = capfd.readouterr().err.splitlines()[-1]
    assert f"rows.csv, column {lacks}: is missing" in shown
    assert "labels.csv has no id, label: --labels-column id=NAME, columns there: Tick, Opi" in shown


def verb_options(verb: str) -> list[str]:
    return ["--alpha", "0.1"] if verb == "calibrate" else []


def test_the_option_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"t{i},{i % 2}\n" for i in range(60))
    Path("rows.csv").write_text("Ticket ID,Grade\n" + rows)
    Path("labels.csv").write_text("Ticket,Vote\n" + rows[:150])
    names = ["--column", "id=Ticket ID", "--labels-column", "id=Ticket"]
    command = ["estimate", "rows.csv", "--labels", "labels.csv", *names]
    assert run([*command, "--labels-column", "label=Vote"]) == 0
    assert run([*command, "--labels-column", "id=Vote"]) == 1
    assert "--labels-column = 'id=Vote': id is named twice" in capfd.readouterr().err


def test_options_take_the_name_that_the_file_has() -> None:
    by_name = prepare_battles(BATTLES, human="preference", cluster="question_id", by="left_model")
    assert by_name.human is not None
    assert by_name.human.tolist() == [1, 0]
    judged = prepare_battles(BATTLES, verdict="preference")
    assert judged.human is None, "a column is the judge's or people's, not both"
    rows = {"pair_id": ["1", "2"], "prob_first": [0.9, 0.2], "human_pref": ["A", "A"]}
    report = diagnose_bias(rows, cluster="pair_id")
    assert report.clustered_by == "pair_id"
    scores = {"article_id": ["1"], "rating": [3], "human_rating": [4]}
    assert prepare_scores(scores, raters=["human_rating"]).frame["human_scores"][0].to_list() == [4]


@pytest.mark.parametrize("option", ["human", "verdict", "by", "cluster"])
def test_columns_are_listed_once_by_the_name_of_the_file(option: str) -> None:
    named: dict[str, Any] = {option: "nowhere"}
    with pytest.raises(ArgumentError) as caught:
        prepare_battles(BATTLES, **named)
    columns = str(caught.value).partition("choose a column: ")[2].split(", ")
    assert set(columns) >= {"left_model", "right_model", "preference", "question_id", "robot"}
    assert not {"model_a", "model_b", "winner", "prompt_id"} & set(columns)
