"""A judge against known answers: counted by hand."""

from __future__ import annotations

import polars as pl
import pytest

from adjudge.demo.check import check_judge, halves
from adjudge.errors import ArgumentError

ROWS = pl.DataFrame(
    {
        "id": list("abcdef"),
        "status": ["ok", "ok", "ok", "ok", "censored", "error"],
        "label": ["A", "B", "A", "B", "A", "A"],
        "verdict": ["A", "B", "B", None, "A", None],
        "p_fwd": [0.9, 0.6, 0.4, 0.8, 0.7, None],
        "p_rev": [0.8, 0.1, 0.3, 0.2, 0.6, None],
        "uncertainty": [0.1, 0.2, 0.5, 0.69, 0.3, None],
        "kind": ["x", "x", "y", "y", "y", "y"],
    }
)


def test_counts_are_those_of_the_measured_rows():
    (way,) = check_judge({"preference": ROWS}, judge="j", by="kind", bands=2).ways
    assert (way.right.right, way.right.pairs, way.unmeasured) == (3, 5, 1)
    # Shown first: p_fwd above one half, or p_rev below: a 1+0, b 1+1, c 0+1, d 1+1, e 1+0.
    assert (way.first_won, way.orders) == (7, 10)
    # By doubt: a, b, e | c, d.
    assert [(band.right, band.pairs) for band in way.bands] == [(3, 3), (0, 2)]
    assert [(group.name, group.right, group.pairs) for group in way.groups] == [
        ("x", 2, 2),
        ("y", 1, 3),
    ]
    assert [(half.right, half.pairs) for half in halves(way.bands)] == [(3, 3), (0, 2)]


def test_intervals_are_exact():
    (way,) = check_judge({"preference": ROWS}, judge="j", bands=1).ways
    assert tuple(way.right.interval) == pytest.approx((0.1466, 0.9473), abs=1e-4)


def test_a_protocol_without_orders_has_no_first_answer():
    rows = ROWS.drop("p_fwd", "p_rev")
    (way,) = check_judge({"likelihood": rows}, judge="j").ways
    assert (way.first_won, way.orders) == (None, None)


def test_nothing_measured_is_said_and_not_a_number():
    rows = ROWS.with_columns(status=pl.lit("error"))
    check = check_judge({"likelihood": rows}, judge="j")
    assert check.ways[0].right.share is None
    assert "none scored" in str(check)
    check.to_json()


def test_rows_without_a_label_are_refused():
    with pytest.raises(ArgumentError, match="every row needs a label"):
        check_judge({"p": ROWS.with_columns(label=pl.lit(None, pl.String))}, judge="j")
