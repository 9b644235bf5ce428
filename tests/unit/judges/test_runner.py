"""The runner: what is asked, what is kept, what stops it. Real store, real event loop."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from adjudge import store
from adjudge.errors import ArgumentError, DataError, JudgeRefusedError
from adjudge.judges import (
    Backend,
    JudgingOptions,
    JudgingRun,
    judge_pairs,
    judge_pairs_async,
    plan_judging,
)
from adjudge.judges.flow import Progress, Stop
from adjudge.judges.interface import Choice, Question
from adjudge.judges.prices import Price
from adjudge.records import Item, Pair, Reply
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import SQLiteStore

PAIRS = simulate_pairs(60, seed=3)
SIMULATED = "simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1"


class Scripted(Backend):
    """A judge in this process that counts what it is asked and answers by a function."""

    wants: frozenset[type] = frozenset({Choice})
    concurrency = 4

    def __init__(self, answer: Any = None, *, name: str = "scripted:1", pause: float = 0.0) -> None:
        self.name = name
        self.asked: Counter[tuple[str, str | None]] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self._answer = answer
        self._pause = pause

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "scripted", "name": self.name}

    async def ask(self, question: Question) -> Reply:
        key = (question.messages[-1].text, question.order)
        self.asked[key] += 1
        number = sum(self.asked.values())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self._pause)
        self.in_flight -= 1
        if self._answer is not None:
            made = self._answer(question, number)
            if isinstance(made, Exception):
                raise made
            if made is not None:
                return made  # type: ignore[no-any-return]  # a Reply, by the test that wrote it
        return Reply(
            status="ok", logprobs={"A": -0.2, "B": -1.8}, prompt_tokens=100, completion_tokens=1
        )


def test_rows_come_in_input_order_with_everything_filled_in() -> None:
    done = judge_pairs(PAIRS, judge=SIMULATED, store=None)
    frame = done.judgments
    assert frame["id"].to_list() == [pair.id for pair in PAIRS]
    assert frame["label"].to_list() == [pair.label for pair in PAIRS]
    assert set(frame["judge"]) == {"simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1"}
    assert set(frame["judge_fingerprint"]) == {done.summary.judge_fingerprint}
    assert frame["tokens"].min() > 100
    assert done.summary.statuses == {"ok": 60}
    assert done.summary.calls == {"ok": 120}


def test_the_second_run_asks_nobody_and_gives_the_same_rows(tmp_path: Path) -> None:
    judge = Scripted()
    first = judge_pairs(PAIRS, judge=judge, store="s.db", output=tmp_path / "1.jsonl")
    again = Scripted()
    second = judge_pairs(PAIRS, judge=again, store="s.db", output=tmp_path / "2.jsonl")
    assert set(judge.asked.values()) == {1}
    assert not again.asked
    assert (first.summary.reused, second.summary.reused) == (0, 120)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


class Handle:
    """A value of the caller that cannot be copied to a file."""

    def __str__(self) -> str:
        return "handle"

    def __reduce__(self) -> str:
        raise TypeError("not to be pickled")


@pytest.mark.parametrize("kind", ["generator", "list"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_a_resumed_run_looks_each_reply_up_once(
    repeats: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come from the look-up that shows which calls are answered; not for a list in memory."""
    extra = {"own": Handle() if kind == "list" else [1], "status": "?"}
    pairs = [replace(pair, extra=extra) for pair in PAIRS]

    def judge(answer: Any = None, **options: Any) -> JudgingRun:
        given = pairs if kind == "list" else iter(pairs)
        prices = {"scripted:1": Price(1.0, 2.0, "example")}
        return judge_pairs(given, judge=Scripted(answer), repeats=repeats, prices=prices, **options)

    whole = judge(store=None, output=tmp_path / "whole.jsonl")
    fails = Reply(status="error", error="busy")
    judge(lambda _, number: fails if number in (40, 77) else None, store="s.db")
    looked: Counter[str] = Counter()
    lookup_rows = SQLiteStore.lookup_rows

    def counted(self: SQLiteStore, keys: Sequence[str]) -> Any:
        looked.update(keys)
        return lookup_rows(self, keys)

    monkeypatch.setattr(SQLiteStore, "lookup_rows", counted)
    for asked in (2, 0):
        looked.clear()
        done = judge(store="s.db", output=tmp_path / "again.jsonl")
        assert done.summary.calls == ({"ok": asked} if asked else {})
        assert done.summary.reused == 120 * repeats - asked
        again = 120 * repeats if kind == "list" else 2 * repeats * asked
        assert sum(looked.values()) == 120 * repeats + again
        assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
        assert done.summary.cost == whole.summary.cost


@pytest.mark.parametrize("change", ["judge", "prompt", "content", "samples"])
def test_any_change_is_a_new_question(change: str) -> None:
    judge_pairs(PAIRS[:5], judge=SIMULATED, store="s.db")
    pairs, options = PAIRS[:5], dict[str, Any](judge=SIMULATED)
    if change == "judge":
        options["judge"] = SIMULATED.replace("seed=1", "seed=2")
    elif change == "prompt":
        Path("own.txt").write_text("{prompt} A: {response_a} B: {response_b} A or B?")
        options["prompt"] = "own.txt"
    elif change == "samples":
        options["samples"] = 1
    else:
        pairs = [
            Pair(id=p.id, prompt=p.prompt + " ", response_a="x", response_b="y") for p in pairs
        ]
    done = judge_pairs(pairs, store="s.db", **options)
    assert (done.summary.calls_made, done.summary.reused) == (10, 0)


@pytest.mark.parametrize("kind", ["frame", "pandas", "path", "csv", "generator", "dicts"])
def test_pairs_come_from_anywhere(kind: str, tmp_path: Path) -> None:
    rows = [
        {
            "id": p.id,
            "prompt": p.prompt,
            "response_a": p.response_a,
            "response_b": p.response_b,
            "label": p.label,
            "group": n % 3,
        }
        for n, p in enumerate(PAIRS)
    ]
    frame = pl.DataFrame(rows)
    frame.write_ndjson(tmp_path / "pairs.jsonl")
    frame.write_csv(tmp_path / "pairs.csv")
    sources: dict[str, Any] = {
        "frame": frame,
        "pandas": pd.DataFrame(rows),
        "path": tmp_path / "pairs.jsonl",
        "csv": str(tmp_path / "pairs.csv"),
        "dicts": rows,
        "generator": (
            Pair(
                id=p.id,
                prompt=p.prompt,
                response_a=p.response_a,
                response_b=p.response_b,
                label=p.label,
                extra={"group": n % 3},
            )
            for n, p in enumerate(PAIRS)
        ),
    }
    done = judge_pairs(sources[kind], judge=SIMULATED, store=None)
    expected = judge_pairs(PAIRS, judge=SIMULATED, store=None).judgments
    assert done.judgments["p_a"].to_list() == expected["p_a"].to_list()
    assert [int(group) for group in done.judgments["group"]] == [n % 3 for n in range(60)]


def test_a_column_named_like_one_of_ours_is_kept_under_another_name() -> None:
    pair = Pair(id="1", prompt="p", response_a="a", response_b="b", extra={"status": "old"})
    row = judge_pairs([pair], judge=SIMULATED, store=None).judgments.row(0, named=True)
    assert (row["status"], row["input_status"]) == ("ok", "old")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".jsonl.gz", ".csv.gz"])
def test_output_formats_hold_the_same_rows(suffix: str) -> None:
    from adjudge.data import read_judgments

    plain = judge_pairs(PAIRS, judge=SIMULATED, store="s.db").judgments
    judge_pairs(PAIRS, judge=SIMULATED, store="s.db", output=f"out{suffix}")
    back = read_judgments(f"out{suffix}")
    assert back["p_a"].to_list() == plain["p_a"].to_list()
    assert back["verdict"].to_list() == plain["verdict"].to_list()
    leftover = [file.name for file in Path().iterdir() if "partial" in file.name]
    assert leftover == []


def test_an_output_that_cannot_be_written_is_refused_before_a_call_is_made() -> None:
    judge = Scripted()
    with pytest.raises(ArgumentError, match="output"):
        judge_pairs(PAIRS, judge=judge, store=None, output="rows.xlsx")
    assert not judge.asked


@pytest.mark.parametrize("twin", [True, False])
def test_bad_input_is_refused_before_a_call_is_made(twin: bool) -> None:
    judge = Scripted()
    pairs: list[Any] = [*PAIRS, PAIRS[7] if twin else "not a pair"]
    with pytest.raises(
        DataError if twin else ArgumentError, match="is repeated" if twin else "pairs"
    ):
        judge_pairs(pairs, judge=judge, store=None)
    assert not judge.asked


def test_no_more_calls_at_once_than_asked_for() -> None:
    judge = Scripted(pause=0.002)
    judge_pairs(PAIRS, judge=judge, store=None, concurrency=7)
    assert judge.most_in_flight == 7


def test_calls_are_paced() -> None:
    judge = Scripted()
    began = time.monotonic()
    judge_pairs(PAIRS[:6], judge=judge, store=None, rpm=60 * 50)
    assert time.monotonic() - began >= 11 / 50


def test_rows_without_a_winner_are_told() -> None:
    def alike(question: Question, n: int) -> Reply:
        return Reply(status="ok", logprobs={"A": -0.7, "B": -0.7})

    summary = judge_pairs(PAIRS[:3], judge=Scripted(alike), store=None).summary
    assert (summary.undecided, summary.agreement) == (3, None)
    assert "of 3 scored rows: neither answer is ahead" in str(summary)


def test_failed_calls_are_kept_and_asked_again_the_next_time_only() -> None:
    def sometimes(question: Question, n: int) -> Reply | None:
        return Reply(status="error", error="timed out", raw="half a re") if n % 4 == 0 else None

    done = judge_pairs(PAIRS, judge=Scripted(sometimes), store="s.db")
    assert done.summary.calls == {"ok": 90, "error": 30}
    assert done.summary.statuses["error"] >= 15
    row = done.judgments.filter(pl.col("status") == "error").row(0, named=True)
    assert row["p_a"] is None
    assert row["verdict"] is None
    assert row["detail"] == "timed out"
    again = Scripted()
    done = judge_pairs(PAIRS, judge=again, store="s.db")
    assert (sum(again.asked.values()), done.summary.statuses) == (30, {"ok": 60})


def test_final_statuses_are_asked_again_only_on_demand() -> None:
    def refuse(question: Question, n: int) -> Reply | None:
        return Reply(status="refused", error="I will not")

    judge_pairs(PAIRS[:4], judge=Scripted(refuse), store="s.db")
    quiet = Scripted()
    assert judge_pairs(PAIRS[:4], judge=quiet, store="s.db").summary.statuses == {"refused": 4}
    assert not quiet.asked
    done = judge_pairs(PAIRS[:4], judge=Scripted(), store="s.db", retry=["refused"])
    assert done.summary.statuses == {"ok": 4}
    with pytest.raises(ArgumentError, match="retry"):
        judge_pairs(PAIRS, judge=quiet, store="s.db", retry=["bad"])  # type: ignore[list-item]  # on purpose


def test_the_same_content_twice_is_asked_once() -> None:
    twins = [Pair(id=str(n), prompt="p", response_a="a", response_b="b") for n in range(20)]
    judge = Scripted(pause=0.01)
    done = judge_pairs(twins, judge=judge, store=None)
    assert sum(judge.asked.values()) == 2
    assert done.summary.statuses == {"ok": 20}


def test_a_refusal_for_good_stops_early_with_the_words_and_keeps_what_came() -> None:
    def no_more(question: Question, n: int) -> Any:
        return JudgeRefusedError("scripted: HTTP 402: Insufficient credits") if n > 20 else None

    judge = Scripted(no_more)
    with pytest.raises(JudgeRefusedError, match="Insufficient credits"):
        judge_pairs(PAIRS, judge=judge, store="s.db", output="o.jsonl")
    assert sum(judge.asked.values()) <= 20 + judge.concurrency
    assert not Path("o.jsonl").exists()
    again = Scripted()
    judge_pairs(PAIRS, judge=again, store="s.db")
    assert sum(again.asked.values()) == 100


def test_a_bug_in_a_backend_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        judge_pairs(PAIRS, judge=Scripted(lambda q, n: ZeroDivisionError()), store=None)


def test_max_cost_stops_before_it_is_exceeded_and_the_run_can_go_on() -> None:
    prices = {"scripted:1": Price(100.0, 0.0, "test")}  # one cent a call
    done = judge_pairs(
        PAIRS, judge=Scripted(), store="s.db", output="o.jsonl", prices=prices, max_cost=0.501
    )
    assert done.summary.stopped == "max_cost"
    assert done.summary.cost_this_run == pytest.approx(0.50)
    assert done.summary.calls_made == 50
    assert done.summary.rows + (done.summary.not_asked or 0) == 60
    assert done.judgments.height == done.summary.rows == 25
    rest = judge_pairs(
        PAIRS, judge=Scripted(), store="s.db", output="o.jsonl", prices=prices, max_cost=10
    )
    assert (rest.summary.stopped, rest.summary.calls_made) == (None, 70)
    assert rest.summary.cost == pytest.approx(1.20)


def test_max_cost_without_a_price_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no price for scripted:1"):
        judge_pairs(PAIRS, judge=Scripted(), store=None, max_cost=1)


def test_a_run_at_its_max_cost_can_still_be_interrupted() -> None:
    """A batch that was paid for is waited for, a day perhaps: only an interrupt ends that."""
    stop = Stop()
    stop.request("max_cost")
    stop.request("failed")
    assert stop.reason == "max_cost"
    stop.interrupt()
    assert (stop.reason, stop.at_once) == ("interrupted", False)
    stop.interrupt()
    assert stop.at_once


def test_a_polite_stop_finishes_what_is_in_flight_and_writes_the_complete_rows() -> None:
    stop = Stop()

    def interrupting(question: Question, n: int) -> None:
        if n == 30:
            stop.interrupt()

    judge = Scripted(interrupting, pause=0.001)
    done = judge_pairs(PAIRS, judge=judge, store="s.db", output="o.jsonl", stop=stop)
    assert done.summary.stopped == "interrupted"
    assert 10 < done.judgments.height == done.summary.rows < 20
    assert done.summary.rows + (done.summary.not_asked or 0) == 60
    assert sum(judge.asked.values()) < 40
    again = Scripted()
    judge_pairs(PAIRS, judge=again, store="s.db")
    assert sum((judge.asked + again.asked).values()) == 120
    assert set((judge.asked + again.asked).values()) == {1}


def test_a_run_that_is_cancelled_while_the_store_opens_closes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opening = store.open_store
    begun, go_on = threading.Event(), threading.Event()

    def slowly(place: Any, *, readonly: bool) -> Any:
        begun.set()
        assert go_on.wait(30)
        return opening(place, readonly=readonly)

    monkeypatch.setattr(store, "open_store", slowly)

    async def cancelled() -> None:
        run = asyncio.create_task(judge_pairs_async(PAIRS, judge=Scripted(), store="s.db"))
        assert await asyncio.to_thread(begun.wait, 30)
        run.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    assert "adjudge-store" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("broken", ["start", "ask"])
def test_a_judge_that_breaks_is_closed(broken: str) -> None:
    class Breaking(Scripted):
        closed = 0

        async def start(self) -> None:
            if broken == "start":
                raise JudgeRefusedError("not today")

        async def close(self) -> None:
            self.closed += 1

    def refuse(question: Question, n: int) -> Reply:
        raise JudgeRefusedError("not today")

    judge = Breaking(refuse)
    with pytest.raises(JudgeRefusedError, match="not today"):
        judge_pairs(PAIRS, judge=judge, store=None)
    assert judge.closed == 1


def test_a_second_interrupt_stops_at_once() -> None:
    stop = Stop()

    judge = Scripted(pause=60)
    began = time.monotonic()

    async def run() -> str | None:
        async def later() -> None:
            await asyncio.sleep(0.2)
            stop.interrupt()
            stop.interrupt()

        task = asyncio.create_task(later())
        done = await judge_pairs_async(PAIRS, judge=judge, store="s.db", stop=stop)
        await task
        return done.summary.stopped

    assert asyncio.run(run()) == "interrupted"
    assert time.monotonic() - began < 10
    kept = SQLiteStore("s.db")
    assert kept.latest_call_id() == 0
    assert kept._execute("SELECT COUNT(*) FROM claims") == [(0,)]
    kept.close()


def test_it_works_inside_a_running_event_loop() -> None:
    async def notebook() -> int:
        return judge_pairs(PAIRS, judge=SIMULATED, store=None).summary.rows

    assert asyncio.run(notebook()) == 60


def test_two_runs_in_two_threads_share_a_store_without_asking_twice() -> None:
    judges = [Scripted(pause=0.001), Scripted(pause=0.001)]
    done: list[Any] = []
    threads = [
        threading.Thread(target=lambda j=j: done.append(judge_pairs(PAIRS, judge=j, store="s.db")))
        for j in judges
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [run.summary.statuses for run in done] == [{"ok": 60}] * 2
    asked = judges[0].asked + judges[1].asked
    assert set(asked.values()) == {1}
    assert len(asked) == 120


def test_progress_counts_to_the_end() -> None:
    seen: list[Progress] = []
    judge_pairs(PAIRS, judge=Scripted(pause=0.02), store=None, progress=seen.append)
    last = seen[-1]
    assert (last.done, last.total, last.made, last.reused) == (120, 120, 120, 0)
    assert last.statuses == {"ok": 120}
    assert last.prompt_tokens == 12_000
    assert last.rate > 0
    assert len(seen) >= 3
    assert [now.done for now in seen] == sorted(now.done for now in seen)


def test_a_long_input_is_streamed() -> None:
    """The feeder reads no further ahead of the answers than what it puts in order at once."""
    judge = Scripted(pause=0.0005)
    ahead: list[int] = []
    rounds = 0

    class Lazy:
        """Readable again and again, as a file is."""

        def __iter__(self) -> Iterator[Pair]:
            nonlocal rounds
            rounds += 1
            for n in range(3000):
                if rounds == 1:
                    ahead.append(2 * n - sum(judge.asked.values()))
                yield Pair(id=str(n), prompt=f"p{n}", response_a="a", response_b="b")

    from adjudge.judges.flow import Tally
    from adjudge.judges.runner import RunContext, Runner
    from adjudge.judges.subjects import CallNotes
    from adjudge.store.thread import StoreThread

    async def run() -> None:
        thread = StoreThread(":memory:")
        await thread.open()
        options = JudgingOptions(judge=judge, concurrency=8)
        made = options.make_judge()
        context = RunContext(
            judge=made,
            options=options,
            store=thread,
            since=0,
            tally=Tally(None),
            parts=[CallNotes(Lazy(), 3000)],
            count=3000,
            total=6000,
        )
        await Runner(context).run()
        await thread.close()
        context.close()

    asyncio.run(run())
    assert sum(judge.asked.values()) == 6000
    assert max(ahead) < 1024 + 200


def test_a_plan_asks_nobody_and_leaves_no_trace() -> None:
    plan = plan_judging(PAIRS, judge="openai:gpt-4.1-mini", store="s.db")
    assert (plan.subjects, plan.calls, plan.to_ask) == (60, 120, 120)
    assert plan.cost_estimate is not None
    assert not Path("s.db").exists()
    judge_pairs(PAIRS[:20], judge=SIMULATED, store="s.db")
    plan = plan_judging(PAIRS, judge=SIMULATED, store="s.db")
    assert (plan.kept, plan.to_ask, plan.cost_estimate) == (40, 80, 0)


def test_a_protocol_about_single_responses_gives_scores() -> None:
    items = [Item(id=str(n), prompt="article", response=f"summary {n}") for n in range(5)]
    done = judge_pairs(items, judge=SIMULATED, protocol="likert", store=None)
    assert done.judgments.height == 20
    assert set(done.judgments["criterion"]) == {"coherence", "consistency", "fluency", "relevance"}
    assert done.judgments["judge_score"].is_between(1, 5).all()
    assert done.judgments["tokens"].null_count() == 0


def test_a_judge_that_cannot_answer_the_protocol_is_refused() -> None:
    with pytest.raises(ArgumentError, match="likelihoods, which scripted:1 cannot give"):
        judge_pairs(PAIRS, judge=Scripted(), protocol="likelihood", store=None)


def test_the_summary_is_json_without_surprises() -> None:
    summary = judge_pairs(PAIRS, judge=SIMULATED, store=None).summary
    told = json.loads(summary.to_json())
    assert told["kind"] == "judging"
    assert 0.5 < told["first_slot_share"] < 0.7
    assert told["agreement"] == pytest.approx(0.8, abs=0.15)
    assert " reused" in str(summary)


def test_a_file_that_changes_meanwhile_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    frame = pl.DataFrame(
        {"id": ["1", "2"], "prompt": ["p", "q"], "response_a": ["a", "a"], "response_b": ["b", "b"]}
    )
    frame.write_ndjson(path)

    def change(question: Question, n: int) -> None:
        if n == 1:
            frame.with_columns(prompt=pl.lit("something else")).write_ndjson(path)

    judge = Scripted(change, pause=0.01)
    run = judge_pairs(path, judge=judge, store=None)
    assert run.judgments["id"].to_list() == ["1", "2"]
    assert not any("something else" in text for text, _ in judge.asked)
