"""preference: both orders, two letters, and no number that was not measured."""

from __future__ import annotations

import math

import pytest

from adjudge.errors import ArgumentError
from adjudge.judges.interface import Choice, Text
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Item, Judgment, Pair, Reply
from adjudge.store.tables import PlainReply

PAIR = Pair(id="7", prompt="q", response_a="left", response_b="right", label="A")


def by_logprobs(a: float, b: float, **fields: object) -> Reply:
    return Reply(status="ok", logprobs={"A": a, "B": b}, **fields)  # type: ignore[arg-type]  # test shorthand


def judged(*replies: Reply, samples: int | None = None) -> Judgment:
    rows = Preference(samples=samples).judge(PAIR, replies)
    assert len(rows) == 1
    return rows[0]


def test_both_orders_are_asked_and_both_numbers_are_about_response_a() -> None:
    first, second = Preference().questions(PAIR)
    assert (first.order, second.order) == ("ab", "ba")
    assert first.want == second.want == Choice(("A", "B"))
    assert first.messages[1].text.index("left") < first.messages[1].text.index("right")
    assert second.messages[1].text.index("right") < second.messages[1].text.index("left")
    # Shown first it gets e^-1 against e^-2; shown second, as letter B, e^-3 against e^-1.
    row = judged(by_logprobs(-1.0, -2.0), by_logprobs(-1.0, -3.0))
    assert row.status == "ok"
    assert row.p_fwd == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-15)
    assert row.p_rev == pytest.approx(1 / (1 + math.exp(2)), abs=1e-15)
    assert row.p_fwd is not None
    assert row.p_rev is not None
    assert row.p_a == (row.p_fwd + row.p_rev) / 2
    p = row.p_a
    assert row.uncertainty == pytest.approx(-(p * math.log(p) + (1 - p) * math.log(1 - p)))
    assert row.verdict == "B"
    assert (row.label, row.judge, row.protocol) == ("A", "", "preference")


def test_a_judge_that_only_sees_the_position_gives_no_verdict() -> None:
    row = judged(by_logprobs(-0.1, -3.0), by_logprobs(-0.1, -3.0))
    assert row.p_a == 0.5
    assert row.verdict is None
    assert row.uncertainty == pytest.approx(math.log(2))


def test_letters_far_below_the_top_still_count_only_against_each_other() -> None:
    row = judged(by_logprobs(-800.0, -801.0), by_logprobs(-801.0, -800.0))
    assert row.p_a == pytest.approx(1 / (1 + math.exp(-1)))


def test_a_bound_makes_the_row_censored_and_the_doubt_cautious() -> None:
    bounded = Reply(status="censored", logprobs={"A": -0.1, "B": -6.0}, censored=frozenset({"B"}))
    row = judged(bounded, by_logprobs(-8.0, -0.1))
    assert row.status == "censored"
    assert row.p_fwd == pytest.approx(1 / (1 + math.exp(-5.9)))
    assert row.detail == "bounded by the k-th log probability: ab"


@pytest.mark.parametrize("status", ["unparsed", "refused", "no_logprobs", "error"])
def test_one_bad_order_leaves_no_number(status: str) -> None:
    bad = Reply(status=status, error="why")  # type: ignore[arg-type]  # parametrised
    for replies in ((by_logprobs(-1, -2), bad), (bad, by_logprobs(-1, -2))):
        row = judged(*replies)
        assert row.status == status
        assert row.detail == "why"
        assert {row.p_fwd, row.p_rev, row.p_a, row.uncertainty, row.verdict} == {None}


def test_the_worst_status_decides() -> None:
    row = judged(Reply(status="no_logprobs", error="n"), Reply(status="error", error="e"))
    assert (row.status, row.detail) == ("error", "e")


@pytest.mark.parametrize("logprobs", [None, {}, {"A": -1.0}, {"1": -1.0, "2": -2.0}])
def test_a_reply_without_both_letters_is_not_a_measurement(
    logprobs: dict[str, float] | None,
) -> None:
    row = judged(Reply(status="ok", logprobs=logprobs), by_logprobs(-1, -2))
    assert (row.status, row.p_a) == ("no_logprobs", None)


def test_nan_is_an_error_and_not_a_number() -> None:
    row = judged(by_logprobs(math.nan, -1.0), by_logprobs(-1, -2))
    assert (row.status, row.p_a) == ("error", None)


def said(*texts: str) -> list[Reply]:
    return [Reply(status="ok", text=text) for text in texts]


def test_sampling_asks_k_times_per_order_at_a_temperature() -> None:
    protocol = Preference(samples=3, temperature=0.7)
    asked = protocol.questions(PAIR)
    assert [(q.order, q.repeat) for q in asked] == [
        (order, repeat) for order in ("ab", "ba") for repeat in range(3)
    ]
    assert {q.want for q in asked} == {Text(16, 0.7)}
    assert protocol.wants == {Text}
    assert protocol.settings()["samples"] == 3
    assert "samples" not in Preference().settings()


def test_sampled_shares_are_smoothed_and_said_to_be_sampled() -> None:
    row = judged(*said("A", "A", "B"), *said("B", "B", "B"), samples=3)
    assert row.status == "ok"
    assert row.p_fwd == pytest.approx(2.5 / 4)
    assert row.p_rev == pytest.approx(3.5 / 4)
    assert row.extra["samples"] == {"ab": {"A": 2, "B": 1}, "ba": {"B": 3}}
    assert row.detail == "sampled: ab 3 of 3 readable, ba 3 of 3 readable"


def test_unreadable_samples_are_counted_and_never_guessed() -> None:
    replies = [*said("A", "Both are good", ""), *said("B"), Reply(status="refused"), *said("x")]
    row = judged(*replies, samples=3)
    assert row.p_fwd == pytest.approx(1.5 / 2)
    assert row.p_rev == pytest.approx(1.5 / 2)
    assert row.extra["samples"] == {
        "ab": {"A": 1, "unparsed": 2},
        "ba": {"B": 1, "refused": 1, "unparsed": 1},
    }


def test_an_order_without_one_readable_sample_has_no_number() -> None:
    row = judged(*said("A", "A"), *said("hm", "well"), samples=2)
    assert (row.status, row.p_a, row.p_fwd) == ("unparsed", None, None)
    refused = [Reply(status="refused", error="no")] * 2
    assert judged(*said("A", "A"), *refused, samples=2).status == "refused"


def test_a_sample_that_never_came_leaves_the_row_open() -> None:
    replies = [*said("A"), Reply(status="error", error="HTTP 500"), *said("B", "B")]
    row = judged(*replies, samples=2)
    assert (row.status, row.detail, row.p_a) == ("error", "HTTP 500", None)


def test_counts_of_a_judge_that_draws_by_itself() -> None:
    drawn = Reply(status="ok", counts={"A": 4, "B": 0})
    row = judged(drawn, drawn)
    assert row.p_fwd == pytest.approx(4.5 / 5)
    assert row.p_rev == pytest.approx(0.5 / 5)
    empty = Reply(status="ok", counts={})
    assert judged(empty, drawn).status == "unparsed"


def test_what_cannot_be_asked_is_refused_at_the_door() -> None:
    with pytest.raises(ArgumentError, match="samples = 0"):
        Preference(samples=0)
    with pytest.raises(ArgumentError, match="all the same"):
        Preference(samples=5, temperature=0)
    with pytest.raises(ArgumentError, match="preference compares pairs"):
        Preference().questions(Item(id="1", prompt="q", response="r"))


def test_a_judge_that_only_looks_at_the_position_has_no_verdict_whatever_is_rounded() -> None:
    """The same log probabilities in both orders: p_rev is 1 - p_fwd, up to rounding."""
    protocol = Preference()
    for step in range(2000):
        reply = by_logprobs(-0.001, -0.001 - step / 100)
        plain = PlainReply(dict(reply.logprobs or {}), None, 1, 1, None, None, None, None)
        row = judged(reply, reply)
        numbers = protocol.judge_plain([plain, plain])
        assert numbers is not None
        assert (row.p_a, row.verdict) == (numbers["p_a"], numbers["verdict"]) == (0.5, None), step
    # A lead that is not rounding stays one.
    assert judged(by_logprobs(-1.0, -2.0), by_logprobs(-1.0, -2.0 - 1e-9)).verdict == "B"
