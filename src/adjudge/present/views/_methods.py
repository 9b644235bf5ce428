"""The other methods on the same rows as an estimate, for comparison."""

from __future__ import annotations

from adjudge.present.blocks import Block, table_of
from adjudge.present.text import interval, level, number
from adjudge.results.estimation import Alternative, Estimate

#: What each method assumes, in a few words; the full text is folded.
_BRIEFLY = {
    "misclassification": "same judge errors on labelled rows",
    "ppi++": "random labels",
    "conditional": "random labels",
    "difference": "random labels",
    "human-only": "random labels",
    "naive": "no judge errors",
}


def other_methods(one: Estimate) -> list[Block]:
    """Their rates and intervals, and what each assumes in a few words."""
    if not one.alternatives:
        return []
    table = table_of(
        one.alternatives,
        {
            "method": lambda other: other.method + " (ruled out)" * other.ruled_out,
            "assumes": lambda other: other.reason or _briefly(one, other),
            "rate": lambda other: number(other.estimate),
            f"{level(one.confidence_level)} interval": lambda o: interval(o.low, o.high),
        },
        caption="The other methods on the same rows, for comparison only",
        text_columns=2,
    )
    return [table]


def assumptions_of_others(one: Estimate) -> list[str]:
    """What each of them assumes, in full."""
    return [f"{other.method} assumes: {other.assumption}" for other in one.alternatives]


def _briefly(one: Estimate, other: Alternative) -> str:
    if other.method == "conditional" and one.labels_drawn == "plan":
        return "random labels within each verdict"
    return _BRIEFLY.get(other.method, other.assumption)
