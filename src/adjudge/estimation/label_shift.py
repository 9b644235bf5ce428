"""Do the labelled rows look like the test rows? Which estimators does the answer rule out?"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import stdtr

from adjudge.estimation.estimators import all_estimators
from adjudge.estimation.sample import Moments, Sample, active_clusters, variance
from adjudge.present.blocks import Block, Fact, Facts, Headline
from adjudge.present.result import Proportion, Result, frozen
from adjudge.present.text import DASH, number, percent, signed

LEVEL = 0.05
#: Two tables are equally probable if the logarithms of their probabilities differ by less.
_TIE = 1e-7


@frozen
class LabelShift(Result):
    """Whether the labelled rows look like the test rows, judged by the judge's verdicts."""

    kind: ClassVar[str] = "label_shift"

    judge_rate_calibration: Proportion
    judge_rate_test: Proportion
    difference: float
    p_value: Proportion | None
    rules_out: tuple[str, ...]
    explanation: str

    def view(self) -> list[Block]:
        """The judge's mean verdict on labelled and on test rows, and what it rules out."""
        return [
            Headline(
                self.explanation[:1].upper() + self.explanation[1:],
                tone="bad" if self.rules_out else "plain",
            ),
            Facts(
                [
                    Fact("judge's mean, labelled rows", number(self.judge_rate_calibration)),
                    Fact("judge's mean, test rows", number(self.judge_rate_test)),
                    Fact("difference", signed(self.difference)),
                    Fact("p-value", DASH if self.p_value is None else f"{self.p_value:.2g}"),
                    Fact("ruled out", ", ".join(self.rules_out) or "nothing"),
                ]
            ),
        ]


def label_shift(sample: Sample, *, level: float = LEVEL) -> LabelShift | None:
    """Compare the judge's rate on labelled rows with its rate on test rows.

    If the labels are a random sample, both have the same expectation. The test is Fisher's exact
    test for 0/1 verdicts, Welch's test for probabilities, and a cluster-robust test with clusters.
    The false-alarm rate is at most 5 % (exact) or about 5 %. A small p-value rules out human-only,
    difference, conditional and ppi++; misclassification does not need the assumption. A large
    p-value proves nothing: with few labels, or if the judge's rate stays the same, a shift is not
    detected. The test never chooses the method. None if labels were picked by a plan (the
    verdicts then differ by design), or if either side is empty. Several groups are checked at
    `level` / groups each.
    """
    if sample.planned or sample.n == 0 or sample.m == 0:
        return None
    labelled, test = sample.sums.labelled, sample.sums.test
    gap = labelled.mean - test.mean
    p_value = _p_value(sample, labelled, test, gap)
    needs_random: tuple[str, ...] = ()
    if p_value is not None and p_value < level:
        needs_random = tuple(e.name for e in reversed(all_estimators()) if e.needs_random_labels)
    shown = (
        f"the judge says 1 on {percent(labelled.mean)} of labelled and "
        f"{percent(test.mean)} of test rows"
        if sample.scale == "binary"
        else f"the judge's mean probability is {labelled.mean:.3f} on labelled and "
        f"{test.mean:.3f} on test rows"
    )
    if p_value is None:
        text = f"{shown}; too few rows to test whether they differ"
    elif needs_random:
        text = (
            f"{shown} (p = {p_value:.2g}): the labelled rows are not a random sample of the test "
            f"rows. That rules out {', '.join(needs_random)}; misclassification remains "
            "valid if the labels were not picked by verdict"
        )
    else:
        text = (
            f"{shown} (p = {p_value:.2g}): no shift detected, which does not prove that there is "
            "none; no method is ruled out"
        )
    return LabelShift(
        judge_rate_calibration=labelled.mean,
        judge_rate_test=test.mean,
        difference=gap,
        p_value=p_value,
        rules_out=needs_random,
        explanation=text,
    )


def _p_value(sample: Sample, labelled: Moments, test: Moments, gap: float) -> float | None:
    if sample.clusters is not None:
        judge = sample.judge
        influence = np.where(sample.labelled, (judge - labelled.mean) / sample.m, 0.0)
        influence -= np.where(sample.test, (judge - test.mean) / sample.n, 0.0)
        active = active_clusters(sample)
        if active is None or active < 2:
            return None
        se = math.sqrt(variance(influence, sample.clusters, active))
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
