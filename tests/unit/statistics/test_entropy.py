"""Preference entropy and what every signal of doubt must obey."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import ArgumentError
from adjudge.statistics.entropy import (
    confidence,
    entropy_of,
    preference_entropy,
    single_order_preference,
    swap_vote_preference,
    verdict,
)

UNIT = st.floats(0, 1)


def test_the_ends_and_the_middle() -> None:
    assert preference_entropy([0.0, 1.0]).tolist() == [0.0, 0.0]
    assert preference_entropy([0.5])[0] == pytest.approx(math.log(2))


@given(UNIT)
def test_one_probability_has_the_doubt_of_an_array_to_the_last_bit(p: float) -> None:
    assert entropy_of(p).hex() == float(preference_entropy([p])[0]).hex()


def test_disagreeing_orders_cancel_to_full_doubt() -> None:
    [p] = swap_vote_preference([0.99], [0.01])
    assert preference_entropy([p])[0] == pytest.approx(math.log(2))
    assert verdict(p) is None


@given(st.lists(UNIT, min_size=1))
def test_swapping_a_and_b_changes_the_verdict_and_not_the_doubt(p: list[float]) -> None:
    values = np.array(p)
    mirrored = 1 - values
    # 1 - (1 - p) loses bits below 2**-53, so start from a value that mirrors exactly.
    values = 1 - mirrored
    np.testing.assert_array_equal(preference_entropy(values), preference_entropy(mirrored))
    swap = {"A": "B", "B": "A", None: None}
    assert [swap[verdict(p)] for p in values] == [verdict(p) for p in mirrored]


@given(UNIT, UNIT)
def test_more_confidence_is_less_doubt(p: float, q: float) -> None:
    sure = confidence([p, q])
    doubt = preference_entropy([p, q])
    if sure[0] > sure[1]:
        assert doubt[0] <= doubt[1]


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"p_fwd\[0\] = 1.2"):
        swap_vote_preference([1.2], [0.5])
    with pytest.raises(ArgumentError, match="p_fwd has 2, p_rev has 1"):
        swap_vote_preference([0.1, 0.2], [0.5])


def test_an_order_that_is_not_known_is_refused() -> None:
    with pytest.raises(ArgumentError, match="orders = 'first': choose one of ab, ba"):
        single_order_preference([0.9, 0.9], [0.5, 0.5], ["ab", "first"])
