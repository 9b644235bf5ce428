"""Keys, pauses and tokens: the small rules behind asking a server."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import ArgumentError, JudgeError
from adjudge.judges.backends._http import (
    _parsed,
    _written,
    check_base_url,
    key_from,
    retry_after,
)
from adjudge.judges.backends._tokens import option_logprobs
from adjudge.judges.backends.openai import OpenAIBackend

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "-5"}, 0.0),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "Thu, 01 Jan 2026 12:01:30 GMT"}, 90.0),
        ({"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "Mon, 01 Jan 2026 00:00:00 +99999999999999"}, None),
        ({"Retry-After": "Mon, 01 Jan 99999 00:00:00 GMT"}, None),
    ],
)
def test_the_pause_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def _read_by(parse: Callable[[str], object], text: str) -> str:
    try:
        return repr(parse(text))
    except (ValueError, RecursionError):
        return "not JSON"


ODD_JSON = [
    "",
    "nan",
    "NaN",
    "-NaN",
    "-Infinity",
    "1e999",
    "-0",
    "-0.0",
    "0123",
    "1.",
    "[1,]",
    "\ufeff1",
    " 1 ",
    "\x0c1",
    '"\t"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\ud800"',
    '"\\u0000"',
    '{"a": 1, "a": 2}',
    "9" * 30,
    "9" * 5000,
    "[" * 300 + "]" * 300,
    "[" * 100_000,
    '{"a": 1} x',
    "[-0.6931471805599453, 5e-324, 2.2250738585072011e-308]",
]


@pytest.mark.parametrize("text", ODD_JSON, ids=range(len(ODD_JSON)))
def test_the_fast_parser_reads_what_the_standard_one_reads(text: str) -> None:
    assert _read_by(_parsed, text) == _read_by(json.loads, text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
    st.booleans(),
)
def test_the_fast_parser_reads_any_value_as_the_standard_one_does(
    value: object, ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert _read_by(_parsed, text) == _read_by(json.loads, text)


@given(
    st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    )
)
def test_a_body_says_what_was_meant_lone_surrogates_included(body: dict[str, object]) -> None:
    assert json.loads(_written(body)) == body
    assert json.loads(_written({"content": "half \ud83d of it"})) == {
        "content": "half \ud83d of it"
    }


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading_of_a_pause(value: str) -> None:
    seconds = retry_after({"Retry-After": value})
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("K", "  padded-key \n")
    assert key_from("K") == "padded-key"
    monkeypatch.setenv("K", "gehe\u00efm-key")
    with pytest.raises(JudgeError, match="K contains characters") as caught:
        key_from("K")
    assert "gehe" not in str(caught.value)
    monkeypatch.delenv("K")
    assert key_from("K") == ""


@pytest.mark.parametrize("url", ["https://x.org/v1", "http://[::1]:8000/v1", "http://10.0.0.1/v1/"])
def test_good_urls(url: str) -> None:
    assert check_base_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "token", ["A", " A", "A ", "\nA", "(A", "A)", "[A]", '"A', "**A", "A.", "A:", "\u2581A", "ĠA"]
)
def test_spellings_that_count_for_a_letter(token: str) -> None:
    logprobs, censored = option_logprobs([(token, -0.5), ("B", -1.0)], ("A", "B"))
    assert logprobs == {"A": -0.5, "B": -1.0}
    assert not censored


@pytest.mark.parametrize(
    "token", ["a", "AB", "An", "A-", "A1", "Answer", "А", "Ａ", "", "\u200bA", "A/B", "!A"]
)
def test_tokens_that_count_for_no_letter(token: str) -> None:
    logprobs, censored = option_logprobs([(token, -0.5), ("B", -1.0), ("x", -7.0)], ("A", "B"))
    assert censored == {"A"}
    assert logprobs["A"] == -7.0


def test_spellings_are_added_and_the_bound_is_the_least_likely() -> None:
    pairs = [("A", math.log(0.5)), (" A", math.log(0.25)), ("the", math.log(0.01)), ("B", -9999.0)]
    logprobs, censored = option_logprobs(pairs, ("A", "B"))
    assert math.exp(logprobs["A"]) == pytest.approx(0.75)
    assert logprobs["B"] == math.log(0.01)
    assert censored == {"B"}


@given(
    st.lists(
        st.tuples(st.sampled_from(["A", " A", "B", "B.", "x", "The"]), st.floats(-30, 0)),
        min_size=1,
        max_size=20,
    )
)
def test_a_bound_never_exceeds_what_was_seen(pairs: list[tuple[str, float]]) -> None:
    logprobs, censored = option_logprobs(pairs, ("A", "B"))
    least = min(value for _, value in pairs)
    for option in ("A", "B"):
        assert math.isfinite(logprobs[option])
        assert (logprobs[option] == least) or option not in censored
        assert logprobs[option] >= least


def test_identity_names_all_that_changes_an_answer() -> None:
    plain = OpenAIBackend("m", base_url="http://h/v1").identity()
    assert plain["model"] == "m"
    assert plain["base_url"] == "http://h/v1"
    thinking = {"chat_template_kwargs": {"enable_thinking": False}}
    other = OpenAIBackend("m", base_url="http://h/v1", extra_body=thinking)
    assert other.identity() != plain
    with pytest.raises(ArgumentError, match="concurrency = 0"):
        OpenAIBackend("m", concurrency=0)
    with pytest.raises(ArgumentError, match="timeout = 0"):
        OpenAIBackend("m", timeout=0)
