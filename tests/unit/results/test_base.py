"""Results turn into JSON that any program can read, or refuse."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.present.result import Result, frozen, plain


@dataclass(frozen=True)
class Part:
    name: str
    share: float


@frozen
class Finding(Result):
    kind = "finding"
    level: Fraction
    counts: Any
    parts: tuple[Part, ...] = ()


def test_a_result_becomes_plain_json() -> None:
    finding = Finding(
        level=Fraction(1, 4), counts=np.array([1, 2]), parts=(Part("x", np.float64(0.5)),)
    )
    assert json.loads(finding.to_json()) == {
        "kind": "finding",
        "level": 0.25,
        "counts": [1, 2],
        "parts": [{"name": "x", "share": 0.5}],
    }


@pytest.mark.parametrize("n", [1000, 1001])
def test_each_part_of_a_long_list_is_one_line(n: int) -> None:
    parts = tuple(Part(f"é{at}", at / n) for at in range(n))
    finding = Finding(level=Fraction(1, 4), counts=np.arange(3), parts=parts)
    text = finding.to_json()
    assert json.loads(text) == finding.to_dict()
    usual = json.dumps(finding.to_dict(), indent=2, ensure_ascii=False)
    assert (text == usual) is (n == 1000)
    lines = [line for line in text.splitlines() if line.startswith('    {"name": "é')]
    assert len(lines) == (n if n > 1000 else 0)
    assert "".join(finding.json_pieces(more=1)) == text[:-2] + ',\n  "more": 1\n}'


@pytest.mark.parametrize("hidden", [float("nan"), float("inf"), np.float64("nan"), [np.inf]])
def test_a_number_that_is_none_is_refused(hidden: Any) -> None:
    with pytest.raises(ValueError, match="cannot be in a result"):
        plain(hidden)


def test_an_unknown_object_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        plain(object())


def _finding(**changes: Any) -> Finding:
    values = {
        "level": Fraction(1, 4),
        "counts": np.array([1.0, np.nan]),
        "parts": (Part("x", 0.5),),
    }
    return Finding(**{**values, **changes})


def test_equality_looks_into_arrays_and_never_raises() -> None:
    assert _finding() == _finding()
    assert hash(_finding()) == hash(_finding())
    assert _finding() != _finding(counts=np.array([1.0, 2.0]))
    assert _finding() != _finding(counts=np.array([1.0]))
    assert _finding() != _finding(counts={"a": np.array([1.0])})
    assert _finding(counts={"a": np.array([1])}) == _finding(counts={"a": np.array([1])})
    assert _finding() != _finding(parts=(Part("y", 0.5),))
    assert _finding() != "something else"


def test_a_repr_is_short() -> None:
    long = _finding(counts=list(range(10_000)), parts=(Part("x", 0.5),) * 500)
    assert repr(long) == "Finding(level=<Fraction>, counts=<10000>, parts=<500>)"
    assert len(repr(_finding(level="a" * 500))) < 100


def test_a_result_is_one_row_of_its_single_values_unless_it_has_rows() -> None:
    assert _finding(counts=[1]).to_frame().to_dicts() == [{"level": 0.25}]

    @frozen
    class Parts(Finding):
        kind = "parts_of_a_test"

        def _parts(self) -> tuple[Part, ...]:
            return self.parts

    made = Parts(level=Fraction(1, 2), counts=[], parts=(Part("x", 0.5), Part("y", 0.25)))
    assert made.to_frame().to_dicts() == [{"name": "x", "share": 0.5}, {"name": "y", "share": 0.25}]
    frame = made.to_frame("pandas")
    assert type(frame).__module__.startswith("pandas")
    assert frame.to_dict("records") == made.to_frame().to_dicts()
    with pytest.raises(ArgumentError, match="choose polars or pandas"):
        made.to_frame("arrow")  # type: ignore[call-overload]


def test_a_result_without_a_picture_says_so() -> None:
    with pytest.raises(ArgumentError, match="no picture"):
        _finding(counts=[]).plot()


def test_results_survive_pickling() -> None:
    one = _finding()
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
