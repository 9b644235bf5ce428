"""The Batch API: submit, poll, collect, and go on after a kill without buying twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from batch_runs import Calls, ask_singly, collect_batches

from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.judges.backends import _batches
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.backends.openai_batch import OpenAIBatches
from adjudge.judges.interface import Choice, Message, Question, Text
from adjudge.records import Reply


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-batch-secret-123456")


def calls(n: int, *, text: str = "pair") -> Calls:
    want = Choice(("A", "B"))
    return [
        (f"key{text}{i}", Question((Message("user", (f"{text} {i}?",)),), want), {"row": i})
        for i in range(n)
    ]


def backend(server: Any) -> OpenAIBackend:
    return OpenAIBackend("m", base_url=server.base_url, max_attempts=3, first_pause_s=0.01)


def collect(server: Any, folder: Path, asked: Calls, **options: Any) -> dict[str, Reply]:
    return collect_batches(OpenAIBatches(backend(server), folder), asked, **options)


def paths(server: Any) -> list[str]:
    return [entry["path"] for entry in server.log()]


def test_a_batch_gives_the_replies_that_single_calls_give(
    judge_server: Any, tmp_path: Path
) -> None:
    judge_server.script(polls_needed=3)
    seen: list[int] = []
    replies = collect(judge_server, tmp_path / "b", calls(5), on_poll=seen.append)
    single = ask_singly(backend(judge_server), calls(5))
    assert replies.keys() == single.keys()
    for key, reply in replies.items():
        assert reply.status == "ok"
        assert reply.logprobs == single[key].logprobs
        assert reply.prompt_tokens == single[key].prompt_tokens
        assert reply.latency_s is None
    assert (len(seen), seen[-1]) == (3, 0)  # calls without an answer
    assert not (tmp_path / "b").exists()


def test_every_call_ends_in_a_status(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script(
        rules=[
            {"contains": "pair 0?", "steps": ["no_logprobs"]},
            {"contains": "pair 1?", "steps": ["400_filter"]},
            {"contains": "pair 2?", "steps": ["expired"]},
            {"contains": "pair 3?", "steps": ["dropped"]},
            {"contains": "pair 4?", "steps": ["500"]},
            {"contains": "pair 5?", "steps": ["one_letter"]},
            {"contains": "pair 6?", "steps": ["400_prompt"]},
        ]
    )
    replies = collect(judge_server, tmp_path, calls(8))
    assert [replies[f"keypair{i}"].status for i in range(8)] == [
        "no_logprobs",
        "refused",
        "error",
        "error",
        "error",
        "censored",
        "refused",
        "ok",
    ]
    assert replies["keypair2"].error == "expired"
    assert replies["keypair3"].error == "the batch ended (completed) without this answer"
    assert replies["keypair4"].error == "HTTP 500: Internal error"


def test_a_failed_batch_is_an_error_of_each_call_in_the_servers_words(
    judge_server: Any, tmp_path: Path
) -> None:
    # The first fault is used up when the batch is made; the second waits for the poll.
    judge_server.script(batch_faults=["none", "batch_failed"])
    replies = collect(judge_server, tmp_path, calls(2))
    assert {reply.status for reply in replies.values()} == {"error"}
    assert "Enqueued token limit reached" in str(replies["keypair0"].error)


def test_a_run_killed_while_waiting_goes_on_without_asking_again(
    judge_server: Any, tmp_path: Path
) -> None:
    judge_server.script(polls_needed=10_000)

    async def killed() -> None:
        async with OpenAIBatches(backend(judge_server), tmp_path) as batches:
            await batches.submit(calls(4))
            # The process ends here; the folder stays.

    asyncio.run(killed())
    judge_server.script(polls_needed=1)
    replies = collect(judge_server, tmp_path, calls(6))
    assert sorted(replies) == [f"keypair{i}" for i in range(6)]
    assert {reply.status for reply in replies.values()} == {"ok"}
    assert judge_server.counts() == {
        "requests": 6,
        "contents": 6,
        "most_per_content": 1,
        "most_in_flight": 0,
    }
    assert paths(judge_server).count("/v1/batches") == 2  # four calls, then the two new ones


def test_a_run_killed_between_upload_and_batch_makes_the_batch_once(
    judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_create(self: OpenAIBatches, job: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OpenAIBatches, "_create", no_create)
        with pytest.raises(KeyboardInterrupt):
            collect(judge_server, tmp_path, calls(2))
    replies = collect(judge_server, tmp_path, calls(2))
    assert len(replies) == 2
    assert paths(judge_server).count("/v1/files") == 1
    assert judge_server.counts()["requests"] == 2


def test_a_run_killed_before_the_upload_starts_over(
    judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_upload(self: OpenAIBatches, job: Any, content: bytes) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OpenAIBatches, "_upload", no_upload)
        with pytest.raises(KeyboardInterrupt):
            collect(judge_server, tmp_path, calls(2))
    assert len(list(tmp_path.glob("adjudge-*.json"))) == 1
    assert len(collect(judge_server, tmp_path, calls(2))) == 2
    assert judge_server.counts()["requests"] == 2


def test_a_batch_whose_confirmation_was_lost_is_found_and_not_made_twice(
    judge_server: Any, tmp_path: Path
) -> None:
    judge_server.script(batch_faults=["lost_answer"])
    replies = collect(judge_server, tmp_path, calls(3))
    assert {reply.status for reply in replies.values()} == {"ok"}
    assert judge_server.counts()["requests"] == 3
    assert judge_server.counts()["most_per_content"] == 1


def test_replies_not_taken_are_handed_out_again(judge_server: Any, tmp_path: Path) -> None:
    async def first_only() -> str:
        async with OpenAIBatches(backend(judge_server), tmp_path) as batches:
            await batches.submit(calls(3))
            stream = batches.collect(poll_s=0.01)
            async for call, _ in stream:
                await stream.aclose()
                return call.key
        raise AssertionError

    asyncio.run(first_only())
    assert len(collect(judge_server, tmp_path, [])) == 3


def test_many_calls_go_in_several_batches(
    judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batches, "_MOST_CALLS", 3)
    assert len(collect(judge_server, tmp_path, calls(8))) == 8
    assert paths(judge_server).count("/v1/files") == 3


def test_text_questions_and_doubled_keys(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("text:Verdict: A")
    question = Question((Message("user", ("x",)),), Text(20))
    replies = collect(judge_server, tmp_path, [("k", question, {}), ("k", question, {})])
    assert replies["k"].text == "Verdict: A"
    with pytest.raises(ArgumentError, match="1 to 64"):
        collect(judge_server, tmp_path, [("k" * 65, question, {})])


def test_two_processes_do_not_work_on_one_folder(judge_server: Any, tmp_path: Path) -> None:
    async def run() -> None:
        async with OpenAIBatches(backend(judge_server), tmp_path):
            with pytest.raises(JudgeError, match="another process uses the batches"):
                await OpenAIBatches(backend(judge_server), tmp_path).__aenter__()

    asyncio.run(run())


def test_a_server_without_batches_says_so(judge_server: Any, tmp_path: Path) -> None:
    judge = OpenAIBackend("m", base_url=judge_server.root + "/other", max_attempts=1)

    async def run() -> None:
        async with OpenAIBatches(judge, tmp_path) as batches:
            await batches.submit(calls(1))

    with pytest.raises(JudgeRefusedError, match="the upload: HTTP 404"):
        asyncio.run(run())


def test_a_start_that_fails_leaves_the_folder_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    async def enter() -> None:
        async with OpenAIBatches(OpenAIBackend("m"), tmp_path):
            raise AssertionError("there is no key to start with")

    for _ in range(2):
        with pytest.raises(JudgeError, match="OPENAI_API_KEY is not set") as kept:
            asyncio.run(enter())
        assert kept.tb is not None  # the traceback would keep an open lock alive
