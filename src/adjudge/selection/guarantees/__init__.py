"""Guarantees: the interface, the default one (SCOPE), and all of them by name.

A new one needs a file and a line here. A package adds its own with an entry point in the group
`adjudge.guarantees`, a program with `register_guarantee`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.plugins import Builtin, Registry
from adjudge.policy.result import Cut, Rule, own_cuts
from adjudge.present.text import level
from adjudge.selection.thresholds import (
    Levels,
    Method,
    SplitCounts,
    SplitOutcome,
    Threshold,
    last_passing,
    loosest_rows,
    threshold_at,
    within_ratio,
)
from adjudge.statistics.numbers import sort_values
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, paired


@dataclass(frozen=True)
class Labels:
    """Labelled rows: scores, errors (0 or 1) and, if the guarantee uses them, weights.

    `values` are the scores of a verdict, ascending, if the protocol allows only a few. They are
    never read from the scores.
    """

    scores: FloatArray
    errors: IntArray
    weights: FloatArray | None = None
    values: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: IntArray | BoolArray) -> Labels:
        weights = None if self.weights is None else self.weights[rows]
        return Labels(self.scores[rows], self.errors[rows], weights, self.values)

    @classmethod
    def join(cls, parts: Sequence[Labels]) -> Labels:
        weights = [labels.weights for labels in parts if labels.weights is not None]
        return cls(
            np.concatenate([labels.scores for labels in parts]),
            np.concatenate([labels.errors for labels in parts]),
            np.concatenate(weights) if weights else None,
            parts[0].values,
        )


class Guarantee(Method):
    """One promise about accepted verdicts, and the rule that fulfils it.

    A new guarantee is a subclass with `name`, `summary`, `decide`, `fewest_labels`, `promise` and
    `not_promised`, and a line in the registry (or `register_guarantee`).
    """

    #: The promise in a few words, for tables.
    summary: ClassVar[str]
    #: Increased whenever `decide` or the words of `promise` change. A policy stores the version,
    #: and only a policy of the same version is compared with the current guarantee.
    version: ClassVar[int] = 1
    #: What must be true of the labelled rows, in one sentence.
    assumption: ClassVar[str] = (
        "labelled and new rows are exchangeable: drawn at random from the same pool, judged by "
        "the same judge with the same prompt and settings"
    )
    #: Decided for a batch of new rows together. Such a rule needs every calibration row, cannot
    #: serve one pair at a time, and what it accepts of its own labels is only indicative.
    per_batch: ClassVar[bool] = False
    #: The promise can fail with a probability of at most delta.
    uses_delta: ClassVar[bool] = False
    #: The order of tied rows, which a lot decides, can change the rule.
    uses_lot: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    #: Can promise over all groups together (`accept_pooled`).
    takes_pooled: ClassVar[bool] = False

    @abstractmethod
    def decide(self, labels: Labels, levels: Levels) -> Rule:
        """The rule for labelled rows. Equal scores come in an order that ignores errors."""

    def rule_below(
        self, labels: Labels, levels: Levels, cuts: Sequence[Cut], judge: str, protocol: str | None
    ) -> Rule:
        """The rule of one judge, from enough labels; if there is a cut, it never accepts all.

        If everything passes, the rule accepts up to the cut, because no label distinguishes
        thresholds between the last labelled score and the cut. If the rule uses another score than
        the one that was cut (a jury's), it accepts up to the largest labelled score.
        """
        if len(labels) < self.fewest_labels(levels):
            return Rule(accepts="none")
        rule = self.decide(labels, levels)
        if not cuts or rule.accepts != "all":
            return rule
        limits = [cut.at for cut in own_cuts(cuts, judge, protocol)]
        return Rule(accepts="below", threshold=min(limits or [float(labels.scores.max())]))

    @abstractmethod
    def fewest_labels(self, levels: Levels) -> int:
        """The fewest labels, all right, with which the guarantee could accept anything."""

    @abstractmethod
    def promise(self, levels: Levels) -> str:
        """What is promised; shown after "promises:"."""

    @abstractmethod
    def not_promised(self, levels: Levels) -> str:
        """What is not promised, although a reader could expect it."""

    def worth(self, levels: Levels) -> str:
        """The promise and what it rests on, in a line without a full stop."""
        return f"Promise: {self.promise(levels)}"

    def labels_needed(self, labels: Labels, rows: int, wrong: int, levels: Levels) -> int | None:
        """About how many labels like these it needs to accept this share; None if unknown.

        `rows` of the labels at hand, with `wrong` errors among them.
        """
        return None

    def accept(
        self, rule: Rule, scores: FloatArray, levels: Levels, weights: FloatArray | None = None
    ) -> BoolArray:
        """Which of the new scores the rule accepts. All acceptance decisions use this function."""
        return rule.accept(scores)

    def accept_pooled(
        self, rules: Sequence[Rule], scores: FloatArray, groups: IntArray, levels: Levels
    ) -> BoolArray:
        """The same for several groups under one promise; `groups` has the group of each row."""
        raise ArgumentError("pooled", True, f"{self.name} has no promise over all groups together")

    def levels_per_rule(self, levels: Levels, rules: int) -> Levels:
        """The levels of each of several rules, so that all hold together (union bound)."""
        return replace(levels, delta=levels.delta / rules)

    def alarm_limit(self, alpha: Fraction) -> Fraction:
        """The error rate above which a monitor raises an alarm, unless another is given.

        A promise about one threshold is broken above alpha. A promise about a mean is not: the
        rate of a single threshold is often a little above alpha, and this must not raise an alarm.
        """
        return alpha if self.uses_delta else alpha * Fraction(3, 2)

    def accept_over_resamples(self, labels: Labels, times: IntArray, levels: Levels) -> BoolArray:
        """Which labels the rule of each resample accepts. An override can decide all together.

        `labels` are sorted by score; `times` is how often each is in each resample.
        """
        rows = np.arange(len(labels))
        rules = (self.decide(labels.take(np.repeat(rows, drawn)), levels) for drawn in times)
        return np.array([self.accept(rule, labels.scores, levels) for rule in rules])

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        """Evaluate split by split. An override can count all splits together.

        tests/unit/selection/test_splits.py checks that every override gives the same counts.
        """
        table = splits.table
        accepted = []
        wrong = []
        labels = Labels(table.scores, table.wrong.astype(np.int64), values=table.values)
        for calibrates, new in zip(splits.calibrates, splits.tested, strict=True):
            rule = self.decide(labels.take(calibrates), levels)
            chosen = self.accept(rule, table.scores[new], levels) & ~table.no_verdict[new]
            accepted.append(np.count_nonzero(chosen))
            wrong.append(np.count_nonzero(chosen & table.wrong[new]))
        return SplitOutcome(
            np.array(accepted, dtype=np.int64), np.array(wrong, dtype=np.int64), splits.n_tested
        )


def scope_threshold(scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction) -> Threshold:
    """The largest observed score lambda with

        sum over s_i <= lambda of (e_i - alpha) <= -1          (Eq. 5; Eq. 6 takes the largest)

    that is E + 1 <= alpha k for E errors among k accepted rows. If the largest score passes, every
    verdict is accepted; if no score passes, no verdict is accepted.

    Limits: over repeated calibration sets the mean share of errors among the accepted stayed at or
    below alpha in every simulation tried. The paper's Theorem 2.1 bounds the ratio E[errors] /
    E[accepted]. That does not follow, because the threshold depends on the calibration rows alone:
    with an uninformative score and an error rate of 0.12, every rule that ever accepts has ratio
    0.12. A mean is also not a promise about your threshold: its true error rate can be above alpha
    for nearly half of all calibration sets, and with such a score for all that accept anything.
    `pac_threshold` makes that promise; `fdr_select` bounds the expected share in a batch.

    Args:
        scores: Doubts of the calibration rows, higher for more doubt.
        errors: 1 for each wrong verdict, else 0, in the same order.
        alpha: Error level allowed among accepted verdicts.

    >>> rule = scope_threshold([0.1] * 30 + [0.6] * 5, [0] * 30 + [1] * 5, alpha=0.1)
    >>> rule.threshold, rule.n_accepted
    (0.1, 30)
    >>> scope_threshold([0.1] * 9, [0] * 9, alpha=0.1).accepts
    'none'
    >>> scope_threshold([0.1] * 10, [0] * 10, alpha=0.1).accepts
    'all'
    """
    level = exact_level(alpha)
    s, e = paired(scores, errors)
    ordered = sort_values(s)
    wrong = sort_values(s[e.astype(np.bool_)])
    rows = loosest_rows(ordered, wrong, level)
    return threshold_at(ordered, wrong, rows, method="scope", alpha=level)


class Scope(Guarantee):
    """The SCOPE paper's rule (Eq. 5 and 6): one threshold, a mean share over calibration sets."""

    name = "scope"
    summary = "on average, not proven"

    def decide(self, labels: Labels, levels: Levels) -> Rule:
        return scope_threshold(labels.scores, labels.errors, alpha=levels.alpha).rule

    def fewest_labels(self, levels: Levels) -> int:
        return math.ceil(1 / levels.alpha)

    def promise(self, levels: Levels) -> str:
        return (
            f"averaged over calibration sets, at most {level(float(levels.alpha))} of the accepted "
            "verdicts are wrong (seen in every simulation tried; the published proof does not show "
            "it)"
        )

    def not_promised(self, levels: Levels) -> str:
        return (
            "that this one threshold keeps it: its true error rate can be above for nearly half "
            "of all calibration sets if doubt ranks errors, and for most that accept anything if "
            "it does not; nor that the ratio of expected errors to expected acceptances is "
            "bounded, although the paper's Theorem 2.1 states it"
        )

    def worth(self, levels: Levels) -> str:
        rate = level(float(levels.alpha))
        return f"On average at most {rate} wrong (simulated, not proven)"

    def accept_over_resamples(self, labels: Labels, times: IntArray, levels: Levels) -> BoolArray:
        score_changes = labels.scores[1:] != labels.scores[:-1]
        ends = np.append(np.flatnonzero(score_changes), len(labels) - 1)
        rows = np.cumsum(times, axis=1)[:, ends]
        errors = np.cumsum(times * labels.errors, axis=1)[:, ends]
        drawn = np.diff(rows, axis=1, prepend=0) > 0
        cut = last_passing(within_ratio(errors + 1, rows, levels.alpha) & drawn)
        last = np.where(cut < 0, -1, ends[cut])
        last[cut == last_passing(drawn)] = len(labels) - 1
        return np.asarray(np.arange(len(labels)) <= last[:, None])

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.below_threshold(splits.last_cut(levels.alpha, extra=1))


SCOPE = Scope()


DEFAULT = "scope"
_REGISTRY: Registry[Guarantee] = Registry(
    "guarantee",
    "adjudge.guarantees",
    {
        "scope": Builtin("adjudge.selection.guarantees:SCOPE"),
        "fdr": Builtin("adjudge.selection.guarantees.fdr:FDR"),
        "pac": Builtin("adjudge.selection.guarantees.pac:PAC"),
    },
)


def find_guarantee(name: str) -> Guarantee:
    """The guarantee of that name; the error for an unknown name lists all known names.

    >>> find_guarantee("pac").uses_delta
    True
    >>> find_guarantee("hope")
    Traceback (most recent call last):
    adjudge.errors.ArgumentError: guarantee = 'hope': choose one of scope, fdr, pac
    """
    return _REGISTRY.load(name)


def all_guarantees() -> list[Guarantee]:
    """All guarantees, the built-in ones first."""
    return [find_guarantee(name) for name in _REGISTRY]


def register_guarantee(guarantee: Guarantee) -> None:
    """Register a guarantee for every command of this process; a name that is in use is refused."""
    _REGISTRY.add(guarantee.name, guarantee)


def unregister_guarantee(name: str) -> None:
    """Remove one that `register_guarantee` added."""
    _REGISTRY.remove(name)
