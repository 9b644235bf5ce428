"""All methods on many splits at once, from running counts over one sorted order.

Columns are rows of the data sorted by score. A threshold can stand only where a tie block ends,
and the loosest one only just before a block with an error or at the end (see `blocks`), so all
counts are kept at those cuts alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.selection.exact import at_most
from adjudge.selection.heuristic import heuristic_accept
from adjudge.selection.pac import allowed_errors, fewest_rows

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
    last of `before` is the end of all columns.
    """

    order: IntArray
    wrong: BoolArray
    mute: BoolArray
    before: IntArray
    after: IntArray
    block_ends: IntArray
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
        return cls(
            order=order,
            wrong=wrong,
            mute=np.zeros(n, np.bool_) if has_verdict is None else ~has_verdict[order],
            before=np.append(starts[has_error], n),
            after=ends[has_error],
            block_ends=ends,
            confidence=None if confidence is None else confidence[order],
        )


@dataclass(frozen=True)
class _Tally:
    """Counts before each cut of `before`, one row per split: k and E calibrate, then the test."""

    k: Counts
    errors: Counts
    tested: Counts
    wrong: Counts
    mute: Counts | None
    running: Counts

    @property
    def n_calibration(self) -> Counts:
        return self.k[:, -1]

    @property
    def n_tested(self) -> Counts:
        return self.tested[:, -1]

    def outcome(self, cut: IntArray) -> Outcome:
        """Accepted and wrong test rows before cut number `cut` of each split; -1 accepts none."""
        rows, at = np.arange(len(cut)), np.maximum(cut, 0)
        accepted = np.where(cut < 0, 0, self.tested[rows, at]).astype(np.int64)
        wrong = np.where(cut < 0, 0, self.wrong[rows, at]).astype(np.int64)
        if self.mute is not None:
            without = np.where(cut < 0, 0, self.mute[rows, at]).astype(np.int64)
            accepted, wrong = accepted - without, wrong - without
        return accepted, wrong, self.n_tested.astype(np.int64)


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
                results.append(tally.outcome(np.full(len(calibrates), len(prepared.before) - 1)))
            elif method == "heuristic":
                results.append(_heuristic(prepared, calibrates, tested, tally, alpha))
            elif method == "pac":
                results.append(tally.outcome(_pac(prepared, calibrates, tally, alpha, delta)))
            else:
                results.append(tally.outcome(_loosest(tally, method, alpha)))
    return results


def _count(prepared: Prepared, calibrates: BoolArray, tested: BoolArray | None) -> _Tally:
    cuts, mutes = prepared.before, bool(prepared.mute.any())
    running = _running(calibrates)
    k, errors = _at(running, cuts), _count_of(calibrates, prepared.wrong, cuts)
    if tested is None:
        mute = _count_of(calibrates, prepared.mute, cuts) if mutes else None
        return _Tally(
            k,
            errors,
            cuts.astype(np.int32) - k,
            _before(prepared.wrong, cuts) - errors,
            None if mute is None else _before(prepared.mute, cuts) - mute,
            running,
        )
    return _Tally(
        k,
        errors,
        _at(_running(tested), cuts),
        _count_of(tested, prepared.wrong, cuts),
        _count_of(tested, prepared.mute, cuts) if mutes else None,
        running,
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


def _before(columns: BoolArray, cuts: IntArray) -> Counts:
    return np.concatenate(([0], np.cumsum(columns)))[cuts].astype(np.int32)


def _loosest(tally: _Tally, method: str, alpha: Fraction) -> IntArray:
    """The last cut that passes scope, naive or fdr; -1 where none does."""
    if method == "naive":
        passes = at_most(tally.errors, tally.k, alpha)
    elif method == "scope":
        passes = at_most(tally.errors + 1, tally.k, alpha)
    else:
        n, m = tally.n_calibration, tally.n_tested
        if n.min() == n.max() and m.min() == m.max():
            passes = at_most(tally.errors + 1, tally.tested, alpha * int(n[0] + 1) / int(m[0]))
        else:
            left = (tally.errors + 1).astype(np.int64) * m[:, None]
            passes = at_most(left, tally.tested.astype(np.int64) * (n[:, None] + 1), alpha)
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
    accepted = np.count_nonzero(chosen[:, sure], axis=1)
    wrong = np.count_nonzero(chosen[:, sure & prepared.wrong], axis=1)
    return accepted, wrong, tally.n_tested.astype(np.int64)


def _pac(
    prepared: Prepared, calibrates: BoolArray, tally: _Tally, alpha: Fraction, delta: Fraction
) -> IntArray:
    """The cut before the first error block that fails, once the first test of all has passed."""
    start, most = fewest_rows(alpha, delta), int(tally.n_calibration.max())
    if start > most:
        return np.full(len(calibrates), -1)
    allowed = allowed_errors(np.arange(most + 1), alpha, delta)
    begins, passed = _first_test(prepared, calibrates, start, allowed)
    # The errors with a block are those before the next one: the counts of the following cut.
    k, errors = _at(tally.running, prepared.after), tally.errors[:, 1:]
    failed = (errors > allowed[k]) & (k > begins[:, None])
    last = len(prepared.before) - 1
    if last == 0:
        return np.where(passed, 0, -1)
    stop = np.where(failed.any(axis=1), np.argmax(failed, axis=1), last)
    return np.where(passed, stop, -1)


def _first_test(
    prepared: Prepared, calibrates: BoolArray, start: int, allowed: IntArray
) -> tuple[IntArray, BoolArray]:
    """How many rows the first test of each split accepts, and whether it passes."""
    ends = prepared.block_ends
    width = 4 * start
    while True:
        looked = ends[: max(1, int(np.searchsorted(ends, width, side="right")))]
        columns = int(looked[-1])
        k = np.cumsum(calibrates[:, :columns], axis=1, dtype=np.int32)[:, looked - 1]
        reached = k >= start
        if reached[:, -1].all() or columns == len(prepared.order):
            break
        width *= 4
    at, rows = np.argmax(reached, axis=1), np.arange(len(k))
    begins = k[rows, at]
    wrong = np.cumsum(calibrates[:, :columns] & prepared.wrong[:columns], axis=1, dtype=np.int32)[
        rows, looked[at] - 1
    ]
    return begins.astype(np.int64), reached.any(axis=1) & (wrong <= allowed[begins])
