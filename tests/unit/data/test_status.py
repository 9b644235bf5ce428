"""A row that failed has no answer: one rule for every kind of rows."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest

from adjudge.data import (
    prepare_battles,
    prepare_grades,
    prepare_judgments,
    prepare_scores,
    prepare_tournaments,
    read_grades,
    read_judgments,
)
from adjudge.data.judgments import open_verdicts
from adjudge.data.rows import Rows, measured
from adjudge.data.scores import scored_by_both
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import DataError
from adjudge.estimation import estimate, plan_rate
from adjudge.ranking import rank
from adjudge.selection import calibrate

GRADES: dict[str, list[Any]] = {
    "id": ["a", "b", "c", "d"],
    "judge": [1, 0, 1, 0],
    "human": [1, 0, None, 1],
    "status": ["ok", "error", "censored", "Refused"],
}


def test_a_failed_grade_is_left_out_and_counted() -> None:
    rows = prepare_grades(GRADES)
    assert rows.judge.tolist() == [1, 1]
    assert rows.dropped == {"status error": 1, "status refused": 1}
    checked = read_grades({**GRADES, "uncertainty": [0.1] * 4})
    assert checked["verdict"].to_list() == ["pass", None, "pass", None]
    assert checked["status"].to_list() == ["ok", "error", "censored", "refused"]


def test_a_failed_judgment_is_left_out_and_counted() -> None:
    rows = {"id": [1, 2, 3], "p_a": [0.9, 0.1, 0.8], "status": ["ok", "error", "ok"]}
    frame = prepare_judgments(rows).frame
    assert frame["p_a"].to_list() == [0.9, None, 0.8]
    assert frame["verdict"].to_list() == ["A", None, "A"]
    assert measured(Rows(frame)).dropped == {"status error": 1}


def test_calibrate_counts_failed_rows() -> None:
    n = 200
    rows = pl.DataFrame({"id": range(n), "p_a": [0.99] * n, "label": ["A"] * n})
    rows = rows.with_columns(
        status=pl.when(pl.col("id") < 50).then(pl.lit("error")).otherwise(pl.lit("ok"))
    )
    policy = calibrate(rows, alpha=0.1)
    assert policy.dropped == {"status error": 50}
    assert policy.n_calibration == 150


def test_failed_battles_scores_and_tournaments_have_no_answer() -> None:
    status = ["ok", "error"]
    sides: dict[str, Any] = {"model_a": ["x", "x"], "model_b": ["y", "y"], "status": status}
    battles = prepare_battles({**sides, "winner": ["tie", "tie"], "verdict": ["A", "B"]})
    assert battles.verdict is not None
    assert battles.verdict.tolist() == pytest.approx([1, float("nan")], nan_ok=True)
    named = prepare_battles(
        {**sides, "winner": ["tie", "tie"], "robot": ["A", "B"]}, verdict="robot"
    )
    assert named.verdict is not None
    assert named.verdict.tolist() == pytest.approx([1, float("nan")], nan_ok=True)
    people = prepare_battles({**sides, "winner": ["model_a", "tie"]})
    assert people.human is not None
    assert people.human.tolist() == pytest.approx([1, float("nan")], nan_ok=True)
    assert battles.human is not None
    assert battles.human.tolist() == [0.5, 0.5], "beside a judge the status is the judge's"
    scores = prepare_scores(
        {"doc_id": [1, 2], "judge_score": [4, 5], "human_score": [4, 5], "status": status}
    )
    assert scores.frame["judge_score"].to_list() == [4, None]
    judged: dict[str, Any] = {"id": [1, 2], "status": status}
    for answers in ({"p_a": [0.9, 0.8]}, {"verdict": ["A", "B"]}):
        biased = prepare_verdicts({**judged, **answers})
        assert (biased.frame["id"].to_list(), biased.dropped) == (["1"], {"status error": 1})
    by_words = {"id": [1, 2, 3], "winner": ["tie", "tie", "tie"], "score_a": [3, "timeout", None]}
    sides = {"model_a": ["x", "x", "x"], "model_b": ["y", "y", "y"]}
    biased = prepare_verdicts({**sides, **by_words, "score_b": [1, 2, 3]})
    assert (biased.frame["id"].to_list(), biased.dropped) == (["1"], {"status error": 2})
    biased = prepare_verdicts({"id": [1, 2], "verdict": ["A", "unparsed"]})
    assert (biased.frame["id"].to_list(), biased.dropped) == (["1"], {"status unparsed": 1})
    sides = {"model_a": ["x", "x"], "model_b": ["y", "y"], "status": status}
    played = prepare_tournaments({**sides, "doc_id": [1, 2], "verdict": ["A", "B"]})
    assert played.dropped == {"status error": 1}
    [tournament] = played.tournaments
    assert tournament.documents == ("1",)


@pytest.mark.attack("status")
@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ("finished", "row 2, column status: 'finished' is not known; use ok, censored"),
        (["ok"], "row 1, column status: contains a list or an object"),
        (datetime.date(2026, 1, 1), "column status: '2026-01-01' is not known"),
        (None, "row 2, column status: is empty; use one of ok, censored"),
    ],
)
def test_an_unknown_status_is_refused_by_name(status: Any, problem: str) -> None:
    values = [["ok"], status] if isinstance(status, list) else ["ok", status]
    if isinstance(status, datetime.date):
        values = [status, status]
    kinds: dict[str, Any] = {
        "estimate": lambda rows: prepare_grades(rows),
        "judgments": lambda rows: read_judgments(rows),
        "battles": lambda rows: prepare_battles(rows),
    }
    rows: dict[str, dict[str, Any]] = {
        "estimate": {"judge": [1, 0], "human": [1, None]},
        "judgments": {"id": [1, 2], "p_a": [0.9, 0.8]},
        "battles": {"model_a": ["x"] * 2, "model_b": ["y"] * 2, "winner": ["tie"] * 2}
        | {"verdict": ["A", "B"]},
    }
    for kind, read in kinds.items():
        with pytest.raises(DataError) as error:
            read(pl.DataFrame({**rows[kind], "status": values}, strict=False))
        assert problem in str(error.value), kind


def test_a_status_of_pass_and_fail_is_the_verdict(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"id": [1, 2, 3], "status": ["Pass", "fail", "error"], "human": [1, 0, 1]}
    graded = prepare_grades(rows)
    assert graded.judge.tolist() == [1, 0]
    assert graded.dropped == {"status error": 1}
    assert "read status as judge" in caplog.text
    table, about = open_verdicts({**rows, "uncertainty": [0.1, 0.2, 0.3]})
    assert about == "grades"
    assert table.frame["verdict"].to_list() == ["pass", "fail", None]
    both = prepare_grades({**rows, "judge": [0, 0, 1]})
    assert both.judge.tolist() == [0, 0, 1]
    assert "status says pass or fail, and is not read: judge is" in caplog.text


def test_words_that_are_no_verdict_are_a_status() -> None:
    words = ["4", "ERROR", "5", "Timeout", "unparsed", "exception", "4"]
    people = ["4", "4", "5", None, None, "5", "5"]
    rows = prepare_grades({"judge": words, "human": people})
    assert rows.scale == "classes"
    assert rows.names == ("4", "5")
    assert rows.dropped == {"status error": 3, "status unparsed": 1}
    grades = prepare_grades({"judge": ["PASS", "FAIL", "ERROR"], "human": ["PASS", "PASS", "FAIL"]})
    assert grades.judge.tolist() == [1, 0]
    judged = read_judgments({"id": [1, 2], "p_a": ["0.9", "error"], "verdict": ["A", "timeout"]})
    assert judged.select("status", "p_a", "verdict").rows() == [
        ("ok", 0.9, "A"),
        ("error", None, None),
    ]
    scored = prepare_scores(
        {"doc_id": [1, 2], "judge_score": ["4", "error"], "human_score": [4, 4]}
    )
    assert scored.frame["status"].to_list() == ["ok", "error"]


def test_a_word_that_people_use_is_a_class() -> None:
    rows = prepare_grades(
        {"judge": ["error", "warning", "n/a"], "human": ["error", "warning", "error"]}
    )
    assert rows.names == ("error", "warning")
    assert rows.dropped == {"no judge verdict": 1}
    said = prepare_grades({"judge": ["error", "1"], "human": ["1", "0"]}, labels_as={"error": "0"})
    assert said.judge.tolist() == [0, 1]
    failed = prepare_grades({"judge": ["failed", "passed"], "human": [1, 0]})
    assert failed.judge.tolist() == [0, 1]


def test_labels_as_nothing_is_a_missing_verdict() -> None:
    rows = {"judge": ["PASS", "OOPS", "FAIL"], "human": ["PASS", "PASS", None]}
    graded = prepare_grades(rows, labels_as={"OOPS": ""})
    assert graded.judge.tolist() == [1, 0]
    assert graded.dropped == {"no judge verdict": 1}


def test_estimate_with_a_quarter_of_failed_rows() -> None:
    n = 800
    truth = [int(i % 5 < 3) for i in range(n)]
    failed = [i % 4 == 0 for i in range(n)]
    rows = pl.DataFrame(
        {
            "id": range(n),
            "judge": [0 if bad else right for right, bad in zip(truth, failed, strict=True)],
            "status": ["error" if bad else "ok" for bad in failed],
            "human": [right if i < 300 else None for i, right in enumerate(truth)],
        }
    )
    result = estimate(rows, labels_are_random=True)
    assert result.estimate == pytest.approx(0.6, abs=0.01)
    assert result.dropped == {"status error": 200}


def test_every_verb_counts_failed_rows_by_their_status() -> None:
    status = ["ok", "error", "ok", "refused", "ok", "error"] * 20
    failed = {"status error": 40, "status refused": 20}
    n = len(status)
    sides = {"model_a": ["x", "y", "z"] * (n // 3), "model_b": ["y", "z", "x"] * (n // 3)}
    judged = {**sides, "verdict": ["A", "B"] * (n // 2), "status": status}
    assert rank(judged, replicates=2).dropped == failed
    assert rank({**judged, "winner": ["model_a", "model_b", ""] * (n // 3)}, method="bt",
                replicates=2).dropped == {"no outcome": 40}  # fmt: skip
    votes = {**sides, "winner": ["model_a", "tie"] * (n // 2), "status": status}
    assert rank(votes, method="bt", replicates=2).dropped == failed
    ids = {"id": range(n), "doc_id": range(n), "status": status}
    marks = {"judge_score": [1, 2, 3] * (n // 3), "human_score": [2, 1, 3] * (n // 3)}
    assert scored_by_both(prepare_scores({**ids, **marks})).dropped == failed
    people = [None if at % 6 == 4 else at // 6 % 2 for at in range(n)]
    grades = {"judge": [int(one != 0) for one in people], "human": people, "status": status}
    plan = plan_rate(grades, budget=50)
    assert plan.dropped == failed
    assert "left out 40 rows: status error" in str(plan)


@pytest.mark.attack("rows that do not count")
@pytest.mark.parametrize(
    ("column", "flags"),
    [
        ("is_error", [False, True]),
        ("isError", ["false", "true"]),
        ("error", [None, "HTTP 500"]),
        ("Error", ["", "rate limit"]),
        ("success", [True, False]),
        ("valid", [1, 0]),
        ("invalidated", ["no", "yes"]),
    ],
)
def test_a_column_that_flags_failures_is_named_and_read_with_one_option(
    column: str, flags: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    rows = {"id": ["x", "y"], "judge": [1, 0], "human": [1, 1], column: flags}
    assert len(prepare_grades(rows).judge) == 2
    assert f"{column} says that 1 row failed, and is not read" in caplog.text
    assert f"--column status={column}" in caplog.text
    read = prepare_grades(rows, columns={"status": column})
    assert read.judge.tolist() == [1.0]
    assert read.dropped == {"status error": 1}


def test_a_column_that_flags_no_failure_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"id": ["x"], "judge": [1], "human": [1], "error": [None], "success": [True]}
    prepare_grades({**rows, "is_error": ["no"], "invalidated": [0], "valid": ["yes"]})
    assert "failed" not in caplog.text


def test_rare_words_of_the_judge_that_no_person_uses_are_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = {"judge": ["good", "bad"] * 30 + ["parse_error"], "human": ["good", "bad"] * 30 + [None]}
    prepare_grades(rows)
    assert "no person uses what column judge rarely says: 'parse_error'" in caplog.text
    caplog.clear()
    prepare_grades(rows, labels_as={"parse_error": ""})
    assert "rarely" not in caplog.text
    rows["judge"][-1] = "n/a"  # a missing value, not a word
    prepare_grades(rows)
    assert "rarely" not in caplog.text


@pytest.mark.attack("status")
def test_votes_name_columns_of_errors_and_refuse_words_that_are_no_outcome(
    caplog: pytest.LogCaptureFixture,
) -> None:
    votes: dict[str, Any] = {"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["A", "B"]}
    prepare_battles({**votes, "is_error": [False, True]})
    assert "is_error says that 1 row failed" in caplog.text
    with pytest.raises(DataError, match="row 2, column winner: 'timeout'"):
        prepare_battles({**votes, "winner": ["A", "timeout"]})


@pytest.mark.attack("status")
def test_a_word_of_failure_counts_in_a_usual_and_in_a_named_column() -> None:
    rows = {"model_a": ["x"] * 3, "model_b": ["y"] * 3, "p_a": [0.1, 0.2, 0.3]}
    words = {"verdict": ["B", "timeout", "A"], "robot": ["A", "B", "error"]}
    battles = prepare_battles({**rows, **words}, verdict="robot")
    assert battles.verdict is not None
    assert battles.verdict.tolist() == pytest.approx([1, *[float("nan")] * 2], nan_ok=True)
    assert battles.failed is not None
    assert battles.failed.tolist() == ["", "error", "error"]
