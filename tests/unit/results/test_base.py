"""Results turn into JSON that any program can read, or refuse."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adjudge.results.base import Result, plain


@dataclass(frozen=True)
class Part:
    name: str
    share: float


@dataclass(frozen=True, kw_only=True)
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


@pytest.mark.parametrize("hidden", [float("nan"), float("inf"), np.float64("nan"), [np.inf]])
def test_a_number_that_is_none_is_refused(hidden: Any) -> None:
    with pytest.raises(ValueError, match="no place in a result"):
        plain(hidden)


def test_an_unknown_object_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        plain(object())
