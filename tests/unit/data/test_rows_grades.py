"""Grades prepared once: verdicts and labels of any scale, groups, clusters, sampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data.grades import prepare_grades
from adjudge.errors import ArgumentError, DataError


@pytest.mark.parametrize(
    ("judge", "human", "scale"),
    [
        ([1, 0, 1], [1, None, 0], "binary"),
        (["1", "0", "1.0"], ["true", None, "false"], "binary"),
        ([0.2, 0.9, 1], [1, None, 0], "probability"),
        ([1, 2, 3], [1, None, 3], "classes"),
        (["A", "tie", "B"], ["A", None, "tie"], "classes"),
    ],
)
def test_the_scale_is_seen(judge: list[Any], human: list[Any], scale: str) -> None:
    for rows in (
        prepare_grades({"judge": judge, "human": human}),
        prepare_grades(judge=judge, human=human),
    ):
        assert rows.scale == scale
        known = rows.labels >= 0 if scale == "classes" else np.isfinite(rows.human)
        assert known.tolist() == [True, False, True]


def test_rows_without_a_verdict_group_or_stratum_are_counted_and_those_without_a_cluster_kept() -> (
    None
):
    table = {
        "judge": [1, None, 0, 1, 0, 1],
        "human": [1, 1, None, None, 0, 0],
        "model": ["a", "a", None, "b", "b", "a"],
        "topic": ["t", "t", "t", "", "u", "u"],
        "prompt_id": ["p", "p", "p", "q", None, None],
    }
    rows = prepare_grades(table, by="model", cluster="prompt_id", strata="topic")
    assert rows.dropped == {"no by value": 1, "no strata value": 1, "no judge verdict": 1}
    assert rows.judge.tolist() == [1.0, 0.0, 1.0]
    assert rows.groups is not None
    assert rows.strata is not None
    assert rows.clusters is not None
    assert (rows.groups.tolist(), rows.group_names) == ([0, 1, 0], ("a", "b"))
    assert (rows.strata.tolist(), rows.strata_names) == ([0, 1, 1], ("t", "u"))
    assert rows.clusters.tolist() == [0, 1, 2]
    assert rows.frame.columns == list(table)


def test_a_usual_name_of_the_prompt_is_the_default_cluster() -> None:
    rows = prepare_grades({"judge": [1, 0, 1], "human": [1, None, 0], "question_id": [7, 7, 8]})
    assert rows.clusters is not None
    assert rows.clusters.tolist() == [0, 0, 1]


def test_arrays_stand_for_columns() -> None:
    rows = prepare_grades(
        judge=[1, 0, 1, 0],
        human=[1, None, 0, None],
        by=["a", "a", "b", "b"],
        cluster=np.array([7, 7, 8, 8]),
        sampling_probability=[0.5, None, 0.25, None],
    )
    assert rows.group_names == ("a", "b")
    assert rows.clusters is not None
    assert rows.clusters.tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(rows.sampling_probability, [0.5, np.nan, 0.25, np.nan])
    with pytest.raises(ArgumentError, match="sampling_probability = 1: give one value for each"):
        prepare_grades(judge=[1, 0], human=[1, None], sampling_probability=[0.5])
    with pytest.raises(ArgumentError, match="human = 1: give one value for each of the 2 rows"):
        prepare_grades(judge=[1, 0], human=[1])


def test_prepared_grades_are_taken_as_they_are() -> None:
    rows = prepare_grades({"judge": [1, 0], "human": [1, None]})
    assert prepare_grades(rows) is rows
    for option in ("labels", "by", "cluster", "strata", "positive"):
        with pytest.raises(ArgumentError, match=f"{option} = 'x': give it to prepare_grades"):
            prepare_grades(rows, **{option: "x"})


def test_a_replaced_label_is_counted_and_errors_name_the_file(tmp_path: Path) -> None:
    table = tmp_path / "grades.csv"
    table.write_text("id,judge,human\na,1,1\nb,0,\nc,0,0\n")
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\na,0\nb,0\n")
    rows = prepare_grades(table, labels=labels)
    assert rows.human.tolist() == [0.0, 0.0, 0.0]
    assert rows.dropped == {"label of the row, replaced by the one in the labels file": 1}
    with pytest.raises(DataError, match=r"grades\.csv, column model: is missing; name yours"):
        prepare_grades(table, by="model")
    with pytest.raises(DataError, match="column chance: is missing"):
        prepare_grades(table, sampling_probability="chance")
    nobody = pl.DataFrame({"judge": [1, 0]})
    assert np.isnan(prepare_grades(nobody, needs_labels=False).human).all()
    with pytest.raises(DataError, match="column human: is missing"):
        prepare_grades(nobody)


def test_a_group_that_is_missing_is_named_before_its_judges() -> None:
    rows = {"id": [1, 2], "judge_name": ["m", "n"], "judge": [1, 0], "human": [1, 0]}
    with pytest.raises(DataError, match="column metric: is missing"):
        prepare_grades(rows, by="metric")
