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
from adjudge.selection.thresholds import order_by_lot

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
    block_start: IntArray
    block_end: IntArray
    wrong_before: IntArray
    mute_before: IntArray
    confidence: FloatArray | None

    @classmethod
    def build(
        cls,
        scores: FloatArray,
        errors: IntArray,
        has_verdict: BoolArray | None,
        confidence: FloatArray | None,
    ) -> SplitTable:
        """Sort once, with ties in a random order that ignores the errors, and compute the cuts."""
        order = order_by_lot(scores, 0)
        s, wrong = scores[order], errors[order].astype(np.bool_)
        n = len(s)
        ends = np.append(np.flatnonzero(s[1:] != s[:-1]) + 1, n)
        starts = np.concatenate(([0], ends[:-1]))
        has_error = np.add.reduceat(wrong, starts, dtype=np.int64) > 0
        mute = np.zeros(n, np.bool_) if has_verdict is None else ~has_verdict[order]
        return cls(
            order=order,
            scores=s,
            wrong=wrong,
            mute=mute,
            before=np.append(starts[has_error], n),
            block_start=np.repeat(starts, ends - starts),
            block_end=np.repeat(ends, ends - starts),
            wrong_before=np.concatenate(([0], np.cumsum(wrong))),
            mute_before=np.concatenate(([0], np.cumsum(mute))),
            confidence=None if confidence is None else confidence[order],
        )

    @cached_property
    def tied(self) -> bool:
        """Whether any two scores are equal."""
        return bool((self.block_end - self.block_start > 1).any())


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
    tested_at: Counts
    running: Counts

    @classmethod
    def build(cls, table: SplitTable, halves: Halves) -> SplitCounts:
        """The halves in the order of the scores, counted."""
        calibrates = np.take(halves.calibrates, table.order, axis=1)
        tested = None if halves.tested is None else np.take(halves.tested, table.order, axis=1)
        cuts, running = table.before, _running(calibrates)
        k = _at(running, cuts)
        return cls(
            table=table,
            calibrates=calibrates,
            tested=tested,
            k=k,
            errors=_count_of(calibrates, table.wrong, cuts),
            mute=_count_of(calibrates, table.mute, cuts) if table.mute.any() else None,
            tested_at=cuts.astype(np.int32) - k if tested is None else _at(_running(tested), cuts),
            running=running,
        )

    @property
    def n_calibration(self) -> Counts:
        """Calibration rows per split."""
        return self.k[:, -1]

    @property
    def n_tested(self) -> Counts:
        """Tested rows per split."""
        return self.tested_at[:, -1]

    def each(self) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Which columns calibrate and which are tested, split by split."""
        for at, own in enumerate(self.calibrates):
            yield own, ~own if self.tested is None else self.tested[at]

    @cached_property
    def columns(self) -> IntArray:
        """The columns of the calibration rows of each split; all splits have the same number."""
        return np.nonzero(self.calibrates)[1].reshape(len(self.k), -1)

    @cached_property
    def error_ranks(self) -> IntArray:
        """The ranks of the wrong calibration rows in each split, then n + 1."""
        wrong = np.flatnonzero(self.table.wrong)
        marked = np.take(self.calibrates, wrong, axis=1)
        counts = np.count_nonzero(marked, axis=1)
        beyond = int(self.n_calibration[0]) + 1
        ranks = np.full((len(marked), counts.max()), beyond, dtype=np.int32)
        ranks[np.arange(ranks.shape[1]) < counts[:, None]] = np.take(self.running, wrong, axis=1)[
            marked
        ]
        return ranks

    def block_ends(self, own: IntArray, ranks: IntArray) -> IntArray:
        """The last rank up to each of `ranks` at which a tie block ends, in the splits `own`."""
        table, rows = self.table, own[:, None]
        columns = self.columns[rows, np.maximum(ranks, 1) - 1]
        start, end = table.block_start[columns], table.block_end[columns]
        before = np.where(start == 0, 0, self.running[rows, np.maximum(start, 1) - 1])
        return np.where(self.running[rows, end - 1] == ranks, ranks, before)

    def last_passing(self, passes: BoolArray) -> IntArray:
        """The last cut that passes in each split; -1 if none does."""
        last = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
        return np.where(passes.any(axis=1), last, -1)

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
        end = np.where(k == 0, 0, self.table.block_end[self.column_of(k)])
        return self._outcome(k, np.where(k == self.n_calibration, len(self.table.order), end))

    def column_of(self, k: IntArray) -> IntArray:
        """The column of the k-th calibration row of each split, by bisection in all splits."""
        rows = np.arange(len(k))
        low, high = np.zeros(len(k), np.int64), np.full(len(k), len(self.table.order) - 1)
        while (low < high).any():
            middle = (low + high) // 2
            reached = self.running[rows, middle] >= k
            high, low = np.where(reached, middle, high), np.where(reached, low, middle + 1)
        return np.minimum(low, len(self.table.order) - 1)

    def where(self, accepted: BoolArray) -> SplitOutcome:
        """The tested rows among the marked columns, which are the same in all splits."""
        kept = accepted & ~self.table.mute
        tested = ~self.calibrates if self.tested is None else self.tested
        return SplitOutcome(
            np.count_nonzero(tested & kept, axis=1),
            np.count_nonzero(tested & (kept & self.table.wrong), axis=1),
            self.n_tested.astype(np.int64),
        )

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


def _at(running: Counts, cuts: IntArray) -> Counts:
    counts = np.take(running, np.maximum(cuts - 1, 0), axis=1).astype(np.int32)
    counts[:, cuts == 0] = 0
    return counts


def _count_of(marked: BoolArray, columns: BoolArray, cuts: IntArray) -> Counts:
    """How many of a few `columns` are marked before each cut."""
    where = np.flatnonzero(columns)
    if len(where) == 0:
        return np.zeros((len(marked), len(cuts)), dtype=np.int32)
    return _at(_running(np.take(marked, where, axis=1)), np.searchsorted(where, cuts))
