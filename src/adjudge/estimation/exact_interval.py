"""An exact interval for the human rate of exactly these rows, from a random sample of labels.

A conformal interval for an estimate: if the labelled rows are a random sample, labelled and
unlabelled rows are exchangeable. The labelled rows of verdict v are then a simple random sample of
its N_v rows, so the number of 1s among them is hypergeometric in the unknown K_v. Nothing else is
assumed: not independence, not a good judge, not many labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from adjudge.errors import ArgumentError
from adjudge.estimation.sample import Sample
from adjudge.statistics.by_verdict import VerdictCounts
from adjudge.validation import BoolArray, FloatArray, IntArray, open_unit

#: Part of each side's level that is used to rule out impossible splits of the 1s over verdicts.
_SPENT = 0.1
#: The most splits that are evaluated; more are grouped in cells, conservatively.
_CELLS = 128
#: The most probabilities that are computed together for several samples.
_BLOCK = 1 << 18
#: With more labels than this the computation is slow, and no exact interval is needed.
MOST_LABELS = 5000


class _Verdict(NamedTuple):
    """The counts of one verdict in several samples."""

    rows: IntArray
    labelled: IntArray
    ones: IntArray

    def flipped(self) -> _Verdict:
        """The same rows with 0 and 1 exchanged."""
        return self._replace(ones=self.labelled - self.ones)

    def chances(self, ones: IntArray) -> FloatArray:
        """Hypergeometric probabilities of 0 to m labelled 1s, given the 1s among all rows.

        `ones` has a line of numbers of 1s for each sample; probabilities are on the third axis.
        """
        x = np.arange(self.labelled.max() + 1)
        rows = self.rows[:, None, None]
        labelled = self.labelled[:, None, None]
        ones = ones[:, :, None]
        of_ones = self._log_ways(ones, x)
        of_zeros = self._log_ways(rows - ones, labelled - x)
        return np.asarray(np.exp(of_ones + of_zeros - self._log_ways(rows, labelled)))

    def _log_ways(self, total: IntArray, chosen: IntArray) -> FloatArray:
        """log of total over chosen; minus infinity if impossible."""
        logs = _log_factorials(int(self.rows.max()))
        return np.asarray(logs[total] - logs[chosen] - logs[total - chosen])

    def ends(self, tail: float) -> tuple[IntArray, IntArray]:
        """Exact ends for the 1s of this verdict, each missed with probability below `tail`."""
        return self.rows - self.flipped()._top(tail), self._top(tail)

    def _top(self, tail: float) -> IntArray:
        few = np.arange(self.labelled.max() + 1) <= self.ones[:, None]

        def possible(ones: IntArray) -> BoolArray:
            return np.asarray((self.chances(ones[:, None])[:, 0] * few).sum(axis=1) > tail)

        return _largest(possible, self.ones, self.rows - (self.labelled - self.ones))


def _largest(possible: Callable[[IntArray], BoolArray], low: IntArray, high: IntArray) -> IntArray:
    """The largest possible number from low to high, of which low is possible; by bisection."""
    while (low < high).any():
        middle = (low + high + 1) // 2
        accepted = possible(middle)
        low = np.where(accepted, middle, low)
        high = np.where(accepted, high, middle - 1)
        high = np.maximum(low, high)
    return low


@lru_cache(maxsize=2)
def _log_factorials(most: int) -> FloatArray:
    """log k! from 0 to `most`; an index outside gives infinity, the logarithm of no way at all."""
    return np.append(gammaln(np.arange(most + 1) + 1.0), np.full(most, np.inf))


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
    for name, verdict in (("negative", negative), ("positive", positive)):
        if not 0 <= verdict.ones <= verdict.labelled <= verdict.rows:
            raise ArgumentError(name, tuple(verdict), "give ones <= labelled <= rows")
    total = negative.rows + positive.rows
    if negative.labelled + positive.labelled == 0:
        raise ArgumentError("labelled", 0, "label some rows")
    low, high = _intervals(np.array([[*negative, *positive]]), tail)[0].tolist()
    return low / total, high / total


def intervals_of(
    samples: Sequence[Sample], *, confidence_level: float
) -> list[tuple[float, float] | None]:
    """The intervals for the rows of samples with labels 0 or 1; None if it would take too long.

    Probabilities count as verdicts, 1 above one half: any fixed partition of the rows is valid.
    """
    by_verdict = [[*negative, *positive] for negative, positive in (s.by_verdict for s in samples)]
    counts = np.array(by_verdict, dtype=np.int64).reshape(-1, 6)
    labels = counts[:, 1] + counts[:, 4]
    usable = (labels > 0) & (labels <= MOST_LABELS)
    # Many small samples have the same counts.
    different, place = np.unique(counts[usable], axis=0, return_inverse=True)
    total = (different[:, 0] + different[:, 3])[:, None]
    ends = _intervals(different, (1 - confidence_level) / 2) / total
    intervals = iter(map(tuple, ends[place.ravel()].tolist()))
    return [next(intervals) if use else None for use in usable]


def _intervals(counts: IntArray, tail: float) -> IntArray:
    """Least and most 1s among all rows of each sample: arrays of similar sizes are combined."""
    ends = np.empty((len(counts), 2), dtype=np.int64)
    labels = np.maximum(counts[:, 1], counts[:, 4])
    order = np.argsort(-labels, kind="stable")
    at = 0
    while at < len(order):
        cells = min(counts[order[at:], ::3].max() + 1, _CELLS)
        size = int((labels[order[at]] + 1) * cells)
        samples = order[at : at + max(_BLOCK // size, 1)]
        first = _Verdict(*counts[samples, :3].T)
        second = _Verdict(*counts[samples, 3:].T)
        total = first.rows + second.rows
        ends[samples, 0] = total - _most(first.flipped(), second.flipped(), tail)
        ends[samples, 1] = _most(first, second, tail)
        at += len(samples)
    return ends


def _most(first: _Verdict, second: _Verdict, tail: float) -> IntArray:
    """The largest number of 1s in all rows that the labels do not rule out."""
    low0, high0 = first.ends(tail * _SPENT / 4)
    low1, high1 = second.ends(tail * _SPENT / 4)

    def possible(total: IntArray) -> BoolArray:
        starts, ends = _cells(np.maximum(low1, total - high0), np.minimum(high1, total - low0))
        # A cell from a to b - 1 is evaluated at K_1 = a and K_0 = T - (b - 1): fewer 1s than in any
        # of its splits, so that the probability of a small count is not underestimated.
        ones0 = np.maximum(total[:, None] - ends + 1, 0)
        return np.asarray(_chance(first, second, ones0, starts).max(axis=1) > tail * (1 - _SPENT))

    return _largest(possible, low0 + low1, high0 + high1)


def _cells(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Starts and ends of cells over low..high, one value each if few; the last one is repeated."""
    number = np.minimum(high - low + 1, _CELLS)[:, None]
    at = np.minimum(np.arange(number.max()), number - 1)
    step = (high - low + 1)[:, None] / number
    starts = np.rint(low[:, None] + at * step).astype(np.int64)
    ends = np.rint(low[:, None] + (at + 1) * step).astype(np.int64)
    return starts, ends


def _chance(first: _Verdict, second: _Verdict, ones0: IntArray, ones1: IntArray) -> FloatArray:
    """P(N_0 x_0/m_0 + N_1 x_1/m_1 <= observed) for each split of the 1s."""
    m0 = first.labelled[:, None]
    m1 = second.labelled[:, None]
    observed0 = first.ones[:, None]
    observed1 = second.ones[:, None]
    x1 = np.arange(second.labelled.max() + 1)
    w0 = first.rows[:, None] * m1
    w1 = second.rows[:, None] * m0
    most = (w0 * observed0 + w1 * (observed1 - x1)) // np.maximum(w0, 1)
    # Without labels of one verdict, those of the other decide.
    most = np.where(m1 == 0, observed0, most)
    most = np.where(m0 == 0, np.where(x1 <= observed1, 0, -1), most)
    below = np.cumsum(first.chances(ones0), axis=2)
    columns = np.broadcast_to(np.clip(most, 0, m0)[:, None], (*ones0.shape, len(x1)))
    reached = np.take_along_axis(below, columns, axis=2) * (most >= 0)[:, None]
    return np.asarray((second.chances(ones1) * reached).sum(axis=2))
