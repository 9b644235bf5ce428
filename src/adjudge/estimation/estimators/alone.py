"""(i) The judge alone and (ii) people alone: a share of rows, without the other."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import ClassVar

import numpy as np

from adjudge.estimation.estimators.base import Estimator, Outcome, refusal, with_interval
from adjudge.estimation.sample import TOO_FEW, Sample, few_clusters, spread, variance_floor
from adjudge.statistics.clusters import count_clusters, freedom_of
from adjudge.statistics.numbers import binomial_interval


class _Alone(Estimator):
    """The mean of one array of a sample on some of its rows, by the names of both.

    `moments` says where the sample has those of the values.
    """

    values: ClassVar[str]
    rows: ClassVar[str]
    moments: ClassVar[str]
    #: Why there is no rate without such rows.
    empty: ClassVar[str]

    def compute(self, sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
        size, mean, squares, ones = attrgetter(self.moments)(sample)
        if size == 0:
            return refusal(self.empty)
        se = math.sqrt(squares) / size
        if self.interval(sample) == "exact":
            low, high = binomial_interval(ones, size, confidence_level)
            return Outcome(mean, low, high, se, (low + high) / 2, (high - low) / 2)
        rows = None
        active = None
        freedom = None
        influence = None
        if sample.clusters is not None:
            rows = getattr(sample, self.rows)
            active = count_clusters(sample.clusters[rows])
            freedom = freedom_of(sample.clusters[rows])
            if active < 2:
                return refusal(TOO_FEW)
            influence = np.where(rows, (getattr(sample, self.values) - mean) / size, 0)
        widened = spread(influence, sample.clusters, active, rows, confidence_level, freedom)
        units = size if self.uses_judge else active or size
        floor = variance_floor(mean, units) if se == 0 else 0.0
        se = max(se * widened.inflation, floor)
        warnings = few_clusters(active, freedom) if self.uses_labels else ()
        return with_interval(mean, mean, widened.critical * se, se, warnings)


class _Naive(_Alone):
    """Share of rows that the judge calls 1, with a Clopper-Pearson interval (Eq. 2; row i).

    Of the rows that the rate is about: the test rows, or all rows if the labels are a random sample
    of them or every row has one. The interval includes only the noise of these rows. It does not
    include the expected distance from the true rate, (2 - q0 - q1)((1 - q0)/(2 - q0 - q1) - theta),
    which does not shrink with more rows. Judge probabilities get a normal interval around the mean,
    clusters Student's.

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
    takes_verdict_draw = True
    values = "judge"
    rows = "about_rows"
    moments = "about"
    empty = "there are no rows"

    def interval(self, sample: Sample) -> str:
        return "exact" if sample.clusters is None and sample.scale == "binary" else "wald"


class _HumanOnly(_Alone):
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
    values = "human"
    rows = "labelled"
    moments = "sums.human"
    empty = "no row has a human label; label some rows at random first"

    def interval(self, sample: Sample) -> str:
        return "exact" if sample.clusters is None and not sample.graded else "wald"


NAIVE = _Naive()
HUMAN_ONLY = _HumanOnly()
