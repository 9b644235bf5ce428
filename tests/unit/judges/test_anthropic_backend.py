"""anthropic: text only, asked k times; the same treatment of trouble as any server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.judges.backends.anthropic import AnthropicBackend
from adjudge.judges.interface import Choice, Message, Question, Text
from adjudge.judges.judge import make_judge
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Pair, Reply

KEY = "sk-ant-THIS-IS-A-SECRET-0123456789"
PAIR = Pair(id="1", prompt="2+2?", response_a="four", response_b="five")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def backend(server: Any, **options: Any) -> AnthropicBackend:
    settings: dict[str, Any] = {"max_attempts": 3, "first_pause_s": 0.01, "timeout": 5}
    return AnthropicBackend("claude-x", base_url=server.base_url, **{**settings, **options})


def ask(judge: AnthropicBackend, questions: Sequence[Question]) -> list[Reply]:
    async def run() -> list[Reply]:
        await judge.start()
        try:
            return [await judge.ask(question) for question in questions]
        finally:
            await judge.close()

    return asyncio.run(run())


def test_a_pair_is_sampled_in_both_orders(judge_server: Any) -> None:
    judge_server.script("text:A", "text:A", "text:B", "text:I cannot tell")
    protocol = Preference(samples=4)
    row = protocol.judge(PAIR, ask(backend(judge_server), protocol.questions(PAIR)))[0]
    assert row.status == "ok"
    assert row.p_fwd == pytest.approx(2.5 / 4)
    assert row.p_rev == pytest.approx(1.5 / 4)
    assert row.extra["samples"]["ab"] == {"A": 2, "B": 1, "refused": 1}
    sent = judge_server.log()[0]
    assert sent["has_key"]
    body = sent["body"]
    assert body.keys() == {"model", "max_tokens", "temperature", "messages", "system"}
    assert body["temperature"] == 1.0
    assert [m["role"] for m in body["messages"]] == ["user"]
    assert "impartial judge" in body["system"]


def test_it_is_not_asked_for_what_it_cannot_give(judge_server: Any) -> None:
    with pytest.raises(ArgumentError, match="cannot give"):
        make_judge(backend(judge_server), Preference())
    make_judge(backend(judge_server), Preference(samples=3))
    question = Question((Message("user", ("x",)),), Choice(("A", "B")))
    with pytest.raises(JudgeError, match="--samples K"):
        backend(judge_server).request_body(question)


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        ("529", "error", "HTTP 529: Overloaded (3 of 3 attempts)"),
        ("429", "error", "HTTP 429"),
        ("reset", "error", "the connection broke"),
        ("list", "error", "the answer has no message"),
        ("refusal", "refused", "the model declined to answer"),
        ("400_context", "error", "maximum context length"),
    ],
)
def test_trouble_has_its_status(judge_server: Any, step: str, status: str, said: str) -> None:
    judge_server.script(step)
    (reply,) = ask(backend(judge_server), [Question((Message("user", ("x",)),), Text(5))])
    assert reply.status == status
    assert reply.error is not None
    assert said in reply.error


def test_a_bad_key_stops_at_once_and_is_not_repeated(judge_server: Any) -> None:
    judge_server.script("401")
    with pytest.raises(JudgeRefusedError) as caught:
        ask(backend(judge_server), [Question((Message("user", ("x",)),), Text(5))])
    assert "anthropic:claude-x: HTTP 401" in str(caught.value)
    assert KEY not in str(caught.value)
    assert KEY not in str(backend(judge_server).identity())


def test_an_empty_reply_is_empty_text(judge_server: Any) -> None:
    judge_server.script("empty")
    (reply,) = ask(backend(judge_server), [Question((Message("user", ("x",)),), Text(5))])
    assert (reply.status, reply.text) == ("ok", "")
    assert (reply.prompt_tokens, reply.completion_tokens) == (40, 1)


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(JudgeError, match="ANTHROPIC_API_KEY is not set"):
        ask(AnthropicBackend("claude-x"), [])
