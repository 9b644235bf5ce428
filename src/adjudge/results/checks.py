"""Conditions on a result in addition to its types, declared with its fields.

Ranges are types (`Proportion`, `Level`, `Count` ...); rules between fields are listed in a class's
`checks`. Both are checked when a file is read, so that no view gets numbers that it cannot show.
Results that adjudge computes satisfy them by construction.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from annotated_types import Ge, Gt, Interval, Lt

#: Sums of floats can exceed their bounds by rounding.
_ROUNDING = 1e-9
#: No count, score or cost is close to this; above it, arithmetic and figures overflow.
_LARGEST = 1e18
_DEEPEST = 32
_LONGEST_TEXT = 100_000

Count = Annotated[int, Ge(0)]
#: The number of repeats that a mean is over.
Repeats = Annotated[int, Ge(1)]
ZeroOne = Annotated[int, Interval(ge=0, le=1)]
Proportion = Annotated[float, Interval(ge=-_ROUNDING, le=1 + _ROUNDING)]
#: An error level, a failure probability, a confidence level.
Level = Annotated[float, Gt(0), Lt(1)]
Correlation = Annotated[float, Interval(ge=-1 - _ROUNDING, le=1 + _ROUNDING)]
NotNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]

#: Returns what is wrong with a part of a result; None if nothing is.
Check = Callable[[Any], str | None]


def same_length(*names: str) -> Check:
    """These fields must be lists of one length; None counts as absent."""

    def check(part: Any) -> str | None:
        lists = {name: getattr(part, name) for name in names}
        lengths = {name: len(held) for name, held in lists.items() if held is not None}
        if len(set(lengths.values())) <= 1:
            return None
        return "lists differ in length: " + ", ".join(f"{k} has {n}" for k, n in lengths.items())

    return check


def not_empty(*names: str) -> Check:
    """Each of these fields must have an entry."""

    def check(part: Any) -> str | None:
        return next((f"{name} is empty" for name in names if not len(getattr(part, name))), None)

    return check


def at_most(small: str, large: str) -> Check:
    """One field must be at most another, if both are there."""

    def check(part: Any) -> str | None:
        one, other = getattr(part, small), getattr(part, large)
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        if not numbers or one <= other + _ROUNDING * max(1, abs(other)):
            return None
        return f"{small} {one:.6g} is above {large} {other:.6g}"

    return check


def problem_in_tree(value: object) -> str | None:
    """Limits for any JSON tree that can be a result: nesting, size of numbers, length of texts.

    >>> problem_in_tree({"n": 1e300})
    'has a number above 1e+18'
    """
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += [*one, *one.values()]
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, str) and len(one) > _LONGEST_TEXT:
                return f"has a text of {len(one):,} characters"
            elif isinstance(one, float) and not math.isfinite(one):
                return "has NaN or infinity"
            elif isinstance(one, (int, float)) and abs(one) > _LARGEST:
                return f"has a number above {_LARGEST:g}"
        if not inner:
            return None
        level = inner
    return f"is nested more than {_DEEPEST} deep"


def problem_in_parts(part: Any, place: str = "") -> str | None:
    """The first rule that a result or one of its parts breaks, and where."""
    if dataclasses.is_dataclass(part):
        for problem in _problems(part):
            return f"{place or 'the result'}: {problem}"
        inner = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    elif isinstance(part, Mapping):
        inner = dict(part)
    elif isinstance(part, Sequence) and not isinstance(part, str):
        if not part or isinstance(part[0], (int, float, str)):
            return None
        inner = {str(at): one for at, one in enumerate(part)}
    else:
        return None
    places = ((f"{place}.{name}" if place else name, one) for name, one in inner.items())
    problems = (problem_in_parts(one, at) for at, one in places)
    return next((problem for problem in problems if problem is not None), None)


def _problems(part: Any) -> Iterator[str]:
    names = {field.name for field in dataclasses.fields(part)}
    ends = [(name, name.removesuffix("low") + "high") for name in names if name.endswith("low")]
    ordered = [at_most(low, high) for low, high in ends if high in names]
    for check in (*ordered, *getattr(part, "checks", ())):
        if (problem := check(part)) is not None:
            yield problem
