"""What `estimate` returns is known to a type checker from what it is given."""

from __future__ import annotations

from typing import assert_type

import polars as pl

from adjudge import estimate
from adjudge.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
)

ROWS = pl.DataFrame(
    {
        "judge": [1, 0, 1, 1] * 60,
        "second": [1, 0, 0, 1] * 60,
        "human": [1, 0, None, None] * 60,
        "model": (["x"] * 4 + ["y"] * 4) * 30,
    }
)


def test_the_type_follows_the_options() -> None:
    rate = assert_type(estimate(ROWS), Estimate)
    arrays = assert_type(estimate(judge=[1, 0, 1, 0], human=[1, 0, 1, None]), Estimate)
    columns = assert_type(estimate(judge=ROWS["judge"], human=ROWS["human"]), Estimate)
    groups = assert_type(estimate(ROWS, by="model", method="human-only"), GroupedEstimate)
    mean = assert_type(estimate(ROWS, judges=["judge", "second"], labels_are_random=True), Estimate)
    for result, kind in (
        (rate, Estimate),
        (arrays, Estimate),
        (columns, Estimate),
        (groups, GroupedEstimate),
        (mean, Estimate),
    ):
        assert type(result) is kind
    assert rate.estimate == columns.estimate
    assert [assert_type(group, Estimate).group for group in groups.rates] == ["x", "y"]


def test_classes_are_recognised_by_isinstance() -> None:
    words = ["A", "B", "tie"] * 40
    shares = estimate(judge=words, human=words[:60] + [None] * 60)
    assert isinstance(shares, ClassEstimate)
    assert [rate.label for rate in shares.classes] == ["A", "B", "tie"]
