"""Labels drawn by verdict: whether they look like it, what then helps, how good the judge is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.estimation.estimators.base import Estimator
from adjudge.estimation.estimators.conditional import CONDITIONAL
from adjudge.estimation.sample import Sample
from adjudge.present.text import number, show_interval
from adjudge.statistics.by_verdict import (
    LEVEL,
    Draw,
    Measured,
    detect_draw,
    measure_by_verdict,
    measure_rows,
)
from adjudge.statistics.numbers import fisher_exact

_DECLARE = "--labels-by-verdict (labels_by_verdict=True)"


class Cause(NamedTuple):
    """Labels that look drawn by verdict, as text; `certain` if a verdict is wholly labelled."""

    text: str
    certain: bool


def find_cause(
    sample: Sample, estimator: Estimator, *, checks: int, confidence_level: float
) -> Cause | None:
    """Why random labels would rarely look like these, if nothing is known about their draw.

    `checks` is how many samples are tested. Labels drawn by human class can look the same, and
    misclassification is right for them; but then no verdict is wholly labelled. If one is, only the
    other is left to test, and no rate of its rows is one of all rows.
    """
    if not _can_test(sample) or (draw := _draw_of(sample)).p_value >= LEVEL / checks:
        return None
    text = f"{counts_of_draw(draw)}; random labels rarely look like this"
    if estimator.uses_labels and 0 in np.subtract(draw.rows, draw.labelled):
        return Cause(f"{text}: rows were drawn by verdict, so declare that: {_DECLARE}", True)
    other = CONDITIONAL.estimate(sample.whole(), confidence_level=confidence_level)
    rate = f"{number(other.rate)} {show_interval(other.interval(confidence_level))}"
    biased = f"if rows were drawn by verdict, {estimator.name} is biased"
    return Cause(f"{text}: {biased}, and {_DECLARE} gives {rate}", False)


def ask_cause(sample: Sample) -> str:
    """The question to someone who declared such labels to be a random sample."""
    if not _can_test(sample):
        return ""
    return (
        f"; {counts_of_draw(_draw_of(sample))}: if rows were drawn by verdict, declare {_DECLARE}"
    )


def counts_of_draw(draw: Draw) -> str:
    """How many rows of each verdict have a label.

    >>> counts_of_draw(Draw(0.001, labelled=(68, 93), rows=(68, 432)))
    'labelled: 68 of 68 rows of verdict 0, 93 of 432 of verdict 1'
    """
    fails, passes = zip(draw.labelled, draw.rows, strict=True)
    first = f"labelled: {fails[0]:,} of {fails[1]:,} rows of verdict 0"
    return f"{first}, {passes[0]:,} of {passes[1]:,} of verdict 1"


def _can_test(sample: Sample) -> bool:
    usable = sample.scale == "binary" and not (sample.graded or sample.planned)
    return usable and sample.n > 0 and sample.m > 0


def _draw_of(sample: Sample) -> Draw:
    """The test of the draw, by clusters if rows have them."""
    if sample.clusters is not None:
        rows = sample.test | sample.labelled
        verdicts = sample.judge[rows].astype(np.int64)
        return detect_draw(verdicts, sample.labelled[rows], sample.clusters[rows])
    negative, positive = sample.by_verdict
    p_value = fisher_exact(negative.labelled, negative.rows, positive.labelled, positive.rows)
    labelled = negative.labelled, positive.labelled
    return Draw(p_value, labelled, (negative.rows, positive.rows))


def measure_judge(sample: Sample, confidence_level: float) -> dict[str, Measured]:
    """How good the judge is on all rows, from labels drawn by verdict."""
    if sample.clusters is None:
        return measure_by_verdict(*sample.by_verdict, confidence_level=confidence_level)
    rows = sample.test
    verdicts = sample.judge[rows].astype(np.int64)
    labels = sample.human[rows].astype(np.int64)
    codes = sample.clusters[rows]
    return measure_rows(verdicts, labels, codes, confidence_level=confidence_level)
