"""PPI++ and (iii), the difference estimator: the judge is weighted by its agreement with people.

Angelopoulos, Duchi and Zrnic 2023: theta = lambda mean_test(x) + mean_labelled(z - lambda x), with
lambda between 0 (people alone) and 1 (the difference estimator).
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from adjudge.estimation.estimators.base import (
    Estimator,
    Outcome,
    clamp,
    refusal,
    variance_floor,
    widen,
)
from adjudge.estimation.sample import Sample, Sums
from adjudge.validation import FloatArray


def tuned_weight(sample: Sample) -> float:
    """lambda = cov(z, x) / ((1 + m/n) var(x)), clipped to [0, 1]; 0 if the judge never varies.

    The covariance is over the labelled rows (divided by m), the variance over all rows (divided by
    m + n - 1), as in the reference implementation.
    """
    test, labelled = sample.sums.test, sample.sums.labelled
    n, m = test.size, labelled.size
    between = (test.mean - labelled.mean) ** 2 * n * m / (n + m)
    variance = (test.squares + labelled.squares + between) / max(n + m - 1, 1)
    if variance == 0:
        return 0.0
    return clamp(sample.sums.products / m / ((1 + m / n) * variance))


class _Ppi(Estimator):
    """PPI++ mean with its normal interval.

    Asymptotically it is never wider than people alone, for any judge. That needs labels that are a
    random sample of the test rows: under label shift it is biased, as much as the difference
    estimator if lambda is 1. The interval is normal: with fewer than about 30 labels, or 20 of the
    rarer class, it covers less than its level (measured at 95 %: 0.86 to 0.93 with 25 labels,
    0.84 to 0.91 with 3 to 6 of the rarer class among 60 or 100).

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
        on_test, n, m = sums.test.mean, sample.n, sample.m
        correction = sums.human.mean - lam * sums.labelled.mean
        theta = lam * on_test + correction

        def influence() -> FloatArray:
            values = sample.spread(sample.test, on_test, lam, n)
            rest = sample.human[sample.labelled] - lam * sample.judge[sample.labelled]
            values[sample.labelled] += (rest - correction) / m
            return values

        rest = _squares_of_rest(sums, lam)
        se = math.sqrt(lam**2 * sums.test.squares / n**2 + rest / m**2)
        warnings: tuple[str, ...] = ()
        if rest == 0:
            # A correction without variance would be treated as certain for every unlabelled row.
            se = math.hypot(se, variance_floor(0.0, m))
            warnings = (
                "the labelled rows do not vary: the interval uses the standard error after "
                "adding two successes and two failures",
            )
        elif m < 30:
            warnings = (
                "fewer than 30 labels: the normal interval covers less than its level (measured "
                "with 25: 0.86 to 0.93 at 95 %); label more rows, or report method human-only, "
                "which is exact",
            )
        elif not sample.graded and (rarer := sample.fewest_labels) < 20:
            warnings = (
                f"only {rarer} labels of the rarer class: the normal interval covers less than its "
                "level (measured with 3 to 12: 0.84 to 0.93 at 95 %); label more rows, or report "
                "method human-only, which is exact",
            )
        return widen(sample, theta, influence, confidence_level, se=se, warnings=warnings)


class _Difference(_Ppi):
    """mean_test(x) + mean_labelled(z - x), a normal interval (Table 1, row iii).

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
    x, products = sums.labelled.squares, sums.products
    if lam <= 0.5:
        return max(sums.human.squares - 2 * lam * products + lam**2 * x, 0.0)
    return max(sums.gap.squares + 2 * (1 - lam) * (products - x) + (1 - lam) ** 2 * x, 0.0)


PPI = _Ppi()
DIFFERENCE = _Difference()


def ppi_adjusted(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """PPI++ with an interval that keeps its level with 50 labels, for predictions of any kind.

    The interval adds two labels of 1 and two of 0 with the mean prediction to the labelled rows, as
    Agresti and Coull do for a share. Its centre moves a little, and its standard error cannot be
    zero. With a prediction cross-fitted from three judges, it covers 95 % with 50 labels at rates
    from 0.35 to 0.95 (tested in tests/montecarlo). The normal interval covers 0.89 to 0.95 there
    and is 4 % narrower.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([0.9, 0.2, 0.8, 0.3] * 20, ([1, 0, 1, 0] + [None] * 4) * 10)
    >>> plain, adjusted = PPI.compute(rows), ppi_adjusted(rows)
    >>> plain.estimate == adjusted.estimate, plain.half < adjusted.half
    (True, True)
    """
    outcome = PPI.compute(sample, confidence_level=confidence_level)
    if outcome.estimate is None or outcome.influence is None or outcome.standard_error is None:
        return outcome
    lam, x, influence = tuned_weight(sample), sample.judge, outcome.influence
    test, labelled = x[sample.test], x[sample.labelled]
    typical = lam * float(np.concatenate([test, labelled]).mean())
    rest = np.concatenate(
        [sample.human[sample.labelled] - lam * labelled, np.array([1, 1, 0, 0]) - typical]
    )
    variance = lam**2 * float(test.var()) / sample.n + float(rest.var(ddof=1)) / len(rest)
    return widen(
        sample,
        outcome.estimate,
        lambda: influence,
        confidence_level,
        se=outcome.standard_error,
        around=(lam * float(test.mean()) + float(rest.mean()), math.sqrt(variance)),
    )
