"""Results turn into JSON that any program can read, or refuse."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjudge.errors import DataError
from adjudge.io import read_result, write_result
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


def test_a_result_file_is_known_by_its_kind(tmp_path: Path) -> None:
    path = write_result(Finding(level=Fraction(1, 2), counts=0), tmp_path / "deep" / "f.json")
    assert read_result(path, kind="finding")["level"] == 0.5
    with pytest.raises(DataError, match="of kind 'finding'.*give a file of kind 'policy'"):
        read_result(path, kind="policy")
    assert [p.name for p in path.parent.iterdir()] == ["f.json"]


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"[]", "no kind"), (b"{", "not a JSON file"), (b"\xff", "not a JSON file")],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        read_result(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        read_result(tmp_path / "none.json")
