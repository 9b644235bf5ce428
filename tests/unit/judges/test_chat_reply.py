"""A chat completion as a reply: what is read from it, and the reason where nothing can be."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge.judges.backends._chat_server import read_choice, read_reply
from adjudge.judges.backends._http import Exchange
from adjudge.judges.interface import Choice, Question

LETTERS = ("A", "B")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("A", "the server returned no log probabilities; use --samples K"),
        ("", "the reply is empty; use --samples K"),
        (None, "the reply is empty; use --samples K"),
    ],
)
@pytest.mark.parametrize("logprobs", [None, {"content": []}, {"content": [{"top_logprobs": []}]}])
def test_without_log_probabilities_an_empty_reply_is_called_empty(
    text: str | None, error: str, logprobs: Any
) -> None:
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": logprobs}
    exchange = Exchange(200, {"choices": [choice]}, "{}", 0.1)
    reply = read_reply(exchange, Question((), Choice(LETTERS)))
    assert (reply.status, reply.error, reply.text) == ("no_logprobs", error, text)


def test_alternatives_are_read_whatever_the_text() -> None:
    pairs = [("A", -0.1), ("B", -2.5), ("x", -9.0)]
    for text in ("A", "", None):
        reply = read_choice(pairs, LETTERS, {"text": text})
        assert (reply.status, reply.error) == ("ok", None)
        assert reply.logprobs == {"A": -0.1, "B": -2.5}
