"""Chapter: a win rate corrected for the judge's errors, beside the one it would claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.demo.writers import candidate_rows
from adjudge.estimation import estimate
from adjudge.io import write_rows
from adjudge.present.tables import interval, number, table
from adjudge.results.estimation import Estimate

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "What number may be reported?"

_LABELS = 80


def run(context: DemoContext) -> None:
    """Hide most labels, estimate the candidate's win rate, compare with the truth."""
    rows, truth = candidate_rows(context.rows, labels=_LABELS, rng=context.seed)
    path = write_rows(rows, context.out / "candidate.csv")
    context.files.append(str(path))
    # The labelled rows were drawn at random from the others, so that may be declared.
    result = estimate(rows, labels_are_random=True, rng=context.seed)
    if not isinstance(result, Estimate):
        raise TypeError("one candidate gives one estimate")
    context.keep(result, "estimate")
    context.show(
        table(
            ("win rate of a made-up candidate", "value", "95 % interval"),
            [
                (
                    "the judge alone",
                    number(result.naive),
                    _range(result.naive_low, result.naive_high),
                ),
                ("corrected", number(result.estimate), _range(result.low, result.high)),
                ("the truth, known here", number(truth), ""),
            ],
        )
    )
    if result.estimate is None or result.low is None or result.high is None:
        context.say(f"No honest number: {result.reason}")
        return
    held = "holds" if result.low <= truth <= result.high else "misses"
    context.say(
        f"A judge that errs pulls every win rate towards a half. With {_LABELS} labels beside it, "
        f"the interval corrected by {result.method} {held} the truth."
    )


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else interval(low, high)
