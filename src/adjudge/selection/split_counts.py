"""What methods accept on many splits together, from running counts over one sorted order.

Columns are rows of the data sorted by score. A threshold can lie only where a tie block ends, and
the loosest one only just before a block with an error or at the end (see `thresholds`). So counts
are kept only at those cuts.
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

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.selection.thresholds import at_most, order_by_lot

Counts = NDArray[np.signedinteger]
#: Number of cuts that are decided together.
_BUCKET = 1024
#: How many bits of each byte are set.
_BITS = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)


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
    all columns. `block_start[c]` and `block_end[c]` are the cuts around column c's block. `mute`
    marks rows without a verdict, which no method accepts.
    """

    order: IntArray
    scores: FloatArray
    wrong: BoolArray
    mute: BoolArray
    before: IntArray
    block_start: Counts
    block_end: Counts
    wrong_before: Counts
    mute_before: Counts
    confidence: FloatArray | None

    @classmethod
    def build(
        cls,
        scores: FloatArray,
        errors: IntArray,
        has_verdict: BoolArray | None,
        confidence: FloatArray | None,
        order: IntArray | None = None,
    ) -> SplitTable:
        """Sort once, with ties in a random order that ignores the errors, and compute the cuts."""
        order = order_by_lot(scores, 0) if order is None else order
        s, wrong = scores[order], errors[order].astype(np.bool_)
        n = len(s)
        ends = np.append(np.flatnonzero(s[1:] != s[:-1]) + 1, n).astype(np.int32)
        starts = np.concatenate((np.zeros(1, np.int32), ends[:-1]))
        has_error = np.add.reduceat(wrong, starts, dtype=np.int64) > 0
        mute = np.zeros(n, np.bool_) if has_verdict is None else ~has_verdict[order]
        return cls(
            order=order,
            scores=s,
            wrong=wrong,
            mute=mute,
            before=np.append(starts[has_error], n).astype(np.int64),
            block_start=np.repeat(starts, ends - starts),
            block_end=np.repeat(ends, ends - starts),
            wrong_before=_count_before(wrong),
            mute_before=_count_before(mute),
            confidence=None if confidence is None else confidence[order],
        )

    @cached_property
    def tied(self) -> bool:
        """Whether any two scores are equal."""
        return bool((self.block_end - self.block_start > 1).any())

    @cached_property
    def wrong_columns(self) -> IntArray:
        """The columns of the errors."""
        return np.flatnonzero(self.wrong)

    @cached_property
    def sure_columns(self) -> dict[float, tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        """By confidence, what `SplitCounts.as_sure_as` has looked up: it is the same every time."""
        return {}


@dataclass(frozen=True)
class SplitCounts:
    """Some splits, one per row: counts before each cut of `before`.

    k, errors and mute count calibration rows, wrong ones, and those without a verdict. `running`
    counts calibration rows at every column. `tested` is None if all other rows are tested.
    """

    table: SplitTable
    calibrates: BoolArray
    tested: BoolArray | None
    k: Counts
    errors: Counts
    mute: Counts | None
    running: Counts

    @classmethod
    def build(cls, table: SplitTable, halves: Halves) -> SplitCounts:
        """The halves in the order of the scores, counted."""
        calibrates = np.take(halves.calibrates, table.order, axis=1)
        tested = None if halves.tested is None else np.take(halves.tested, table.order, axis=1)
        cuts, running = table.before, _running(calibrates)
        wrong = np.take(calibrates, table.wrong_columns, axis=1)
        mute = None
        if table.mute_before[-1]:
            silent = np.take(calibrates, np.flatnonzero(table.mute), axis=1)
            mute = _at(_running(silent), table.mute_before[cuts])
        return cls(
            table=table,
            calibrates=calibrates,
            tested=tested,
            k=_at(running, cuts),
            errors=_at(_running(wrong), table.wrong_before[cuts]),
            mute=mute,
            running=running,
        )

    @property
    def n_calibration(self) -> Counts:
        """Calibration rows per split."""
        return self.k[:, -1]

    @cached_property
    def tested_at(self) -> Counts:
        """Tested rows before each cut."""
        cuts = self.table.before
        if self.tested is None:
            return cuts.astype(np.int32) - self.k
        return _at(_running(self.tested), cuts)

    @cached_property
    def n_tested(self) -> Counts:
        """Tested rows per split."""
        if self.tested is None:
            return len(self.table.order) - self.n_calibration
        return np.asarray(np.count_nonzero(self.tested, axis=1), dtype=np.int32)

    def each(self) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Which columns calibrate and which are tested, split by split."""
        for at, own in enumerate(self.calibrates):
            yield own, ~own if self.tested is None else self.tested[at]

    @cached_property
    def columns(self) -> IntArray:
        """The columns of the calibration rows of each split; all splits have the same number."""
        splits, n = self.calibrates.shape
        flat = np.flatnonzero(self.calibrates).reshape(splits, -1)
        return np.asarray(flat - n * np.arange(splits)[:, None])

    @cached_property
    def error_ranks(self) -> IntArray:
        """The ranks of the wrong calibration rows, in each split, then n + 1."""
        wrong, counts = self.table.wrong_columns, self.errors[:, -1]
        marked = np.take(self.calibrates, wrong, axis=1)
        own = np.take(self.running, wrong, axis=1)[marked]
        if len(marked) == 1:
            return own[None, :]
        beyond = int(self.n_calibration[0]) + 1
        ranks = np.full((len(marked), counts.max()), beyond, dtype=np.int32)
        ranks[np.arange(ranks.shape[1]) < counts[:, None]] = own
        return ranks

    def block_ends(self, own: IntArray, ranks: IntArray) -> IntArray:
        """The last rank up to each of `ranks` at which a tie block ends, in the splits `own`."""
        table, rows = self.table, own[:, None]
        columns = self.columns[rows, np.maximum(ranks, 1) - 1]
        start, end = table.block_start[columns], table.block_end[columns]
        before = np.where(start == 0, 0, self.running[rows, np.maximum(start, 1) - 1])
        return np.where(self.running[rows, end - 1] == ranks, ranks, before)

    def last_cut(self, whole: Counts, ratio: Fraction, *, extra: int = 0) -> IntArray:
        """The last cut of each split with errors + extra <= ratio * whole; -1 if none has.

        Both sides grow from cut to cut. If the fewest errors in a bucket of cuts are too many for
        the largest `whole` of that bucket, no cut of the bucket passes.
        """
        cuts = self.errors.shape[1]
        starts = np.arange(0, cuts, _BUCKET)
        if len(self.errors) > len(starts):
            return last_passing(at_most(self.errors + extra, whole, ratio))
        ends = np.append(starts[1:], cuts) - 1
        hopeful = at_most(self.errors[:, starts] + extra, whole[:, ends], ratio)
        last = np.full(len(hopeful), -1)
        for split, buckets in enumerate(hopeful):
            for bucket in np.flatnonzero(buckets)[::-1]:
                own = split, slice(starts[bucket], ends[bucket] + 1)
                passing = np.flatnonzero(at_most(self.errors[own] + extra, whole[own], ratio))
                if len(passing):
                    last[split] = starts[bucket] + passing[-1]
                    break
        return last

    def before_cut(self, cut: IntArray) -> SplitOutcome:
        """All test rows before cut number `cut` of each split accepted; -1: none."""
        k = self.k[np.arange(len(cut)), cut]
        return self._outcome(k, np.where(cut < 0, 0, self.table.before[cut]))

    def below_threshold(self, cut: IntArray) -> SplitOutcome:
        """What a threshold at the last calibration score before each cut accepts; -1: nothing."""
        return self.below_rank(np.where(cut < 0, 0, self.k[np.arange(len(cut)), cut]))

    def below_rank(self, k: IntArray) -> SplitOutcome:
        """What a threshold at the k-th calibration score of each split accepts; 0: nothing.

        A threshold is an observed calibration score. Test rows between it and the next one are not
        accepted, unless no calibration row is left above it: then everything is accepted.
        """
        column = self.columns[np.arange(len(k)), k - 1]
        end = np.where(k == 0, 0, self.table.block_end[column])
        return self._outcome(k, np.where(k == self.n_calibration, len(self.table.order), end))

    def as_sure_as(self, least: float) -> SplitOutcome:
        """The tested rows whose confidence is at least `least`."""
        table = self.table
        if least not in table.sure_columns:
            kept = np.asarray(table.confidence) >= least
            kept &= ~table.mute
            table.sure_columns[least] = np.packbits(kept), np.packbits(kept & table.wrong)
        tested = ~self.calibrates if self.tested is None else self.tested
        packed = np.packbits(tested, axis=1)
        accepted, wrong = (
            _BITS[packed & columns].sum(axis=1, dtype=np.int64)
            for columns in table.sure_columns[least]
        )
        return SplitOutcome(accepted, wrong, self.n_tested.astype(np.int64))

    def _outcome(self, k: IntArray, end: IntArray) -> SplitOutcome:
        """Test rows among the first `end` columns, k of which calibrate; blocks are complete."""
        rows, some = np.arange(len(end)), end > 0
        if self.tested is None:
            # No error lies between the end of a block and the next cut before an error.
            cut = np.searchsorted(self.table.before, end)
            accepted = end - k
            wrong = self.table.wrong_before[end] - self.errors[rows, cut]
            mute = 0 if self.mute is None else self.table.mute_before[end] - self.mute[rows, cut]
        else:
            inside = self.tested & (np.arange(len(self.table.order)) < end[:, None])
            accepted = np.count_nonzero(inside, axis=1)
            wrong = np.count_nonzero(inside[:, self.table.wrong], axis=1)
            mute = np.count_nonzero(inside[:, self.table.mute], axis=1)
        return SplitOutcome(
            np.where(some, accepted - mute, 0).astype(np.int64),
            np.where(some, wrong - mute, 0).astype(np.int64),
            self.n_tested.astype(np.int64),
        )


def _running(marked: BoolArray) -> Counts:
    """Running counts of the marked columns, per split, in the smallest integer type that fits."""
    narrow = np.int16 if marked.shape[1] < 2**15 else np.int32
    return np.cumsum(marked, axis=1, dtype=narrow)


def _at(running: Counts, cuts: Counts) -> Counts:
    """The running counts before each cut."""
    if running.shape[1] == 0:
        return np.zeros((len(running), len(cuts)), dtype=np.int32)
    counts = np.take(running, np.maximum(cuts - 1, 0), axis=1).astype(np.int32)
    counts[:, cuts == 0] = 0
    return counts


def _count_before(marked: BoolArray) -> Counts:
    """How many columns are marked before each column, and before the end."""
    counts = np.zeros(len(marked) + 1, dtype=np.int32)
    np.cumsum(marked, out=counts[1:])
    return counts


def last_passing(passes: BoolArray) -> IntArray:
    """The last cut that passes in each split; -1 if none does."""
    last = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
    return np.where(passes.any(axis=1), last, -1)
