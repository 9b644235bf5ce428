"""Two sides scored on every criterion, as one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudge.judges.parsing.json_object import first_json_object

Scores = dict[str, float]


def parse_rubric(
    text: str | None, *, criteria: Sequence[str], low: float, high: float
) -> tuple[Scores, Scores] | str:
    """The scores of A and of B, or in words why they cannot be read.

    The first complete JSON object of the reply counts. It must have an object for A and one for
    B, each with a JSON number between low and high for every criterion; more keys do no harm. A
    number in quotes, "7/10", 11, true, or a criterion on one side only: nothing is read.

    >>> parse_rubric('{"A": {"clarity": 7}, "B": {"clarity": 4}}', criteria=["clarity"],
    ...              low=1, high=10)
    ({'clarity': 7.0}, {'clarity': 4.0})
    >>> parse_rubric('{"A": {"clarity": 11}, "B": {"clarity": 4}}', criteria=["clarity"],
    ...              low=1, high=10)
    'A, clarity: 11 is not between 1 and 10'
    """
    found = first_json_object(text)
    if found is None:
        return "no complete JSON object"
    sides = _lowered(found)
    if sides is None:
        return "a side stands twice"
    read: list[Scores] = []
    for side in ("A", "B"):
        given = sides.get(side.lower())
        if not isinstance(given, dict):
            return f"no scores for {side}"
        scores = _side(given, side, criteria, low, high)
        if isinstance(scores, str):
            return scores
        read.append(scores)
    return read[0], read[1]


def _side(
    given: dict[str, Any], side: str, criteria: Sequence[str], low: float, high: float
) -> Scores | str:
    named = _lowered(given)
    if named is None:
        return f"{side}: a criterion stands twice"
    scores: Scores = {}
    for criterion in criteria:
        value = named.get(criterion.lower())
        if value is None:
            return f"{side}, {criterion}: missing"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{side}, {criterion}: {str(value)[:20]!r} is not a number"
        if not low <= value <= high:
            return f"{side}, {criterion}: {str(value)[:20]} is not between {low:g} and {high:g}"
        scores[criterion] = float(value)
    return scores


def _lowered(found: dict[str, Any]) -> dict[str, Any] | None:
    """Keys without case and blanks; None when two become one."""
    lowered = {key.strip().lower(): value for key, value in found.items()}
    return lowered if len(lowered) == len(found) else None
