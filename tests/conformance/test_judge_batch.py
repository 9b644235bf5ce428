"""`judge_pairs(batch=True)` against a server's batch API: the same rows as one by one."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from judge_runs import finish, start, wait_for, write_pairs

from adjudge.errors import ArgumentError, JudgeRefusedError
from adjudge.judges import judge_pairs
from adjudge.judges.backends._chat_server import ChatServerBackend
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.flow import Stop
from adjudge.judges.prices import Price
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store

PAIRS = simulate_pairs(40, seed=2)
KEY = "sk-batch-test-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def judged(server: Any, **options: Any) -> Any:
    given = {"batch": True, "poll_s": 0.05, "store": "b.db", "judge": "openai:m", **options}
    return judge_pairs(PAIRS, base_url=server.base_url, **given)


#: The services with batches, and how they are asked.
SERVICES = {"openai": {}, "anthropic": {"judge": "anthropic:m", "samples": 1}}


@pytest.mark.parametrize("service", SERVICES)
def test_a_batch_gives_the_rows_that_asking_one_by_one_gives(
    judge_server: Any, service: str
) -> None:
    asked = SERVICES[service]
    batched = judged(judge_server, **asked)
    assert batched.summary.calls == {"ok": 80}
    judge_server.reset()
    single = judged(judge_server, batch=False, store="s.db", **asked)
    assert batched.judgments.equals(single.judgments)
    again = judged(judge_server, **asked)
    assert (again.summary.calls_made, again.summary.reused) == (0, 80)
    # What was batched answers a run without batches: one store, one key.
    assert judged(judge_server, batch=False, **asked).summary.reused == 80


@pytest.mark.parametrize(
    ("judge", "options"), [("openai:m", ()), ("anthropic:m", ("--samples", "3"))]
)
def test_a_process_that_is_killed_while_it_waits_pays_nothing_twice(
    judge_server: Any, tmp_path: Path, judge: str, options: tuple[str, ...]
) -> None:
    judge_server.script("ok", polls_needed=10_000)
    pairs = write_pairs(tmp_path / "pairs.jsonl", 20)
    asked = (judge_server.base_url, pairs, tmp_path / "s.db", tmp_path / "rows.jsonl")
    options = (*options, "--batch")
    run = start(*asked, *options, judge=judge)
    wait_for(lambda: any("batches/" in entry["path"] for entry in judge_server.log()))
    run.send_signal(signal.SIGKILL)
    run.communicate()
    judge_server.script("ok", polls_needed=1)
    summary = finish(start(*asked, *options, judge=judge))
    assert summary["statuses"] == {"ok": 20}
    calls = 40 if judge == "openai:m" else 120
    assert summary["calls"] == {"ok": calls}
    assert judge_server.counts()["requests"] == calls


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


def jobs(root: Path) -> list[str]:
    return [path.parent.name for path in root.rglob("adjudge-*.json")]


def interrupt_once(server: Any, **options: Any) -> Any:
    stop = Stop()
    return judged(server, stop=stop, progress=lambda _: stop.interrupt(), **options)


def test_what_is_under_way_is_listed_by_judge_and_store(
    judge_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two stores of one judge never take each other's answers; nothing comes from their names."""
    judge_server.script("ok", polls_needed=4)
    data = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    assert interrupt_once(judge_server, store="one.db").summary.stopped == "interrupted"
    assert interrupt_once(judge_server, store="sqlite:///two.db").summary.stopped == "interrupted"
    first, second = jobs(data / "adjudge" / "batches")
    assert first != second
    assert first.partition("-")[0] == second.partition("-")[0]
    assert not any(path.name.endswith(".batches") for path in tmp_path.iterdir())
    Path("one.db").rename("moved.db")
    moved = judged(judge_server, store="moved.db")
    assert moved.summary.calls == {"ok": 80}
    with use_store("two.db") as store:
        assert judged(judge_server, store=store).summary.calls == {"ok": 80}
    assert judge_server.counts()["requests"] == 160
    assert list((data / "adjudge" / "batches").iterdir()) == []


def test_the_list_of_batches_can_be_kept_elsewhere(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("ok", polls_needed=3)
    interrupt_once(judge_server, batch_folder=tmp_path / "mine")
    assert len(jobs(tmp_path / "mine")) == 1
    assert judged(judge_server, batch_folder=tmp_path / "mine").summary.calls == {"ok": 80}


def test_a_store_that_is_forgotten_cannot_hold_a_batch(judge_server: Any) -> None:
    with (
        use_store(None) as store,
        pytest.raises(ArgumentError, match="a batch continues after this process"),
    ):
        judged(judge_server, store=store)
    assert judge_server.log() == []


class Resold(OpenAIBackend):
    """Another name, the same service: whether it has batches comes with the class."""

    batch_price = 0.25

    def __init__(self, **options: Any) -> None:
        super().__init__("m", **options)
        self.name = "resold:m"


def test_a_backend_of_another_name_has_batches(judge_server: Any) -> None:
    prices = {"resold:m": Price(1000.0, 0.0, "test")}
    judge = Resold(base_url=judge_server.base_url)
    run = judge_pairs(PAIRS, judge=judge, batch=True, poll_s=0.05, store="b.db", prices=prices)
    assert run.summary.price_source == "test, 25 % of it in a batch"
    single = judge_pairs(PAIRS, judge=judge, store="b.db", prices=prices)
    assert run.summary.cost == pytest.approx(0.25 * single.summary.cost)


@pytest.mark.parametrize("options", [{"store": None}, {"rpm": 10.0}, {"judge": "simulated:"}])
def test_what_batches_cannot_do_is_refused(judge_server: Any, options: dict[str, Any]) -> None:
    given = {"judge": "openai:m", "store": "b.db", **options}
    url = None if given["judge"] == "simulated:" else judge_server.base_url
    with pytest.raises(ArgumentError):
        judge_pairs(PAIRS, batch=True, base_url=url, **given)


def test_a_refused_batch_ends_with_the_servers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    # A test cannot wait for real backoff.
    monkeypatch.setitem(ChatServerBackend.__init__.__kwdefaults__, "first_pause_s", 0.01)
    with pytest.raises(JudgeRefusedError, match="cannot reach"):
        judge_pairs(
            PAIRS[:2], judge="openai:m", base_url="http://127.0.0.1:9/v1", batch=True,
            store="b.db", poll_s=0.01,
        )  # fmt: skip
    assert not any(KEY in path.read_text("latin-1") for path in Path().rglob("*") if path.is_file())
