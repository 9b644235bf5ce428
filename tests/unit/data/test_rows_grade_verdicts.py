"""Grades at the front door of selection and of estimates."""

from __future__ import annotations

import polars as pl
import pytest

from adjudge.data import read_grades
from adjudge.data.grades import prepare_grades
from adjudge.data.judgments import prepare_judgments
from adjudge.data.labels import join_labels
from adjudge.data.source import Source
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.judges import prepare_judges
from adjudge.selection.labelled import read_labelled

ROWS = {
    "id": ["a", "b", "c", "d"],
    "judge_name": ["j"] * 4,
    "p_pass": [0.9, 0.2, 0.5, None],
    "judge": [1, 0, None, None],
    "human": [1, 1, 0, 1],
    "status": ["ok", "ok", "ok", "off_answer"],
}


def test_grades_become_the_rows_that_judgments_are() -> None:
    given = prepare_judgments(ROWS)
    assert given.about == "grades"
    kept = given.frame.select("judge", "p_a", "verdict", "label").rows()
    assert kept == [
        ("j", 0.9, "pass", "pass"),
        ("j", 0.2, "fail", "pass"),
        ("j", 0.5, None, "fail"),
        ("j", None, None, "pass"),
    ]
    labelled = read_labelled(ROWS)
    assert labelled.frame["__error"].to_list() == [0, 1, 1]
    assert labelled.dropped == {"status off_answer": 1}


def test_pairs_stay_pairs() -> None:
    rows = {"id": ["x"], "p_a": [0.9], "judge": ["j"], "human": [1], "p_pass": [0.4]}
    assert prepare_judgments(rows).about == "pairs"


def test_a_judge_of_zero_and_one_needs_doubt() -> None:
    rows = {"id": ["x", "y"], "judge": [1, 0], "human": [1, 1]}
    sides = {"id": ["1", "2"], "verdict": ["A", "b"], "label": ["A", "A"]}
    with pytest.raises(DataError, match="p_a: is missing; verdicts alone have no doubt: give p_a"):
        prepare_judgments(sides)
    with pytest.raises(DataError, match="verdicts alone have no doubt: give p_pass"):
        prepare_judgments(rows)
    given = read_labelled({**rows, "uncertainty": [0.1, 0.4]})
    assert given.frame["verdict"].to_list() == ["pass", "fail"]
    assert given.frame["__error"].to_list() == [0, 1]


@pytest.mark.parametrize("value", ["0.5", "maybe", "2", "-1"])
def test_a_human_who_neither_passes_nor_fails_is_refused_by_name(value: str) -> None:
    rows = {"id": ["a", "b"], "p_pass": [0.9, 0.2], "human": ["1", value]}
    with pytest.raises(DataError, match=rf"row 2, column human: '{value}' is neither pass nor"):
        read_grades(rows)


def test_a_verdict_that_contradicts_its_probability_is_refused() -> None:
    with pytest.raises(DataError, match=r"row 1, column judge: does not follow from p_pass = 0\.2"):
        read_grades({"id": ["a"], "p_pass": [0.2], "judge": [1]})


def test_labels_in_words_or_numbers_join_by_id_and_majority() -> None:
    rows = {"id": ["a", "b", "c"], "p_pass": [0.9, 0.2, 0.7]}
    words = {
        "id": ["a", "a", "a", "b", "b"],
        "label": ["pass", "fail", "pass", "fail", "pass"],
        "rater": ["x", "y", "z", "x", "y"],
    }
    joined = prepare_judgments(rows, labels=words)
    assert joined.frame["label"].to_list() == ["pass", None, None]
    assert joined.dropped == {"raters without a majority": 1}
    numbers = prepare_judgments(rows, labels={"id": ["a", "c"], "human": [1, 0]})
    assert numbers.frame["label"].to_list() == ["pass", None, "fail"]


def test_labels_sampled_by_doubt_do_not_calibrate() -> None:
    rows = {"id": ["a", "b"], "p_pass": [0.9, 0.2]}
    labels = {"id": ["a", "b"], "label": ["pass", "fail"], "sampled_by": ["random", "doubt"]}
    kept = read_labelled(prepare_judgments(rows, labels=labels))
    assert kept.frame["id"].to_list() == ["a"]
    assert kept.dropped == {"label sampled by doubt: not used, its row is unlabelled": 1}


def test_estimates_count_rows_without_a_number_by_status() -> None:
    rows = prepare_grades(pl.DataFrame(ROWS))
    assert rows.scale == "binary"
    assert rows.judge.tolist() == [1.0, 0.0]
    assert rows.dropped == {"status off_answer": 1, "no judge verdict": 1}
    assert prepare_grades(pl.DataFrame(ROWS), judge_column="p_pass").scale == "probability"
    assert prepare_grades(pl.DataFrame(ROWS).drop("judge")).judge.tolist() == [0.9, 0.2, 0.5]


def test_several_raters_of_an_estimate_vote() -> None:
    rows = pl.DataFrame({"id": ["a", "b"], "judge": [1, 0]})
    labels = {"id": ["a", "a", "a", "b", "b"], "human": [1, 1, 0, 0, 1], "rater": list("xyzxy")}
    done = join_labels(rows, labels, about="values", column="human")
    assert done.frame["human"].to_list() == ["1", None]
    assert done.dropped == {"raters without a majority": 1}
    with pytest.raises(DataError, match="has more than one label"):
        join_labels(rows, {"id": ["a", "a"], "human": [1, 0]}, about="values", column="human")


def test_an_unknown_judge_is_named() -> None:
    with pytest.raises(ArgumentError, match="the judgments have j"):
        prepare_judgments(ROWS, judge="k")


def test_a_label_counts_once_though_several_judges_graded() -> None:
    asked = [(judge, repeat) for judge in ("j", "k") for repeat in (0, 1)]
    table = pl.concat(
        pl.DataFrame({"id": ["a", "b"], "judge": [1, 0], "human": [1, None]}).with_columns(
            judge_name=pl.lit(judge), repeat=pl.lit(repeat), judge_fingerprint=pl.lit(f"f{judge}")
        )
        for judge, repeat in asked
    )
    with pytest.raises(
        DataError, match="column judge_name: has 2 judges: j, k; a rate is about one"
    ):
        prepare_grades(table)
    one = prepare_grades(table.filter(pl.col("judge_name") == "j"))
    assert (len(one.judge), one.dropped) == (2, {"repeat of another row": 2})
    both = prepare_judges(Source(table), ["j", "k"])
    assert (both.judge.tolist(), both.human[0]) == ([1.0, 0.0], 1.0)
    assert both.dropped == {"repeat of another row": 2}
