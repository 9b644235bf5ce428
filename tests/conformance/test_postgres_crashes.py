"""Several processes on one PostgreSQL store: shared, killed, and the server restarted under them.

The server is a real one that writes to the disk; the judge counts in a process of its own what it
was asked.
"""

# ruff: noqa: S608  (the names put into statements are of our own tables)
from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from calls import make_call
from cutting_proxy import cutting_proxy
from judge_runs import CONCURRENCY, finish, start, undisturbed_run, wait_for, write_pairs
from postgres import DATABASE, PASSWORD, USER, PostgresServer, programs, running_server
from tries import tried

from adjudge.store import LabelEvent, Served, check_store, copy_store, open_store
from adjudge.store.interface import PATIENCE_S

PAIRS = 2000
CALLS = 2 * PAIRS


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed (initdb, pg_ctl)")
    with running_server() as started:
        yield started


@pytest.fixture
def store(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store nobody has opened yet; its password is in the environment, and in no command."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    place = server.url()
    return f"postgresql://{USER}@{place.partition('@')[2]}"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("shared") / "pairs.jsonl", PAIRS)


@pytest.fixture(scope="module")
def undisturbed(judge_server_process: Any, pairs: Path) -> bytes:
    """The output of one run on SQLite that nothing happened to."""
    return undisturbed_run(judge_server_process, pairs).read_bytes()


def kept(server: PostgresServer, store: str) -> int:
    """Rows committed so far."""
    try:
        with server.connect() as db:
            [(count,)] = db.execute(f"SELECT COUNT(*) FROM {schema(store)}.calls").fetchall()
            return int(str(count))
    except (psycopg.errors.UndefinedTable, psycopg.OperationalError):
        return 0


def schema(store: str) -> str:
    return store.partition("schema=")[2]


def deadlocks(server: PostgresServer) -> int:
    with server.connect() as db:
        [(count,)] = db.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = %s", (DATABASE,)
        ).fetchall()
        return int(str(count))


@pytest.mark.attack("postgres")
@pytest.mark.crash
def test_eight_processes_ask_every_call_once(
    server: PostgresServer, store: str, pairs: Path, undisturbed: bytes, judge_server: Any,
    tmp_path: Path, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """All of them open a store that is not there yet, and want the same 4,000 calls."""
    judge_server.script("ok", latency_s=0.05, keep_log=False)
    outputs = [tmp_path / f"{n}.jsonl" for n in range(8)]
    runs = [start(judge_server.base_url, pairs, store, output) for output in outputs]
    request.addfinalizer(lambda: [run.kill() for run in runs])
    results = [finish(run) for run in runs]
    counts = judge_server.counts()
    assert (counts["requests"], counts["contents"], kept(server, store)) == (CALLS, CALLS, CALLS)
    assert sum(sum(result["calls"].values()) for result in results) == CALLS
    assert [output.read_bytes() == undisturbed for output in outputs] == [True] * 8
    assert deadlocks(server) == 0
    assert "deadlock" not in server.log()
    assert not check_store(store).damaged
    with server.connect() as db:
        assert db.execute(f"SELECT COUNT(*) FROM {schema(store)}.claims").fetchall() == [(0,)]


HOLD = """
import socket, sys, time
socket.gethostname = lambda: sys.argv[2]
from adjudge.store import open_store
store = open_store(sys.argv[1])
store.claim([f"k{n}" for n in range(100)], retry=(), since=0)
print("claimed", flush=True)
time.sleep(120)
"""


@pytest.mark.attack("postgres")
@pytest.mark.crash
@pytest.mark.parametrize("host", ["here", "another-machine"])
def test_the_claims_of_a_killed_owner_are_free_at_once_whichever_machine_it_was_on(
    store: str, host: str, request: pytest.FixtureRequest
) -> None:
    keys = [f"k{n}" for n in range(100)]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, store, host], stdout=subprocess.PIPE, text=True
    )
    request.addfinalizer(holder.communicate)
    request.addfinalizer(holder.kill)
    assert holder.stdout is not None
    holder.stdout.readline()
    taker = open_store(store)
    request.addfinalizer(taker.close)
    assert taker.claim(keys, retry=(), since=0).busy == set(keys)
    holder.kill()
    killed = time.monotonic()
    wait_for(lambda: taker.claim(keys, retry=(), since=0).ours == set(keys), 5)
    # The server hears of it when the kernel closes the connection of the dead.
    assert time.monotonic() - killed < 2


@pytest.mark.attack("postgres")
@pytest.mark.crash
def test_a_killed_run_is_taken_over_and_repeats_no_more_than_was_in_flight(
    server: PostgresServer, store: str, pairs: Path, undisturbed: bytes, judge_server: Any,
    tmp_path: Path, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    judge_server.script("ok", latency_s=0.08, keep_log=False)
    outputs = [tmp_path / f"{n}.jsonl" for n in range(3)]
    runs = [start(judge_server.base_url, pairs, store, output) for output in outputs]
    request.addfinalizer(lambda: [run.kill() for run in runs])
    wait_for(lambda: kept(server, store) > CALLS // 4, 60)
    runs[0].kill()
    runs[0].communicate()
    assert [finish(run)["statuses"] for run in runs[1:]] == [{"ok": PAIRS}] * 2
    counts = judge_server.counts()
    assert counts["contents"] == kept(server, store) == CALLS
    assert counts["requests"] - CALLS <= CONCURRENCY
    assert [output.read_bytes() == undisturbed for output in outputs[1:]] == [True] * 2


@pytest.mark.attack("commits")
@pytest.mark.crash
@pytest.mark.parametrize("away_s", [0.0, 3.0])
def test_a_run_goes_on_when_the_server_is_restarted_under_it(
    server: PostgresServer, store: str, pairs: Path, undisturbed: bytes, judge_server: Any,
    tmp_path: Path, request: pytest.FixtureRequest, away_s: float,
) -> None:  # fmt: skip
    """At once, as after a crash, twice, with two runs on it."""
    judge_server.script("ok", latency_s=0.08, keep_log=False)
    outputs = [tmp_path / f"{n}.jsonl" for n in range(2)]
    runs = [start(judge_server.base_url, pairs, store, output) for output in outputs]
    request.addfinalizer(lambda: [run.kill() for run in runs])
    for part in (1, 2):
        wait_for(lambda least=part * CALLS // 4: kept(server, store) > least, 60)
        server.stop("immediate")
        tried()
        time.sleep(away_s)
        server.start()
    assert [finish(run)["statuses"] for run in runs] == [{"ok": PAIRS}] * 2
    counts = judge_server.counts()
    # Every owner came back to its claims: nothing was asked twice.
    assert (counts["requests"], counts["contents"]) == (CALLS, CALLS)
    # A commit that was not confirmed is done again: its rows can be there twice, never missing.
    assert kept(server, store) >= CALLS
    assert [output.read_bytes() == undisturbed for output in outputs] == [True] * 2


@pytest.mark.attack("commits")
@pytest.mark.crash
def test_a_server_that_stays_away_ends_the_run_with_one_line_and_loses_nothing(
    server: PostgresServer, store: str, pairs: Path, undisturbed: bytes, judge_server: Any,
    tmp_path: Path, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    judge_server.script("ok", latency_s=0.08, keep_log=False)
    output = tmp_path / "o.jsonl"
    run = start(judge_server.base_url, pairs, store, output)
    request.addfinalizer(run.kill)
    wait_for(lambda: kept(server, store) > CALLS // 4, 60)
    server.stop("immediate")
    try:
        said, remarks = run.communicate(timeout=120)
    finally:
        server.start()
    assert run.returncode == 1
    assert "Traceback" not in remarks
    assert PASSWORD not in remarks + said
    [line] = [line for line in remarks.splitlines() if line.startswith("adjudge: ")]
    assert "check the address and that the server is running" in line
    before = kept(server, store)
    assert before >= judge_server.counts()["requests"] - CONCURRENCY
    again = finish(start(judge_server.base_url, pairs, store, output))
    assert again["reused"] >= before
    assert judge_server.counts()["requests"] - CALLS <= CONCURRENCY
    assert output.read_bytes() == undisturbed


@pytest.mark.attack("postgres")
@pytest.mark.crash
def test_an_interrupt_does_not_wait_for_a_server_that_went_away(
    server: PostgresServer, store: str, pairs: Path, judge_server: Any, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    judge_server.script("ok", latency_s=0.08, keep_log=False)
    run = start(judge_server.base_url, pairs, store, tmp_path / "o.jsonl")
    request.addfinalizer(run.kill)
    wait_for(lambda: kept(server, store) > 100, 60)
    server.stop("immediate")
    try:
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        interrupted = time.monotonic()
        _, remarks = run.communicate(timeout=60)
    finally:
        server.start()
    assert time.monotonic() - interrupted < PATIENCE_S / 2
    assert run.returncode == 1
    assert "Traceback" not in remarks


COPY = """
import sys
from adjudge.store import copy_store
print("started", flush=True)
copy_store(sys.argv[1], sys.argv[2])
"""


@pytest.mark.attack("postgres")
@pytest.mark.crash
def test_a_copy_that_is_killed_goes_on(
    server: PostgresServer, store: str, pairs: Path, undisturbed: bytes,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    source = pairs.with_name("whole.db")
    for least in (200, 1500, 3000):
        copier = subprocess.Popen(
            [sys.executable, "-c", COPY, source, store], stdout=subprocess.PIPE, text=True
        )
        request.addfinalizer(copier.kill)
        wait_for(lambda copier=copier, least=least: copier.poll() is not None
                 or kept(server, store) >= least)  # fmt: skip
        copier.kill()
        copier.communicate()
        tried()
    last = copy_store(source, store)
    assert last.conflicts == 0
    assert kept(server, store) == CALLS
    assert copy_store(source, store).added == 0


@pytest.mark.crash
def test_labels_and_audits_from_many_processes_are_numbered_as_they_are_committed(
    server: PostgresServer, store: str, request: pytest.FixtureRequest
) -> None:
    """A reader that looks again and again never sees a number below one it has seen."""
    program = (
        "import sys\n"
        "from adjudge.store import LabelEvent, Served, open_store\n"
        "store, me = open_store(sys.argv[1]), sys.argv[2]\n"
        "for n in range(60):\n"
        "    store.add_served([Served(rules_id='r', subject_id=f'{me}-{n}-{i}', accepted=True,"
        " audited=True, content={}) for i in range(5)])\n"
        "    store.add_label_event(LabelEvent(nonce=f'{me}-{n}', rater=me, subject_id='s',"
        " action='skip'))\n"
        "store.close()\n"
    )
    reader = open_store(store)
    request.addfinalizer(reader.close)
    writers = [subprocess.Popen([sys.executable, "-c", program, store, str(n)]) for n in range(4)]
    request.addfinalizer(lambda: [writer.kill() for writer in writers])
    audits: list[int] = []
    events: list[int] = []
    while any(writer.poll() is None for writer in writers):
        now_audits = [row.number for row in reader.audits("r")]
        now_events = [event.event for event in reader.label_events()]
        assert now_audits[: len(audits)] == audits
        assert now_events[: len(events)] == events
        audits, events = now_audits, now_events
    assert [writer.wait() for writer in writers] == [0] * 4
    assert (len(reader.audits("r")), len(reader.label_events())) == (1200, 240)


@pytest.mark.attack("commits")
@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.crash)])
def test_commits_that_are_lost_or_not_confirmed_lose_and_double_nothing(
    server: PostgresServer, rounds: int
) -> None:
    """Three in ten commits are cut before they reach the server, or before they are confirmed."""
    place = server.url()
    reader = open_store(place)
    with cutting_proxy(server.port, share=0.3, seed=1) as proxy:
        store = open_store(place.replace(f":{server.port}/", f":{proxy.port}/"))
        for n in range(rounds):
            keys = [f"{n}-{i}" for i in range(5)]
            assert store.claim(keys, retry=(), since=0).ours == set(keys)
            store.save([make_call(key) for key in keys])
            store.add_label_event(
                LabelEvent(nonce=f"n{n}", rater="r", subject_id=f"s{n}", action="skip")
            )
            store.add_served(
                Served(rules_id="r", subject_id=key, accepted=True, audited=True, content={})
                for key in keys
            )
            assert store.replace_monitor("m", str(n - 1) if n else None, str(n))
        store.close()
    tried(sum(proxy.cut.values()))
    keys = [f"{n}-{i}" for n in range(rounds) for i in range(5)]
    assert {call.call_key for call in reader.calls()} == set(keys)
    assert [event.nonce for event in reader.label_events()] == [f"n{n}" for n in range(rounds)]
    assert [audit.subject_id for audit in reader.audits("r")] == keys
    assert reader.monitors() == {"m": str(rounds - 1)}
    assert min(proxy.cut.values()) > 0
    reader.close()
