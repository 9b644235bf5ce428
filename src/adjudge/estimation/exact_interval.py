"""An exact interval for the human rate of exactly these rows, from a random sample of labels.

This is a conformal interval for an estimate. The true rate is a parameter, not a sample that is
exchangeable with others. But the labels of the rows are fixed, and if the labelled rows are a
random sample, labelled and unlabelled rows are exchangeable. Given how many rows of each verdict
are labelled, the labelled rows of verdict v are a simple random sample of its N_v rows, so the
number of 1s among them is hypergeometric in the unknown K_v. Nothing else is assumed: not
independence, not a good judge, not many labels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from adjudge.errors import ArgumentError
from adjudge.estimation.sample import Sample
from adjudge.validation import FloatArray, IntArray, open_unit

#: Part of each side's level that is used to rule out impossible splits of the 1s over verdicts.
_SPENT = 0.1
#: The most splits that are evaluated; more are grouped in cells, conservatively.
_CELLS = 128
#: With more labels than this the computation is slow, and no exact interval is needed.
MOST_LABELS = 5000


class VerdictCounts(NamedTuple):
    """Rows of one verdict, how many of them are labelled, and how many labels are 1."""

    rows: int
    labelled: int
    ones: int

    def flipped(self) -> VerdictCounts:
        """The same rows with 0 and 1 exchanged."""
        return self._replace(ones=self.labelled - self.ones)

    def chances(self, ones: IntArray) -> FloatArray:
        """Hypergeometric probabilities of 0 to m labelled 1s, given the 1s among all rows.

        There is a row for each number of 1s.
        """
        x = np.arange(self.labelled + 1)
        logs = (
            self._log_ways(ones[:, None], x)
            + self._log_ways(self.rows - ones[:, None], self.labelled - x)
            - self._log_ways(np.array(self.rows), np.array(self.labelled))
        )
        return np.asarray(np.exp(logs))

    def _log_ways(self, total: IntArray, chosen: IntArray) -> FloatArray:
        """log of total over chosen; minus infinity if impossible."""
        logs, rest = _log_factorials(self.rows), total - chosen
        ways = logs[total] - logs[chosen] - logs[np.maximum(rest, 0)]
        return np.where(rest < 0, -np.inf, ways)

    def ends(self, tail: float) -> tuple[int, int]:
        """Exact ends for the 1s of this verdict, each missed with probability below `tail`."""
        return self.rows - self.flipped()._top(tail), self._top(tail)

    def _top(self, tail: float) -> int:
        low, high = self.ones, self.rows - (self.labelled - self.ones)
        while low < high:
            middle = (low + high + 1) // 2
            chance = self.chances(np.array([middle]))[0, : self.ones + 1].sum()
            low, high = (middle, high) if chance > tail else (low, middle - 1)
        return low


@lru_cache(maxsize=2)
def _log_factorials(most: int) -> FloatArray:
    """log k! for every k that occurs: probabilities are then sums of table entries."""
    return np.asarray(gammaln(np.arange(most + 1) + 1.0))


def rows_interval(
    negative: VerdictCounts, positive: VerdictCounts, *, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Interval for (K_0 + K_1)/(N_0 + N_1), the human rate of all rows, labelled ones included.

    A total T is above the interval if the following holds for every split K_0 + K_1 = T that is not
    ruled out: the weighted count N_0 x_0/m_0 + N_1 x_1/m_1 is at most the observed one with
    probability below (1 - level)/2. The lower end is analogous. Splits are ruled out by exact
    intervals for K_0 and K_1 that fail with a tenth of that probability, which is subtracted from
    the level (Berger and Boos 1994). The interval covers with at least `confidence_level` over the
    random choice of labelled rows, in finite samples, for any rows. It makes no statement about
    other rows of the same kind.

    Args:
        negative: The rows that the judge calls 0.
        positive: The rows that the judge calls 1.
        confidence_level: Confidence level of the interval.

    >>> low, high = rows_interval(VerdictCounts(400, 40, 4), VerdictCounts(600, 60, 54))
    >>> round(low, 3), round(high, 3)
    (0.498, 0.658)
    """
    tail = (1 - open_unit(confidence_level, "confidence_level")) / 2
    for name, counts in (("negative", negative), ("positive", positive)):
        if not 0 <= counts.ones <= counts.labelled <= counts.rows:
            raise ArgumentError(name, tuple(counts), "give ones <= labelled <= rows")
    total = negative.rows + positive.rows
    if negative.labelled + positive.labelled == 0:
        raise ArgumentError("labelled", 0, "label some rows")
    upper = _most(negative, positive, tail)
    lower = total - _most(negative.flipped(), positive.flipped(), tail)
    return lower / total, upper / total


def interval_of(sample: Sample, *, confidence_level: float) -> tuple[float, float] | None:
    """The interval for the rows of a sample with labels 0 or 1; None if it would take too long.

    Probabilities count as verdicts, 1 above one half: any fixed partition of the rows is valid.
    """
    if not 0 < sample.m <= MOST_LABELS:
        return None
    rows, says = sample.test | sample.labelled, sample.judge > 0.5
    counts = [
        VerdictCounts(
            int((rows & verdict).sum()),
            int((sample.labelled & verdict).sum()),
            int((sample.positive & verdict).sum()),
        )
        for verdict in (~says, says)
    ]
    return rows_interval(*counts, confidence_level=confidence_level)


def _most(first: VerdictCounts, second: VerdictCounts, tail: float) -> int:
    """The largest number of 1s in all rows that the labels do not rule out."""
    (low0, high0), (low1, high1) = (verdict.ends(tail * _SPENT / 4) for verdict in (first, second))
    low, high = low0 + low1, high0 + high1
    while low < high:
        middle = (low + high + 1) // 2
        cells = _cells(max(low1, middle - high0), min(high1, middle - low0))
        # A cell from a to b - 1 is evaluated at K_1 = a and K_0 = T - (b - 1): fewer 1s than in any
        # of its splits, so that the probability of a small count is not underestimated.
        ones0, ones1 = np.maximum(middle - cells[1:] + 1, 0), cells[:-1]
        if _chance(first, second, ones0, ones1).max() > tail * (1 - _SPENT):
            low = middle
        else:
            high = middle - 1
    return low


def _cells(low: int, high: int) -> IntArray:
    """Ends of cells over low..high: one value each if there are few."""
    number = min(high - low + 1, _CELLS)
    return np.rint(np.linspace(low, high + 1, number + 1)).astype(np.int64)


def _chance(
    first: VerdictCounts, second: VerdictCounts, ones0: IntArray, ones1: IntArray
) -> FloatArray:
    """P(N_0 x_0/m_0 + N_1 x_1/m_1 <= observed) for each split of the 1s."""
    if first.labelled == 0 or second.labelled == 0:
        only, ones = (first, ones0) if second.labelled == 0 else (second, ones1)
        return np.asarray(only.chances(ones)[:, : only.ones + 1].sum(axis=1))
    x1 = np.arange(second.labelled + 1)
    w0, w1 = first.rows * second.labelled, second.rows * first.labelled
    most = (w0 * first.ones + w1 * (second.ones - x1)) // w0
    below = np.cumsum(first.chances(ones0), axis=1)
    reached = np.where(most < 0, 0.0, below[:, np.clip(most, 0, first.labelled)])
    return np.asarray((second.chances(ones1) * reached).sum(axis=1))
