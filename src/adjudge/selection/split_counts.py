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
        return cls.of_bits(marked.shape[1], np.packbits(marked, axis=1, bitorder="little"))

    @classmethod
    def of_bits(cls, n: int, bits: NDArray[np.uint8]) -> Marks:
        """From the bits of n columns, eight in a byte."""
        # The last word is never full, so that a cut at the end has a word too.
        filled = np.zeros((len(bits), 8 * (n // 64 + 1)), dtype=np.uint8)
        filled[:, : bits.shape[1]] = bits
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
#: Splits that are looked up together: each is one bit of a byte.
TOGETHER = 8
#: With more columns, ranks of errors are looked up one by one.
_MANY_COLUMNS = 50_000


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
    all columns. `mute` marks rows without a verdict, which no method accepts.
    """

    order: IntArray
    scores: FloatArray
    wrong: BoolArray
    mute: BoolArray
    before: IntArray
    tied: bool
    confidence: FloatArray | None

    @classmethod
    def build(
        cls,
        scores: FloatArray,
        errors: IntArray,
        has_verdict: BoolArray | None,
        confidence: FloatArray | None,
        by_score: ScoreOrder | None = None,
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
    def mute_marks(self) -> Marks | None:
        """The columns without a verdict; None if all have one."""
        return Marks.of(self.mute[None]) if self.mute.any() else None

    @cached_property
    def sure_marks(self) -> dict[float, tuple[Marks, Marks]]:
        """By confidence, what `SplitCounts.as_sure_as` has looked up: it is the same every time."""
        return {}


@dataclass(frozen=True)
class SplitCounts:
    """Some splits, one per row: the columns that calibrate, and the wrong and mute ones of them.

    `tested` is None if all other rows are tested.
    """

    table: SplitTable
    calibrates: Marks
    wrong: Marks
    mute: Marks | None
    tested: Marks | None

    @classmethod
    def build(cls, table: SplitTable, halves: Halves) -> SplitCounts:
        """The halves in the order of the scores."""
        calibrates = _look_up(halves.calibrates, table.order)
        tested = None
        if halves.tested is not None:
            tested = _look_up(halves.tested, table.order)
        silent = table.mute_marks
        return cls(
            table=table,
            calibrates=calibrates,
            wrong=calibrates.among(table.wrong_marks),
            mute=None if silent is None else calibrates.among(silent),
            tested=tested,
        )

    def __len__(self) -> int:
        return len(self.calibrates)

    @property
    def n_calibration(self) -> Counts:
        """Calibration rows per split."""
        return self.calibrates.total

    @cached_property
    def n_tested(self) -> Counts:
        """Tested rows per split."""
        if self.tested is None:
            return np.asarray(len(self.table.order) - self.n_calibration)
        return self.tested.total

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
        return self._tested_before(self.table.before)

    def _tested_before(self, cuts: IntArray) -> Counts:
        if self.tested is None:
            return np.asarray(cuts.astype(np.int32) - self.calibrates.count(cuts))
        return self.tested.count(cuts)

    def each(self) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Which columns calibrate and which are tested, split by split."""
        tested = None if self.tested is None else self.tested.unpack()
        for at, calibrates in enumerate(self.calibrates.unpack()):
            yield calibrates, ~calibrates if tested is None else tested[at]

    def error_ranks(self, splits: IntArray, errors: IntArray) -> IntArray:
        """In these splits, the ranks of the wrong calibration rows number `errors`, from 0.

        n + 1 if there are not as many.
        """
        if len(self.table.order) <= _MANY_COLUMNS:
            beyond = self._every_error_rank.shape[1] - 1
            return np.asarray(self._every_error_rank[splits[:, None], np.minimum(errors, beyond)])
        split, error = np.broadcast_arrays(splits[:, None], errors)
        there = error < self.wrong.total[split]
        ranks = (self.n_calibration[split] + 1).astype(np.int64)
        column = self.wrong.column(split[there], error[there] + 1)
        ranks[there] = self.calibrates.count_at(split[there], column + 1)
        return np.asarray(ranks)

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
        whole = self._tested_before if of_tested else self.calibrates.count
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
        accepted, wrong = (self._tested_of(marks) for marks in table.sure_marks[least])
        return SplitOutcome(accepted, wrong, self.n_tested.astype(np.int64))

    def _tested_of(self, marks: Marks) -> IntArray:
        """How many of the marked columns are tested in each split."""
        if self.tested is not None:
            return self.tested.count_among(marks)
        return np.asarray(marks.total - self.calibrates.count_among(marks))

    def _outcome(self, end: IntArray) -> SplitOutcome:
        """Test rows among the first `end` columns; blocks are complete. No mute row is accepted."""
        wrong, mute = self.table.wrong_marks, self.table.mute_marks
        rows, silent = np.arange(len(end)), np.zeros(len(end), dtype=np.int32)
        if self.tested is None:
            accepted = end - self.calibrates.count_at(rows, end)
            errors = wrong.count(end)[0] - self.wrong.count_at(rows, end)
            if mute is not None and self.mute is not None:
                silent = mute.count(end)[0] - self.mute.count_at(rows, end)
        else:
            accepted = self.tested.count_at(rows, end)
            errors = self.tested.among(wrong).count_at(rows, end)
            if mute is not None:
                silent = self.tested.among(mute).count_at(rows, end)
        return SplitOutcome(
            (accepted - silent).astype(np.int64),
            (errors - silent).astype(np.int64),
            self.n_tested.astype(np.int64),
        )


def _look_up(marked: BoolArray, order: IntArray) -> Marks:
    """The marks of every split in this order of the columns.

    Many columns do not fit into the processor's cache, and looking one up takes long. So that of
    eight splits is looked up together, as one byte.
    """
    splits, n = marked.shape
    if splits == 1 or n <= _MANY_COLUMNS:
        return Marks.of(np.take(marked, order, axis=1))
    bits = np.empty((splits, -(-n // 8)), dtype=np.uint8)
    for start in range(0, splits, TOGETHER):
        byte = np.zeros(n, dtype=np.uint8)
        for bit, split in enumerate(marked[start : start + TOGETHER]):
            byte |= split.view(np.uint8) << bit
        byte = byte[order]
        for bit, packed in enumerate(bits[start : start + TOGETHER]):
            packed[:] = np.packbits(byte & (1 << bit), bitorder="little")
    return Marks.of_bits(n, bits)


def last_passing(passes: BoolArray) -> IntArray:
    """The last cut that passes in each split; -1 if none does."""
    last = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
    return np.where(passes.any(axis=1), last, -1)
