"""Thresholds: tied scores are accepted or rejected together; all comparisons are of integers.

Two sorted arrays are enough for every threshold: all scores, and the scores of the wrong rows.
Between two errors a looser threshold only adds right verdicts, so the loosest feasible threshold
always lies just before a block with an error, or at the end. One candidate per wrong row is
enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.policy.result import Accepts, Rule, share
from adjudge.statistics.numbers import slices, sort_values
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator, paired

_SAFE = 2**62


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """One deployable rule: accept every verdict whose uncertainty is at most `threshold`.

    `accepts` is "all" or "none" if no finite threshold expresses it; `threshold` is then None.
    `n_accepted`, `n_accepted_errors` and `empirical_risk` count the calibration rows that the
    rule accepts.
    """

    method: str
    alpha: float
    delta: float | None = None
    accepts: Accepts
    threshold: float | None
    feasible: bool
    n_calibration: int
    n_errors: int
    n_accepted: int
    n_accepted_errors: int
    empirical_risk: float
    coverage: float

    def accept(self, scores: ArrayLike) -> BoolArray:
        """Which of the new `scores` the rule accepts."""
        return self.rule.accept(scores)

    @property
    def rule(self) -> Rule:
        """The rule without its counts."""
        return Rule(accepts=self.accepts, threshold=self.threshold)


@dataclass(frozen=True, kw_only=True)
class BatchSelection:
    """Which rows of one batch are accepted together, and the p-value of each."""

    method: str
    alpha: float
    n_calibration: int
    n_errors: int
    n: int
    n_accepted: int
    effective_size: float | None = None
    p_values: FloatArray
    accepted: BoolArray


@dataclass(frozen=True)
class SortedScores:
    """Scores and, separately, the scores of the wrong rows, both ascending."""

    scores: FloatArray
    wrong: FloatArray

    def accepted(self, threshold: float) -> tuple[int, int]:
        """How many rows and how many errors have a score of at most `threshold`."""
        rows = int(np.searchsorted(self.scores, threshold, side="right"))
        return rows, int(np.searchsorted(self.wrong, threshold, side="right"))

    def loosest(self, level: Fraction) -> int:
        """The most rows k, in complete tie blocks, with E + 1 <= level * k; 0 if none.

        Candidate i is the threshold just before the i-th error: it accepts i errors and all rows
        below. Within a tie block only the first candidate is real. The others count more errors
        for the same rows, so they never pass if the first does not.
        """
        budget = np.arange(1, len(self.wrong) + 2)
        below = np.searchsorted(self.scores, self.wrong, side="left")
        rows = np.append(below, len(self.scores))
        passing = rows[within_ratio(budget, rows, level)]
        return int(passing[-1]) if len(passing) else 0


@dataclass(frozen=True)
class ScoreOrder:
    """The rows by score, and their scores, ascending."""

    rows: IntArray
    scores: FloatArray


def sort_scores(scores: ArrayLike, errors: ArrayLike) -> SortedScores:
    """Check scores and 0/1 errors, and return both sorted arrays."""
    s, e = paired(scores, errors)
    return SortedScores(sort_values(s), sort_values(s[e.astype(np.bool_)]))


def threshold_at(
    ordered: SortedScores,
    rows: int,
    *,
    method: str,
    alpha: Fraction,
    delta: Fraction | None = None,
) -> Threshold:
    """The rule that accepts the `rows` smallest scores (complete tie blocks)."""
    n = len(ordered.scores)
    accepts: Accepts = "all" if rows == n else "none" if rows == 0 else "below"
    threshold = float(ordered.scores[rows - 1]) if accepts == "below" else None
    errors = ordered.accepted(ordered.scores[rows - 1])[1] if rows else 0
    return Threshold(
        method=method,
        alpha=float(alpha),
        delta=None if delta is None else float(delta),
        accepts=accepts,
        threshold=threshold,
        feasible=rows > 0,
        n_calibration=n,
        n_errors=len(ordered.wrong),
        n_accepted=rows,
        n_accepted_errors=errors,
        empirical_risk=share(errors, rows),
        coverage=share(rows, n),
    )


def order_by_lot(scores: FloatArray, seed: Seed, finer: FloatArray | None = None) -> ScoreOrder:
    """The rows by score; ties by the `finer` score and then in random order, without the errors.

    Sorting values is several times faster than `argsort`, which looks up rows all over the memory.
    So the leading bits of a score and the place of its row in the random order are sorted as one
    number. Rows whose scores differ only in the other bits are put in order afterwards.
    """
    n = len(scores)
    lot = generator(seed).permutation(n)
    place, keys = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint64)
    place[lot] = np.arange(n, dtype=np.uint32)
    if finer is not None:
        rows = np.lexsort((place, finer, scores))
        return ScoreOrder(rows, scores[rows])
    low = np.uint64(max(n - 1, 1).bit_length())
    for rows_here in slices(n):
        keys[rows_here] = _to_rising_bits(scores[rows_here]) >> low << low | place[rows_here]
    del place
    keys = sort_values(keys)
    rows = lot[(keys & ((np.uint64(1) << low) - np.uint64(1))).view(np.int64)]
    del lot
    s = scores[rows]
    falls = s[1:] < s[:-1]
    if falls.any():
        block = keys >> low
        starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
        mixed = np.logical_or.reduceat(np.append(falls, False), starts)
        unordered = np.flatnonzero(np.repeat(mixed, np.diff(starts, append=n)))
        again = unordered[np.argsort(s[unordered], kind="stable")]
        rows[unordered], s[unordered] = rows[again], s[again]
    return ScoreOrder(rows, s)


def _to_rising_bits(scores: FloatArray) -> NDArray[np.uint64]:
    """Integers in the order of the scores; 0.0 and -0.0 are the same."""
    bits = (scores + 0.0).view(np.int64)
    return (bits ^ ((bits >> 63) | np.int64(-(2**63)))).view(np.uint64)


def within_ratio(part: IntArray, whole: IntArray, ratio: Fraction) -> BoolArray:
    """part <= ratio * whole, elementwise and exactly.

    A float sum of (e_i - alpha) is on the wrong side of -1 often enough to change thresholds. Both
    sides are multiplied out: part * q <= p * whole for ratio = p/q. If that could exceed 64 bits,
    floats decide the clear cases and Python integers the close ones.

    >>> within_ratio(np.array([3, 4]), np.array([30, 30]), Fraction(1, 10))
    array([ True, False])
    """
    p, q = ratio.numerator, ratio.denominator
    largest = max(_reach(part) * q, _reach(whole) * p, p, q)
    if largest < _SAFE:
        # Counts can be 32-bit, where numpy products would overflow without a warning.
        bits = np.int32 if largest < 2**31 else np.int64
        return np.asarray(np.multiply(part, q, dtype=bits) <= np.multiply(whole, p, dtype=bits))
    left, right = part * 1.0, whole * float(ratio)
    decided = np.asarray(left <= right)
    close = np.abs(left - right) <= 1e-9 * np.maximum(np.abs(left), np.abs(right))
    for at in zip(*np.nonzero(close), strict=True):
        count, all_of_it = (np.broadcast_to(counts, decided.shape)[at] for counts in (part, whole))
        decided[at] = int(count) * q <= int(all_of_it) * p
    return decided


def _reach(values: IntArray) -> int:
    if np.size(values) == 0:
        return 0
    return max(abs(int(np.min(values))), abs(int(np.max(values))))
