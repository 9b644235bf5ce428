"""A guarantee that adjudge does not have: one file, registered by whoever imports it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adjudge._validation import FloatArray, IntArray
from adjudge.results.selection import Rule
from adjudge.selection import Guarantee

#: Thresholds fixed before any label is seen, in nats of doubt.
GRID = np.round(np.arange(0.05, 0.7, 0.05), 2)


class Hoeffding(Guarantee):
    """The loosest of a fixed grid of thresholds whose Hoeffding bound is at most alpha.

    Of k accepted rows with E errors, P(rate > E/k + sqrt(ln(G / delta) / (2 k))) <= delta / G,
    whatever k is; over G thresholds (Bonferroni) all bounds hold with probability 1 - delta.
    """

    name = "hoeffding"
    summary = "a grid of thresholds, each bounded by Hoeffding"
    assumption = "the labelled pairs were drawn independently from the pairs to be judged"
    uses_delta = True

    def decide(
        self,
        scores: FloatArray,
        errors: IntArray,
        *,
        alpha: Fraction,
        delta: Fraction,
        weights: FloatArray | None = None,
    ) -> Rule:
        for threshold in GRID[::-1]:
            inside = scores <= threshold
            rows, wrong = int(inside.sum()), int(errors[inside].sum())
            if rows and wrong / rows + self._slack(rows, delta) <= alpha:
                return Rule(accepts="below", threshold=float(threshold))
        return Rule(accepts="none")

    def fewest_labels(self, alpha: Fraction, delta: Fraction) -> int:
        return math.ceil(math.log(len(GRID) / delta) / (2 * float(alpha) ** 2))

    def promise(self, alpha: float, delta: float) -> str:
        return f"Hoeffding bounds the error rate by {alpha:g} but for one time in {1 / delta:g}"

    def not_promised(self, alpha: float, delta: float) -> str:
        return "that a finer grid would not have accepted more"

    def _slack(self, rows: int, delta: Fraction) -> float:
        return math.sqrt(math.log(len(GRID) / delta) / (2 * rows))
