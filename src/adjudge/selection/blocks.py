"""Tied scores enter or leave together: running counts of accepted rows and errors.

Two sorted arrays answer every question that a threshold raises: all scores, and the scores of
the wrong rows. Between two errors a looser threshold only adds right verdicts, so the loosest
feasible threshold always stands just before a block with an error, or at the very end; and a
test can only begin to fail at a block with an error. One candidate per wrong row is enough, and
whole buckets of candidates are settled by their ends, so that a threshold costs little more than
the sort.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.selection.exact import at_most

_BUCKET = 1024

#: Given errors and rows, which of the tests pass. More rows or fewer errors never hurt.
Test = Callable[[IntArray, IntArray], BoolArray]


@dataclass(frozen=True)
class SortedScores:
    """Scores and, apart, the scores of the wrong rows, both ascending."""

    scores: FloatArray
    wrong: FloatArray

    def accepted(self, threshold: float) -> tuple[int, int]:
        """How many rows and how many errors have a score of at most `threshold`."""
        rows = int(np.searchsorted(self.scores, threshold, side="right"))
        return rows, int(np.searchsorted(self.wrong, threshold, side="right"))

    def loosest(self, level: Fraction, *, extra: int) -> int:
        """The most rows k, whole tie blocks only, with E + extra <= level * k; 0 if none.

        Candidate i is the threshold just before the i-th error: it accepts i errors and all rows
        below. Within a tie block only the first candidate is real; the others claim more errors
        for the same rows, so they never pass where it does not.
        """
        n, total = len(self.scores), len(self.wrong)
        if at_most(np.array([total + extra]), np.array([n]), level)[0]:
            return n
        starts = np.arange(0, total, _BUCKET)
        ends = np.append(self._rows_before(starts[1:]), n)
        for start in starts[at_most(starts + extra, ends, level)][::-1]:
            errors = np.arange(start, min(start + _BUCKET, total))
            rows = self._rows_before(errors)
            passing = rows[at_most(errors + extra, rows, level)]
            if len(passing):
                return int(passing[-1])
        return 0

    def first_failure(
        self, test: Test, *, beyond: int, until: int | None = None
    ) -> tuple[int, bool]:
        """Rows accepted before the first error block that fails `test`, and whether one did.

        Blocks that end within the first `beyond` rows are not tested, nor are the block that ends
        at row `until` and those after it.
        """
        low = int(np.searchsorted(self.wrong, self.scores[beyond - 1], side="right"))
        high, rest = len(self.wrong), len(self.scores)
        if until is not None:
            edge = self.scores[until - 1]
            high = int(np.searchsorted(self.wrong, edge, side="left"))
            rest = int(np.searchsorted(self.scores, edge, side="left"))
        for start in range(low, high, _BUCKET * _BUCKET):
            # Clear buckets first: all of their errors against the fewest of their rows.
            starts = np.arange(start, min(start + _BUCKET * _BUCKET, high), _BUCKET)
            ends = np.minimum(starts + _BUCKET, high)
            for at in np.flatnonzero(~test(ends, self._rows_with(starts))):
                errors = np.arange(starts[at], ends[at])
                failed = np.flatnonzero(~test(errors + 1, self._rows_with(errors)))
                if len(failed):
                    return int(self._rows_before(errors[failed[:1]])[0]), True
        return rest, False

    def _rows_before(self, error: IntArray) -> IntArray:
        return np.searchsorted(self.scores, self.wrong[error], side="left").astype(np.int64)

    def _rows_with(self, error: IntArray) -> IntArray:
        return np.searchsorted(self.scores, self.wrong[error], side="right").astype(np.int64)


def sort_scores(scores: FloatArray, errors: IntArray) -> SortedScores:
    """Both sorted arrays of checked scores and errors."""
    return SortedScores(np.sort(scores), np.sort(scores[errors.astype(np.bool_)]))
