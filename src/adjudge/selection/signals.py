"""Every signal that a judge's rows carry: a probability, a doubt and a verdict for each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.errors import ArgumentError
from adjudge.io.columns import UNNAMED
from adjudge.rows.confidence import stated_confidence
from adjudge.rows.judgments import WORDS
from adjudge.uncertainty import (
    INFINITE_DOUBT,
    confidence,
    preference_entropy,
    random_orders,
    single_order_preference,
    swap_vote_preference,
)

#: A given uncertainty that is further from the entropy of p_a than rounding is its own signal.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class Signal:
    """One way to doubt: `scores` rise with doubt, `confidence` is the judge's own in [0, 1]."""

    name: str
    judge: str
    protocol: str | None
    confidence: FloatArray
    has_verdict: BoolArray
    scores: FloatArray
    errors: IntArray


def signals_of(rows: pl.DataFrame, *, seed: int = 0) -> Iterator[Signal]:
    """The signals of one judge and protocol, from its labelled rows.

    With both orders there are three: the preference entropy of their mean, the probability of
    one random order alone, and the vote of both. Other protocols (verbalized, annotators,
    likelihood) give the one they wrote. An uncertainty column that is not the entropy of p_a
    is one more. A tie of the judge, or p at exactly one half, is no verdict in any of them.

    Confidence is max(p_a, 1 - p_a); where the judge stated one (uncertainty = 1 - confidence) it is
    that, since p_a can be empty then.
    """
    judge, protocol = str(rows["judge"][0]), str(rows["protocol"][0])
    shown = None if protocol == UNNAMED else protocol
    says_first, says_second = (
        rows.get_column("label").is_in(words).fill_null(False).to_numpy()
        for words in zip(*WORDS.values(), strict=True)
    )
    p_a = rows.get_column("p_a").to_numpy().astype(np.float64)
    given = rows.get_column("uncertainty").to_numpy().astype(np.float64)
    tie = (rows.get_column("verdict") == "tie").fill_null(False).to_numpy()

    def made(name: str, p: FloatArray, scores: FloatArray | None = None) -> Signal:
        decided = (p != 0.5) & ~tie
        right = ((p > 0.5) & says_first) | ((p < 0.5) & says_second)
        doubt = np.where(tie, INFINITE_DOUBT, preference_entropy(p) if scores is None else scores)
        errors = (~(decided & right)).astype(np.int64)
        return Signal(name, judge, shown, confidence(p), decided, doubt, errors)

    stated = stated_confidence(rows)
    if stated is not None:
        wrong = (rows.get_column("verdict") != rows.get_column("label")).fill_null(True)
        has_verdict = rows.get_column("verdict").is_not_null().to_numpy()
        errors = wrong.to_numpy().astype(np.int64)
        yield Signal(shown or "uncertainty", judge, shown, stated, has_verdict, given, errors)
        return
    if rows.get_column("p_a").null_count():
        raise ArgumentError("judgments", judge, "without probabilities there is nothing to compare")

    both = rows.get_column("p_fwd").null_count() == 0 == rows.get_column("p_rev").null_count()
    is_entropy = bool((np.abs(given - preference_entropy(p_a))[~tie] <= _ROUNDING).all())
    if not both:
        yield made(shown or "p_a" if is_entropy else "uncertainty", p_a, given)
        return
    forward, reverse = rows.get_column("p_fwd").to_numpy(), rows.get_column("p_rev").to_numpy()
    yield made("preference_entropy", p_a)
    orders = random_orders(rows.get_column("id"), seed=seed)
    yield made("single_order", single_order_preference(forward, reverse, orders))
    yield made("swap_vote", swap_vote_preference(forward, reverse))
    if not is_entropy:
        yield made("uncertainty", p_a, given)
