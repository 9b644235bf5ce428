"""Do the labelled rows look like a random sample of the test rows?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from adjudge.estimation.sample import (
    Moments,
    Sample,
    active_clusters,
    clustered_variance,
)
from adjudge.present.result import Proportion
from adjudge.present.text import percent
from adjudge.statistics.clusters import freedom_of
from adjudge.statistics.numbers import fisher_exact

#: Below this p-value, divided by the number of groups, a declared random sample is questioned.
LEVEL = 0.001


@dataclass(frozen=True, kw_only=True)
class LabelShift:
    """Whether the labelled rows look like the test rows, judged by the judge's verdicts.

    `doubtful` is true if so few random samples look like this that the declaration is questioned;
    never if the labels are recorded as random.
    """

    judge_rate_calibration: Proportion
    judge_rate_test: Proportion
    difference: float
    p_value: Proportion | None
    doubtful: bool
    explanation: str


def label_shift(sample: Sample, *, recorded: bool = False, checks: int = 1) -> LabelShift | None:
    """Compare the judge's rate on labelled rows with its rate on test rows.

    If the labels are a random sample, both have the same expectation. The test is Fisher's exact
    test for 0/1 verdicts, Welch's test for probabilities, and a cluster-robust test with clusters.
    It never chooses the method. Labels `recorded` as random are random: the p-value is a number and
    nothing else. Otherwise a p-value below 0.001 / `checks` (the number of groups) makes the
    declaration doubtful: at most 1 in 1,000 files with random labels gets that remark (exact for
    0/1 verdicts). A large p-value proves nothing: with few labels, or if the judge's rate stays
    the same, a shift is not detected. None if labels were picked by a plan or by verdict (the
    verdicts then differ by design), or if either side is empty.
    """
    if sample.planned or sample.drawn_by_verdict or sample.n == 0 or sample.m == 0:
        return None
    labelled = sample.sums.labelled
    test = sample.sums.test
    gap = labelled.mean - test.mean
    p_value = _p_value(sample, labelled, test, gap)
    if sample.scale == "binary":
        shares = f"{percent(labelled.mean)} of labelled and {percent(test.mean)} of test rows"
        text = f"the judge says 1 on {shares}"
    else:
        means = f"{labelled.mean:.3f} on labelled and {test.mean:.3f} on test rows"
        text = f"the judge's mean probability is {means}"
    text += "; too few rows for a test" if p_value is None else f" (p = {p_value:.2g})"
    doubtful = not recorded and p_value is not None and p_value < LEVEL / checks
    if doubtful:
        text += f": {_how_rare(p_value or 0.0)}"
    return LabelShift(
        judge_rate_calibration=labelled.mean,
        judge_rate_test=test.mean,
        difference=gap,
        p_value=p_value,
        doubtful=doubtful,
        explanation=text,
    )


def _how_rare(p_value: float) -> str:
    """How many random samples look like this.

    >>> _how_rare(0.00042)
    'one random sample in 2,400 looks like this'
    >>> _how_rare(1e-9)
    'fewer than one random sample in a million looks like this'
    """
    if p_value < 1e-6:
        return "fewer than one random sample in a million looks like this"
    return f"one random sample in {float(f'{1 / p_value:.2g}'):,.0f} looks like this"


def _p_value(sample: Sample, labelled: Moments, test: Moments, gap: float) -> float | None:
    if sample.clusters is not None:
        judge = sample.judge
        influence = np.where(sample.labelled, (judge - labelled.mean) / sample.m, 0.0)
        influence -= np.where(sample.test, (judge - test.mean) / sample.n, 0.0)
        active = active_clusters(sample)
        if active is None or active < 2:
            return None
        variance = clustered_variance(influence, sample.clusters, active, sample.labelled)
        se = math.sqrt(variance)
        if se == 0:
            return 1.0 if gap == 0 else None
        return float(2 * stdtr(freedom_of(sample.clusters[sample.labelled]), -abs(gap) / se))
    if sample.scale == "binary":
        return fisher_exact(labelled.ones, labelled.size, test.ones, test.size)
    if labelled.size < 2 or test.size < 2:
        return None
    v = labelled.variance_of_mean
    w = test.variance_of_mean
    if v + w == 0:
        return 1.0 if gap == 0 else None
    share = v / (v + w)
    # Welch and Satterthwaite's degrees of freedom.
    inverse = share**2 / (labelled.size - 1) + (1 - share) ** 2 / (test.size - 1)
    freedom = 1 / inverse
    return float(2 * stdtr(freedom, -abs(gap) / math.sqrt(v + w)))
