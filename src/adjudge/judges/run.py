"""One run from its options to its summary: checked, asked, kept, written; or only planned."""

from __future__ import annotations

import asyncio
import math
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, TypeVar

import polars as pl

from adjudge.errors import ArgumentError, StoreMissingError
from adjudge.io import read_table
from adjudge.io.writing import Row, Schema, row_writer, rows_frame
from adjudge.judges.calls import CHARACTERS_PER_TOKEN, CallList, prepare_calls
from adjudge.judges.flow import GRACE_S, Stop
from adjudge.judges.interface import Judge
from adjudge.judges.options import JudgingOptions
from adjudge.judges.progress import Tally
from adjudge.judges.rows import RowCounts, make_rows, schema_of
from adjudge.judges.runner import RunContext, Runner
from adjudge.judges.subjects import Subjects, SubjectSource, Survey
from adjudge.records import STATUSES
from adjudge.results.judging import Judging, JudgingPlan
from adjudge.store import Store, store_name, use_store
from adjudge.store.interface import KnownPrompt
from adjudge.store.thread import StoreThread

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class JudgingRun:
    """A finished run: its summary, and its rows as a frame."""

    summary: Judging
    _rows: tuple[Row, ...] | None
    _schema: Schema

    @cached_property
    def judgments(self) -> pl.DataFrame:
        """The rows, in input order; read from the output file if they were written to one."""
        if self._rows is None and self.summary.output is not None:
            return read_table(self.summary.output)
        return rows_frame(list(self._rows or ()), schema=self._schema)

    def __str__(self) -> str:
        return str(self.summary)

    def __repr__(self) -> str:
        summary = self.summary
        statuses = ", ".join(f"{n:,} {name}" for name, n in summary.statuses.items()) or "no rows"
        return f"JudgingRun({summary.judge!r}, {summary.protocol!r}: {statuses})"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


async def run_judging(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Ask, keep, make the rows; they come back too unless they were written to a file."""
    judge = options.make_judge()
    price = options.price_of(judge)
    if price is None and options.max_cost is not None:
        raise ArgumentError(
            "max_cost", options.max_cost, f"no price for {judge.backend.name}; give --prices"
        )
    tally, stop = Tally(price), options.stop
    with (
        _signals(stop, options.handle_signals),
        closing(options.subjects(pairs, judge)) as subjects,
    ):
        survey = await asyncio.to_thread(subjects.survey)
        with closing(CallList(judge, subjects=survey.subjects)) as calls:
            thread = StoreThread(options.store)
            try:
                await thread.open()
                context = RunContext(
                    judge=judge,
                    options=options,
                    store=thread,
                    since=await thread.do(lambda store: _begin(store, judge)),
                    calls=calls,
                    tally=tally,
                )
                await stop.see_through(_ask(context, subjects), grace_s=GRACE_S)
                elapsed = tally.elapsed_s
                # Rows that are complete are written whatever stopped the run: only who interrupts
                # a second time goes without them.
                collected = await stop.see_through(_collect(context, subjects), grace_s=math.inf)
            finally:
                await thread.close()
    counts, rows = collected or (None, ())
    summary = _summary(context, survey, counts, elapsed)
    return JudgingRun(summary, rows, schema_of(judge.protocol.record))


def _begin(store: Store, judge: Judge) -> int:
    """Remember the judge and its prompt; the call id at which this run's history begins."""
    prompt = judge.protocol.prompt
    if prompt is not None:
        kept = KnownPrompt(prompt.name, prompt.text, dict(prompt.answer))
        store.remember_prompt(prompt.sha256, kept)
    store.remember_judge(
        judge.fingerprint,
        judge=judge.backend.name,
        protocol=judge.protocol.name,
        parts=judge.fingerprint_parts,
    )
    return store.latest_call_id()


async def _ask(context: RunContext, subjects: Subjects) -> None:
    backend, options = context.judge.backend, context.options
    if options.batch:
        from adjudge.judges.batching import BatchRunner, batch_folder

        store_id = await context.store.do(lambda store: store.store_id)
        folder = batch_folder(options.batch_folder, context.judge.fingerprint, store_id)
        await BatchRunner(context, backend.open_batches(folder)).run(subjects)
        return
    try:
        # Inside: what a start that fails half-way took is freed too.
        await backend.start()
        await Runner(context).run(subjects)
    finally:
        await backend.close()


async def _collect(
    context: RunContext, subjects: Subjects
) -> tuple[RowCounts, tuple[Row, ...] | None]:
    """The rows of what was asked: counted, and written or returned."""
    counts = RowCounts(verdicts=context.judge.protocol.subjects == "pairs")
    stop, output = context.options.stop, context.options.output
    schema = schema_of(context.judge.protocol.record)
    batches = make_rows(
        context.judge,
        subjects,
        context.calls,
        context.store,
        price=context.tally.price,
        complete=not stop.requested,
    )
    kept: list[Row] = []
    with nullcontext() if output is None else row_writer(output, schema=schema) as writer:
        async for rows, incomplete in batches:
            counts.add(rows, incomplete=incomplete)
            if writer is None:
                kept += rows
            else:
                writer.write(rows)
    return counts, tuple(kept) if output is None else None


def _summary(
    context: RunContext, survey: Survey, collected: RowCounts | None, elapsed: float
) -> Judging:
    judge, tally, options = context.judge, context.tally, context.options
    price, output = tally.price, options.output
    counts = collected or RowCounts()
    return Judging(
        judge=judge.backend.name,
        protocol=judge.protocol.name,
        judge_fingerprint=judge.fingerprint,
        fingerprint_parts=judge.fingerprint_parts,
        subjects=survey.subjects,
        dropped=survey.dropped,
        notes=survey.notes,
        rows=counts.rows,
        statuses=counts.by_status(),
        measured=counts.measured,
        not_asked=None if collected is None else counts.incomplete,
        calls={name: tally.made[name] for name in STATUSES if tally.made[name]},
        reused=tally.reused.total(),
        first_slot_share=counts.first_slot / counts.orders if counts.orders else None,
        first_slot_orders=counts.orders,
        agreement=counts.agreed / counts.labelled if counts.labelled else None,
        agreement_rows=counts.labelled,
        undecided=counts.undecided,
        judge_ties=counts.ties,
        median_answer_mass=median(counts.masses) if counts.masses else None,
        min_answer_mass=judge.protocol.min_answer_mass,
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        calls_without_tokens=tally.without_tokens,
        cost=counts.cost if price is not None and collected is not None else None,
        cost_this_run=tally.cost if price is not None else None,
        price_source=None if price is None else price.source,
        elapsed_s=round(elapsed, 3),
        calls_per_second=round(tally.calls_made / elapsed, 3) if elapsed > 0 else 0.0,
        stopped=options.stop.reason,
        output=None if output is None or collected is None else str(output),
        store=store_name(options.store),
    )


def make_plan(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan:
    """What a run would do, without asking anybody. It leaves no trace: no store is made."""
    judge = options.make_judge()
    price = options.price_of(judge)
    subjects = options.subjects(pairs, judge)
    calls = kept = characters = written = rows = 0
    with ExitStack() as stack:
        try:
            store = stack.enter_context(use_store(options.store, readonly=True))
        except StoreMissingError:
            store = None
        for subject in subjects.read():
            rows += 1
            work = prepare_calls(judge, subject)
            known = store.lookup([one.key for one in work]) if store is not None else {}
            for one in work:
                calls += 1
                call = known.get(one.key)
                if call is not None and not options.asks_again(judge, call.reply):
                    kept += 1
                    continue
                characters += one.characters
                written += one.most_written
    read = round(characters / CHARACTERS_PER_TOKEN)
    return JudgingPlan(
        judge=judge.backend.name,
        protocol=judge.protocol.name,
        judge_fingerprint=judge.fingerprint,
        fingerprint_parts=judge.fingerprint_parts,
        subjects=rows,
        calls=calls,
        kept=kept,
        to_ask=calls - kept,
        prompt_tokens_estimate=read,
        completion_tokens_most=written,
        cost_estimate=None if price is None else price.of(read, written),
        price_source=None if price is None else price.source,
    )


@contextmanager
def _signals(stop: Stop, wanted: bool) -> Iterator[None]:
    """SIGINT and SIGTERM ask the run to stop: once politely, twice at once, more do no harm."""
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


def run_to_end(work: Coroutine[Any, Any, T], stop: Stop) -> T:
    """Run to the end, in a thread of its own where this thread already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="adjudge-judge") as thread:
        outcome = thread.submit(asyncio.run, work)
        try:
            return outcome.result()
        except KeyboardInterrupt:
            stop.request("interrupted")
            return outcome.result()
