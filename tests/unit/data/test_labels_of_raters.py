"""Labels of several raters that an analysis does not use."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl
import pytest

from adjudge import evaluate, rank
from adjudge.data.judgments import prepare_judgments
from adjudge.data.steps.labels import LABELS_OF
from adjudge.data.verdicts import prepare_verdicts
from adjudge.diagnosis import diagnose_scores
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate


@pytest.mark.attack("labels")
@pytest.mark.parametrize("origin", [{"started_from": "judge"}, {"sampled_by": "doubt"}])
def test_labels_that_are_not_used_are_no_rater_s_label_either(origin: dict[str, str]) -> None:
    rows = {"id": ["x", "y", "z"], "p_a": [0.9, 0.2, 0.7]}
    labels = [{"id": "x", "label": "A", "rater": "r1"}]
    # The two raters of y agree, those of z do not.
    for name, words in {"y": "AA", "z": "AB"}.items():
        labels += [
            {"id": name, "label": word, "rater": rater, **origin}
            for rater, word in zip(("r1", "r2"), words, strict=True)
        ]
    joined = prepare_verdicts(rows, labels=labels)
    assert joined.frame["label"].to_list() == ["A", None, None]
    assert joined.frame[LABELS_OF].to_list() == [["A"], None, None]
    [(reason, number)] = [item for item in joined.dropped.items() if "not used" in item[0]]
    assert "started from" in reason or "by doubt" in reason
    assert number == 2


def test_a_row_that_keeps_its_own_label_has_it_as_the_label_of_its_rater() -> None:
    rows = {"id": ["x", "y", "z"], "p_a": [0.9, 0.2, 0.7], "label": ["A", "B", "A"]}
    labels = {"id": ["y", "z"], "label": ["A", "B"], "sampled_by": ["doubt", "random"]}
    joined = prepare_verdicts(rows, labels=labels)
    assert joined.frame["label"].to_list() == ["A", "B", "B"]
    assert joined.frame[LABELS_OF].to_list() == [["A"], ["B"], ["B"]]


WORDS = {"labels_as": {"good": "PASS", "bad": "FAIL"}}


def rows_of_raters(labelled: int = 90) -> pl.DataFrame:
    """Verdicts in words, and two people in columns with other words; the second labels a half."""
    rng = random.Random(5)
    rows = []
    for number in range(150):
        good = rng.random() < 0.6
        first, second = (good is (rng.random() < share) for share in (0.95, 0.9))
        rows.append(
            {
                "Question": f"What is {number}?",
                "Response": f"It is {number}.",
                "Judge": "PASS" if good is (rng.random() < 0.85) else "FAIL",
                "Ann": ("good" if first else "bad") if number < labelled else None,
                "Bob": ("good" if second else "bad") if number < labelled // 2 else None,
            }
        )
    return pl.DataFrame(rows)


def in_a_file(rows: pl.DataFrame) -> dict[str, Any]:
    """The same rows with ids, and the same labels in a file of labels."""
    numbered = rows.with_row_index("id")
    labels = numbered.unpivot(["Ann", "Bob"], index="id", variable_name="rater", value_name="label")
    return {"data": numbered.drop("Ann", "Bob"), "labels": labels.drop_nulls("label")}


CALLS: list[Callable[..., Any]] = [
    partial(estimate, labels_are_random=True),
    estimate,
    evaluate,
    partial(evaluate, labels_are_random=True),
]


@pytest.mark.attack("labels")
@pytest.mark.parametrize("call", CALLS)
def test_raters_in_columns_are_a_file_of_labels(call: Callable[..., Any]) -> None:
    rows = rows_of_raters()
    wide = call(rows, raters=["Ann", "Bob"], **WORDS).to_dict()
    given = in_a_file(rows)
    long = call(given["data"], labels=given["labels"], **WORDS).to_dict()
    assert wide == long


def test_raters_can_be_columns_of_the_labels_file() -> None:
    rows = rows_of_raters().with_row_index("id")
    labels = rows.select("id", "Ann", "Bob")
    alone = estimate(rows.drop("Ann", "Bob"), labels=labels, raters=["Ann", "Bob"], **WORDS)
    assert alone.to_dict() == estimate(rows, raters=["Ann", "Bob"], **WORDS).to_dict()


def test_raters_of_pairs_are_their_labels() -> None:
    pairs = {"id": [1, 2, 3], "p_a": [0.9, 0.2, 0.7], "Ann": ["A", "B", "A"], "Bob": ["A", "A", ""]}
    prepared = prepare_judgments(pairs, raters=["Ann", "Bob"])
    assert prepared.frame["label"].to_list() == ["A", None, "A"]
    assert prepared.dropped == {"raters without a majority": 1}


def test_raters_of_several_criteria_stay_next_to_their_scores() -> None:
    rows = [
        {"doc_id": d, "criterion": c, "judge_score": 3, "Ann": 1 + d % 4, "Bob": 2}
        for d in range(6)
        for c in ("style", "facts")
    ]
    raters = {"raters": ["Ann", "Bob"]}
    wide = diagnose_scores(rows, scale=(1, 5), **raters, splits=5)
    named = [{**{k: v for k, v in row.items() if k not in ("Ann", "Bob")}} for row in rows]
    for row, own in zip(named, rows, strict=True):
        row |= {"rater_1": own["Ann"], "rater_2": own["Bob"]}
    assert wide.to_dict() == diagnose_scores(named, scale=(1, 5), splits=5).to_dict()
    for call in (partial(estimate, by="criterion"), evaluate):
        assert call(rows, **raters).to_dict() == call(named).to_dict()


def test_a_rater_that_is_no_column_is_refused_with_the_columns() -> None:
    with pytest.raises(DataError, match="Eve.*columns here: .*Ann, Bob"):
        estimate(rows_of_raters(), raters=["Eve"])


def test_raters_are_refused_where_no_label_is_read() -> None:
    battles = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]}
    with pytest.raises(ArgumentError, match="raters.*nothing here reads labels of people"):
        rank({**battles, "Ann": ["x", "y"]}, raters=["Ann"])


def test_columns_that_can_be_people_s_are_named_if_there_are_no_labels(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = rows_of_raters().rename({"Ann": "Reviewer 1", "Bob": "Human review"})
    typed = "--raters 'Reviewer 1,Human review'"
    evaluate(rows)
    assert f"if Reviewer 1, Human review are labels of people: {typed}" in caplog.text
    caplog.clear()
    evaluate(rows, raters=["Reviewer 1", "Human review"], **WORDS)
    evaluate(rows.drop("Reviewer 1", "Human review"))
    assert "labels of people" not in caplog.text
