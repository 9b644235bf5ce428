"""All methods on many splits at once, from running counts over one sorted order.

Columns are rows of the data sorted by score. A threshold can stand only where a tie block ends,
and the loosest one only just before a block with an error or at the end (see `blocks`), so all
counts are kept at those cuts alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.selection.exact import at_most
from adjudge.selection.heuristic import heuristic_accept
from adjudge.selection.pac import allowed_table, starts

Counts = NDArray[np.signedinteger]
Outcome = tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True)
class Half:
    """Which rows calibrate in each split, and which are tested (None: all the others)."""

    calibrates: BoolArray
    tested: BoolArray | None


@dataclass(frozen=True)
class Prepared:
    """What does not change between splits. A cut is a number of columns: those before it.

    `before[i]` is the cut before the i-th block with an error, `after[i]` the cut behind it; the
    last of `before` is the end of all columns. `block_end[c]` is the cut behind column c's block.
    """

    order: IntArray
    wrong: BoolArray
    mute: BoolArray
    before: IntArray
    after: IntArray
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
    ) -> Prepared:
        """Sort once and find the cuts."""
        order = np.argsort(scores, kind="stable")
        s, wrong = scores[order], errors[order].astype(np.bool_)
        n = len(s)
        ends = np.append(np.flatnonzero(s[1:] != s[:-1]) + 1, n)
        starts = np.concatenate(([0], ends[:-1]))
        has_error = np.add.reduceat(wrong, starts, dtype=np.int64) > 0
        mute = np.zeros(n, np.bool_) if has_verdict is None else ~has_verdict[order]
        return cls(
            order=order,
            wrong=wrong,
            mute=mute,
            before=np.append(starts[has_error], n),
            after=ends[has_error],
            block_end=np.repeat(ends, ends - starts),
            wrong_before=np.concatenate(([0], np.cumsum(wrong))),
            mute_before=np.concatenate(([0], np.cumsum(mute))),
            confidence=None if confidence is None else confidence[order],
        )


@dataclass(frozen=True)
class _Tally:
    """Counts before each cut of `before`, one row per split: calibration, then the test.

    k, errors and mute count calibration rows, those that are wrong and those without a verdict;
    `running` counts calibration rows at every column.
    """

    prepared: Prepared
    k: Counts
    errors: Counts
    mute: Counts | None
    tested_at: Counts
    running: Counts
    tested: BoolArray | None

    @property
    def n_calibration(self) -> Counts:
        """Calibration rows per split."""
        return self.k[:, -1]

    @property
    def n_tested(self) -> Counts:
        """Tested rows per split."""
        return self.tested_at[:, -1]

    def before_cut(self, cut: IntArray) -> Outcome:
        """All test rows before cut number `cut` of each split accepted; -1: none."""
        return self._outcome(cut, np.where(cut < 0, 0, self.prepared.before[cut]))

    def below_threshold(self, cut: IntArray) -> Outcome:
        """What a threshold at the last calibration score before each cut accepts; -1: nothing.

        A threshold is an observed calibration score: test rows between it and the cut stay out,
        unless no calibration row is left beyond, for then everything is accepted.
        """
        rows, n = np.arange(len(cut)), len(self.prepared.order)
        k = np.where(cut < 0, 0, self.k[rows, cut])
        everything = (k == self.n_calibration) & (cut >= 0)
        end = np.where(k == 0, 0, self.prepared.block_end[self.column_of(k)])
        last = len(self.prepared.before) - 1
        return self._outcome(np.where(everything, last, cut), np.where(everything, n, end))

    def column_of(self, k: IntArray) -> IntArray:
        """The column of the k-th calibration row of each split, by bisection in all at once."""
        rows = np.arange(len(k))
        low, high = np.zeros(len(k), np.int64), np.full(len(k), len(self.prepared.order) - 1)
        while (low < high).any():
            middle = (low + high) // 2
            reached = self.running[rows, middle] >= k
            high, low = np.where(reached, middle, high), np.where(reached, low, middle + 1)
        return np.minimum(low, len(self.prepared.order) - 1)

    def _outcome(self, cut: IntArray, end: IntArray) -> Outcome:
        """Test rows among the first `end` columns; no calibration row lies between end and cut."""
        rows, some = np.arange(len(cut)), end > 0
        if self.tested is None:
            accepted = end - self.k[rows, cut]
            wrong = self.prepared.wrong_before[end] - self.errors[rows, cut]
            mute = (
                0 if self.mute is None else (self.prepared.mute_before[end] - self.mute[rows, cut])
            )
        else:
            inside = self.tested & (np.arange(len(self.prepared.order)) < end[:, None])
            accepted = np.count_nonzero(inside, axis=1)
            wrong = np.count_nonzero(inside[:, self.prepared.wrong], axis=1)
            mute = np.count_nonzero(inside[:, self.prepared.mute], axis=1)
        return (
            np.where(some, accepted - mute, 0).astype(np.int64),
            np.where(some, wrong - mute, 0).astype(np.int64),
            self.n_tested.astype(np.int64),
        )


def run_methods(
    prepared: Prepared,
    half: Half,
    alphas: Sequence[Fraction],
    methods: Sequence[str],
    delta: Fraction,
) -> list[Outcome]:
    """For every method and alpha, in that nesting: accepted, wrong and tested rows per split."""
    calibrates = np.take(half.calibrates, prepared.order, axis=1)
    tested = None if half.tested is None else np.take(half.tested, prepared.order, axis=1)
    tally = _count(prepared, calibrates, tested)
    results = []
    for method in methods:
        for alpha in alphas:
            if method == "vanilla":
                everything = np.full(len(calibrates), len(prepared.before) - 1)
                results.append(tally.before_cut(everything))
            elif method == "heuristic":
                results.append(_heuristic(prepared, calibrates, tested, tally, alpha))
            elif method == "pac":
                cut = _pac(prepared, tally, alpha, delta)
                results.append(tally.below_threshold(cut))
            elif method == "fdr":
                # The batch decides: all test rows before the cut, whoever calibrated there.
                results.append(tally.before_cut(_loosest(tally, method, alpha)))
            else:
                results.append(tally.below_threshold(_loosest(tally, method, alpha)))
    return results


def _count(prepared: Prepared, calibrates: BoolArray, tested: BoolArray | None) -> _Tally:
    cuts = prepared.before
    running = _running(calibrates)
    k = _at(running, cuts)
    return _Tally(
        prepared=prepared,
        k=k,
        errors=_count_of(calibrates, prepared.wrong, cuts),
        mute=_count_of(calibrates, prepared.mute, cuts) if prepared.mute.any() else None,
        tested_at=cuts.astype(np.int32) - k if tested is None else _at(_running(tested), cuts),
        running=running,
        tested=tested,
    )


def _running(marked: BoolArray) -> Counts:
    """Running counts of the marked columns, per split, in as few bytes as they fit."""
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


def _loosest(tally: _Tally, method: str, alpha: Fraction) -> IntArray:
    """The last cut that passes scope, naive or fdr; -1 where none does."""
    if method == "naive":
        passes = at_most(tally.errors, tally.k, alpha)
    elif method == "scope":
        passes = at_most(tally.errors + 1, tally.k, alpha)
    else:
        n, m = tally.n_calibration, tally.n_tested
        if n.min() == n.max() and m.min() == m.max():
            passes = at_most(tally.errors + 1, tally.tested_at, alpha * int(n[0] + 1) / int(m[0]))
        else:
            left = (tally.errors + 1).astype(np.int64) * m[:, None]
            passes = at_most(left, tally.tested_at.astype(np.int64) * (n[:, None] + 1), alpha)
    last = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
    return np.where(passes.any(axis=1), last, -1)


def _heuristic(
    prepared: Prepared,
    calibrates: BoolArray,
    tested: BoolArray | None,
    tally: _Tally,
    alpha: Fraction,
) -> Outcome:
    if prepared.confidence is None:
        raise AssertionError("heuristic needs a confidence")
    sure = heuristic_accept(prepared.confidence, alpha=alpha) & ~prepared.mute
    chosen = ~calibrates if tested is None else tested
    accepted = np.count_nonzero(chosen & sure, axis=1)
    wrong = np.count_nonzero(chosen & (sure & prepared.wrong), axis=1)
    return accepted, wrong, tally.n_tested.astype(np.int64)


def _pac(prepared: Prepared, tally: _Tally, alpha: Fraction, delta: Fraction) -> IntArray:
    """The cut at which the last run of passed tests ends in each split; -1 where none passed."""
    rows, columns = np.arange(len(tally.k)), len(prepared.order)
    # Every split has as many calibration rows, so that runs begin at the same ranks in all.
    ranks = starts(int(tally.n_calibration[0]), alpha, delta)
    ends = [prepared.block_end[tally.column_of(np.full(len(rows), rank))] for rank in ranks]
    ends.append(np.full(len(rows), columns + 1))
    # The errors with a block are those before the next one: the counts of the following cut.
    k, errors = _at(tally.running, prepared.after), tally.errors[:, 1:]
    shares, cut = np.zeros(len(rows), np.int64), np.full(len(rows), -1)
    for end, following in pairwise(ends):
        most = int(tally.running[rows, np.minimum(following, columns) - 1].max())
        first = np.searchsorted(prepared.before, end)
        until = np.searchsorted(prepared.after, following)
        shares += 1
        # Two starts in one tie block are one test with both shares.
        tested = end < following
        for held in np.unique(shares[tested]):
            own = np.flatnonzero(tested & (shares == held))
            allowed = allowed_table(most, alpha, delta * int(held) / len(ranks))
            passed = tally.errors[own, first[own]] <= allowed[tally.running[own, end[own] - 1]]
            low, high = int(first[own].min()), int(until[own].max())
            column = np.arange(low, high)
            inside = (column >= first[own, None]) & (column < until[own, None])
            rows_with = np.where(inside, k[own, low:high], 0)
            failed = inside & (errors[own, low:high] > allowed[rows_with])
            broken = failed.any(axis=1)
            stop = np.where(broken, low + failed.argmax(axis=1) if low < high else 0, until[own])
            cut[own[passed]] = stop[passed]
            shares[own[~passed | broken]] = 0
    return cut
