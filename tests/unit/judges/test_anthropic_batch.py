"""Message Batches of Anthropic: the replies of single calls, and nothing paid twice after a kill.

What all batches share is in test_openai_batch.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from batch_runs import Calls, ask_singly, collect_batches, submit_batches

from adjudge.judges.backends.anthropic import AnthropicBackend
from adjudge.judges.backends.anthropic_batch import AnthropicBatches
from adjudge.judges.interface import Message, Question, Text
from adjudge.records import Reply


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-batch-secret-123456")


def calls(n: int) -> Calls:
    system = Message("system", ("You judge.",))
    return [
        (f"key{i}", Question((system, Message("user", (f"pair {i}?",))), Text(20, 1.0)), {})
        for i in range(n)
    ]


def backend(server: Any) -> AnthropicBackend:
    return AnthropicBackend("m", base_url=server.base_url, max_attempts=3, first_pause_s=0.01)


def collect(server: Any, folder: Path, asked: Calls, **options: Any) -> dict[str, Reply]:
    return collect_batches(AnthropicBatches(backend(server), folder), asked, **options)


def submit_only(server: Any, folder: Path, asked: Calls) -> None:
    submit_batches(AnthropicBatches(backend(server), folder), asked)


def made(server: Any) -> int:
    """How many batches were made."""
    posts = [entry for entry in server.log() if entry["path"].endswith("/batches")]
    return len([entry for entry in posts if "body" in entry])


def test_a_batch_gives_the_replies_that_single_calls_give(
    judge_server: Any, tmp_path: Path
) -> None:
    judge_server.script(polls_needed=3)
    seen: list[int] = []
    replies = collect(judge_server, tmp_path / "b", calls(5), on_poll=seen.append)
    single = ask_singly(backend(judge_server), calls(5))
    assert replies.keys() == single.keys()
    for key, reply in replies.items():
        assert (reply.status, reply.text) == ("ok", single[key].text)
        assert reply.prompt_tokens == single[key].prompt_tokens
        assert reply.latency_s is None
    assert seen == [5, 5, 0]  # calls without an answer
    assert not (tmp_path / "b").exists()


def test_every_call_ends_in_a_status(judge_server: Any, tmp_path: Path) -> None:
    steps = ["refusal", "400_filter", "expired", "canceled", "dropped", "529", "ok"]
    judge_server.script(
        rules=[{"contains": f"pair {at}?", "steps": [step]} for at, step in enumerate(steps)]
    )
    replies = collect(judge_server, tmp_path, calls(len(steps)))
    shown = [(replies[f"key{at}"].status, replies[f"key{at}"].error) for at in range(len(steps))]
    assert shown == [
        ("refused", "the model declined to answer"),
        ("refused", "The response was filtered by the content policy"),
        ("error", "the batch ended before this call (expired)"),
        ("error", "the batch ended before this call (canceled)"),
        ("error", "the batch ended without this answer"),
        ("error", "Overloaded"),
        ("ok", None),
    ]


def test_a_run_killed_while_waiting_goes_on_without_asking_again(
    judge_server: Any, tmp_path: Path
) -> None:
    judge_server.script(polls_needed=10_000)
    submit_only(judge_server, tmp_path, calls(4))
    judge_server.script(polls_needed=1)
    replies = collect(judge_server, tmp_path, calls(6))
    assert sorted(replies) == [f"key{i}" for i in range(6)]
    assert {reply.status for reply in replies.values()} == {"ok"}
    assert judge_server.counts()["most_per_content"] == 1
    assert made(judge_server) == 2  # four calls, then the two new ones


@pytest.mark.parametrize("fault", ["lost_answer", "lost_request"])
def test_a_batch_whose_confirmation_was_lost_is_made_once(
    judge_server: Any, tmp_path: Path, fault: str
) -> None:
    submit_only(judge_server, tmp_path / "other", calls(3))  # as many calls, but older
    judge_server.script(batch_faults=[fault])
    replies = collect(judge_server, tmp_path / "mine", calls(3))
    assert {reply.status for reply in replies.values()} == {"ok"}
    assert judge_server.counts()["requests"] == 3


@pytest.mark.parametrize("fault", ["lost_answer", "lost_request"])
def test_a_run_killed_before_its_batch_was_confirmed_asks_once(
    judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    judge_server.script(batch_faults=[fault])

    async def killed(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AnthropicBatches, "_find", killed)
        with pytest.raises(KeyboardInterrupt):
            collect(judge_server, tmp_path, calls(3))
    assert len(list(tmp_path.glob("adjudge-*.json"))) == 1
    assert len(collect(judge_server, tmp_path, calls(3))) == 3
    assert judge_server.counts() == {
        "requests": 3,
        "contents": 3,
        "most_per_content": 1,
        "most_in_flight": 0,
    }


def test_another_programs_batch_gives_no_answer_to_these_calls(
    judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made at the same moment with as many calls: its answers name other calls."""
    find = AnthropicBatches._find

    async def others_first(self: AnthropicBatches, job: Any) -> bool:
        await self._server.exchange("POST", self.path, json={"requests": [other] * 2})
        return await find(self, job)

    other = {"custom_id": "theirs", "params": {"model": "m", "messages": [{"content": "x"}]}}
    judge_server.script(batch_faults=["lost_request"])
    monkeypatch.setattr(AnthropicBatches, "_find", others_first)
    replies = collect(judge_server, tmp_path, calls(2))
    assert [reply.error for reply in replies.values()] == [
        "the batch ended without this answer"
    ] * 2
    monkeypatch.undo()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-batch-secret-123456")
    assert {reply.status for reply in collect(judge_server, tmp_path, calls(2)).values()} == {"ok"}


def test_the_key_goes_only_to_the_server_that_was_named(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script(results_host="http://127.0.0.1:9")
    replies = collect(judge_server, tmp_path, calls(2))
    assert {reply.status for reply in replies.values()} == {"ok"}
