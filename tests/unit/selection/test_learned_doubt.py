"""Learned doubt: mirrored, row by row, and from what the rows have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.selection.doubts.evidence import Evidence, LearnedMargin, log_odds
from adjudge.statistics.entropy import preference_entropy
from simulators import misled_judges

JUDGES = ("w", "x", "y", "z")


def evidence(n=200, seed=0):
    """Everything that a row can have; p is a multiple of 2^-10, so that 1 - p is exact."""
    rng = np.random.default_rng([seed, 1])
    p, prefers_a = misled_judges(n, seed=seed)
    pairs = Evidence(
        judges=JUDGES,
        p=np.round(p * 1024) / 1024,
        order_gaps=np.tile(rng.exponential(size=(n, 1)), 4),
        length_a=rng.integers(0, 900, n).astype(float),
        length_b=rng.integers(0, 900, n).astype(float),
        category=rng.choice(["code", "math"], n).tolist(),
    )
    return pairs, prefers_a


def swap(pairs, here):
    a, b = pairs.length_a, pairs.length_b
    return replace(
        pairs,
        p=np.where(here[:, None], 1 - pairs.p, pairs.p),
        length_a=np.where(here, b, a),
        length_b=np.where(here, a, b),
    )


def test_swapping_a_and_b_turns_the_verdict_and_leaves_the_doubt():
    pairs, prefers_a = evidence()
    learned = LearnedMargin.fit(pairs, prefers_a)
    assert len(learned.columns) == 14
    assert (learned.weights[2:] != 0).all()
    here = np.random.default_rng(2).random(200) < 0.5
    margins, doubts = learned.predict(pairs)
    turned, same = learned.predict(swap(pairs, here))
    assert (turned == np.where(here, -margins, margins)).all()
    assert (same == doubts).all()
    again = LearnedMargin.fit(swap(pairs, here), np.where(here, 1 - prefers_a, prefers_a))
    assert (again.weights == learned.weights).all()


def test_a_row_is_the_same_alone_and_among_others():
    pairs, prefers_a = evidence()
    learned = LearnedMargin.fit(pairs, prefers_a)
    margins = learned.margins(pairs)
    for at in (0, 7, 199):
        own = slice(at, at + 1)
        one = Evidence(
            judges=JUDGES,
            p=pairs.p[own],
            order_gaps=pairs.order_gaps[own],
            length_a=pairs.length_a[own],
            length_b=pairs.length_b[own],
            category=pairs.category[own],
        )
        assert learned.margins(one)[0] == margins[at]


def test_columns_are_what_the_rows_have():
    pairs, _ = evidence(5)
    bare = Evidence(judges=("x",), p=pairs.p[:, :1])
    assert list(bare.columns(())) == ["mean odds", "sign"]
    both_orders = replace(bare, order_gaps=pairs.order_gaps[:, :1])
    assert list(both_orders.columns(()))[2:] == ["sign x order gap"]
    lengths = replace(bare, length_a=pairs.length_a, length_b=pairs.length_b)
    names = ["length ratio", "sign x length gap", "sign x length"]
    assert list(lengths.columns(()))[2:] == names
    two = Evidence(judges=("x", "y"), p=np.array([[0.9, 0.6]]))
    columns = two.columns(())
    odds = log_odds(two.p)[0]
    assert columns["odds of y"][0] == odds[1]
    assert columns["sign x worst judge"][0] == odds[1]
    assert columns["sign x spread"][0] == pytest.approx(odds.std())


def test_an_unknown_category_adds_nothing():
    pairs, prefers_a = evidence()
    learned = LearnedMargin.fit(pairs, prefers_a)
    others = [learned.margins(replace(pairs, category=[name] * 200)) for name in ("law", None)]
    known = set(learned.columns) - {"sign x category code", "sign x category math"}
    kept = [at for at, name in enumerate(learned.columns) if name in known]
    without = LearnedMargin(
        tuple(learned.columns[at] for at in kept), (), learned.scales[kept],
        learned.weights[kept], learned.penalty,
    )  # fmt: skip
    assert others[0] == pytest.approx(without.margins(pairs), abs=1e-12)
    assert (others[0] == others[1]).all()


def test_what_was_learned_from_must_be_there():
    pairs, prefers_a = evidence()
    learned = LearnedMargin.fit(pairs, prefers_a)
    with pytest.raises(ArgumentError, match="sign x order gap"):
        learned.margins(replace(pairs, order_gaps=None))
    with pytest.raises(ArgumentError, match="one for each of 200 pairs"):
        LearnedMargin.fit(pairs, prefers_a[:-1])


def test_log_odds_are_cut_and_mirrored():
    p = np.array([0.0, 2**-30, 2**-10, 0.25, 0.5])
    assert log_odds(p)[:4] == pytest.approx([-5.221, -5.0589, -4.9203, -1.0986], abs=1e-4)
    assert (log_odds(1 - p)[:4] == -log_odds(p)[:4]).all()
    assert log_odds(p, 4.9, 0.0)[:3].tolist() == [-4.9] * 3


def test_at_home_an_over_confident_judge_keeps_its_order():
    """Most of its pairs are beyond the cut: tied there, they would all be accepted or none."""
    rng = np.random.default_rng(3)
    odds = rng.normal(size=400) * 12
    pairs = Evidence(judges=("x",), p=1 / (1 + np.exp(-odds[:, None])))
    prefers_a = (rng.random(400) < 1 / (1 + np.exp(-odds / 6))).astype(int)
    learned = LearnedMargin.fit(pairs, prefers_a)
    assert (np.abs(log_odds(pairs.p)) > 4.9).mean() > 0.6
    doubts = learned.predict(pairs)[1]
    order = np.argsort(preference_entropy(pairs.p[:, 0]), kind="stable")
    assert (np.diff(doubts[order]) >= 0).all()
    assert len(set(doubts.tolist())) > 390


def test_a_margin_of_zero_is_the_largest_doubt():
    pairs, prefers_a = evidence()
    learned = LearnedMargin.fit(Evidence(judges=("x",), p=pairs.p[:, :1]), prefers_a)
    margins, doubts = learned.predict(Evidence(judges=("x",), p=np.array([[0.5], [0.501]])))
    assert (margins[0], doubts[0]) == (0, 0.5)
    assert doubts[1] < 0.5
