"""Tied scores enter or leave together: running counts of accepted rows and errors.

Two sorted arrays answer every question that a threshold raises: all scores, and the scores of
the wrong rows. Between two errors a looser threshold only adds right verdicts, so the loosest
feasible threshold always stands just before a block with an error, or at the very end; and a
test can only begin to fail at a block with an error. That leaves one candidate per distinct
score of a wrong row, and saves sorting indices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjudge._validation import FloatArray, IntArray


@dataclass(frozen=True)
class SortedScores:
    """Scores and, apart, the scores of the wrong rows, both ascending."""

    scores: FloatArray
    wrong: FloatArray

    def accepted(self, threshold: float) -> tuple[int, int]:
        """How many rows and how many errors have a score of at most `threshold`."""
        rows = int(np.searchsorted(self.scores, threshold, side="right"))
        return rows, int(np.searchsorted(self.wrong, threshold, side="right"))

    def before_errors(self) -> tuple[IntArray, IntArray]:
        """Rows k and errors E accepted just before each block with an error, then by all."""
        first = self._first_of_block()
        rows = np.searchsorted(self.scores, self.wrong[first], side="left")
        return (
            np.append(rows, len(self.scores)).astype(np.int64),
            np.append(first, len(self.wrong)).astype(np.int64),
        )

    def at_errors(self) -> tuple[IntArray, IntArray, IntArray]:
        """For each block with an error: k before it, k with it, E with it."""
        first = self._first_of_block()
        scores = self.wrong[first]
        before = np.searchsorted(self.scores, scores, side="left")
        after = np.searchsorted(self.scores, scores, side="right")
        errors = np.append(first[1:], len(self.wrong))
        return before.astype(np.int64), after.astype(np.int64), errors.astype(np.int64)

    def _first_of_block(self) -> IntArray:
        if len(self.wrong) == 0:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(np.concatenate(([True], self.wrong[1:] != self.wrong[:-1])))


def sort_scores(scores: FloatArray, errors: IntArray) -> SortedScores:
    """Both sorted arrays of checked scores and errors."""
    return SortedScores(np.sort(scores), np.sort(scores[errors.astype(bool)]))
