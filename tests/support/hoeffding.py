"""A guarantee that adjudge does not have: one file, registered by whoever imports it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adjudge.policy.result import Rule
from adjudge.selection import Guarantee, Labels, Levels

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

    def decide(self, labels: Labels, levels: Levels) -> Rule:
        for threshold in GRID[::-1]:
            inside = labels.scores <= threshold
            rows, wrong = int(inside.sum()), int(labels.errors[inside].sum())
            if rows and wrong / rows + self._slack(rows, levels.delta) <= levels.alpha:
                return Rule(accepts="below", threshold=float(threshold))
        return Rule(accepts="none")

    def fewest_labels(self, levels: Levels) -> int:
        return math.ceil(math.log(len(GRID) / levels.delta) / (2 * float(levels.alpha) ** 2))

    def promise(self, levels: Levels) -> str:
        rate, times = float(levels.alpha), float(1 / levels.delta)
        return f"Hoeffding bounds the error rate by {rate:g} but for one time in {times:g}"

    def not_promised(self, levels: Levels) -> str:
        return "that a finer grid would not have accepted more"

    def _slack(self, rows: int, delta: Fraction) -> float:
        return math.sqrt(math.log(len(GRID) / delta) / (2 * rows))
