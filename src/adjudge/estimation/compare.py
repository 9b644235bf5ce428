"""Two models on the same prompts: the difference of their corrected rates, paired.

Influence values of both rates are subtracted row by row and summed per cluster: prompts that are
hard for both, and calibration rows that serve both, cancel with their proper sign.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge._validation import FloatArray
from adjudge.estimation.clusters import TOO_FEW, active_clusters
from adjudge.estimation.outcome import Outcome, clip
from adjudge.estimation.sample import Sample


class Difference(NamedTuple):
    """theta_A - theta_B with its interval in [-1, 1], or the reason there is none."""

    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    unpaired_standard_error: float | None
    reason: str | None


def paired_difference(
    a: Outcome, b: Outcome, sample: Sample, *, names: tuple[str, str] = ("the first", "the second")
) -> Difference:
    """Difference of two outcomes on one set of rows (their `influence` arrays line up with it).

    Var(A - B) = sum over clusters of (S_A - S_B)^2. Its ratio to Var(A) + Var(B) scales the two
    half-lengths, half^2 = (half_A^2 + half_B^2) Var(A-B) / (Var(A) + Var(B)), so that the care each
    interval takes with small samples is kept. Without clusters rows are independent and only
    calibration rows that serve both models are shared. A normal (with clusters Student) interval:
    with few labels per model it is approximate, as are its two parts.
    """
    for name, one in zip(names, (a, b), strict=True):
        if one.estimate is None:
            return Difference(None, None, None, None, None, f"{name} has no rate: {one.reason}")
    if (
        a.estimate is None
        or b.estimate is None
        or a.influence is None
        or b.influence is None
        or a.centre is None
        or b.centre is None
        or a.half is None
        or b.half is None
    ):
        raise AssertionError("an outcome with an estimate carries its influence, centre and half")
    active = active_clusters(sample)
    if active is not None and active < 2:
        return Difference(None, None, None, None, None, TOO_FEW)
    variance_a, variance_b, variance = (
        _variance(f, sample, active) for f in (a.influence, b.influence, a.influence - b.influence)
    )
    apart = variance_a + variance_b
    ratio = variance / apart if apart > 0 else 1.0
    half = math.sqrt((a.half**2 + b.half**2) * ratio)
    centre = a.centre - b.centre
    return Difference(
        clip(a.estimate - b.estimate, -1, 1),
        clip(centre - half, -1, 1),
        clip(centre + half, -1, 1),
        math.sqrt(variance),
        math.sqrt(apart),
        None,
    )


def _variance(influence: FloatArray, sample: Sample, active: int | None) -> float:
    if sample.clusters is None or active is None:
        return float(influence @ influence)
    sums = np.bincount(sample.clusters, weights=influence)
    return active / (active - 1) * float(sums @ sums)
