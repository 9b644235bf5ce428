"""Whose column it is: a judge's name is no verdict, a person next to labels is no judge."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from adjudge import compare, estimate
from adjudge.data.columns import rename_columns
from adjudge.data.grades import prepare_grades, read_grades
from adjudge.data.judgments import prepare_judgments
from adjudge.data.source import Source
from adjudge.errors import DataError
from adjudge.evaluation.evaluate import evaluate

LABELS = [1, 1, 0, 0, 1, 0]
VERDICTS = [1, 1, 0, 1, 1, 0]


def rows(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"id": list("abcdef"), **columns})


@pytest.mark.parametrize("judge", ["judge", "Judge", " JUDGE "])
@pytest.mark.parametrize("verdict", ["verdict", "Judge Verdict", "score", "prediction"])
def test_a_judges_name_is_no_verdict_next_to_one(
    judge: str, verdict: str, caplog: pytest.LogCaptureFixture
) -> None:
    named = rows(**{judge: ["gpt-4o"] * 6, verdict: VERDICTS}, human=LABELS)
    grades = prepare_grades(named)
    assert grades.judge.tolist() == VERDICTS
    assert grades.frame["judge_name"].unique().to_list() == ["gpt-4o"]
    assert f"read {judge} as judge_name" in caplog.text
    plain = evaluate(rows(judge=VERDICTS, human=LABELS))
    assert evaluate(named).judges[0].agreement == plain.judges[0].agreement


@pytest.mark.parametrize("judge", ["judge", "Judge", "JUDGE"])
def test_a_judges_name_that_the_caller_names(judge: str) -> None:
    named = rows(**{judge: ["gpt-4o"] * 6, "verdict": VERDICTS}, human=LABELS)
    grades = prepare_grades(named, columns={"judge_name": judge})
    assert grades.judge.tolist() == VERDICTS
    assert judge not in grades.frame.columns or judge == "judge"


def test_another_column_of_that_spelling_stays() -> None:
    named = rows(Label=LABELS, label=VERDICTS, judge=VERDICTS)
    grades = prepare_grades(named, columns={"human": "Label"})
    assert grades.human.tolist() == LABELS
    assert grades.frame["label"].to_list() == VERDICTS


def test_two_names_are_two_judges() -> None:
    named = rows(judge=["gpt", "claude"] * 3, verdict=VERDICTS, human=LABELS)
    with pytest.raises(Exception, match="column judge_name: has 2 judges: claude, gpt"):
        estimate(named)
    grades = prepare_grades(named, by="judge_name")
    assert {*grades.group_names} == {"claude", "gpt"}


def test_a_name_is_found_next_to_probabilities_and_in_status() -> None:
    with_doubt = read_by_door(rows(judge=["gpt-4o"] * 6, p_pass=[0.9] * 6, human=LABELS))
    assert with_doubt["judge"].unique().to_list() == ["gpt-4o"]
    assert with_doubt["verdict"].unique().to_list() == ["pass"]
    words = ["pass" if verdict else "fail" for verdict in VERDICTS]
    grades = prepare_grades(rows(judge=["gpt-4o"] * 6, status=words, human=LABELS))
    assert grades.judge.tolist() == VERDICTS


def read_by_door(frame: pl.DataFrame) -> pl.DataFrame:
    return prepare_judgments(Source(frame)).frame


@pytest.mark.parametrize(
    ("judge", "human", "more"),
    [
        # Classes that people use, too, next to a number.
        (["bug", "ask", "bug"] * 2, ["bug", "ask", "ask"] * 2, {"score": [0.4] * 6}),
        # Without labels, several words can be classes.
        (["bug", "ask", "bug"] * 2, [None] * 6, {"score": [0.4] * 6}),
        (["pass", "Fail", "pass"] * 2, LABELS, {"score": [0.4] * 6}),
        ([0.9, 0.1, 0.2] * 2, LABELS, {"score": [0.4] * 6}),
        # A name, but nothing else that is a verdict.
        (["gpt-4o"] * 6, ["bug", "ask", "ask"] * 2, {"topic": ["a"] * 6}),
    ],
)
def test_a_verdict_stays_a_verdict(judge: Any, human: Any, more: Any) -> None:
    grades = prepare_grades(rows(judge=judge, human=human, **more))
    assert "judge_name" not in grades.frame.columns
    assert grades.frame["judge"].to_list() == judge


def test_judgments_of_pairs_name_their_judge() -> None:
    frame = rows(judge=["gpt-4o"] * 6, p_a=[0.9] * 6, verdict=["A"] * 6, label=["A"] * 6)
    assert prepare_judgments(frame).frame["judge"].unique().to_list() == ["gpt-4o"]


def test_an_annotator_next_to_labels_is_no_judge(caplog: pytest.LogCaptureFixture) -> None:
    people = ["ann", "bob", "ann", "cat", "cat", "bob"]
    frame = rows(judge=VERDICTS, human=LABELS, annotator=people)
    assert estimate(frame) == estimate(frame.drop("annotator"))
    assert "annotator is not read: next to labels it names people" in caplog.text
    assert "--column judge_name=annotator" in caplog.text
    (judged,) = evaluate(frame).judges
    (without,) = evaluate(frame.drop("annotator")).judges
    assert (judged.judge, judged.matrix) == (None, without.matrix)
    # Without labels it names the judges, as the annotations of AlpacaEval have it.
    named = read_by_door(rows(p_a=[0.9] * 6, annotator=people))
    assert {*named["judge"]} == {*people}
    of_people = read_by_door(rows(p_a=[0.9] * 6, annotator=people, label=["A"] * 6))
    assert {*of_people["judge"]} == {"unnamed"}


def test_repeats_can_be_counted_from_one() -> None:
    again = {"id": [*"aabb"], "repeat": [1, 2, 1, 2], "judge": [1, 0, 0, 1], "human": [1, 1, 0, 0]}
    first = prepare_grades(again)
    assert first.judge.tolist() == [1, 0]
    assert first.dropped == {"repeat of another row": 2}
    graded = {"id": [*"aabb"], "repeat": [1, 2, 1, 2], "p_pass": [0.9, 0.1, 0.2, 0.8]}
    assert read_grades(graded).height == 4
    assert prepare_judgments(graded).frame["p_a"].to_list() == [0.9, 0.2]


@pytest.mark.parametrize("names", [("judge", "judge_name"), ("judge_name", "judge")])
def test_columns_can_exchange_their_names_in_any_order(names: tuple[str, str]) -> None:
    theirs = {"judge": "verdict", "judge_name": "judge"}
    frame = rows(judge=["gpt-4o"] * 6, verdict=VERDICTS)
    renamed = rename_columns(frame, {ours: theirs[ours] for ours in names}, "rows")
    assert renamed["judge"].to_list() == VERDICTS
    assert renamed["judge_name"].to_list() == ["gpt-4o"] * 6
    assert renamed.columns == ["id", "judge_name", "judge"]
    swapped = rename_columns(frame, {"judge": "verdict", "verdict": "judge"}, "rows")
    assert swapped["judge"].to_list() == VERDICTS


@pytest.mark.parametrize("words", [("pass", "fail"), ("A", "B")])
def test_several_judges_whose_labels_are_in_another_file(words: tuple[str, str]) -> None:
    ids = [str(at) for at in range(40)]
    right = [words[at % 2] for at in range(40)]
    wrong = [words[1 - at % 2] if at < 10 else words[at % 2] for at in range(40)]
    judged = {"id": ids * 2, "judge": ["gpt"] * 40 + ["claude"] * 40, "verdict": right + wrong}
    labels = {"id": ids, "label": right}
    found = {each.judge: each.agreement for each in evaluate(judged, labels=labels).judges}
    assert found == {"gpt": 1.0, "claude": 0.75}
    compared = compare(judged, labels=labels, judges=True)
    assert {each.name: each.mean for each in compared.systems} == found


def test_judges_of_pairs_without_p_a_are_compared_by_peoples_column_human() -> None:
    ids = [str(at) for at in range(40)]
    right = ["AB"[at % 2] for at in range(40)]
    judged = {"id": ids * 2, "judge": ["x"] * 40 + ["y"] * 40, "verdict": right + ["A"] * 40}
    compared = compare({**judged, "human": right * 2}, judges=True)
    assert {each.name: each.mean for each in compared.systems} == {"x": 1.0, "y": 0.5}


def test_classes_next_to_a_confidence_are_no_judges() -> None:
    judged = rows(judge=["spam", "ham"] * 3, score=[0.9, 0.7, 0.2, 0.4, 0.5, 0.6])
    labels = {"id": [*"abcdef"], "label": ["spam"] * 6}
    assert evaluate(judged, labels=labels).judges[0].agreement == 0.5


def test_classes_of_one_judge_cannot_be_compared() -> None:
    classes = rows(judge=["spam", "ham"] * 3, human=["spam"] * 6)
    with pytest.raises(DataError, match="has unnamed alone; give rows of two or more judges"):
        compare(classes, judges=True)
