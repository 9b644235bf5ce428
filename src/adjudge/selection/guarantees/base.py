"""What a guarantee is: everything that calibrate, select, evaluate, plan, serve and report ask."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.errors import ArgumentError
from adjudge.results.rules import Rule
from adjudge.selection.split_counts import Levels, Method, SplitCounts, SplitOutcome


@dataclass(frozen=True)
class Labels:
    """Labelled rows: scores, errors (0 or 1) and, for a guarantee that takes them, weights."""

    scores: FloatArray
    errors: IntArray
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: IntArray | BoolArray) -> Labels:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Labels(self.scores[rows], self.errors[rows], weights)

    @classmethod
    def join(cls, parts: Sequence[Labels]) -> Labels:
        """The rows of several, one after the other."""
        weights = [part.weights for part in parts if part.weights is not None]
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.errors for part in parts]),
            np.concatenate(weights) if weights else None,
        )


class Guarantee(Method):
    """One promise about accepted verdicts, and the rule that keeps it.

    A new one is a subclass with `name`, `summary`, `decide`, `fewest_labels`, `promise` and
    `not_promised`, and a line in the registry (or `register_guarantee`).
    """

    #: The promise in a few words, for tables.
    summary: ClassVar[str]
    #: Raised whenever `decide` or the words of `promise` change: a policy keeps its version, and
    #: only one of the same version is held against what the guarantee decides and promises now.
    version: ClassVar[int] = 1
    #: What must be true of the labelled rows, one sentence.
    assumption: ClassVar[str] = (
        "labelled and new rows are exchangeable: drawn at random from the same pool, judged by "
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
    def decide(self, labels: Labels, levels: Levels) -> Rule:
        """The rule that labelled rows allow. Equal scores come in an order that ignores errors."""

    @abstractmethod
    def fewest_labels(self, levels: Levels) -> int:
        """The fewest labels with which it could accept anything, all of them right."""

    @abstractmethod
    def promise(self, levels: Levels) -> str:
        """What holds, to be read after "promises:"."""

    @abstractmethod
    def not_promised(self, levels: Levels) -> str:
        """What a reader might believe and does not hold."""

    def accept(
        self, rule: Rule, scores: FloatArray, levels: Levels, weights: FloatArray | None = None
    ) -> BoolArray:
        """Which of the new scores its rule accepts. Everything that accepts comes through here."""
        return rule.accept(scores)

    def accept_pooled(
        self, rules: Sequence[Rule], scores: FloatArray, groups: IntArray, levels: Levels
    ) -> BoolArray:
        """The same for several groups under one promise; `groups` says whose rule each row has."""
        raise ArgumentError("pooled", True, f"{self.name} has no promise over all groups together")

    def levels_per_rule(self, levels: Levels, rules: int) -> Levels:
        """The levels of each of several rules, so that all hold at once (union bound)."""
        return replace(levels, delta=levels.delta / rules)

    def alarm_limit(self, alpha: Fraction) -> Fraction:
        """The error rate above which a monitor raises an alarm, unless another is named.

        A promise about this one threshold is broken above alpha. A promise about a mean is not: the
        rate of a single threshold is often a little above, and an alarm would be rung for that.
        """
        return alpha if self.uses_delta else alpha * Fraction(3, 2)

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        """Split by split. A guarantee may count all splits at once instead; the counts must agree.

        tests/unit/selection/test_splits.py holds every override to this one.
        """
        table, accepted, wrong = splits.table, [], []
        labels = Labels(table.scores, table.wrong.astype(np.int64))
        for own, new in splits.each():
            rule = self.decide(labels.take(own), levels)
            chosen = self.accept(rule, table.scores[new], levels) & ~table.mute[new]
            accepted.append(np.count_nonzero(chosen))
            wrong.append(np.count_nonzero(chosen & table.wrong[new]))
        return SplitOutcome(
            np.array(accepted, dtype=np.int64),
            np.array(wrong, dtype=np.int64),
            splits.n_tested.astype(np.int64),
        )
