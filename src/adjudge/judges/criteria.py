"""Criteria for judging: names, definitions in our own words, anchors.

Ours are in judges/prompts/ (*_criteria.json), users give their own in a JSON file of the same form:
{"name": "definition"} or {"name": {"definition": "...", "anchors": {"10": "...", "1": "..."}}}. Any
other file (.txt, .md) is the text of one criterion or rubric, with the name of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from adjudge.data.files import read_text
from adjudge.data.writing import read_json
from adjudge.errors import ArgumentError, DataError

#: The highest score of any scale.
_HIGHEST = 100
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,39}")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion: its name, its definition, and what chosen scores mean."""

    name: str
    definition: str
    anchors: Mapping[int, str] = field(default_factory=dict)

    def describe(self) -> str:
        """The criterion as a prompt shows it."""
        return f"{self.name}: {self.in_full}"

    @property
    def in_full(self) -> str:
        """The definition, and what chosen scores mean."""
        anchors = sorted(self.anchors.items(), reverse=True)
        return "\n".join([self.definition, *(f"  {score} = {text}" for score, text in anchors)])


def criteria_settings(criteria: Iterable[Criterion]) -> dict[str, dict[str, Any]]:
    """The parts of criteria that change the question, by their names."""
    return {
        criterion.name: {
            "definition": criterion.definition,
            "anchors": {str(score): text for score, text in criterion.anchors.items()},
        }
        for criterion in criteria
    }


def check_criteria(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """The criteria, if there is at least one and no two share a name."""
    names = [criterion.name.lower() for criterion in criteria]
    if not names:
        raise ArgumentError("criteria", criteria, "give at least one criterion")
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("criteria", name, "name each criterion once")
    return tuple(criteria)


def read_criteria(path: str | Path) -> tuple[Criterion, ...]:
    """Criteria from a user's file: JSON, or the text of one."""
    remedy = 'write {"name": "definition", ...}'
    if Path(path).suffix.lower() != ".json":
        text = read_text(path).strip()
        if not text:
            raise DataError(path, "is empty", remedy=remedy)
        if not text.startswith("{"):
            stem = Path(path).name.partition(".")[0].replace("_", " ")
            return (Criterion(stem if _NAME.fullmatch(stem) else "rubric", text),)
    entries = read_json(path, remedy=remedy)
    if not isinstance(entries, dict) or not entries:
        raise DataError(path, "has no criteria", remedy=remedy)
    return check_criteria([_criterion(path, name, value) for name, value in entries.items()])


def _criterion(path: str | Path, name: str, value: Any) -> Criterion:
    if not _NAME.fullmatch(name):
        problem = f"{name[:40]!r} cannot be the name of a criterion"
        raise DataError(path, problem, remedy="use up to 40 plain letters")
    if isinstance(value, str):
        value = {"definition": value}
    definition = value.get("definition") if isinstance(value, dict) else None
    if not isinstance(definition, str) or not definition.strip():
        raise DataError(path, f"{name} has no definition", remedy="write what it means")
    anchors = value.get("anchors", {})
    entries = anchors.items() if isinstance(anchors, dict) else [("", None)]
    if not all(str(score).isdecimal() and isinstance(text, str) for score, text in entries):
        problem = f"the anchors of {name} are not scores and texts"
        raise DataError(path, problem, remedy='write {"10": "..."}')
    return Criterion(name, definition.strip(), {int(s): text for s, text in anchors.items()})


@cache
def our_criteria(name: str) -> tuple[Criterion, ...]:
    """Ours: `correct`, what an answer must be to pass; `summary`, the four of summary evaluation
    (diagnosis paper, section 4); `rubric`, the six of the Soft-Elo paper, appendix A.
    """
    file = files("adjudge.judges") / "prompts" / f"{name}_criteria.json"
    entries = json.loads(file.read_text(encoding="utf-8"))
    return tuple(_criterion(file.name, *entry) for entry in entries.items())


def check_scale(scale: tuple[int, int]) -> tuple[int, int]:
    """The lowest and highest score, if they are a valid scale."""
    low, high = scale
    if not 0 <= low < high <= _HIGHEST:
        remedy = f"write LOW-HIGH, from 0 to {_HIGHEST}, such as 1-10"
        raise ArgumentError("scale", write_scale(scale), remedy)
    return low, high


def parse_scale(text: str) -> tuple[int, int]:
    """Read a scale as users write it.

    >>> parse_scale("1-10")
    (1, 10)
    """
    low, dash, high = text.partition("-")
    if not (dash and low.strip().isdecimal() and high.strip().isdecimal()):
        raise ArgumentError("scale", text, f"write LOW-HIGH, from 0 to {_HIGHEST}, such as 1-10")
    return check_scale((int(low), int(high)))


def write_scale(scale: tuple[int, int]) -> str:
    """The scale as users write it."""
    return f"{scale[0]}-{scale[1]}"
