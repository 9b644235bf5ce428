"""Aligning a judge over HTTP that refuses, thinks first, answers something else or fails."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from aiohttp import web
from prompted_judge import Proposer, labelled_pairs

from adjudge.alignment import align
from adjudge.alignment.asking import Asking
from adjudge.alignment.parts import SHARES, open_partition, read_labelled
from adjudge.cli import run
from adjudge.data import write_rows
from adjudge.errors import AdjudgeError, ArgumentError, JudgeError, UnusableRepliesError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Question
from adjudge.judges.judging import judge_pairs, run_options
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.records import Reply, Subject
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store

#: What the server does if a prompt has the word, and what is said of such a candidate.
FAULTS = {
    "REFUSES": ("400_filter", "12 of 12 rows have no verdict (12 refused)"),
    "THINKS": ("habit:think_first", "most likely: '<think>'"),
    "APOLOGISES": ("habit:refusal", "no usable score"),
    "SILENT": ("mode:logprobs_null", "no usable score"),
    "GARBLED": ("mode:content_number", "12 of 12 rows are errors"),
    "INVALID": ("400", "HTTP 400: Invalid value: 'foo'"),
}


@pytest.fixture
def how(judge_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return {"judge": "openai:m", "base_url": judge_server.base_url, "store": tmp_path / "a.db"}


def test_candidates_are_dropped_by_their_failures(judge_server: Any, how: dict[str, Any]) -> None:
    rules = [{"contains": word, "steps": [step]} for word, (step, _) in FAULTS.items()]
    judge_server.script("ok", rules=rules)
    words = [*FAULTS, "clear words"]
    run = align(
        labelled_pairs(120), proposer=Proposer(words), candidates=3 + len(words), rounds=1, **how
    )
    tried = {row.name: row for row in run.result.tried}
    for at, (word, (_, reason)) in enumerate(FAULTS.items(), start=1):
        dropped = tried[f"rewrite 1.{at}"].dropped
        assert dropped is not None, word
        assert reason in dropped, word
        assert word not in run.prompt.text
    assert tried[f"rewrite 1.{len(words)}"].dropped is None
    # Errors of the server can be gone in another run, other failures stay.
    assert run.result.warnings == ("2 prompts dropped because of errors: run again to ask again",)


def test_a_row_without_a_verdict_counts_as_wrong(judge_server: Any, how: dict[str, Any]) -> None:
    judge_server.script("ok", rules=[{"contains": "question 0-1", "steps": ["400_filter"]}])
    pairs = labelled_pairs(120)
    result = align(pairs, rounds=1, candidates=1, **how).result
    judged = judge_pairs(pairs, **how).judgments
    verdicts = dict(judged.select("id", "verdict").iter_rows())
    rows, _ = read_labelled(pairs)
    parts = open_partition(how["store"], rows, shares=SHARES, seed=0).parts
    select = [row for row in rows if parts[row.question] == "select"]
    refused = [row for row in select if verdicts[row.id] is None]
    assert refused
    assert {row.subject.prompt[:12] for row in refused} == {"question 0-1"}
    right = np.mean([verdicts[row.id] == row.label for row in select])
    assert result.own_on_select == pytest.approx(right)


def test_a_judge_that_cannot_answer_the_own_prompt_divides_nothing(
    judge_server: Any, how: dict[str, Any]
) -> None:
    judge_server.script("habit:think_first")
    with pytest.raises(UnusableRepliesError):
        align(labelled_pairs(120), **how)
    with use_store(how["store"]) as store:
        assert store.monitors() == {}


def test_one_server_serves_judge_and_proposer(judge_server: Any, how: dict[str, Any]) -> None:
    """Without an address of its own the proposer is asked where the judge is, with its key."""
    judge_server.script("ok", rules=[{"contains": "[Case 1 begins]", "steps": [f"text:{BETTER}"]}])
    result = align(labelled_pairs(120), proposer="openai:big", concurrency=3, **how).result
    assert "rewrite 1.1" in [row.name for row in result.tried if row.rows]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_concurrency_is_taken_for_judge_and_proposer(
    judge_server: Any, how: dict[str, Any], concurrency: int
) -> None:
    judge_server.script("ok")
    how = {**how, "concurrency": concurrency}
    result = align(labelled_pairs(120), proposer=Proposer(["x"]), rounds=1, **how).result
    assert result.calls > 0


def test_a_key_of_the_proposer_that_is_not_set_is_seen_before_the_first_call(
    judge_server: Any, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_server.reset()
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(JudgeError, match="ANTHROPIC_API_KEY is not set"):
        align(labelled_pairs(120), proposer="anthropic:claude", **how)
    assert judge_server.log() == []


def test_a_proposer_that_cannot_be_reached_is_seen_before_the_first_call(
    judge_server: Any, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPOSERS_KEY", "the-proposers-key")
    how = {**how, "proposer_api_key_env": "PROPOSERS_KEY"}
    judge_server.reset()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/v1"
    with pytest.raises(JudgeError, match=f"openai:big: no connection to 127.0.0.1:{port} .*start"):
        align(labelled_pairs(120), proposer="openai:big", proposer_base_url=address, **how)
    assert judge_server.log() == []
    with use_store(how["store"]) as store:
        assert store.monitors() == {}


#: The rewrite that the server proposes; its judge is right with it.
BETTER = "<prompt>Better\n{prompt}\n{response_a}\n{response_b}</prompt>"


def test_the_command_by_its_exit_codes(
    judge_server: Any,
    how: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0 a gain, with the command that uses it; 2 no gain; 1 refused, with one line."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    pairs, prompt = labelled_pairs(120), tmp_path / "mine.txt"
    rows = [
        {
            name: getattr(pair, name)
            for name in ("id", "prompt", "response_a", "response_b", "label")
        }
        for pair in pairs
    ]
    write_rows(pl.DataFrame(rows), tmp_path / "pairs.jsonl")
    write_rows(pl.DataFrame(rows[:60]), tmp_path / "few.jsonl")
    prompt.write_text("PLAIN\n{prompt}\n{response_a}\n{response_b}")
    rules = [
        {"contains": "[Case 1 begins]", "steps": [f"text:{BETTER}"]},
        {"contains": "PLAIN", "steps": ["ok"]},
        *(
            {"contains": f"{pair.prompt}\ngood", "steps": ["text:A"]}
            for pair in sorted(pairs, key=lambda pair: -len(pair.prompt))
        ),
    ]
    asked = ["--judge", "openai:m", "--base-url", judge_server.base_url, "--samples", "1"]
    asked += ["--prompt", str(prompt), "--rounds", "1", "--candidates", "4"]
    better = ["--proposer", "openai:big", "--proposer-base-url", judge_server.base_url]

    judge_server.script("text:B", rules=rules)
    assert run(["align", "pairs.jsonl", *asked, *better, "--store", "a.db", "-o", "out"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Gain 0.")
    assert shown.splitlines()[-1] == (
        "next: adjudge judge NEW_ROWS --judge openai:m --protocol preference --samples 1 "
        f"--base-url {judge_server.base_url} --prompt out/prompt.txt -o judged.jsonl "
        "(NEW_ROWS: later rows)"
    )
    assert (tmp_path / "out" / "prompt.txt").read_text().startswith("Better\n{prompt}")
    asked_before = len(judge_server.log())
    assert run(["align", "pairs.jsonl", *asked, *better, "--store", "a.db"]) == 0
    assert len(judge_server.log()) == asked_before

    judge_server.script("ok")
    assert run(["align", "pairs.jsonl", *asked, "--store", "b.db"]) == 2
    assert capsys.readouterr().out.rpartition("Gain")[2].count("No gain shown") == 1

    assert run(["align", "few.jsonl", *asked, "--store", "c.db"]) == 1
    message = capsys.readouterr().err
    assert message == (
        "adjudge: rows = '60 labels': label at least 100 rows, drawn at random; there are 60\n"
    )


async def _keys_of(address: list[str], keys: list[str | None]) -> web.AppRunner:
    """A server at another address that keeps the key of every request."""

    async def keep(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        return web.json_response({"error": {"message": "no"}}, status=400)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", keep)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address.append(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
    return runner


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str | None]]]:
    address: list[str] = []
    keys: list[str | None] = []
    loop = asyncio.new_event_loop()
    runner = loop.run_until_complete(_keys_of(address, keys))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield address[0], keys
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.attack("keys")
@pytest.mark.parametrize("judges_variable", [None, "JUDGES_KEY"])
def test_the_judges_key_is_not_sent_to_a_proposer_elsewhere(
    judge_server: Any,
    how: dict[str, Any],
    elsewhere: tuple[str, list[str | None]],
    monkeypatch: pytest.MonkeyPatch,
    judges_variable: str | None,
) -> None:
    judge_server.script("ok")
    monkeypatch.setenv("JUDGES_KEY", "the-judges-key")
    monkeypatch.setenv("PROPOSERS_KEY", "the-proposers-key")
    address, keys = elsewhere
    asked: dict[str, Any] = {
        "proposer": "openai:big",
        "proposer_base_url": address,
        "rounds": 1,
        "api_key_env": judges_variable,
        **how,
    }
    if judges_variable is None:
        with pytest.raises(ArgumentError, match="judge's key would be sent to http://127.0.0.1"):
            align(labelled_pairs(120), **asked)
        assert not keys
        assert not judge_server.log()
    with suppress(AdjudgeError):
        align(labelled_pairs(120), proposer_api_key_env="PROPOSERS_KEY", **asked)
    assert set(keys) == {"Bearer the-proposers-key"}


@pytest.mark.attack("keys")
def test_a_proposer_at_the_judges_address_has_its_key(
    how: dict[str, Any], elsewhere: tuple[str, list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGES_KEY", "the-judges-key")
    address, keys = elsewhere
    asked = {**how, "base_url": address, "api_key_env": "JUDGES_KEY"}
    with suppress(AdjudgeError):
        align(labelled_pairs(120), proposer="openai:big", proposer_base_url=address, **asked)
    assert set(keys) == {"Bearer the-judges-key"}


def test_replies_of_a_run_that_failed_cost_what_the_run_says(tmp_path: Path) -> None:
    """A prompt token that the provider had in its cache costs less there too."""

    class Caching(SimulatedBackend):
        free = False

        async def ask_about(self, subject: Subject, question: Question) -> Reply:
            reply = await super().ask_about(subject, question)
            counts = {"prompt_tokens": 1000, "cached_tokens": 900, "completion_tokens": 1}
            return replace(reply, **counts)

    judge = Caching()
    prices = {judge.name: Price(10.0, 10.0, "test", cached=1.0)}
    options = JudgingOptions(judge=judge, prices=prices, store=tmp_path / "s.db")
    pairs = simulate_pairs(5, seed=0)
    cost = run_options(pairs, options).summary.cost_this_run
    assert cost == pytest.approx(10 * (100 * 10 + 900 * 1 + 10) / 1e6)
    asking = Asking(options)
    asking._count_stored(pairs, options)
    assert asking.spent == pytest.approx(cost)
    assert asking.totals() == (10, pytest.approx(cost))
