"""What methods accept on many splits together, from running counts over one sorted order.

Columns are rows of the data sorted by score. A threshold can lie only where a tie block ends, and
the loosest one only just before a block with an error or at the end (see `thresholds`). So only
those cuts are looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjudge.selection.thresholds import ScoreOrder, order_by_lot, within_ratio
from adjudge.validation import BoolArray, FloatArray, IntArray

Counts = NDArray[np.signedinteger]
Words = NDArray[np.uint64]
_ONE = np.uint64(1)


@dataclass(frozen=True)
class Marks:
    """The marked columns of each split; `before` counts them before each word of 64 columns.

    >>> marks = Marks.of(np.array([[True, False, True]]))
    >>> marks.count(np.array([0, 1, 3])).tolist()
    [[0, 1, 2]]
    >>> marks.column(np.array([0]), np.array([2])).tolist()
    [2]
    """

    n: int
    words: Words
    before: Counts

    @classmethod
    def of(cls, marked: BoolArray) -> Marks:
        """From a table of splits x columns."""
        splits, n = marked.shape
        # The last word is never full, so that a cut at the end has a word too.
        filled = np.zeros((splits, 8 * (n // 64 + 1)), dtype=np.uint8)
        filled[:, : -(-n // 8)] = np.packbits(marked, axis=1, bitorder="little")
        return cls.of_words(n, filled.view("<u8").astype(np.uint64, copy=False))

    @classmethod
    def of_words(cls, n: int, words: Words) -> Marks:
        """From the bits of n columns, 64 in a word."""
        before = np.zeros(words.shape, dtype=np.int32)
        np.cumsum(np.bitwise_count(words[:, :-1]), axis=1, dtype=np.int32, out=before[:, 1:])
        return cls(n, words, before)

    def __len__(self) -> int:
        return len(self.words)

    def among(self, other: Marks) -> Marks:
        """The columns marked here and in `other`, which can have one row for all splits."""
        return self.of_words(self.n, self.words & other.words)

    @cached_property
    def total(self) -> Counts:
        """How many columns of each split are marked."""
        return np.asarray(self.before[:, -1] + np.bitwise_count(self.words[:, -1]))

    def count_among(self, other: Marks) -> IntArray:
        """How many columns of each split are marked here and in `other`."""
        both = np.bitwise_count(self.words & other.words)
        return np.asarray(both.sum(axis=1, dtype=np.int64))

    def count(self, cuts: Counts) -> Counts:
        """How many marked columns of every split are before each cut."""
        word, rest = np.divmod(cuts, 64)
        low = np.take(self.words, word, axis=1) & ((_ONE << rest.astype(np.uint64)) - _ONE)
        return np.asarray(np.take(self.before, word, axis=1) + np.bitwise_count(low))

    def count_at(self, splits: IntArray, cuts: IntArray) -> Counts:
        """How many marked columns of each of `splits` are before the cut next to it."""
        word, rest = np.divmod(cuts, 64)
        low = self.words[splits, word] & ((_ONE << rest.astype(np.uint64)) - _ONE)
        return np.asarray(self.before[splits, word] + np.bitwise_count(low))

    def column(self, splits: IntArray, rank: IntArray) -> IntArray:
        """The column that is marked as number `rank`, from 1, in each of `splits`."""
        width = self.n + 1
        word = np.searchsorted(self._all_before, rank + splits * width, side="left") - 1
        word -= splits * self.words.shape[1]
        left = rank - self.before[splits, word]
        bits, at = self.words[splits, word], word * 64
        for half in (32, 16, 8, 4, 2, 1):
            lower = np.bitwise_count(bits & np.uint64(2**half - 1))
            above = left > lower
            left = left - np.where(above, lower, 0)
            bits = np.where(above, bits >> np.uint64(half), bits)
            at = at + half * above
        return np.asarray(at)

    @cached_property
    def _all_before(self) -> IntArray:
        """`before` of all splits in one ascending array."""
        return np.ravel(self.before + np.arange(len(self))[:, None] * (self.n + 1))

    def unpack(self) -> BoolArray:
        """The table of splits x columns."""
        bits = self.words.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(bits, axis=1, count=self.n, bitorder="little").view(np.bool_)


#: Number of cuts that are decided together.
_BUCKET = 256


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
    """Which rows calibrate in each split, and which are tested (None: all the others)."""

    calibrates: BoolArray
    tested: BoolArray | None


@dataclass(frozen=True)
class SplitTable:
    """What does not change between splits. A cut is a number of columns: those before it.

    `before[i]` is the cut before the i-th block with an error; the last of `before` is the end of
    all columns. `mute` marks rows without a verdict, which no method accepts. `values` are the
    scores of a verdict, if the protocol allows only a few.
    """

    order: IntArray
    scores: FloatArray
    wrong: BoolArray
    mute: BoolArray
    before: IntArray
    tied: bool
    confidence: FloatArray | None
    values: tuple[float, ...] = ()

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
        order, s, n = by_score.rows, by_score.scores, len(scores)
        wrong = errors.astype(np.bool_)[order]
        starts = np.flatnonzero(np.append(True, s[1:] != s[:-1]))
        has_error = np.logical_or.reduceat(wrong, starts)
        return cls(
            order=order,
            scores=s,
            wrong=wrong,
            mute=np.zeros(n, np.bool_) if has_verdict is None else ~has_verdict[order],
            before=np.append(starts[has_error], n),
            tied=len(starts) < n,
            confidence=None if confidence is None else confidence[order],
            values=values,
        )

    def block_start(self, columns: IntArray) -> IntArray:
        """The cut before the tie block of each column."""
        return np.searchsorted(self.scores, self.scores[columns], side="left")

    def block_end(self, columns: IntArray) -> IntArray:
        """The cut after the tie block of each column."""
        return np.searchsorted(self.scores, self.scores[columns], side="right")

    @cached_property
    def wrong_marks(self) -> Marks:
        """The columns of the errors."""
        return Marks.of(self.wrong[None])

    @cached_property
    def sure_marks(self) -> dict[float, tuple[Marks, Marks]]:
        """By confidence, what `SplitCounts.as_sure_as` has looked up: it is the same every time."""
        return {}


@dataclass(frozen=True)
class SplitCounts:
    """Some splits, one per row: the columns that calibrate, and those that are tested."""

    table: SplitTable
    calibrates: Marks
    tested: Marks

    @classmethod
    def build(cls, table: SplitTable, halves: Halves) -> SplitCounts:
        """The halves in the order of the scores."""
        calibrates = Marks.of(np.take(halves.calibrates, table.order, axis=1))
        if halves.tested is not None:
            tested = np.take(halves.tested, table.order, axis=1)
            return cls(table, calibrates, Marks.of(tested))
        everything = Marks.of(np.ones((1, calibrates.n), dtype=np.bool_)).words
        return cls(table, calibrates, Marks.of_words(calibrates.n, everything ^ calibrates.words))

    def __len__(self) -> int:
        return len(self.calibrates)

    @property
    def n_calibration(self) -> Counts:
        """Calibration rows per split."""
        return self.calibrates.total

    @property
    def n_tested(self) -> Counts:
        """Tested rows per split."""
        return self.tested.total

    @cached_property
    def wrong(self) -> Marks:
        """The wrong calibration rows."""
        return self.calibrates.among(self.table.wrong_marks)

    @cached_property
    def errors(self) -> Counts:
        """Wrong calibration rows before each cut of `before`."""
        return self.wrong.count(self.table.before)

    @cached_property
    def k(self) -> Counts:
        """Calibration rows before each cut of `before`."""
        return self.calibrates.count(self.table.before)

    @cached_property
    def tested_at(self) -> Counts:
        """Tested rows before each cut of `before`."""
        return self.tested.count(self.table.before)

    def each(self) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Which columns calibrate and which are tested, split by split."""
        return zip(self.calibrates.unpack(), self.tested.unpack(), strict=True)

    def error_ranks(self, splits: IntArray, errors: IntArray) -> IntArray:
        """In these splits, the ranks of the wrong calibration rows number `errors`, from 0.

        n + 1 if there are not as many.
        """
        beyond = self._every_error_rank.shape[1] - 1
        return np.asarray(self._every_error_rank[splits[:, None], np.minimum(errors, beyond)])

    @cached_property
    def _every_error_rank(self) -> Counts:
        """The ranks of the wrong calibration rows, in each split, then n + 1."""
        columns, counts = np.flatnonzero(self.table.wrong), self.wrong.total
        marked = np.take(self.calibrates.unpack(), columns, axis=1)
        ranks = np.full((len(self), counts.max() + 1), self.n_calibration[0] + 1, dtype=np.int32)
        there = np.arange(ranks.shape[1]) < counts[:, None]
        ranks[there] = self.calibrates.count(columns + 1)[marked]
        return ranks

    def block_ends(self, splits: IntArray, ranks: IntArray) -> IntArray:
        """The last rank up to each of `ranks` at which a tie block ends, in these splits."""
        split, rank = np.broadcast_arrays(splits[:, None], ranks)
        column = self.calibrates.column(split, np.maximum(rank, 1))
        start, end = self.table.block_start(column), self.table.block_end(column)
        whole = self.calibrates.count_at(split, end) == rank
        return np.where(whole, rank, self.calibrates.count_at(split, start))

    def last_cut(self, ratio: Fraction, *, extra: int = 0, of_tested: bool = False) -> IntArray:
        """The last cut of each split with errors + extra <= ratio * rows; -1 if none has.

        The rows are those that calibrate, or those that are tested. Both sides grow from cut to
        cut. If the fewest errors in a bucket of cuts are too many for the most rows of that bucket,
        no cut of the bucket passes.
        """
        cuts = self.table.before
        starts = np.arange(0, len(cuts), _BUCKET)
        if len(self) > len(starts):
            rows = self.tested_at if of_tested else self.k
            return last_passing(within_ratio(self.errors + extra, rows, ratio))
        whole = self.tested.count if of_tested else self.calibrates.count
        ends = np.append(starts[1:], len(cuts)) - 1
        hopeful = within_ratio(self.wrong.count(cuts[starts]) + extra, whole(cuts[ends]), ratio)
        last = np.full(len(self), -1)
        for bucket in np.flatnonzero(hopeful.any(axis=0))[::-1]:
            if (last >= 0).all():
                break
            cuts_here = cuts[starts[bucket] : ends[bucket] + 1]
            passing = last_passing(
                within_ratio(self.wrong.count(cuts_here) + extra, whole(cuts_here), ratio)
            )
            better = (last < 0) & (passing >= 0)
            last[better] = starts[bucket] + passing[better]
        return last

    def before_cut(self, cut: IntArray) -> SplitOutcome:
        """All test rows before cut number `cut` of each split accepted; -1: none."""
        return self._outcome(np.where(cut < 0, 0, self.table.before[cut]))

    def below_threshold(self, cut: IntArray) -> SplitOutcome:
        """What a threshold at the last calibration score before each cut accepts; -1: nothing."""
        end = np.where(cut < 0, 0, self.table.before[cut])
        return self.below_rank(self.calibrates.count_at(np.arange(len(cut)), end))

    def below_rank(self, k: Counts) -> SplitOutcome:
        """What a threshold at the k-th calibration score of each split accepts; 0: nothing.

        A threshold is an observed calibration score. Test rows between it and the next one are not
        accepted, unless no calibration row is left above it: then everything is accepted.
        """
        column = self.calibrates.column(np.arange(len(k)), np.maximum(k, 1))
        end = np.where(k == 0, 0, self.table.block_end(column))
        return self._outcome(np.where(k == self.n_calibration, len(self.table.order), end))

    def as_sure_as(self, least: float) -> SplitOutcome:
        """The tested rows whose confidence is at least `least`."""
        table = self.table
        if least not in table.sure_marks:
            sure = np.asarray(table.confidence) >= least
            sure &= ~table.mute
            table.sure_marks[least] = Marks.of(sure[None]), Marks.of((sure & table.wrong)[None])
        accepted, wrong = (self.tested.count_among(marks) for marks in table.sure_marks[least])
        return SplitOutcome(accepted, wrong, self.n_tested.astype(np.int64))

    @cached_property
    def _tested_with_verdict(self) -> tuple[Marks, Marks]:
        """The tested rows that have a verdict, and the wrong ones of them."""
        table, tested = self.table, self.tested
        if table.mute.any():
            tested = tested.among(Marks.of(~table.mute[None]))
        return tested, tested.among(table.wrong_marks)

    def _outcome(self, end: IntArray) -> SplitOutcome:
        """Test rows among the first `end` columns; blocks are complete. No mute row is accepted."""
        splits = np.arange(len(end))
        accepted, wrong = (marks.count_at(splits, end) for marks in self._tested_with_verdict)
        return SplitOutcome(*(n.astype(np.int64) for n in (accepted, wrong, self.n_tested)))


def last_passing(passes: BoolArray) -> IntArray:
    """The last cut that passes in each split; -1 if none does."""
    last = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
    return np.where(passes.any(axis=1), last, -1)
