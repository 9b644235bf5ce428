"""`judge_pairs(batch=True)` against a server's batch API: the same rows as one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.errors import ArgumentError, JudgeRefusedError
from adjudge.judges import judge_pairs
from adjudge.judges.prices import Price
from adjudge.judges.stopping import Stop
from adjudge.simulate.pairs import simulate_pairs

PAIRS = simulate_pairs(40, seed=2)
KEY = "sk-batch-test-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judged(server: Any, **options: Any) -> Any:
    given = {"batch": True, "poll_s": 0.05, "store": "b.db", **options}
    return judge_pairs(PAIRS, judge="openai:m", base_url=server.base_url, **given)


def test_a_batch_gives_the_rows_that_asking_one_by_one_gives(judge_server: Any) -> None:
    batched = judged(judge_server)
    assert batched.summary.calls == {"ok": 80}
    judge_server.reset()
    single = judged(judge_server, batch=False, store="s.db")
    assert batched.judgments.equals(single.judgments)
    again = judged(judge_server)
    assert (again.summary.calls_made, again.summary.reused) == (0, 80)
    # What was batched answers a run without batches: one store, one key.
    assert judged(judge_server, batch=False).summary.reused == 80


def test_a_run_that_stops_waiting_goes_on_with_the_same_batch(judge_server: Any) -> None:
    judge_server.script("ok", polls_needed=6)
    stop = Stop()
    polls = 0

    def impatient(_: object) -> None:
        nonlocal polls
        polls += 1
        if polls > 2:
            stop.interrupt()

    first = judged(judge_server, stop=stop, progress=impatient)
    assert (first.summary.stopped, first.summary.calls_made) == ("interrupted", 0)
    second = judged(judge_server)
    assert second.summary.calls == {"ok": 80}
    created = [entry for entry in judge_server.log() if entry["path"].endswith("/batches")]
    assert len([entry for entry in created if "body" in entry]) == 1
    assert judge_server.counts()["requests"] == 80


def test_rows_that_failed_in_a_batch_are_errors_and_asked_again(judge_server: Any) -> None:
    judge_server.script("ok", rules=[{"contains": PAIRS[3].prompt, "steps": ["expired", "ok"]}])
    first = judged(judge_server)
    assert first.summary.statuses == {"ok": 39, "error": 1}
    row = first.judgments.filter(pl.col("status") == "error").row(0, named=True)
    assert (row["id"], row["p_a"]) == (PAIRS[3].id, None)
    second = judged(judge_server)
    assert second.summary.statuses == {"ok": 40}
    assert second.summary.calls == {"ok": 2}


def test_half_the_price_and_max_cost_before_sending(judge_server: Any) -> None:
    prices = {"openai:m": Price(1000.0, 0.0, "test")}
    full = judged(judge_server, batch=False, store=None, prices=prices).summary.cost
    half = judged(judge_server, prices=prices).summary.cost
    assert half == pytest.approx(full / 2)
    judge_server.reset()
    stopped = judged(judge_server, prices=prices, max_cost=0.001, store="other.db")
    assert (stopped.summary.stopped, stopped.summary.calls_made) == ("max_cost", 0)
    assert judge_server.log() == []


@pytest.mark.parametrize("options", [{"store": None}, {"rpm": 10.0}, {"judge": "simulated:"}])
def test_what_batches_cannot_do_is_refused(judge_server: Any, options: dict[str, Any]) -> None:
    given = {"judge": "openai:m", "store": "b.db", **options}
    url = None if given["judge"] == "simulated:" else judge_server.base_url
    with pytest.raises(ArgumentError):
        judge_pairs(PAIRS, batch=True, base_url=url, **given)


def test_a_refused_batch_ends_with_the_servers_words(judge_server: Any) -> None:
    with pytest.raises(JudgeRefusedError, match="cannot reach"):
        judge_pairs(
            PAIRS[:2], judge="openai:m", base_url="http://127.0.0.1:9/v1", batch=True,
            store="b.db", poll_s=0.01,
        )  # fmt: skip
    assert not any(KEY in path.read_text("latin-1") for path in Path().rglob("*") if path.is_file())
