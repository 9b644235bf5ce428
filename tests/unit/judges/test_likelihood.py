"""p_a from two mean log probabilities, and what happens when one is not there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import ArgumentError
from adjudge.judges.interface import Data, Likelihood
from adjudge.judges.protocols.likelihood import LikelihoodProtocol
from adjudge.records import Item, Pair, Reply

PAIR = Pair(id="1", prompt="2+2? {response_a}", response_a="4", response_b="5", label="A")


def scored(value: float) -> Reply:
    return Reply(status="ok", mean_logprob=value, scored_tokens=3)


def test_asks_for_each_response_alone_after_the_prompt_alone():
    first, second = LikelihoodProtocol().questions(PAIR)
    assert first.messages == second.messages
    assert first.messages[0].parts == (Data("2+2? {response_a}"),)
    assert (first.want, second.want) == (Likelihood(Data("4")), Likelihood(Data("5")))
    assert first.slot != second.slot
    assert first.order is None


def test_p_a_is_the_logistic_of_the_difference():
    (row,) = LikelihoodProtocol().judge(PAIR, [scored(-1.0), scored(-3.0)])
    assert row.p_a == pytest.approx(1 / (1 + math.exp(-2)))
    assert (row.p_fwd, row.p_rev) == (None, None)
    assert (row.status, row.verdict, row.label) == ("ok", "A", "A")


@given(st.floats(-1e4, 0), st.floats(-1e4, 0))
def test_swapping_the_responses_mirrors_p_a_and_keeps_the_doubt_to_the_bit(l_a, l_b):
    protocol = LikelihoodProtocol()
    (row,) = protocol.judge(PAIR, [scored(l_a), scored(l_b)])
    (swapped,) = protocol.judge(PAIR, [scored(l_b), scored(l_a)])
    assert 0 <= row.p_a <= 1
    assert swapped.p_a == 1 - row.p_a
    assert swapped.uncertainty == row.uncertainty


def test_equal_likelihoods_give_no_verdict():
    (row,) = LikelihoodProtocol().judge(PAIR, [scored(-2.0), scored(-2.0)])
    assert row.p_a == 0.5
    assert row.verdict is None


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("status", ["error", "no_logprobs", "refused", "unparsed"])
def test_one_missing_side_leaves_no_number(side, status):
    replies = [scored(-1.0), scored(-2.0)]
    replies[side] = Reply(status=status, error="the response is empty")
    (row,) = LikelihoodProtocol().judge(PAIR, replies)
    assert row.status == status
    assert (row.p_a, row.uncertainty, row.verdict) == (None, None, None)
    assert row.detail == f"response_{'ab'[side]}: the response is empty"


def test_an_ok_reply_without_a_number_is_no_logprobs():
    (row,) = LikelihoodProtocol().judge(PAIR, [scored(-1.0), Reply(status="ok", text="hm")])
    assert row.status == "no_logprobs"
    assert row.p_a is None


def test_items_are_refused():
    with pytest.raises(ArgumentError, match="pairs"):
        LikelihoodProtocol().questions(Item(id="1", prompt="p", response="r"))
