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

from adjudge._validation import count, one_of, positive
from adjudge.errors import ArgumentError
from adjudge.io import read_table
from adjudge.judges.fingerprint import make_judge
from adjudge.judges.interface import Backend, Judge, JudgeProtocol
from adjudge.judges.prices import Price, price_for, read_prices
from adjudge.judges.progress import Tally
from adjudge.judges.rows import Row, RowTally, rows_of
from adjudge.judges.runner import ProgressCallback, Runner, prepare
from adjudge.judges.spec import BACKENDS, PROTOCOLS, parse_judge, parse_protocol
from adjudge.judges.stopping import Stop
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.judges.writing import check_output, frame_of, writing
from adjudge.records import STATUSES, Status
from adjudge.results.judging import Judging, JudgingPlan
from adjudge.store import open_store
from adjudge.store.thread import StoreThread

DEFAULT_STORE = "adjudge.db"
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
    >>> done = judge_pairs(simulate_pairs(50, rng=1), judge="simulated:accuracy=0.9", store=None)
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
    samples: int | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    source_format: str | None = None,
    max_cost: float | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
    handle_signals: bool = False,
) -> Judged:
    """Ask a judge about pairs, keep every reply, and return the judgments in input order.

    `store` is a file that any number of runs may share, or None for one that is forgotten.
    `output` (.jsonl, .csv, .tsv, .parquet, with .gz if you like) gets the rows by atomic rename;
    without it they are in `Judged.judgments`. `samples`, `prompt`, `criteria` (a file of
    criteria), `demonstrations` (labelled pairs of your own) and `seed` are for the protocols that
    take them. `source_format` names a public data set's format where it cannot be told by looking;
    `seed` also decides which side a data set's chosen response stands on. `retry` names statuses
    to ask again; errors always are. `max_cost` stops before the next call would go beyond that
    many dollars: the rows that are complete are written, the others counted as not asked. A run
    that is interrupted or refused leaves its replies in the store and writes nothing; run the
    same call to go on.
    """
    stop = stop or Stop()
    target = None if output is None else check_output(output)
    made = _judge(
        judge,
        _protocol(
            protocol,
            samples=samples,
            prompt=prompt,
            criteria=criteria,
            demonstrations=demonstrations,
            seed=seed,
        ),
        concurrency=concurrency,
        timeout=timeout,
        base_url=base_url,
    )
    price = _price(made, prices)
    if max_cost is not None and price is None:
        raise ArgumentError(
            "max_cost", max_cost, f"no price for {made.backend.name}; give --prices"
        )
    width = made.backend.concurrency if concurrency is None else concurrency
    tally = Tally(price)
    settings: dict[str, Any] = {
        "concurrency": count(width, "concurrency", least=1),
        "rpm": None if rpm is None else positive(rpm, "rpm"),
        "max_cost": None if max_cost is None else positive(max_cost, "max_cost"),
        "retry": _retried(retry),
        "progress": progress,
        "tally": tally,
        "stop": stop,
    }
    subjects = _subjects(pairs, made, limit, source_format, seed)
    try:
        survey = await asyncio.to_thread(subjects.survey)
        assert survey.first is not None  # noqa: S101  (a survey without a row raises)
        tally.total = survey.subjects * len(made.protocol.questions(survey.first))
        thread = StoreThread(lambda: open_store(store))
        await thread.open()
        try:
            await _remember(thread, made)
            since = await thread.do(lambda opened: opened.latest_call_id())
            with _signals(stop, handle_signals):
                await made.backend.start()
                try:
                    await Runner(made, thread, since=since, **settings).run(subjects)
                finally:
                    await made.backend.close()
            elapsed = tally.snapshot().elapsed_s
            counts = RowTally()
            rows = await _collect(made, subjects, thread, price, counts, target, stop)
        finally:
            await thread.close()
    finally:
        subjects.close()
    counts.subjects, counts.dropped = survey.subjects, subjects.dropped
    summary = _summary(made, tally, counts, price, stop, elapsed, target, store)
    return Judged(summary, None if rows is None else tuple(rows))


def plan_judging(
    pairs: SubjectSource,
    *,
    judge: str | Backend,
    protocol: str | JudgeProtocol = "preference",
    store: str | Path | None = DEFAULT_STORE,
    limit: int | None = None,
    samples: int | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    source_format: str | None = None,
    base_url: str | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
) -> JudgingPlan:
    """What `judge_pairs` would do with the same arguments: calls, tokens, cost. Asks nobody."""
    made = _judge(
        judge,
        _protocol(
            protocol,
            samples=samples,
            prompt=prompt,
            criteria=criteria,
            demonstrations=demonstrations,
            seed=seed,
        ),
        base_url=base_url,
    )
    price = _price(made, prices)
    subjects = _subjects(pairs, made, limit, source_format, seed)
    # A plan leaves no trace: a store that is not there yet is not made.
    opened = open_store(store) if store is not None and Path(store).exists() else None
    calls = kept = characters = written = rows = 0
    again = _retried(retry)
    try:
        for subject in subjects:
            rows += 1
            work = prepare(made, subject)
            known = opened.lookup([one.key for one in work]) if opened is not None else {}
            for one in work:
                calls += 1
                if one.key in known and known[one.key].status not in again:
                    kept += 1
                    continue
                characters += sum(len(message.text) for message in one.question.messages)
                written += getattr(one.question.want, "max_tokens", 1)
    finally:
        subjects.close()
        if opened is not None:
            opened.close()
    read = round(characters / 4)
    return JudgingPlan(
        judge=made.backend.name,
        protocol=made.protocol.name,
        judge_fingerprint=made.fingerprint,
        fingerprint_parts=made.fingerprint_parts,
        subjects=rows,
        calls=calls,
        kept=kept,
        to_ask=calls - kept,
        prompt_tokens_estimate=read,
        completion_tokens_most=written,
        cost_estimate=None if price is None else price.of(read, written),
        price_source=None if price is None else price.source,
    )


def _protocol(protocol: str | JudgeProtocol, **options: Any) -> JudgeProtocol:
    if not isinstance(protocol, str):
        for name, value in options.items():
            if value is not None:
                raise ArgumentError(name, value, f"set it on the {protocol.name} object itself")
        return protocol
    given = {name: options[name] for name in ("samples", "seed")}
    if options["prompt"] is not None:
        from adjudge.judges.prompting import read_prompt

        given["prompt"] = read_prompt(options["prompt"])
    if options["criteria"] is not None:
        from adjudge.judges.criteria import read_criteria

        given["criteria"] = read_criteria(options["criteria"])
    if options["demonstrations"] is not None:
        given["pool"] = list(Subjects(options["demonstrations"]))
    elif protocol == "annotators":
        raise ArgumentError(
            "demonstrations", None, "annotators need labelled pairs of yours: --demonstrations FILE"
        )
    return parse_protocol(protocol, **given)


def _judge(judge: str | Backend, protocol: JudgeProtocol, **options: Any) -> Judge:
    if not isinstance(judge, str):
        return make_judge(judge, protocol)
    entry = BACKENDS.get(judge.partition(":")[0])
    # How many calls run at once is the runner's business; a backend that pools connections is
    # told, another need not know.
    if entry is not None and "concurrency" not in entry.takes:
        options.pop("concurrency", None)
    return make_judge(parse_judge(judge, **options), protocol)


def _subjects(
    source: SubjectSource, judge: Judge, limit: int | None, fmt: str | None, seed: int | None
) -> Subjects:
    entry = PROTOCOLS.get(judge.protocol.name)
    items = entry is not None and entry.items
    return Subjects(source, limit=limit, items=items, source_format=fmt, seed=seed or 0)


def _price(judge: Judge, prices: str | Path | Mapping[str, Price] | None) -> Price | None:
    own = read_prices(prices) if isinstance(prices, (str, Path)) else prices
    return price_for(judge.backend.name, own, base_url=judge.fingerprint_parts.get("base_url"))


def _retried(retry: Collection[Status]) -> frozenset[Status]:
    for status in retry:
        one_of(status, STATUSES, "retry")
    return frozenset({"error", *retry})


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
