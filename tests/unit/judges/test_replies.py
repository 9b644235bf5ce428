"""Whatever a judge's reply holds, it is kept or an error that names the field; it stops nobody."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from calls import make_call
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.redact import check_reply, without_raw
from adjudge.records import Reply
from adjudge.store.sqlite import SQLiteStore

GOOD = Reply(
    status="ok",
    text="A",
    logprobs={"A": -0.1, "B": -2.5},
    prompt_tokens=12,
    completion_tokens=1,
    latency_s=0.5,
    raw='{"a": 1}',
)


def odd(**fields: Any) -> Reply:
    return Reply(**{"status": "ok", **fields})


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (odd(prompt_tokens=1 << 63), "prompt_tokens is a number of 64 bits, not a count of tokens"),
        (odd(completion_tokens=(1 << 63) - 1), "completion_tokens is 9223372036854775807"),
        (odd(prompt_tokens=-1), "prompt_tokens is -1"),
        (odd(prompt_tokens=1.5), "prompt_tokens is 1.5"),
        (odd(prompt_tokens=math.nan), "prompt_tokens is nan"),
        (odd(prompt_tokens=True), "prompt_tokens is True"),
        (odd(prompt_tokens="12"), "prompt_tokens is a text of 2 characters"),
        (odd(scored_tokens=[1]), "scored_tokens is a list"),
        (odd(text={"a": 1}), "text is an object, not text"),
        (odd(text=10**5000), "text is a number of 16610 bits"),
        (odd(text="a\0b"), "text contains a NUL character"),
        (odd(text="a\ud800b"), "text contains half a character"),
        (odd(logprobs={"A": math.inf}), "logprobs hold inf"),
        (odd(logprobs={"A": 10**400}), "logprobs hold a number of 1329 bits"),
        (odd(logprobs={"A": "-1"}), "logprobs hold a text"),
        (odd(logprobs={7: -1.0}), "logprobs hold -1.0 for 7"),
        (odd(logprobs=[-1.0]), "logprobs are a list"),
        (odd(counts={"A": 1 << 70}), "counts hold a number of 71 bits"),
        (odd(mean_logprob=math.nan), "mean_logprob is nan"),
        (odd(latency_s=math.inf), "latency_s is inf"),
        (Reply(status="great"), "which does not exist"),  # type: ignore[arg-type]  # what is tested
    ],
)
def test_what_cannot_be_kept_is_an_error_that_names_the_field(reply: Reply, says: str) -> None:
    checked = check_reply(reply)
    assert checked.status == "error"
    assert says in (checked.error or "")
    assert (checked.text, checked.logprobs, checked.prompt_tokens) == (None, None, None)


def test_a_good_reply_is_kept_as_it_is() -> None:
    assert check_reply(GOOD) is GOOD


def test_what_only_people_read_is_made_harmless() -> None:
    checked = check_reply(Reply(status="error", error="n\0o \ud800", raw="\0\udfff"))
    assert (checked.status, checked.error, checked.raw) == ("error", "n\ufffdo ?", "\ufffd?")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.sampled_from([1 << 63, -(1 << 63) - 1, 10**400, "\ud800", "\0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            (
                "text",
                "logprobs",
                "counts",
                "mean_logprob",
                "scored_tokens",
                "prompt_tokens",
                "completion_tokens",
                "latency_s",
                "answer_mass",
                "exact_mass",
                "cut_off",
                "server",
                "error",
                "raw",
            ),
            anything,
        ),
    )
)
def test_the_store_can_hold_every_reply_that_was_checked(fields: dict[str, Any]) -> None:
    store = SQLiteStore(":memory:")
    kept = replace(make_call("k"), reply=check_reply(odd(**fields)))
    store.save([kept])
    assert store.histories(["k"])["k"][0].reply.status in ("ok", "error")
    store.close()


def test_without_raw_statuses_and_numbers_stay() -> None:
    bare = without_raw(GOOD)
    assert (bare.raw, bare.text) == (None, None)
    assert (bare.status, bare.logprobs, bare.prompt_tokens) == ("ok", GOOD.logprobs, 12)
    written = without_raw(Reply(status="ok", text="I say A", raw="{}"))
    assert (written.raw, written.text) == (None, "I say A"), "its rows are read from the text"
    assert without_raw(Reply(status="refused", text="quote", raw="{}")).text is None
