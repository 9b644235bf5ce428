"""The bets about a judge that is asked again: fair for every set of answers, and no others."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import ArgumentError
from adjudge.monitoring.retest import _score_bets, _verdict_bets, log_retest, moved_verdicts

_ANSWERS = st.lists(
    st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]), st.floats(0, 1)),
    min_size=3,
    max_size=6,
)


@given(_ANSWERS)
def test_every_bet_is_one_on_average_over_which_answer_is_new(answers: list[float]) -> None:
    orders = [[*answers[:at], *answers[at + 1 :], answers[at]] for at in range(len(answers))]
    table = np.array(orders)
    sides = np.where(table == 0.5, np.nan, (table > 0.5).astype(float))
    for bets in (_score_bets(table), _verdict_bets(sides)):
        mean = np.exp(bets)
        # A new answer without a verdict bets nothing: the others are exchangeable among themselves.
        assert mean.mean(axis=0) == pytest.approx(1.0)


def test_missing_answers_are_fair_too() -> None:
    table = np.array([[0.2, np.nan, 0.9, 0.4], [0.9, np.nan, 0.2, 0.4], [0.2, np.nan, 0.4, 0.9]])
    orders = np.array([[0.9, np.nan, 0.4, 0.2], [0.2, np.nan, 0.4, 0.9], [0.9, np.nan, 0.2, 0.4]])
    assert np.exp(_score_bets(orders)).mean(axis=0) == pytest.approx(1.0)
    assert np.exp(_score_bets(table))[0] == pytest.approx(np.exp(_score_bets(table))[1])


def test_the_factors_are_those_of_the_definition() -> None:
    """By hand: two answers 1 and a new 0 are one of three on the smaller side."""
    bets = np.exp(_verdict_bets(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])))
    rates = np.array([0.5, 0.7, 0.9, 0.97])
    assert bets[0] == pytest.approx(rates * 3)
    assert bets[1] == pytest.approx((1 - rates) / (2 / 3))


def test_answers_that_say_nothing_bet_nothing() -> None:
    same = [[0.9, 0.9], [0.2, 0.2]]
    assert log_retest(same, [0.9, 0.2], verdicts=True) == pytest.approx(0.0)
    assert log_retest([[0.9, math.nan]], [0.1], verdicts=True) == pytest.approx(0.0)
    assert log_retest(same, [math.nan, math.nan], verdicts=True) == pytest.approx(0.0)
    # One half is no verdict: only the number itself is bet on.
    [half] = log_retest([[0.9, 0.8]], [0.5], verdicts=True)
    [score] = log_retest([[0.9, 0.8]], [0.5], verdicts=False)
    assert math.exp(half) == pytest.approx((math.exp(score) + 1) / 2)


def test_moved_verdicts_are_those_never_seen_before() -> None:
    before = [[0.9, 0.8], [0.9, 0.4], [math.nan, 0.9], [0.9, 0.9]]
    assert moved_verdicts(before, [0.1, 0.1, 0.1, 0.5]).tolist() == [True, False, True, False]


def test_a_row_of_earlier_answers_for_each_new_one() -> None:
    with pytest.raises(ArgumentError, match="give a row of earlier answers"):
        log_retest([[0.1, 0.2]], [0.1, 0.2], verdicts=True)


def test_all_binary_answers_of_three_passes_are_fair() -> None:
    for bag in product([0.0, 1.0], repeat=4):
        orders = np.array([[*bag[:at], *bag[at + 1 :], bag[at]] for at in range(4)])
        assert np.exp(_verdict_bets(orders)).mean(axis=0) == pytest.approx(1.0)
