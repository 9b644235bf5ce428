"""Every kind of result of `estimate` has the same first fields: nobody has to ask for the type."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from adjudge import estimate
from adjudge.estimation import (
    ClassEstimate,
    Estimate,
    EstimateResult,
    GroupedEstimate,
    MeanEstimate,
)

MODELS = (["x"] * 4 + ["y"] * 4) * 30
RATES = pl.DataFrame(
    {"judge": [1, 0, 1, 1] * 60, "human": [1, 0, None, None] * 60, "model": MODELS}
)
SCORES = pl.DataFrame(
    {"judge": [1, 4, 3, 5] * 60, "human": [2, 4, None, None] * 60, "model": MODELS}
)
CLASSES = pl.DataFrame(
    {
        "judge": ["A", "B", "tie", "A"] * 60,
        "human": (["A", "B", "tie", "A"] + [None] * 4) * 30,
        "model": (["x"] * 8 + ["y"] * 8) * 15,
    }
)
ONE_NUMBER: Any = [(RATES, Estimate), (SCORES, MeanEstimate)]
SEVERAL: Any = [
    (RATES, "model", GroupedEstimate, ["x", "y"]),
    (SCORES, "model", MeanEstimate, ["x", "y"]),
    (CLASSES, None, ClassEstimate, ["A", "B", "tie"]),
    (CLASSES, "model", GroupedEstimate, [f"{m}, {c}" for m in "xy" for c in ("A", "B", "tie")]),
]
FIRST = ("estimate", "interval", "low", "high", "naive")


def estimated(rows: pl.DataFrame, by: str | None = None) -> Any:
    result = estimate(rows, labels_are_random=True, **({} if by is None else {"by": by}))
    assert isinstance(result, EstimateResult)
    return result


def check_counts(result: Any, n: int, n_labels: int) -> None:
    assert (result.n, result.n_labels) == (n, n_labels)
    assert result.confidence_level == 0.95
    assert isinstance(result.method, str)
    # Also in JSON: what every kind has comes first.
    assert list(result.to_dict())[:4] == ["kind", "confidence_level", "warnings", "dropped"]


@pytest.mark.parametrize(("rows", "kind"), ONE_NUMBER)
def test_one_number_is_read_in_the_same_way(rows: pl.DataFrame, kind: type) -> None:
    result = estimated(rows)
    assert type(result) is kind
    check_counts(result, 240, 120)
    assert result.low < result.estimate < result.high
    assert (result.interval.low, result.interval.high) == (result.low, result.high)
    [only] = result.intervals()
    assert [getattr(only, name) for name in FIRST] == [getattr(result, name) for name in FIRST]
    assert (only.name, only.n, only.n_labels, only.reason) == (None, 240, 120, None)


@pytest.mark.parametrize(("rows", "by", "kind", "names"), SEVERAL)
def test_several_numbers_are_a_list_and_no_single_one(
    rows: pl.DataFrame, by: str | None, kind: type, names: list[str]
) -> None:
    result = estimated(rows, by)
    assert type(result) is kind
    check_counts(result, 240, 120)
    rates = result.intervals()
    assert [rate.name for rate in rates] == names
    for rate in rates:
        assert rate.low <= rate.estimate <= rate.high
        assert (rate.n, rate.n_labels) == ((240, 120) if by is None else (120, 60))
    for name in FIRST:
        assert not hasattr(result, name)
        with pytest.raises(AttributeError, match=r"several numbers: use intervals\(\)"):
            getattr(result, name)


def test_an_unknown_attribute_is_named() -> None:
    with pytest.raises(AttributeError, match="'Estimate' object has no attribute 'rate'"):
        _ = estimated(RATES).rate
