"""Simulate a plan before it is recommended: sample labels at random many times, measure the width.

Formulas for a width hold at the expected counts. With few labels, or a rate near 0 or 1, the actual
counts differ, and a width by formula can be ten times too small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.estimation.conditional import adjust
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import generator

REPEATS = 1000
#: Labels that each verdict should have: with fewer, `conditional` is marked as approximate.
BEHIND_EACH = 10


class Trial(NamedTuple):
    """Mean width of the intervals, the share that contain the rate, the share without a result."""

    width: float
    coverage: float
    refused: float


def try_random_labels(
    *, theta: float, q0: float, q1: float, test_rows: int, labels: int, confidence_level: float
) -> Trial:
    """Sample `labels` rows at random 1,000 times and apply `conditional` to each sample.

    A sample without a label for one verdict has no result; its width counts as 1, because every
    rate is possible.

    >>> trial = try_random_labels(theta=0.5, q0=0.8, q1=0.9, test_rows=2000, labels=200,
    ...                           confidence_level=0.95)
    >>> round(trial.width, 2), trial.coverage > 0.93
    (0.1, True)
    """
    rng = generator(0)
    cells = [theta * q1, theta * (1 - q1), (1 - theta) * (1 - q0), (1 - theta) * q0]
    hit, miss, alarm, rejection = rng.multinomial(labels, cells, REPEATS).T.astype(np.float64)
    size1, size0 = hit + alarm, miss + rejection
    n = test_rows + labels
    p = (rng.binomial(test_rows, cells[0] + cells[2], REPEATS) + size1) / n
    r1, r0 = hit / np.maximum(size1, 1), miss / np.maximum(size0, 1)
    z = normal_quantile(confidence_level)
    centre, se = adjust(p, r1, r0, n, size1, size0, z)
    low, high = np.clip(centre - z * se, 0, 1), np.clip(centre + z * se, 0, 1)
    given = ((size1 > 0) | (p == 0)) & ((size0 > 0) | (p == 1))
    held = given & (low <= theta) & (theta <= high)
    return Trial(
        float(np.where(given, high - low, 1.0).mean()),
        float(held.sum() / max(given.sum(), 1)),
        float(1 - given.mean()),
    )
