"""The judge's own doubt: its uncertainty, and every other signal in its rows for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from adjudge.data.columns import UNNAMED
from adjudge.data.judgments import HAS_VERDICT, IS_ERROR, WORDS, doubt_ties
from adjudge.data.rows import Identity, stated_confidence
from adjudge.errors import ArgumentError
from adjudge.policy.result import Policy, PolicyGroup
from adjudge.selection.doubts.base import (
    NO_COSTS,
    NOT_LEARNED,
    Doubt,
    DoubtFit,
    DoubtOptions,
    DoubtRequest,
    Labelled,
    ScoredRows,
    check_identities,
)
from adjudge.selection.labelled import NewRows
from adjudge.statistics.entropy import (
    INFINITE_DOUBT,
    confidence,
    preference_entropy,
    random_orders,
    single_order_preference,
    swap_vote_preference,
)
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, FloatArray, IntArray

#: An uncertainty column that differs from the entropy of p_a by more than rounding is a signal.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class Signal:
    """One measure of doubt: `scores` rise with doubt, `confidence` is the judge's, in [0, 1]."""

    name: str
    judge: str
    protocol: str | None
    confidence: FloatArray
    has_verdict: BoolArray
    scores: FloatArray
    errors: IntArray


def signals_of(rows: pl.DataFrame, *, seed: int = 0) -> Iterator[Signal]:
    """The signals of one judge and protocol, from its labelled rows.

    With both orders there are three: the preference entropy of their mean, the probability of one
    random order alone, and the vote of both. Other protocols (verbalized, annotators, likelihood)
    have one, which they wrote themselves. An uncertainty column that is not the entropy of p_a is
    one more. A tie of the judge, or p = 0.5 exactly, is not a verdict in any signal.

    Confidence is max(p_a, 1 - p_a). If the judge stated a confidence (uncertainty = 1 -
    confidence), that one is used, since p_a can be empty then.
    """
    shown = _protocol(rows)
    uncertainty = rows.get_column("uncertainty").to_numpy().astype(np.float64)
    stated = stated_confidence(rows)
    if stated is not None:
        has_verdict = rows.select(HAS_VERDICT).to_series().to_numpy()
        errors = rows.select(IS_ERROR).to_series().to_numpy()
        name, judge = shown or "uncertainty", str(rows["judge"][0])
        yield Signal(name, judge, shown, stated, has_verdict, uncertainty, errors)
        return
    if rows.get_column("p_a").null_count():
        judge = rows["judge"][0]
        raise ArgumentError("judgments", judge, "has no probabilities, so nothing can be compared")

    p_a = rows.get_column("p_a").to_numpy().astype(np.float64)
    decided = (rows.get_column("verdict") != "tie").fill_null(True).to_numpy()
    is_entropy = _close(uncertainty[decided], preference_entropy(p_a[decided]))
    if not has_both_orders(rows):
        from_p = is_entropy or _close(uncertainty[decided], 1 - confidence(p_a[decided]))
        yield _signal(rows, shown or "p_a" if from_p else "uncertainty", p_a, scores=uncertainty)
        return
    forward, reverse = _orders(rows)
    yield _signal(rows, "preference_entropy", p_a)
    yield _signal(rows, "single_order", _one_order(rows, seed))
    yield _signal(rows, "swap_vote", swap_vote_preference(forward, reverse))
    if not is_entropy:
        yield _signal(rows, "uncertainty", p_a, scores=uncertainty)


def coin_vote(rows: pl.DataFrame, *, seed: int = 0) -> Signal:
    """Swap and vote with a verdict on every row: if the votes disagree, that of a random order.

    Such a verdict has confidence 0.5.
    """
    votes = swap_vote_preference(*_orders(rows))
    p = np.where(votes == 0.5, _one_order(rows, seed), votes)
    signal = _signal(rows, "swap_vote_by_coin", p, scores=preference_entropy(votes))
    return replace(signal, confidence=confidence(votes))


def has_both_orders(rows: pl.DataFrame) -> bool:
    """Whether every row was asked in both orders."""
    return rows.get_column("p_fwd").null_count() == 0 == rows.get_column("p_rev").null_count()


def _signal(
    rows: pl.DataFrame, name: str, p: FloatArray, *, scores: FloatArray | None = None
) -> Signal:
    """The signal of a probability for the first answer: its verdict, its doubt, its errors."""
    says_first, says_second = (
        rows.get_column("label").is_in(words).fill_null(False).to_numpy()
        for words in zip(*WORDS.values(), strict=True)
    )
    tie = (rows.get_column("verdict") == "tie").fill_null(False).to_numpy()
    decided = (p != 0.5) & ~tie
    right = ((p > 0.5) & says_first) | ((p < 0.5) & says_second)
    doubt = np.where(tie, INFINITE_DOUBT, preference_entropy(p) if scores is None else scores)
    errors = (~(decided & right)).astype(np.int64)
    judge = str(rows["judge"][0])
    return Signal(name, judge, _protocol(rows), confidence(p), decided, doubt, errors)


def _protocol(rows: pl.DataFrame) -> str | None:
    protocol = str(rows["protocol"][0])
    return None if protocol == UNNAMED else protocol


def _orders(rows: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
    return rows.get_column("p_fwd").to_numpy(), rows.get_column("p_rev").to_numpy()


def _one_order(rows: pl.DataFrame, seed: int) -> FloatArray:
    orders = random_orders(rows.get_column("id"), seed=seed)
    return single_order_preference(*_orders(rows), orders)


def _close(scores: FloatArray, expected: FloatArray) -> bool:
    """Whether a doubt is another one after rounding."""
    return bool((np.abs(scores - expected) <= _ROUNDING).all())


@dataclass(frozen=True)
class OwnDoubt(Doubt):
    """The judge's own verdict and uncertainty; each judge and protocol has its own rule."""

    groups: tuple[PolicyGroup, ...] = ()

    @classmethod
    def load(cls, policy: Policy) -> OwnDoubt:
        return cls(policy.groups)

    def score(self, new: NewRows) -> ScoredRows:
        rows = doubt_ties(new.measured)
        reason = pl.format("status {}", "status")
        return ScoredRows(rows, rows["verdict"], new.everything, new.unmeasured, reason)

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        return check_identities([identity_of(group) for group in self.groups], frame, store=store)


@dataclass(frozen=True)
class OwnRequest(DoubtRequest):
    """The judge's own doubt, for which nothing was asked."""

    reads_columns = False
    refuses = NOT_LEARNED | NO_COSTS

    @classmethod
    def ask(cls, options: DoubtOptions) -> OwnRequest:
        return cls()

    def learn(self, labelled: Labelled) -> DoubtFit:
        return DoubtFit(OwnDoubt(), labelled.frame)


def identity_of(group: PolicyGroup) -> Identity:
    """The judge of a group of the policy."""
    return Identity(group.judge, group.protocol, group.judge_fingerprint, group.fingerprint_parts)
