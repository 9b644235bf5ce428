"""Whatever JSON a server answers with: a reply with a status, and a number only where one was."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.backends import openai
from adjudge.judges.backends._http import Exchange
from adjudge.judges.backends.anthropic import AnthropicBackend
from adjudge.judges.interface import Choice, Question, Text
from adjudge.judges.protocols.preference import Preference
from adjudge.judges.redact import check_reply
from adjudge.records import MEASURED, STATUSES, Pair

LETTERS = Question((), Choice(("A", "B")))
WRITTEN = Question((), Text(10))
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["A", "B", " A", "content_filter", "text", "refusal"])
)
KEYS = st.sampled_from(
    ["choices", "message", "content", "logprobs", "top_logprobs", "token", "logprob", "refusal",
     "finish_reason", "usage", "prompt_tokens", "error", "type", "text", "stop_reason"]
)  # fmt: skip
JSON: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


def entries(tokens: Any, values: Any) -> Any:
    return st.lists(st.fixed_dictionaries({"token": tokens, "logprob": values}), max_size=6)


#: Payloads of the right shape down to the entries, and anything in the entries.
SHAPED = st.builds(
    lambda top, text, usage: {
        "choices": [
            {"message": {"content": text}, "logprobs": {"content": [{"top_logprobs": top}]}}
        ],
        "usage": usage,
    },
    entries(LEAVES, LEAVES)
    | entries(st.sampled_from(["A", " A", "B", "x", "y"]), st.floats(-20, 0.5)),
    LEAVES,
    JSON,
)


def exchange(payload: Any) -> Exchange:
    return Exchange(200, payload, json.dumps(payload), 0.1)


@given(JSON | SHAPED)
def test_no_payload_breaks_the_reading_and_none_makes_up_a_number(payload: Any) -> None:
    for question in (LETTERS, WRITTEN):
        reply = check_reply(openai.read_reply(exchange(payload), question))
        assert reply.status in STATUSES
        assert reply.text is None or isinstance(reply.text, str)
        if reply.logprobs is not None:
            assert reply.status in MEASURED
            told = {
                float(entry["logprob"])
                for entry in payload["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            }
            assert all(math.isfinite(value) for value in reply.logprobs.values())
            assert min(reply.logprobs.values()) >= min(v for v in told if v > -1000)
            assert math.fsum(map(math.exp, reply.logprobs.values())) <= 1.02
        for tokens in (reply.prompt_tokens, reply.completion_tokens):
            assert tokens is None or tokens >= 0


@given(JSON)
def test_no_payload_breaks_the_reading_of_messages(payload: Any) -> None:
    reply = check_reply(AnthropicBackend("m").read(exchange(payload), WRITTEN))
    assert reply.status in STATUSES
    assert reply.text is None or isinstance(reply.text, str)


@given(SHAPED, SHAPED)
def test_from_payload_to_row_there_is_a_probability_or_a_status(first: Any, second: Any) -> None:
    pair = Pair(id="1", prompt="q", response_a="a", response_b="b")
    replies = [
        check_reply(openai.read_reply(exchange(payload), LETTERS)) for payload in (first, second)
    ]
    (row,) = Preference().judge(pair, replies)
    numbers = (row.p_fwd, row.p_rev, row.p_a, row.uncertainty)
    if row.status in MEASURED:
        assert all(number is not None and 0 <= number <= 1 for number in numbers)
        assert row.status == "censored" or not any(reply.censored for reply in replies)
    else:
        assert numbers == (None, None, None, None)
        assert row.verdict is None
