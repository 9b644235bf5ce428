"""Thresholds: tied scores are accepted or rejected together; all comparisons are of integers.

Two sorted arrays are enough for every threshold: all scores, and the scores of the wrong rows.
Between two errors a looser threshold only adds right verdicts, so the loosest feasible threshold
always lies just before a block with an error, or at the end. One candidate per wrong row is
enough. On many splits together only these cuts are looked at, by counts over one sorted order:
columns are rows of the data sorted by score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.errors import ArgumentError
from adjudge.policy.result import Accepts, Rule, share
from adjudge.statistics.numbers import sort_values
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator

_SAFE = 2**62
#: Thresholds that are looked at together.
_CANDIDATES = 65_536


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
class ScoreOrder:
    """The rows by score, and their scores, ascending."""

    rows: IntArray
    scores: FloatArray


def loosest_rows(scores: FloatArray, wrong: FloatArray, level: Fraction) -> int:
    """The most rows k, in complete tie blocks, with E + 1 <= level * k; 0 if none.

    `scores` and those of the `wrong` rows are sorted. Candidate i is the threshold just before the
    i-th error: it accepts i errors and all rows below. Within a tie block only the first candidate
    is real. The others count more errors for the same rows, so they never pass if it does not.
    Candidates are looked at from the loosest one that can pass.
    """
    n = len(scores)
    if len(wrong) + 1 <= level * n:
        return n
    for end in range(min(len(wrong), int(level * n)), 0, -_CANDIDATES):
        first = max(end - _CANDIDATES, 0)
        rows = np.searchsorted(scores, wrong[first:end], side="left")
        passes = within_ratio(np.arange(first + 1, end + 1), rows, level)
        if passes.any():
            return int(rows[passes][-1])
    return 0


def threshold_at(
    scores: FloatArray,
    wrong: FloatArray,
    rows: int,
    *,
    method: str,
    alpha: Fraction,
    delta: Fraction | None = None,
) -> Threshold:
    """The rule that accepts the `rows` smallest of the sorted scores (complete tie blocks)."""
    n = len(scores)
    accepts: Accepts = "all" if rows == n else "none" if rows == 0 else "below"
    errors = int(np.searchsorted(wrong, scores[rows - 1], side="right")) if rows else 0
    return Threshold(
        method=method,
        alpha=float(alpha),
        delta=None if delta is None else float(delta),
        accepts=accepts,
        threshold=float(scores[rows - 1]) if accepts == "below" else None,
        feasible=rows > 0,
        n_calibration=n,
        n_errors=len(wrong),
        n_accepted=rows,
        n_accepted_errors=errors,
        empirical_risk=share(errors, rows),
        coverage=share(rows, n),
    )


def order_by_lot(scores: FloatArray, seed: Seed, finer: FloatArray | None = None) -> ScoreOrder:
    """The rows by score; ties by the `finer` score and then in random order, without the errors.

    Sorting values takes half the time of `argsort`. So the leading bits of a score and the place of
    its row in the random order are sorted as one number; the rest of the score is sorted last.
    """
    n = len(scores)
    lot = generator(seed).permutation(len(scores))
    if finer is not None:
        rows = lot[np.lexsort((finer[lot], scores[lot]))]
        return ScoreOrder(rows, scores[rows])
    place = np.empty(n, dtype=np.int64)
    low = n.bit_length()
    place[lot] = np.arange(n)
    bits = (scores + 0.0).view(np.int64)  # without -0.0
    keys: IntArray = np.where(bits < 0, bits ^ (2**63 - 1), bits) >> low << low | place
    rows = lot[sort_values(keys) & ((1 << low) - 1)]
    ordered = scores[rows]
    again = np.argsort(ordered, kind="stable")
    return ScoreOrder(rows[again], ordered[again])


def within_ratio(counts: IntArray, totals: IntArray, ratio: Fraction) -> BoolArray:
    """counts <= ratio * totals, elementwise and exactly.

    A float sum of (e_i - alpha) is on the wrong side of -1 often enough to change thresholds. Both
    sides are multiplied out: counts * q <= p * totals for ratio = p/q. If that could exceed 64
    bits, floats decide the clear cases and Python integers the close ones.

    >>> within_ratio(np.array([3, 4]), np.array([30, 30]), Fraction(1, 10))
    array([ True, False])
    """
    p = ratio.numerator
    q = ratio.denominator
    largest_count = int(np.max(counts, initial=0))
    largest_total = int(np.max(totals, initial=0))
    largest = max(largest_count * q, largest_total * p, p, q)
    if largest < _SAFE:
        # Counts can be 32-bit, where numpy products would overflow without a warning.
        bits = np.int32 if largest < 2**31 else np.int64
        return np.asarray(np.multiply(counts, q, dtype=bits) <= np.multiply(totals, p, dtype=bits))
    left = counts * 1.0
    right = totals * float(ratio)
    decided = np.asarray(left <= right)
    close = np.abs(left - right) <= 1e-9 * np.maximum(np.abs(left), np.abs(right))
    for at in zip(*np.nonzero(close), strict=True):
        count = int(np.broadcast_to(counts, decided.shape)[at])
        total = int(np.broadcast_to(totals, decided.shape)[at])
        decided[at] = count * q <= total * p
    return decided


Counts = NDArray[np.signedinteger]


@dataclass(frozen=True)
class Levels:
    """The allowed error level and failure probability, as the decimals that were typed."""

    alpha: Fraction
    delta: Fraction = Fraction(1, 10)


class SplitOutcome(NamedTuple):
    """Accepted test rows, wrong ones among them, and all test rows, per split."""

    accepted: IntArray
    wrong: IntArray
    tested: IntArray


class Method(ABC):
    """A row of `evaluate`'s table: a guarantee, or a baseline without a guarantee."""

    name: ClassVar[str]
    baseline: ClassVar[bool] = False
    #: Uses the judge's confidence, not the score.
    needs_confidence: ClassVar[bool] = False

    @abstractmethod
    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        """What it accepts in the test half of each split after calibration on the other half."""


@dataclass(frozen=True)
class Halves:
    """Which rows calibrate in each split, and which are tested: by default all others."""

    calibrates: BoolArray
    apart: BoolArray | None = None

    @cached_property
    def tested(self) -> BoolArray:
        return ~self.calibrates if self.apart is None else self.apart

    def each(self, change: Callable[[Any], Any]) -> Halves:
        """Both tables changed; a complement is not changed again."""
        apart = None if self.apart is None else change(self.apart)
        return Halves(change(self.calibrates), apart)


@dataclass(frozen=True)
class Marks:
    """The marked columns of some splits, as bits: 64 columns are counted in one step."""

    words: NDArray[np.uint64]

    @classmethod
    def build(cls, marked: BoolArray) -> Marks:
        """One column more than the rows have, so that the cut after all of them is in a word."""
        splits, n = marked.shape
        packed = np.zeros((splits, 8 * (n // 64 + 1)), dtype=np.uint8)
        packed[:, : -(-n // 8)] = np.packbits(marked, axis=1, bitorder="little")
        return cls(packed.view("<u8"))

    def __and__(self, other: Marks) -> Marks:
        return Marks(self.words & other.words)

    @cached_property
    def starts(self) -> Counts:
        """Marks before each word of each split, and at last all of its marks."""
        counts = np.zeros((len(self.words), self.words.shape[1] + 1), dtype=np.int32)
        np.cumsum(np.bitwise_count(self.words), axis=1, out=counts[:, 1:])
        return counts

    @property
    def total(self) -> IntArray:
        return np.asarray(np.bitwise_count(self.words).sum(axis=1, dtype=np.int64))

    def before(self, splits: IntArray, cuts: IntArray) -> IntArray:
        """Marks before these cuts of these splits."""
        word = cuts >> 6
        below = (np.uint64(1) << (cuts & 63).astype(np.uint64)) - np.uint64(1)
        counts = np.bitwise_count(self.words[splits, word] & below)
        return np.asarray(self.starts[splits, word] + counts)

    def bits(self, splits: IntArray, words: IntArray) -> NDArray[np.uint8]:
        """The columns of these words, a line for each."""
        chosen = np.ascontiguousarray(self.words[splits, words])
        return np.unpackbits(chosen.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")

    def within(self, splits: IntArray, words: IntArray) -> Counts:
        """Marks before every column of these words, a line for each."""
        bits = self.bits(splits, words)
        counts = np.cumsum(bits, axis=1, dtype=np.int32)
        return np.asarray(counts - bits + self.starts[splits, words][:, None])


@dataclass(frozen=True)
class SplitTable:
    """What does not change between splits. A cut is a number of columns: those before it.

    `cuts` marks the cuts at which a threshold can lie: before a block with an error, and after all
    columns. `no_verdict` marks rows without a verdict, which no method accepts. `values` are the
    scores of a verdict, if the protocol allows only a few.
    """

    order: IntArray
    scores: FloatArray
    wrong: BoolArray
    no_verdict: BoolArray
    cuts: Marks
    tied: bool
    confidence: FloatArray | None
    values: tuple[float, ...] = ()
    _surer: dict[float, Marks] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        scores: FloatArray,
        errors: IntArray,
        has_verdict: BoolArray | None,
        confidence: FloatArray | None,
        by_score: ScoreOrder | None = None,
        values: tuple[float, ...] = (),
    ) -> SplitTable:
        """Sort once, with ties in a random order that ignores the errors, and compute the cuts."""
        by_score = order_by_lot(scores, 0) if by_score is None else by_score
        order = by_score.rows
        s = by_score.scores
        n = len(scores)
        wrong = errors.astype(np.bool_)[order]
        starts = np.flatnonzero(np.append(True, s[1:] != s[:-1]))
        has_error = np.zeros((1, n), dtype=np.bool_)
        has_error[0, starts] = np.logical_or.reduceat(wrong, starts)
        cuts = Marks.build(has_error)
        cuts.words[0, n // 64] |= np.uint64(1 << n % 64)
        return cls(
            order=order,
            scores=s,
            wrong=wrong,
            no_verdict=np.zeros(n, np.bool_) if has_verdict is None else ~has_verdict[order],
            cuts=cuts,
            tied=len(starts) < n,
            confidence=None if confidence is None else confidence[order],
            values=values,
        )

    @cached_property
    def all_marks(self) -> Marks:
        return Marks.build(np.ones((1, len(self.order)), dtype=np.bool_))

    @cached_property
    def wrong_marks(self) -> Marks:
        return Marks.build(self.wrong[None])

    @cached_property
    def mute_marks(self) -> Marks:
        return Marks.build(self.no_verdict[None])

    def surer(self, bar: float) -> Marks:
        """The columns with at least this confidence."""
        if self.confidence is None:
            raise ArgumentError("confidence", None, "heuristic needs it: give it")
        if bar not in self._surer:
            self._surer[bar] = Marks.build((self.confidence >= bar)[None])
        return self._surer[bar]

    def block_end(self, columns: IntArray) -> IntArray:
        """The cut after the tie block of each column."""
        return np.searchsorted(self.scores, self.scores[columns], side="right")


@dataclass(frozen=True)
class SplitCounts:
    """Some splits, one per row: the columns that calibrate, and those that are tested."""

    table: SplitTable
    halves: Halves

    @classmethod
    def build(cls, table: SplitTable, halves: Halves) -> SplitCounts:
        """The halves in the order of the scores."""
        return cls(table, halves.each(partial(np.take, indices=table.order, axis=1)))

    @property
    def calibrates(self) -> BoolArray:
        return self.halves.calibrates

    @property
    def tested(self) -> BoolArray:
        return self.halves.tested

    def __len__(self) -> int:
        return len(self.calibrates)

    @cached_property
    def calibration(self) -> Marks:
        return Marks.build(self.calibrates)

    @cached_property
    def wrong(self) -> Marks:
        """Wrong calibration rows."""
        return self.calibration & self.table.wrong_marks

    @cached_property
    def tests(self) -> Marks:
        if self.halves.apart is None:
            return Marks(self.table.all_marks.words & ~self.calibration.words)
        return Marks.build(self.halves.apart)

    @cached_property
    def n_calibration(self) -> IntArray:
        return self.calibration.total

    @cached_property
    def n_wrong(self) -> IntArray:
        return self.wrong.total

    @cached_property
    def n_tested(self) -> IntArray:
        return self.tests.total

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray]:
        """The cells of the table that calibrate, and where those of each split begin."""
        return np.flatnonzero(self.calibrates), np.cumsum(self.n_calibration) - self.n_calibration

    @cached_property
    def _wrong_cells(self) -> tuple[IntArray, IntArray]:
        """Which of these cells are wrong, and where those of each split begin."""
        wrong = np.tile(self.table.wrong, len(self))[self._cells[0]]
        return np.append(np.flatnonzero(wrong), -1), np.cumsum(self.n_wrong) - self.n_wrong

    def error_ranks(self, splits: IntArray, errors: IntArray) -> IntArray:
        """In these splits, the ranks of the wrong calibration rows number `errors`, from 0.

        n + 1 if there are not as many.
        """
        wrong, begins = self._wrong_cells
        there = errors < self.n_wrong[splits, None]
        cells = wrong[np.where(there, begins[splits, None] + errors, -1)]
        ranks = cells - self._cells[1][splits, None] + 1
        return np.where(there, ranks, self.n_calibration[0] + 1)

    def column(self, splits: IntArray, rank: IntArray) -> IntArray:
        """The column of calibration row number `rank`, from 1, in each of `splits`."""
        cells, begins = self._cells
        return np.asarray(cells[begins[splits] + rank - 1] % self.calibrates.shape[1])

    def block_ends(self, splits: IntArray, ranks: IntArray) -> IntArray:
        """The last rank up to each of `ranks` at which a tie block ends, in these splits."""
        split, rank = np.broadcast_arrays(splits[:, None], ranks)
        column = self.column(split, np.maximum(rank, 1))
        start = np.searchsorted(self.table.scores, self.table.scores[column], side="left")
        whole = self.calibration.before(split, self.table.block_end(column)) == rank
        return np.where(whole, rank, self.calibration.before(split, start))

    def last_cut(
        self,
        ratio: Fraction,
        *,
        extra: int = 0,
        rows: Marks | None = None,
        weights: tuple[IntArray, IntArray] | None = None,
    ) -> IntArray:
        """The last cut of each split with errors + extra <= ratio * rows; 0 if none has.

        Rows are those that calibrate, unless others are given; `weights` multiply both sides. A
        word has a cut that passes if its last errors and first rows pass, and can have one if its
        first errors and last rows pass. Columns are looked at only in the words between.
        """
        wrong = self.wrong
        rows = self.calibration if rows is None else rows
        cuts = self.table.cuts

        def passes(errors: Counts, among: Counts, splits: IntArray | slice) -> BoolArray:
            errors = errors + extra
            if weights is not None:
                errors = errors * weights[0][splits, None]
                among = among * weights[1][splits, None]
            return within_ratio(errors, among, ratio)

        has_cut = cuts.words != 0
        surely = has_cut & passes(wrong.starts[:, 1:], rows.starts[:, :-1], slice(None))
        possibly = has_cut & passes(wrong.starts[:, :-1], rows.starts[:, 1:], slice(None))
        possibly &= np.arange(possibly.shape[1]) >= last_passing(surely)[:, None]
        split, word = np.nonzero(possibly)
        exact = passes(wrong.within(split, word), rows.within(split, word), split)
        last = last_passing(exact & cuts.bits(np.zeros_like(word), word).view(np.bool_))
        # Words are in ascending order: of several that pass, the last remains.
        cut = np.zeros(len(self), dtype=np.int64)
        passing = last >= 0
        cut[split[passing]] = 64 * word[passing] + last[passing]
        return cut

    def below_threshold(self, cut: IntArray) -> SplitOutcome:
        """What a threshold at the last calibration score before each cut accepts."""
        return self.below_rank(self.calibration.before(np.arange(len(cut)), cut))

    def below_rank(self, k: IntArray) -> SplitOutcome:
        """What a threshold at the k-th calibration score of each split accepts; 0: nothing.

        A threshold is an observed calibration score. Test rows between it and the next one are not
        accepted, unless no calibration row is left above it: then everything is accepted.
        """
        column = self.column(np.arange(len(k)), np.maximum(k, 1))
        end = np.where(k == 0, 0, self.table.block_end(column))
        return self.before_cut(np.where(k == self.n_calibration, len(self.table.order), end))

    def before_cut(self, cut: IntArray) -> SplitOutcome:
        """What is accepted if all test rows with a verdict before a cut of each split are."""
        tested, tested_wrong = self.acceptable
        splits = np.arange(len(cut))
        accepted = tested.before(splits, cut)
        wrong = tested_wrong.before(splits, cut)
        return SplitOutcome(accepted.astype(np.int64), wrong.astype(np.int64), self.n_tested)

    @cached_property
    def acceptable(self) -> tuple[Marks, Marks]:
        """Tested rows with a verdict, and the wrong ones of them."""
        tested = Marks(self.tests.words & ~self.table.mute_marks.words)
        return tested, tested & self.table.wrong_marks


def last_passing(passes: BoolArray) -> IntArray:
    """The last column that passes in each line; -1 if none does."""
    last = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
    return np.where(passes.any(axis=1), last, -1)
