"""Resuming: where a run starts to ask, and that every row comes, wherever calls are missing.

The batches are made small, so that a few hundred pairs are a long input. Real store, real loop.
"""

from __future__ import annotations

import asyncio
import math
import random
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.judges import Backend, JudgingRun, judge_pairs, runner
from adjudge.judges.flow import Stop
from adjudge.judges.interface import Choice, Question
from adjudge.judges.subjects import Spool
from adjudge.records import Pair, Reply, Subject
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import SQLiteStore, use_store

PAIRS = [replace(pair, prompt=f"{pair.id}: {pair.prompt}") for pair in simulate_pairs(300, seed=2)]
IDS = [pair.id for pair in PAIRS]
STOPPED = 200


class Counted(Backend):
    """A judge that lists what it is asked about, and stops the run at one of its calls."""

    name = "counted"
    wants: frozenset[type] = frozenset({Choice})
    concurrency = 4

    def __init__(self, stop: Stop | None = None, *, at: int = 0) -> None:
        self.asked: list[str] = []
        self._stop, self._at = stop, at

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "counted"}

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        self.asked.append(subject.id)
        if self._stop is not None and len(self.asked) == self._at:
            self._stop.interrupt()
        await asyncio.sleep(0)
        return await self.ask(question)

    async def ask(self, question: Question) -> Reply:
        share = (1 + zlib.crc32(question.messages[-1].text.encode()) % 98) / 100
        logprobs = {"A": math.log(share), "B": math.log(1 - share)}
        return Reply(status="ok", logprobs=logprobs, prompt_tokens=100, completion_tokens=1)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_CALLS_AHEAD", 32)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store and the rows of a run that nothing happens to."""
    folder = tmp_path_factory.mktemp("whole")
    judge(PAIRS, Counted(), folder)
    return folder


def judge(
    pairs: Iterable[Pair], backend: Counted, folder: Path, stop: Stop | None = None
) -> JudgingRun:
    store, output = folder / "s.db", folder / "o.jsonl"
    return judge_pairs(pairs, judge=backend, store=store, output=output, stop=stop or Stop())


def keep(
    whole: Path, folder: Path, answered: Collection[int], *, failed: Collection[int] = ()
) -> None:
    """The store of an earlier run, with the calls of these pairs, and with calls that failed."""
    failure = Reply(status="error", error="busy")
    with use_store(whole / "s.db") as old, use_store(folder / "s.db") as new:
        calls = [(IDS.index(call.subject_id), call) for call in old.calls()]
        new.save(
            replace(call, reply=failure) if at in failed and call.order == "ab" else call
            for at, call in calls
            if at in answered
        )


def test_the_first_new_call_is_of_the_first_open_pair(whole: Path, tmp_path: Path) -> None:
    """What is missing in the answered part before it is asked meanwhile."""
    holes, failed = {150, 151, 163}, {120, 170}
    keep(whole, tmp_path, set(range(STOPPED)) - holes, failed=failed)
    backend = Counted()
    done = judge(PAIRS, backend, tmp_path)
    assert backend.asked[0] == IDS[STOPPED]
    places = [IDS.index(name) for name in backend.asked]
    after = [at for at in places if at >= STOPPED]
    assert after == sorted(after)
    again = {at: 1 if at in failed else 2 for at in (*holes, *failed, *range(STOPPED, 300))}
    assert Counter(places) == again
    assert done.summary.reused == 600 - len(places)
    assert (tmp_path / "o.jsonl").read_bytes() == (whole / "o.jsonl").read_bytes()


@pytest.mark.parametrize(("kind", "seed"), [("list", 0), ("generator", 1), ("generator", 2)])
def test_wherever_calls_are_missing_all_are_asked_once(
    seed: int, kind: str, whole: Path, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    ends = sorted(rng.choices(range(301), k=4))
    answered = {*range(ends[0]), *range(ends[1], ends[2]), *range(ends[3], 300)}
    answered -= set(rng.choices(range(300), k=30))
    keep(whole, tmp_path, answered, failed=set(rng.choices(range(300), k=10)))
    with use_store(tmp_path / "s.db") as store:
        ok = sum(call.reply.status == "ok" for call in store.calls())
    backend = Counted()
    done = judge(PAIRS if kind == "list" else iter(PAIRS), backend, tmp_path)
    assert (done.summary.reused, done.summary.calls) == (ok, {"ok": 600 - ok})
    assert (tmp_path / "o.jsonl").read_bytes() == (whole / "o.jsonl").read_bytes()


def test_a_resumed_run_that_is_stopped_writes_the_complete_rows_of_both_parts(
    whole: Path, tmp_path: Path
) -> None:
    keep(whole, tmp_path, set(range(STOPPED)) - {5, 150})
    asked = []
    for number in (1, 40):
        stop = Stop()
        backend = Counted(stop, at=number)
        done = judge(PAIRS, backend, tmp_path, stop)
        assert done.summary.stopped == "interrupted"
        asked += backend.asked
        with use_store(tmp_path / "s.db") as store:
            calls = Counter(call.subject_id for call in store.calls())
        complete = [name for name in IDS if calls[name] == 2]
        assert pl.read_ndjson(tmp_path / "o.jsonl")["id"].to_list() == complete
        assert done.summary.rows + (done.summary.not_asked or 0) == 300
    rest = Counted()
    judge(PAIRS, rest, tmp_path)
    assert set(Counter(asked + rest.asked).values()) == {2}
    assert len(asked + rest.asked) == 2 * (2 + 300 - STOPPED)
    assert (tmp_path / "o.jsonl").read_bytes() == (whole / "o.jsonl").read_bytes()


def test_the_same_content_in_both_parts_is_asked_once(whole: Path, tmp_path: Path) -> None:
    pairs = list(PAIRS)
    for at in (100, 199):
        pairs[STOPPED] = replace(PAIRS[at], id="twin")
        keep(whole, folder := tmp_path / str(at), set(range(STOPPED)) - {at})
        backend = Counted()
        judge(pairs, backend, folder)
        assert Counter(backend.asked).total() == 2 * (300 - STOPPED)
        rows = pl.read_ndjson(folder / "o.jsonl")
        assert rows["id"].to_list() == [pair.id for pair in pairs]
        assert rows["p_a"][at] == rows["p_a"][STOPPED]


@pytest.mark.parametrize(("answered", "most"), [(0, 1), (STOPPED, 6), (300, 6)])
def test_the_place_is_searched_with_few_look_ups(
    answered: int, most: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(whole, tmp_path, range(answered))
    sizes = []
    lookup_rows = SQLiteStore.lookup_rows

    def counted(self: SQLiteStore, keys: list[str]) -> object:
        sizes.append(len(keys))
        return lookup_rows(self, keys)

    monkeypatch.setattr(SQLiteStore, "lookup_rows", counted)
    monkeypatch.setattr(runner, "_CALLS_AHEAD", 599)
    monkeypatch.setattr(runner, "_NEIGHBOURS", 8)
    judge(iter(PAIRS), Counted(), tmp_path)
    assert 1 <= sizes.count(16) <= most


def test_several_threads_read_a_spool_at_the_same_time() -> None:
    spool = Spool[int]()
    for number in range(20_000):
        spool.append(number)
    read: dict[int, list[int]] = {}

    def collect(at: int) -> None:
        read[at] = list(spool.starting(at))

    usual = sys.getswitchinterval()
    threads = [threading.Thread(target=collect, args=[at]) for at in (0, 70, 2001)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    spool.close()
    assert read == {at: list(range(at, 20_000)) for at in (0, 70, 2001)}
