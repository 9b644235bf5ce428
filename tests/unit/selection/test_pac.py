"""pac's rule: what is certified, how it steps down, and the order of ties."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from adjudge.data import write_result
from adjudge.errors import ArgumentError
from adjudge.selection import calibrate, pac_threshold, pac_thresholds, select, verify_policy
from adjudge.selection.guarantees.pac import exact_band
from adjudge.selection.thresholds import order_by_lot

TENTH = Fraction(1, 10)


def test_errors_among_the_surest_are_forgiven():
    # Three errors at the very front: nothing there is certified, everything together is.
    errors = np.r_[np.ones(3), np.zeros(97)].astype(int)
    assert pac_threshold(np.arange(100.0), errors, alpha=0.1).accepts == "all"
    first = exact_band(100, TENTH, TENTH).boundaries[0]
    from_rank = int(first.ranks[list(first.errors).index(3)])
    certified = pac_thresholds(np.arange(100.0), errors, alpha=0.1)
    assert certified.tolist() == list(range(from_rank - 1, 100))


def test_the_largest_certified_rank_is_deployed_though_lower_ones_fail():
    errors = np.zeros(200, dtype=int)
    errors[45:50] = 1
    ranks = set((pac_thresholds(np.arange(200.0), errors, alpha=0.1) + 1).tolist())
    assert {45, 150, 200} <= ranks
    assert not set(range(50, 70)) & ranks
    assert pac_threshold(np.arange(200.0), errors, alpha=0.1).accepts == "all"


def test_the_step_down_certifies_what_the_first_boundary_does_not():
    first = exact_band(400, TENTH, TENTH).boundaries[0]
    at_320 = int(first.errors[np.searchsorted(first.ranks, 320, side="right") - 1])
    # One error more than the first boundary allows at rank 320, and none before rank 290.
    errors = np.zeros(400, dtype=int)
    errors[289 : 290 + at_320] = 1
    assert 320 in (pac_thresholds(np.arange(400.0), errors, alpha=0.1) + 1)
    # With one of them among the very surest the first boundary is the last.
    errors[[0, 289]] = 1, 0
    assert 320 not in (pac_thresholds(np.arange(400.0), errors, alpha=0.1) + 1)


def test_whole_blocks_are_certified_and_nothing_between():
    rng = np.random.default_rng(3)
    for _ in range(50):
        scores = rng.integers(0, 6, 150) / 6
        errors = (rng.random(150) < 0.15 * scores).astype(int)
        certified = pac_thresholds(scores, errors, alpha=0.1)
        assert set(certified.tolist()) <= set(scores.tolist())
        rule = pac_threshold(scores, errors, alpha=0.1)
        last = certified[-1] if len(certified) else -np.inf
        assert rule.n_accepted == np.count_nonzero(scores <= last)


def test_the_lot_for_ties_is_fair_and_cannot_see_the_errors():
    scores = np.repeat([0.1, 0.2, 0.3], 40)
    seen = np.zeros(40)
    for seed in range(400):
        order = order_by_lot(scores, seed).rows
        assert (np.diff(scores[order]) >= 0).all()
        seen += (order[40:80] - 40) < 10  # where ten rows of the middle block come to lie
    assert np.abs(seen / 400 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 400)
    assert (order_by_lot(scores, 5).rows == order_by_lot(scores, 5).rows).all()


@pytest.mark.parametrize("size", [0, 1, 2, 40, 70_000])
def test_the_order_is_that_of_a_stable_sort_of_the_lot(size):
    """Also of scores that differ in their last bits only, and of 0.0 and -0.0."""
    rng = np.random.default_rng(size)
    close = np.array([-1e18, -0.5, -0.0, 0.0, *(0.5 + k * 2.0**-53 for k in range(5)), 1e18])
    lot = np.random.default_rng(4).permutation(size)
    for scores in (rng.choice(close, size), rng.normal(size=size)):
        order = order_by_lot(scores, 4)
        assert (order.rows == lot[np.argsort(scores[lot], kind="stable")]).all()
        assert order.scores.tobytes() == scores[order.rows].tobytes()
    # Without ties there is only one order.
    assert (order.rows == np.argsort(scores)).all()


def test_scores_that_are_no_numbers_are_refused():
    for threshold in (pac_threshold, pac_thresholds):
        with pytest.raises(ArgumentError, match="scores"):
            threshold([0.1, float("nan")], [0, 1], alpha=0.1)


def test_a_policy_keeps_its_ties_in_order_so_that_its_rule_can_be_computed_again(tmp_path):
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"id": range(300), "p_a": 1 - rng.integers(0, 6, 300) / 12})
    wrong = rng.random(300) < 0.4 * (1 - frame["p_a"].to_numpy())
    frame = frame.with_columns(label=pl.Series(np.where(wrong, "B", "A")), judge=pl.lit("j"))
    thresholds = set()
    for seed in range(12):
        policy = calibrate(frame, alpha=0.1, guarantee="pac", seed=seed)
        check = verify_policy(write_result(policy, tmp_path / f"{seed}.json"))
        assert (check.intact, check.recomputed) == (True, True)
        assert policy.guarantee_version == 2
        thresholds.add(policy.threshold)
    assert len(thresholds) > 1  # the lot matters here: the file must keep its order
    assert select(frame.drop("label"), policy).rows["accepted"].sum() == policy.n_accepted


@pytest.mark.parametrize("n", [5000, 5001, 60_000])
def test_many_rows(n):
    rng = np.random.default_rng(n)
    scores = rng.random(n)
    errors = (rng.random(n) < 0.3 * scores).astype(int)
    rule = pac_threshold(scores, errors, alpha=0.1)
    # The true error rate at t is 0.15 t: at 0.1 that is two thirds.
    assert 0.55 < rule.coverage < 0.67
    certified = pac_thresholds(scores, errors, alpha=0.1)
    assert certified[-1] == rule.threshold
    five = np.ceil(scores * 5) / 5
    assert pac_threshold(five, errors, alpha=0.1).threshold == 0.6
