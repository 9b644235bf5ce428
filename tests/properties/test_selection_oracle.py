"""Thresholds against a slow oracle in rational arithmetic, and what may not change them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_band import slow_pac

from adjudge.selection import Levels, fdr_select, pac_threshold, pac_thresholds, scope_threshold
from adjudge.selection.guarantees import Labels
from adjudge.selection.guarantees.fdr import FDR, weighted_fdr_select
from adjudge.selection.guarantees.pac import PAC
from adjudge.selection.thresholds import order_by_lot
from adjudge.statistics.entropy import preference_entropy

ALPHAS = ("0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.5", "0.123")


# --- the oracle ------------------------------------------------------------------------------


def loosest(scores, errors, passes):
    """(accepts, threshold) of the largest observed score that passes, by trying every one."""
    best = None
    for candidate in sorted(set(scores)):
        inside = [e for s, e in zip(scores, errors, strict=True) if s <= candidate]
        if passes(inside):
            best = candidate
    return named(scores, best)


def named(scores, best):
    if best is None:
        return "none", None
    return ("all", None) if best == max(scores) else ("below", best)


def scope_oracle(scores, errors, alpha):
    budget = Fraction(alpha)
    return loosest(scores, errors, lambda inside: sum(inside) - budget * len(inside) <= -1)


def fdr_oracle(scores, errors, new, alpha):
    n, m = len(scores), len(new)
    p = [
        Fraction(1 + sum(e for s, e in zip(scores, errors, strict=True) if s <= t), n + 1)
        for t in new
    ]
    cut = None
    for r, value in enumerate(sorted(p), start=1):
        if value <= Fraction(alpha) * r / m:
            cut = value
    return [cut is not None and value <= cut for value in p]


# --- inputs ----------------------------------------------------------------------------------


@st.composite
def rows(draw, least=1, most=80):
    """Scores on a grid, so that ties are the rule, and errors that favour high scores or not."""
    n = draw(st.integers(least, most))
    grid = draw(st.sampled_from((2, 5, 20, 1000)))
    rate = draw(st.sampled_from((0.0, 0.02, 0.1, 0.3)))
    slope = draw(st.sampled_from((0.0, 0.5)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.integers(0, grid, n) / grid
    errors = (rng.random(n) < rate + slope * scores**2).astype(int)
    return scores.tolist(), errors.tolist()


EXAMPLES = settings(max_examples=150)


@EXAMPLES
@given(rows(), st.sampled_from(ALPHAS))
def test_scope_is_the_oracles(data, alpha):
    result = scope_threshold(*data, alpha=float(alpha))
    assert (result.accepts, result.threshold) == scope_oracle(*data, alpha)


#: Few, because the oracle's tables are slow.
PAC_LEVELS = (("0.1", "0.1"), ("0.05", "0.2"), ("0.3", "0.1"), ("0.5", "0.5"), ("0.9", "0.02"))


@settings(max_examples=60)
@given(rows(least=60), st.sampled_from(PAC_LEVELS), st.sampled_from((7, 22, 31, 45, 60)))
def test_pac_is_the_oracles(data, levels, n):
    alpha, delta = levels
    order = order_by_lot(np.array(data[0]), 0).rows[:n]
    scores, errors = np.array(data[0])[order], np.array(data[1])[order]
    certified = slow_pac(scores.tolist(), errors.tolist(), alpha, delta)
    rule = PAC.decide(Labels(scores, errors), Levels(Fraction(alpha), Fraction(delta)))
    assert (rule.accepts, rule.threshold) == named(scores, certified[-1] if certified else None)


@settings(max_examples=60)
@given(
    st.sampled_from((1, 23, 31, 60)).flatmap(lambda n: rows(least=n, most=n)),
    st.sampled_from(PAC_LEVELS),
)
def test_every_certified_threshold_is_the_oracles(data, levels):
    alpha, delta = levels
    order = order_by_lot(np.array(data[0]), 3).rows
    scores, errors = (np.array(values)[order] for values in data)
    expected = slow_pac(scores.tolist(), errors.tolist(), alpha, delta)
    certified = pac_thresholds(*data, alpha=float(alpha), delta=float(delta), seed=3)
    assert certified.tolist() == expected
    rule = pac_threshold(*data, alpha=float(alpha), delta=float(delta), seed=3)
    assert (rule.accepts, rule.threshold) == named(scores, expected[-1] if expected else None)


@settings(max_examples=40)
@given(
    st.sampled_from((1, 6, 50, 130)).flatmap(lambda n: rows(least=n, most=n)),
    st.sampled_from((1e-9, 0.03, 0.1, 0.5, 1 - 1e-9)),
    st.booleans(),
)
def test_pac_gives_an_answer_to_everything(data, alpha, all_wrong):
    scores, errors = data[0], [1] * len(data[0]) if all_wrong else data[1]
    before: list[float] = []
    for delta in (1e-9, 0.05, 0.1, 0.2, 0.5, 1 - 1e-9):
        rule = pac_threshold(scores, errors, alpha=alpha, delta=delta)
        assert rule.accepts == ("none" if rule.n_accepted == 0 else rule.accepts)
        certified = pac_thresholds(scores, errors, alpha=alpha, delta=delta).tolist()
        # A larger delta certifies whatever a smaller one does.
        assert set(before) <= set(certified)
        before = certified


@EXAMPLES
@given(rows(), rows(most=40), st.sampled_from(ALPHAS))
def test_fdr_is_the_oracles(data, new, alpha):
    result = fdr_select(*data, new[0], alpha=float(alpha))
    assert result.accepted.tolist() == fdr_oracle(*data, new[0], alpha)


@pytest.mark.parametrize("seed", range(4))
def test_scope_is_the_oracles_on_many_inputs_near_the_boundary(seed):
    # Errors placed so that E + 1 = alpha k is hit often: where float sums went wrong.
    rng = np.random.default_rng(seed)
    boundary = 0
    for _ in range(400):
        alpha = ALPHAS[rng.integers(len(ALPHAS))]
        n = int(rng.integers(5, 120))
        scores = (rng.permutation(n) // rng.integers(1, 4)).astype(float)
        errors = (rng.random(n) < 0.7 * float(alpha)).astype(int)
        result = scope_threshold(scores, errors, alpha=float(alpha))
        assert (result.accepts, result.threshold) == scope_oracle(
            scores.tolist(), errors.tolist(), alpha
        )
        boundary += result.n_accepted_errors + 1 == Fraction(alpha) * result.n_accepted
    assert boundary > 5


def test_counts_are_those_of_the_rule():
    rng = np.random.default_rng(7)
    for _ in range(200):
        scores = rng.integers(0, 12, 90) / 12
        errors = (rng.random(90) < 0.4 * scores).astype(int)
        for rule in (
            scope_threshold(scores, errors, alpha=0.2),
            pac_threshold(scores, errors, alpha=0.2),
        ):
            chosen = rule.accept(scores)
            assert rule.n_accepted == chosen.sum()
            assert rule.n_accepted_errors == errors[chosen].sum()
            assert rule.n_errors == errors.sum()
            assert rule.feasible == (rule.n_accepted > 0)


# --- what may not matter ---------------------------------------------------------------------


def all_decisions(scores, errors, new, alpha):
    """What every method accepts among the new rows; pac's lot for ties goes by the rows' order."""
    return [
        scope_threshold(scores, errors, alpha=alpha).accept(new).tolist(),
        fdr_select(scores, errors, new, alpha=alpha).accepted.tolist(),
    ]


@settings(max_examples=60)
@given(rows(least=20), rows(most=30), st.sampled_from((0.1, 0.25)), st.integers(0, 10**6))
def test_row_order_does_not_matter(data, new, alpha, seed):
    order = np.random.default_rng(seed).permutation(len(data[0]))
    shuffled = np.array(data[0])[order], np.array(data[1])[order]
    assert all_decisions(*data, new[0], alpha) == all_decisions(*shuffled, new[0], alpha)
    distinct = np.random.default_rng(seed).permutation(len(order)) / len(order)
    once = pac_threshold(distinct, data[1], alpha=alpha)
    assert pac_threshold(distinct[order], np.array(data[1])[order], alpha=alpha) == once


@settings(max_examples=60)
@given(rows(least=20), rows(most=30), st.sampled_from((0.1, 0.25)))
def test_a_monotone_transform_of_the_scores_does_not_matter(data, new, alpha):
    def transform(x):
        return np.exp(3 * np.asarray(x)) - 7

    assert all_decisions(*data, new[0], alpha) == all_decisions(
        transform(data[0]), data[1], transform(new[0]), alpha
    )
    rule = pac_threshold(*data, alpha=alpha)
    again = pac_threshold(transform(data[0]), data[1], alpha=alpha)
    assert again.accept(transform(new[0])).tolist() == rule.accept(new[0]).tolist()


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(0, 10**6))
def test_swapping_a_and_b_does_not_matter(p, seed):
    p_a = np.array(p)
    flip = np.random.default_rng(seed).random(len(p_a)) < 0.5
    swapped = np.where(flip, 1 - p_a, p_a)
    # 1 - (1 - p) is not p for tiny p: what may not differ is the doubt of p and of 1 - p.
    again = np.where(flip, 1 - swapped, swapped)
    errors = (np.arange(len(p_a)) % 5 == 0).astype(int)
    assert (preference_entropy(swapped) == preference_entropy(again)).all()
    assert all_decisions(
        preference_entropy(swapped), errors, preference_entropy(swapped), 0.25
    ) == (all_decisions(preference_entropy(again), errors, preference_entropy(again), 0.25))


@settings(max_examples=150)
@given(rows(), rows(most=40), st.sampled_from(ALPHAS), st.integers(1, 5))
def test_equal_weights_are_no_weights(data, new, alpha, weight):
    plain = fdr_select(*data, new[0], alpha=float(alpha))
    weighted = weighted_fdr_select(
        *data, [weight] * len(data[0]), new[0], [weight] * len(new[0]), alpha=float(alpha)
    )
    assert weighted.accepted.tolist() == plain.accepted.tolist()


@settings(max_examples=100)
@given(rows(), rows(most=40), st.sampled_from(ALPHAS))
def test_one_group_pooled_is_plain_fdr(data, new, alpha):
    plain = fdr_select(*data, new[0], alpha=float(alpha))
    levels = Levels(Fraction(alpha))
    rules = [FDR.decide(Labels(*map(np.array, data)), levels)]
    pooled = FDR.accept_pooled(rules, np.array(new[0]), np.zeros(len(new[0])), levels)
    assert pooled.tolist() == plain.accepted.tolist()


def weighted_oracle(scores, errors, weights, new, new_weights, alpha):
    """Weighted Conformalized Selection straight from its definition, in fractions."""
    w, v = [Fraction(x) for x in weights], [Fraction(x) for x in new_weights]
    m, total, level = len(new), sum(w), Fraction(alpha)

    def mass(t):
        return sum(w[i] for i in range(len(w)) if errors[i] and scores[i] <= t)

    p = [(mass(new[j]) + v[j]) / (total + v[j]) for j in range(m)]
    support = []
    for j in range(m):
        others = [
            Fraction(0)
            if i == j
            else (mass(new[i]) + (v[j] if new[j] <= new[i] else 0)) / (total + v[j])
            for i in range(m)
        ]
        support.append(max(r for r, q in enumerate(sorted(others), start=1) if q <= level * r / m))
    first = [j for j in range(m) if p[j] <= level * support[j] / m]
    size = max((r for r in range(m + 1) if sum(support[j] <= r for j in first) >= r), default=0)
    return [j in first and support[j] <= size for j in range(m)]


@settings(max_examples=60)
@given(rows(most=40), rows(most=12), st.sampled_from(ALPHAS), st.integers(0, 10**6))
def test_weighted_selection_is_its_definition(data, new, alpha, seed):
    rng = np.random.default_rng(seed)
    w, v = rng.integers(1, 6, len(data[0])), rng.integers(1, 6, len(new[0]))
    result = weighted_fdr_select(*data, w, new[0], v, alpha=float(alpha))
    oracle = weighted_oracle(*data, w.tolist(), new[0], v.tolist(), alpha)
    assert result.accepted.tolist() == oracle
