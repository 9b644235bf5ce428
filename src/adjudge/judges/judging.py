"""The whole of `adjudge judge` as a Python call, sync and async."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from adjudge._validation import count, positive
from adjudge.errors import ArgumentError
from adjudge.io import read_table
from adjudge.judges.interface import Backend, Judge, JudgeProtocol
from adjudge.judges.prices import Price
from adjudge.judges.progress import Tally
from adjudge.judges.rows import Row, RowTally, rows_of
from adjudge.judges.runner import ProgressCallback, Runner
from adjudge.judges.setup import judge_from, price_of, protocol_from, retried, subjects_from
from adjudge.judges.stopping import Stop
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.judges.writing import check_output, frame_of, writing
from adjudge.records import STATUSES, Status
from adjudge.results.judging import Judging
from adjudge.store import open_store
from adjudge.store.interface import DEFAULT_STORE
from adjudge.store.thread import StoreThread

T = TypeVar("T")


@dataclass(frozen=True)
class Judged:
    """A finished run: its summary, and its rows as a frame."""

    summary: Judging
    _rows: tuple[Row, ...] | None = None

    @cached_property
    def judgments(self) -> pl.DataFrame:
        """The rows, in input order; read from the output file if they were written to one."""
        if self._rows is None:
            return read_table(self.summary.output)
        return frame_of(list(self._rows))

    def __str__(self) -> str:
        return str(self.summary)


def judge_pairs(pairs: SubjectSource, *, judge: str | Backend, **options: Any) -> Judged:
    """Ask a judge about pairs, keep every reply, and return the judgments in input order.

    `pairs` is a path, a polars or pandas frame, or an iterable of Pair. `judge` is a spec such as
    "openai:gpt-4.1-mini" or a backend. What the store already holds is not asked again. All
    options are those of `judge_pairs_async`. Works where an event loop is running too (notebooks).

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> done = judge_pairs(simulate_pairs(50, seed=1), judge="simulated:accuracy=0.9", store=None)
    >>> done.summary.statuses, done.judgments.height
    ({'ok': 50}, 50)
    """
    stop = options.pop("stop", None) or Stop()
    return _run(judge_pairs_async(pairs, judge=judge, stop=stop, **options), stop)


async def judge_pairs_async(
    pairs: SubjectSource,
    *,
    judge: str | Backend,
    protocol: str | JudgeProtocol = "preference",
    store: str | Path | None = DEFAULT_STORE,
    output: str | Path | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    rpm: float | None = None,
    timeout: float | None = None,  # noqa: ASYNC109  (of each request, handed to the backend)
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    samples: int | None = None,
    max_tokens: int | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    source_format: str | None = None,
    max_cost: float | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
    batch: bool = False,
    poll_s: float = 30.0,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
    handle_signals: bool = False,
) -> Judged:
    """Ask a judge about pairs, keep every reply, and return the judgments in input order.

    `store` is a file that any number of runs may share, or None for one that is forgotten.
    `output` (.jsonl, .csv, .tsv, .parquet, with .gz if you like) gets the rows by atomic rename;
    without it they are in `Judged.judgments`. `samples`, `max_tokens` (of written answers),
    `prompt`, `criteria` (a file of criteria), `demonstrations` (labelled pairs of your own) and
    `seed` are for the protocols that take them. `source_format` names a public data set's format
    where it cannot be told by looking; `seed` also decides which side its chosen response is on.
    `retry` names statuses to ask again; errors always are. `max_cost` stops before the next call
    would go beyond that many dollars: the rows that are complete are written, the others counted
    as not asked. A run that is interrupted or refused leaves its replies in the store and writes
    nothing; run the same call to go on. `batch` sends the calls of an openai: judge as OpenAI
    batches (half the price, within a day), asks every `poll_s` seconds whether they are done, and
    goes on with those under way when it is run again. `api_key_env` names the environment variable
    that holds the key of another server than the maker's; `extra_body` goes into every request as
    it is.
    """
    stop = stop or Stop()
    target = None if output is None else check_output(output)
    made = judge_from(
        judge,
        protocol_from(
            protocol,
            samples=samples,
            max_tokens=max_tokens,
            prompt=prompt,
            criteria=criteria,
            demonstrations=demonstrations,
            seed=seed,
        ),
        concurrency=concurrency,
        timeout=timeout,
        base_url=base_url,
        api_key_env=api_key_env,
        extra_body=extra_body,
    )
    price = price_of(made, prices)
    if batch:
        price = _batch_price(price, store, rpm)
    if max_cost is not None and price is None:
        raise ArgumentError(
            "max_cost", max_cost, f"no price for {made.backend.name}; give --prices"
        )
    width = made.backend.concurrency if concurrency is None else concurrency
    tally = Tally(price)
    pace: dict[str, Any] = {
        "concurrency": count(width, "concurrency", least=1),
        "rpm": None if rpm is None else positive(rpm, "rpm"),
    }
    settings: dict[str, Any] = {
        "max_cost": None if max_cost is None else positive(max_cost, "max_cost"),
        "retry": retried(retry),
        "progress": progress,
        "tally": tally,
        "stop": stop,
    }
    subjects = subjects_from(pairs, made, limit, source_format, seed)
    try:
        survey = await asyncio.to_thread(subjects.survey)
        assert survey.first is not None  # noqa: S101  (a survey without a row raises)
        tally.total = survey.subjects * len(made.protocol.questions(survey.first))
        thread = StoreThread(lambda: open_store(store))
        try:
            await thread.open()
            await _remember(thread, made)
            since = await thread.do(lambda opened: opened.latest_call_id())
            with _signals(stop, handle_signals):
                if batch:
                    await _in_batches(made, thread, store, since, poll_s, settings, subjects)
                else:
                    await _one_by_one(made, thread, since, {**settings, **pace}, subjects)
            elapsed = tally.snapshot().elapsed_s
            counts = RowTally()
            rows = await _collect(made, subjects, thread, price, counts, target, stop)
        finally:
            await thread.close()
    finally:
        subjects.close()
    counts.subjects, counts.dropped = survey.subjects, subjects.dropped
    counts.notes = subjects.notes
    summary = _summary(made, tally, counts, price, stop, elapsed, target, store)
    return Judged(summary, None if rows is None else tuple(rows))


async def _one_by_one(
    judge: Judge, thread: StoreThread, since: int, settings: dict[str, Any], subjects: Subjects
) -> None:
    try:
        # Inside: what a start that fails half-way took is freed too.
        await judge.backend.start()
        await Runner(judge, thread, since=since, **settings).run(subjects)
    finally:
        await judge.backend.close()


async def _in_batches(
    judge: Judge,
    thread: StoreThread,
    store: str | Path | None,
    since: int,
    poll_s: float,
    settings: dict[str, Any],
    subjects: Subjects,
) -> None:
    from adjudge.judges.batching import BatchRunner

    runner = BatchRunner(
        judge, thread, folder=Path(f"{store}.batches"), since=since, poll_s=poll_s, **settings
    )
    await runner.run(subjects)


def _batch_price(price: Price | None, store: str | Path | None, rpm: float | None) -> Price | None:
    from adjudge.judges.batching import batch_price

    if store is None:
        raise ArgumentError("store", None, "a batch outlives this process; keep it in a file")
    if rpm is not None:
        raise ArgumentError("rpm", rpm, "a batch has no pace; leave it out")
    return batch_price(price)


async def _remember(thread: StoreThread, judge: Judge) -> None:
    await thread.do(
        lambda opened: opened.remember_judge(
            judge.fingerprint,
            judge=judge.backend.name,
            protocol=judge.protocol.name,
            parts=judge.fingerprint_parts,
        )
    )


async def _collect(
    judge: Judge,
    subjects: Subjects,
    thread: StoreThread,
    price: Price | None,
    counts: RowTally,
    target: Path | None,
    stop: Stop,
) -> list[Row] | None:
    batches = rows_of(
        judge,
        subjects,
        thread,
        price=price,
        tally=counts,
        complete=not stop.requested,
        source=subjects.name,
    )
    if stop.reason == "interrupted":
        return []
    if target is None:
        return [row async for batch in batches for row in batch]
    with writing(target) as out:
        async for batch in batches:
            out.write(batch)
    return None


def _summary(
    judge: Judge,
    tally: Tally,
    counts: RowTally,
    price: Price | None,
    stop: Stop,
    elapsed: float,
    target: Path | None,
    store: str | Path | None,
) -> Judging:
    written = target is not None and stop.reason != "interrupted"
    return Judging(
        judge=judge.backend.name,
        protocol=judge.protocol.name,
        judge_fingerprint=judge.fingerprint,
        fingerprint_parts=judge.fingerprint_parts,
        subjects=counts.subjects,
        dropped=counts.dropped,
        notes=counts.notes,
        rows=counts.rows,
        statuses=counts.by_status(),
        measured=counts.measured,
        not_asked=None if stop.reason == "interrupted" else counts.incomplete,
        calls={name: tally.made[name] for name in STATUSES if tally.made[name]},
        reused=tally.reused.total(),
        first_slot_share=counts.first_slot / counts.orders if counts.orders else None,
        first_slot_orders=counts.orders,
        agreement=counts.agreed / counts.labelled if counts.labelled else None,
        agreement_rows=counts.labelled,
        undecided=counts.undecided,
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        calls_without_tokens=tally.untold_tokens,
        cost=counts.cost if price is not None and stop.reason != "interrupted" else None,
        cost_this_run=tally.cost if price is not None else None,
        price_source=None if price is None else price.source,
        elapsed_s=round(elapsed, 3),
        calls_per_second=round(tally.calls_made / elapsed, 3) if elapsed > 0 else 0.0,
        stopped=stop.reason,
        output=str(target) if written else None,
        store=None if store is None else str(store),
    )


@contextmanager
def _signals(stop: Stop, wanted: bool) -> Iterator[None]:
    """SIGINT and SIGTERM ask the run to stop: once politely, twice at once."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    caught = []
    for name in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(name, stop.interrupt)
        except NotImplementedError:
            continue  # Windows has no such handlers: Ctrl-C raises KeyboardInterrupt there.
        caught.append(name)
    try:
        yield
    finally:
        for name in caught:
            loop.remove_signal_handler(name)


def _run(work: Coroutine[Any, Any, T], stop: Stop) -> T:
    """Run to the end, in a thread of its own where this thread already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="adjudge-judge")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        stop.request("interrupted")
        thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
