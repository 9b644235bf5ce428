"""PPI++ and (iii), the difference estimator: the judge is weighted by its agreement with people.

Angelopoulos, Duchi and Zrnic 2023: theta = lambda mean_test(x) + mean_labelled(z - lambda x), with
lambda between 0 (people alone) and 1 (the difference estimator).
"""

from __future__ import annotations

import math
from typing import ClassVar

from adjudge.estimation.estimators.base import Estimator, Outcome, refusal, widen
from adjudge.estimation.sample import Sample, Sums, clamp, variance_floor
from adjudge.validation import FloatArray


def tuned_weight(sample: Sample) -> float:
    """lambda = cov(z, x) / ((1 + m/n) var(x)), clipped to [0, 1]; 0 if the judge never varies.

    The covariance is over the labelled rows (divided by m), the variance over all rows (divided by
    m + n - 1), as in the reference implementation.
    """
    n = sample.n
    m = sample.m
    variance = sample.everyone.squares / max(n + m - 1, 1)
    if variance == 0:
        return 0.0
    return clamp(sample.sums.products / m / ((1 + m / n) * variance))


class _Ppi(Estimator):
    """PPI++ mean, with an interval that keeps its level with few labels.

    Asymptotically it is never wider than people alone, for any judge. That needs labels that are a
    random sample of the test rows: under label shift it is biased. The interval adds two labels of
    1 and two of 0, with the mean prediction, to the labelled rows, as Agresti and Coull do for a
    share, and has Student's quantile. The standard error of the result is the plain one. At 95 % it
    covers 0.94 or more with 30 to 200 labels at rates from 0.5 to 0.95 (examples/rates.py).

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 0, 1, 0, 1, 1, 0, 0], [1, 0, 1, 1] + [None] * 4)
    >>> round(PPI.compute(rows).estimate, 4)
    0.75
    """

    name = "ppi++"
    assumption = "the labelled rows are a random sample of the same rows as the test rows"
    assumes = "random labels"
    needs_labels_of_group = True
    #: lambda, if it is not tuned.
    weight: ClassVar[float | None] = None

    def compute(self, sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
        if sample.n == 0:
            return refusal("every row has a human label: use the human rate (method human-only)")
        if sample.m < 2:
            return refusal(f"{sample.m} human labels; this method needs at least two")
        lam = tuned_weight(sample) if self.weight is None else self.weight
        sums = sample.sums
        n = sample.n
        m = sample.m
        on_test = sums.test.mean
        on_labelled = sums.labelled.mean
        correction = sums.human.mean - lam * on_labelled

        def influence() -> FloatArray:
            values = sample.spread(sample.test, on_test, lam, n)
            rest = sample.human[sample.labelled] - lam * sample.judge[sample.labelled]
            values[sample.labelled] += (rest - correction) / m
            return values

        of_test = lam**2 * sums.test.squares / n**2
        squares = _squares_of_rest(sums, lam)
        theta = lam * on_test + correction
        se = math.sqrt(of_test + squares / m**2)
        if self.weight is not None:
            # A correction without variance would be treated as certain for every unlabelled row.
            se = math.hypot(se, variance_floor(0.0, m) if squares == 0 else 0.0)
            few = ("fewer than 30 labels: the normal interval is approximate; label more rows",)
            warnings = few if m < 30 else ()
            return widen(sample, theta, influence, confidence_level, se=se, warnings=warnings)
        # The four added labels: their mean after the correction, and their squared deviations, 1.
        added = 0.5 - lam * (n * on_test + m * on_labelled) / (n + m)
        centre = lam * on_test + (m * correction + 4 * added) / (m + 4)
        spread = squares + 1 + 4 * m / (m + 4) * (correction - added) ** 2
        around = centre, math.sqrt(of_test + spread / ((m + 3) * (m + 4)))
        return widen(
            sample, theta, influence, confidence_level, se=se, around=around, freedom=m - 1
        )


class _Difference(_Ppi):
    """mean_test(x) + mean_labelled(z - x) (Table 1, row iii), with a normal interval.

    This is prediction-powered inference without tuning (lambda = 1). With a poor judge it is wider
    than people alone, which ppi++ avoids. Biased under label shift.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 0, 1, 0, 1, 1, 0, 0], [1, 0, 1, 1] + [None] * 4)
    >>> DIFFERENCE.compute(rows).estimate
    0.75
    """

    name = "difference"
    assumption = (
        "the mean difference between people and judge is the same on labelled and on test rows, as "
        "it is if the labelled rows are a random sample of them"
    )
    needs_labels_of_group = False
    weight = 1.0


def _squares_of_rest(sums: Sums, lam: float) -> float:
    """Squared deviations of human - lam * judge on the labelled rows.

    If the judge is almost always right, z - x is small: the sum is then made of small terms.
    """
    x = sums.labelled.squares
    products = sums.products
    if lam <= 0.5:
        return max(sums.human.squares - 2 * lam * products + lam**2 * x, 0.0)
    rest = 1 - lam
    return max(sums.gap.squares + 2 * rest * (products - x) + rest**2 * x, 0.0)


PPI = _Ppi()
DIFFERENCE = _Difference()
