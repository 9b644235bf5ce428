"""(i) The judge alone and (ii) people alone: a share of rows, without the other."""

from __future__ import annotations

import math

import numpy as np

from adjudge.estimation.estimators.base import (
    Estimator,
    Outcome,
    refusal,
    variance_floor,
    with_interval,
)
from adjudge.estimation.sample import TOO_FEW, Moments, Sample, holding, spread
from adjudge.statistics.numbers import binomial_interval


class _Naive(Estimator):
    """Share of test rows that the judge calls 1, with a Clopper-Pearson interval (Eq. 2; row i).

    The interval includes only the noise of the test rows. It does not include the expected distance
    from the true rate, (2 - q0 - q1)((1 - q0)/(2 - q0 - q1) - theta), which does not shrink with
    more rows. Judge probabilities get a normal interval around the mean, clusters Student's.

    >>> from adjudge.estimation.sample import make_sample
    >>> NAIVE.compute(make_sample([1, 1, 0, 1], [None] * 4)).estimate
    0.75
    """

    name = "naive"
    title = "naive judge rate"
    assumption = "the judge makes no errors, or its errors cancel at exactly this rate"
    assumes = "no judge errors"
    uses_labels = False
    needs_random_labels = False
    takes_plan = True

    def compute(self, sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
        if sample.n == 0:
            return refusal("every row has a human label, so no row is left for the judge alone")
        exact = sample.sums.test.ones if self.interval(sample) == "exact" else None
        return _share(
            sample, ("judge", "test"), sample.sums.test, confidence_level, exact, sample.n
        )

    def interval(self, sample: Sample) -> str:
        return "exact" if sample.clusters is None and sample.scale == "binary" else "wald"


class _HumanOnly(Estimator):
    """m1 / m with a Clopper-Pearson interval (Table 1, row ii).

    It needs no judge. Under label shift (labels of easier, harder or balanced rows) it measures the
    labelled rows, not the test rows. With clusters: the mean with a cluster-robust Student
    interval. With labels that are shares of people: a normal one.

    >>> from adjudge.estimation.sample import make_sample
    >>> HUMAN_ONLY.compute(make_sample([0, 0, 0, 1], [1, 0, 1, 1])).estimate
    0.75
    """

    name = "human-only"
    title = "human rate"
    assumption = "the labelled rows are a random sample of the rows that the rate is about"
    assumes = "random labels"
    uses_judge = False
    needs_labels_of_group = True

    def compute(self, sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
        if sample.m == 0:
            return refusal("no row has a human label; label some rows at random first")
        exact = sample.sums.positive.size if self.interval(sample) == "exact" else None
        return _share(sample, ("human", "labelled"), sample.sums.human, confidence_level, exact)

    def interval(self, sample: Sample) -> str:
        return "exact" if sample.clusters is None and not sample.graded else "wald"


def _share(
    sample: Sample,
    arrays: tuple[str, str],
    moments: Moments,
    confidence_level: float,
    successes: int | None,
    floor_size: int | None = None,
) -> Outcome:
    """The mean of the first array on the rows of the second, which has these moments.

    The interval is exact if there is a number of successes. `floor_size` defaults to the number of
    clusters.
    """
    size, mean, squares, _ = moments
    se = math.sqrt(squares) / size
    if successes is not None:
        low, high = binomial_interval(successes, size, confidence_level)
        return Outcome(mean, low, high, se, (low + high) / 2, (high - low) / 2)
    active, influence = None, None
    if sample.clusters is not None:
        values, rows = (getattr(sample, name) for name in arrays)
        active, influence = (
            holding(sample.clusters, rows),
            np.where(rows, (values - mean) / size, 0),
        )
        if active < 2:
            return refusal(TOO_FEW)
    widened = spread(influence, sample.clusters, active, confidence_level)
    floor = variance_floor(mean, floor_size or active or size) if se == 0 else 0.0
    se = max(se * widened.inflation, floor)
    return with_interval(mean, mean, widened.critical * se, se)


NAIVE = _Naive()
HUMAN_ONLY = _HumanOnly()
