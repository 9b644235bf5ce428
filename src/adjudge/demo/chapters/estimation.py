"""Chapter: a win rate corrected for judge errors, next to the judge's own rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.data import write_rows
from adjudge.demo.writers import candidate_rows
from adjudge.estimation import estimate
from adjudge.estimation.rate import Estimate
from adjudge.present.blocks import Table
from adjudge.present.text import interval, level, number

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "What number can be reported?"

_LABELS = 80


def run(context: DemoContext) -> None:
    """Hide most labels, estimate the candidate's win rate, compare with the truth."""
    rows, truth = candidate_rows(context.rows, labels=_LABELS, seed=context.seed)
    path = write_rows(rows, context.out / "candidate.csv")
    context.files.append(str(path))
    # The labelled rows were drawn at random, so labels_are_random is true.
    result = estimate(rows, labels_are_random=True, seed=context.seed)
    if not isinstance(result, Estimate):
        raise TypeError("one candidate gives one estimate")
    context.keep(result, "estimate")
    said = level(result.confidence_level)
    context.show(
        Table(
            ("win rate of an invented candidate", "value", f"{said} interval"),
            [
                (
                    "the judge alone (naive)",
                    number(result.naive),
                    interval(result.naive_low, result.naive_high),
                ),
                ("corrected", number(result.estimate), interval(result.low, result.high)),
                ("the truth (known here)", number(truth), ""),
            ],
        )
    )
    if result.estimate is None or result.naive is None:
        context.say(f"No valid estimate: {result.reason}")
        return
    context.say(
        f"The judge alone is off by {number(abs(result.naive - truth))}; its naive interval "
        f"{_holds(result.naive_low, truth, result.naive_high)} the truth. With {_LABELS} labels "
        f"the interval corrected by {result.method} {_holds(result.low, truth, result.high)} it."
    )


def _holds(low: float | None, truth: float, high: float | None) -> str:
    inside = low is not None and high is not None and low <= truth <= high
    return "contains" if inside else "misses"
