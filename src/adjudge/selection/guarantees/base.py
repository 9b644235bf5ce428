"""What a guarantee is: everything that calibrate, select, evaluate, plan, serve and report ask."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.errors import ArgumentError
from adjudge.results.selection import Rule
from adjudge.selection.split_counts import Method, SplitCounts, SplitOutcome


def percent(share: float) -> str:
    """A share as promises write it.

    >>> percent(0.1), percent(0.125)
    ('10 %', '12.5 %')
    """
    return f"{100 * share:.3g} %"


class Guarantee(Method):
    """One promise about accepted verdicts, and the rule that keeps it.

    A new one is a subclass with `name`, `summary`, `decide`, `fewest_labels`, `promise` and
    `not_promised`, and a line in the registry (or `register`). Levels come as exact fractions.
    """

    #: The promise in a few words, for tables.
    summary: ClassVar[str]
    #: What must be true of the labelled rows, one sentence.
    assumption: ClassVar[str] = (
        "labelled and new pairs are exchangeable: drawn at random from the same pool, judged by "
        "the same judge with the same prompt and settings"
    )
    #: Decided over a batch of new rows together. Such a rule needs every calibration row, cannot
    #: be served one pair at a time, and what it accepts of its own labels is only indicative.
    per_batch: ClassVar[bool] = False
    #: The promise fails with a probability of at most delta.
    uses_delta: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    #: Can promise over all groups together (`accept_pooled`).
    takes_pooled: ClassVar[bool] = False

    @abstractmethod
    def decide(
        self,
        scores: FloatArray,
        errors: IntArray,
        *,
        alpha: Fraction,
        delta: Fraction,
        weights: FloatArray | None = None,
    ) -> Rule:
        """The rule that labelled rows allow; `weights` only where it takes them."""

    @abstractmethod
    def fewest_labels(self, alpha: Fraction, delta: Fraction) -> int:
        """The fewest labels with which it could accept anything, all of them right."""

    @abstractmethod
    def promise(self, alpha: float, delta: float) -> str:
        """What holds, to be read after "promises:"."""

    @abstractmethod
    def not_promised(self, alpha: float, delta: float) -> str:
        """What a reader might believe and does not hold."""

    def accept(
        self,
        rule: Rule,
        scores: FloatArray,
        *,
        alpha: Fraction,
        weights: FloatArray | None = None,
    ) -> BoolArray:
        """Which of the new scores its rule accepts. Everything that accepts comes through here."""
        return rule.accept(scores)

    def accept_pooled(
        self, rules: Sequence[Rule], scores: FloatArray, groups: IntArray, *, alpha: Fraction
    ) -> BoolArray:
        """The same for several groups under one promise; `groups` says whose rule each row has."""
        raise ArgumentError("pooled", True, f"{self.name} has no promise over all groups together")

    def delta_per_rule(self, delta: Fraction, rules: int) -> Fraction:
        """The share of delta for each of several rules, so that all hold at once (union bound)."""
        return delta / rules

    def counts_over_splits(
        self, splits: SplitCounts, *, alpha: Fraction, delta: Fraction
    ) -> SplitOutcome:
        """Split by split. A guarantee may count all splits at once instead; the counts must agree.

        tests/unit/selection/test_splits.py holds every override to this one.
        """
        table, accepted, wrong = splits.table, [], []
        errors = table.wrong.astype(np.int64)
        for own, new in splits.each():
            rule = self.decide(table.scores[own], errors[own], alpha=alpha, delta=delta)
            chosen = self.accept(rule, table.scores[new], alpha=alpha) & ~table.mute[new]
            accepted.append(np.count_nonzero(chosen))
            wrong.append(np.count_nonzero(chosen & table.wrong[new]))
        return SplitOutcome(
            np.array(accepted, dtype=np.int64),
            np.array(wrong, dtype=np.int64),
            splits.n_tested.astype(np.int64),
        )
