"""Do the labelled rows look like a random sample of the test rows?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from adjudge.estimation.estimators.base import Outcome
from adjudge.estimation.estimators.conditional import CONDITIONAL
from adjudge.estimation.sample import Moments, Sample, active_clusters, clustered_variance
from adjudge.present.result import Proportion
from adjudge.present.text import number, percent, show_interval
from adjudge.records import Interval

#: Below this p-value, divided by the number of groups, a declared random sample is questioned.
LEVEL = 0.001
#: Two tables are equally probable if the logarithms of their probabilities differ by less.
_TIE = 1e-7


@dataclass(frozen=True, kw_only=True)
class LabelShift:
    """Whether the labelled rows look like the test rows, judged by the judge's verdicts.

    `doubtful` is true if so few random samples look like this that the declaration is questioned;
    never if the labels are recorded as random. Then `unlabelled_estimate` is `conditional` with the
    judge's rate on the unlabelled rows alone, if the judge says 0 or 1.
    """

    judge_rate_calibration: Proportion
    judge_rate_test: Proportion
    difference: float
    p_value: Proportion | None
    doubtful: bool
    explanation: str
    unlabelled_estimate: Proportion | None = None
    unlabelled_interval: Interval | None = None


def label_shift(
    sample: Sample, *, recorded: bool = False, checks: int = 1, confidence_level: float = 0.95
) -> LabelShift | None:
    """Compare the judge's rate on labelled rows with its rate on test rows.

    If the labels are a random sample, both have the same expectation. The test is Fisher's exact
    test for 0/1 verdicts, Welch's test for probabilities, and a cluster-robust test with clusters.
    It never chooses the method. Labels `recorded` as random are random: the p-value is a number and
    nothing else. Otherwise a p-value below 0.001 / `checks` (the number of groups) makes the
    declaration doubtful: at most 1 in 1,000 files with random labels gets that remark (exact for
    0/1 verdicts). A large p-value proves nothing: with few labels, or if the judge's rate stays
    the same, a shift is not detected. None if labels were picked by a plan (the verdicts then
    differ by design), or if either side is empty.
    """
    if sample.planned or sample.n == 0 or sample.m == 0:
        return None
    labelled, test = sample.sums.labelled, sample.sums.test
    gap = labelled.mean - test.mean
    p_value = _p_value(sample, labelled, test, gap)
    text = (
        f"the judge says 1 on {percent(labelled.mean)} of labelled and "
        f"{percent(test.mean)} of test rows"
        if sample.scale == "binary"
        else f"the judge's mean probability is {labelled.mean:.3f} on labelled and "
        f"{test.mean:.3f} on test rows"
    )
    text += "; too few rows for a test" if p_value is None else f" (p = {p_value:.2g})"
    doubtful = not recorded and p_value is not None and p_value < LEVEL / checks
    other = Outcome()
    if doubtful:
        text += f": {_how_rare(p_value or 0.0)}"
        if sample.random and sample.scale == "binary":
            unlabelled = sample.drawn(random=False)
            other = CONDITIONAL.estimate(unlabelled, confidence_level=confidence_level)
    estimate, interval = other.rate, other.interval(confidence_level)
    if estimate is not None:
        numbers = f"{number(estimate)} {show_interval(interval)}"
        text += f"; conditional from the unlabelled rows alone gives {numbers}"
    return LabelShift(
        judge_rate_calibration=labelled.mean,
        judge_rate_test=test.mean,
        difference=gap,
        p_value=p_value,
        doubtful=doubtful,
        explanation=text,
        unlabelled_estimate=estimate,
        unlabelled_interval=interval,
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
        se = math.sqrt(clustered_variance(influence, sample.clusters, active))
        if se == 0:
            return 1.0 if gap == 0 else None
        return float(2 * stdtr(active - 1, -abs(gap) / se))
    if sample.scale == "binary":
        return fisher_exact(labelled.ones, labelled.size, test.ones, test.size)
    if labelled.size < 2 or test.size < 2:
        return None
    v, w = (rows.squares / (rows.size - 1) / rows.size for rows in (labelled, test))
    if v + w == 0:
        return 1.0 if gap == 0 else None
    share = v / (v + w)
    freedom = 1 / (share**2 / (labelled.size - 1) + (1 - share) ** 2 / (test.size - 1))
    return float(2 * stdtr(freedom, -abs(gap) / math.sqrt(v + w)))


@lru_cache(maxsize=65_536)
def fisher_exact(ones: int, size: int, other_ones: int, other_size: int) -> float:
    """Two-sided p-value for two equal shares: of all tables that are no more probable.

    Ratios of neighbouring probabilities are added up from the observed table, so that equal
    probabilities are recognised with any number of rows.

    >>> round(fisher_exact(8, 10, 1, 6), 4)
    0.035
    """
    total = ones + other_ones
    lowest, highest = max(0, total - other_size), min(total, size)
    k = np.arange(lowest, highest)
    steps = np.log((size - k) / (k + 1)) + np.log((total - k) / (other_size - total + k + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    logs -= logs[ones - lowest]
    chances = np.exp(logs - logs.max())
    return min(float(chances[logs <= _TIE].sum() / chances.sum()), 1.0)
