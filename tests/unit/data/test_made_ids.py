"""Ids of rows that have none: by content, the same in every file, joined where it agrees."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from adjudge.data import (
    iter_pairs,
    prepare_grades,
    prepare_judgments,
    read_judgments,
    read_pairs,
    write_rows,
)
from adjudge.errors import DataError

TEXTS = {"prompt": ["q", "r"], "response_a": ["x", "x"], "response_b": ["y", "y"]}


def test_the_same_texts_have_the_same_id_everywhere(tmp_path: Path) -> None:
    """These ids are in people's files: they must not change with a release."""
    ids = read_pairs(TEXTS)["id"].to_list()
    frame = pl.DataFrame(TEXTS)
    for suffix in (".csv", ".jsonl", ".parquet"):
        path = write_rows(frame, tmp_path / f"pairs{suffix}")
        assert read_pairs(path)["id"].to_list() == ids
        assert [pair.id for pair in iter_pairs(path)] == ids
    other = frame.reverse().with_columns(topic=pl.lit("maths"), label=pl.lit("A"))
    assert read_pairs(other)["id"].to_list() == ids[::-1]


def test_repeated_rows_are_numbered_and_said(caplog: pytest.LogCaptureFixture) -> None:
    twice = {column: [*values, values[0]] for column, values in TEXTS.items()}
    first, _, again = read_pairs(twice)["id"].to_list()
    assert again == f"{first}-2"
    assert [pair.id for pair in iter_pairs(twice)][2] == again
    assert caplog.messages[0] == (
        "the dict of columns: no column id: the id of a row is a hash of its prompt, response_a, "
        "response_b; 1 repeated row is numbered"
    )


def test_one_pair_has_one_id_for_all_judges() -> None:
    judged = {
        **{column: values * 2 for column, values in TEXTS.items()},
        "judge": ["j", "j", "k", "k"],
        "p_a": [0.9, 0.8, 0.7, 0.6],
    }
    ids = read_judgments(judged)["id"].to_list()
    assert ids[:2] == ids[2:] == read_pairs(TEXTS)["id"].to_list()


def test_labels_of_the_same_texts_find_their_rows() -> None:
    judged = {**TEXTS, "p_a": [0.9, 0.2]}
    labels = {**{column: values[::-1] for column, values in TEXTS.items()}, "winner": ["2", "1"]}
    assert prepare_judgments(judged, labels=labels).frame["label"].to_list() == ["A", "B"]
    other = {**labels, "prompt": ["other", "one"]}
    with pytest.raises(DataError, match="column id: is missing; labels join by id: give both"):
        prepare_judgments(judged, labels=other)


def test_labels_with_neither_ids_nor_texts_join_nothing() -> None:
    with pytest.raises(
        DataError, match="column id: is missing; name yours: --labels-column id=NAME"
    ):
        prepare_judgments({"p_a": [0.9]}, labels={"label": ["A"]})
    with pytest.raises(DataError, match="column id: is missing; labels join by id"):
        prepare_grades({"judge": [1, 0]}, labels={"id": ["1"], "human": [1]})


def test_rows_that_content_does_not_tell_apart_join_nothing() -> None:
    """The number of a repeated row is its place in one file, which says nothing of another."""
    rows = {"prompt": ["q", "q", "r"], "judge": [1, 0, 1]}
    with pytest.raises(DataError, match="column id: 1 rows have the content of another row; give"):
        prepare_grades(rows, labels={"prompt": ["q", "r"], "label": [1, 1]})
    other = prepare_grades(rows, labels={"prompt": ["r"], "label": [1]})
    assert other.human[2] == 1
    judged = {"prompt": ["q", "q"], "p_a": [0.9, 0.2]}
    with pytest.raises(DataError, match="column id: 1 rows have the content of another row"):
        prepare_judgments(judged, labels={"prompt": ["q"], "label": ["A"]})
    twice = {**TEXTS, "prompt": ["q", "q"], "label": ["A", "B"]}
    with pytest.raises(DataError, match="1 rows have the texts of another row; give both files"):
        prepare_judgments({**TEXTS, "p_a": [0.9, 0.2]}, labels=twice)
    raters = {**twice, "rater": ["anna", "ben"]}
    assert prepare_judgments({**TEXTS, "p_a": [0.9, 0.2]}, labels=raters).dropped == {
        "raters without a majority": 1
    }


def test_grades_join_by_texts_too() -> None:
    answers = {"question": ["q", "r"], "answer": ["x", "y"]}
    rows = prepare_grades(
        {**answers, "judge": [1, 0]}, labels={"question": ["r"], "answer": ["y"], "label": ["no"]}
    )
    assert rows.human[1] == 0
    assert rows.frame.height == 2
