"""One run from its options to its summary: check, ask, store, write."""

from __future__ import annotations

import asyncio
import gc
import math
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import polars as pl

from adjudge.data import read_table
from adjudge.data.writing import Row, Schema, row_writer, rows_frame
from adjudge.errors import ArgumentError
from adjudge.judges.calls import CallList, call_keys
from adjudge.judges.context import RunContext
from adjudge.judges.feeding import find_place
from adjudge.judges.flow import GRACE_S, Pace, Stop
from adjudge.judges.interface import Judge
from adjudge.judges.options import JudgingOptions
from adjudge.judges.planning import calls_in_words
from adjudge.judges.prices import Price
from adjudge.judges.progress import Tally
from adjudge.judges.routing import settle
from adjudge.judges.rows import RowBatch, RowCounts, RowMaker, make_rows, schema_of
from adjudge.judges.runner import Runner
from adjudge.judges.stages import Outcome, Stages, check_stages
from adjudge.judges.subjects import OpenSubjects, SubjectSource, Survey
from adjudge.records import STATUSES
from adjudge.results.judging import (
    Judging,
    JudgingCascade,
    JudgingPanel,
)
from adjudge.store import Store, store_name
from adjudge.store.interface import KnownPrompt
from adjudge.store.thread import StoreThread

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class JudgingRun:
    """A finished run: a summary for each judge, and the rows of all of them as a frame."""

    summaries: tuple[Judging, ...]
    _rows: tuple[Row, ...] | None
    _schema: Schema
    _stages: Stages | None = None

    @property
    def summary(self) -> Judging:
        """The summary of the judge. For several judges use `summaries`."""
        if len(self.summaries) > 1:
            names = ", ".join(one.judge for one in self.summaries)
            raise ArgumentError(
                "judge", names, "there is one summary for each judge: use summaries"
            )
        return self.summaries[0]

    @property
    def result(self) -> Judging | JudgingPanel | JudgingCascade:
        """The outcome of the run as one result, with one judge or several."""
        first = self.summaries[0]
        if self._stages is not None:
            # A second interrupt leaves a stage without its outcomes.
            unknown = len(self.summaries) - len(self._stages.outcomes)
            outcomes = [*self._stages.outcomes, *[Counter[Outcome]()] * unknown]
            return JudgingCascade(
                judges=self.summaries,
                settled=tuple(one["settled"] for one in outcomes),
                doubtful=tuple(one["doubt"] for one in outcomes),
                failed=tuple(one["failure"] for one in outcomes),
                output=first.output,
                store=first.store,
            )
        if len(self.summaries) == 1:
            return first
        return JudgingPanel(judges=self.summaries, output=first.output, store=first.store)

    @cached_property
    def judgments(self) -> pl.DataFrame:
        """The rows, in input order; read from the output file if they were written to one."""
        output = self.summaries[0].output
        if self._rows is None and output is not None:
            return read_table(output)
        return rows_frame(list(self._rows or ()), schema=self._schema)

    def __str__(self) -> str:
        return str(self.result)

    def __repr__(self) -> str:
        parts = []
        for one in self.summaries:
            statuses = ", ".join(f"{n:,} {name}" for name, n in one.statuses.items()) or "no rows"
            parts.append(f"{one.judge!r}, {one.protocol!r}: {statuses}")
        return f"JudgingRun({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


async def run_judging(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Ask, store, make the rows. The rows are returned unless they were written to a file.

    Several judges are asked one after the other: about everything, or with a `stop_rule` about what
    those before it left open. If one fails, nothing is written, and the replies of those before it
    are in the store.
    """
    judges = options.make_judges()
    stages = None
    if options.stop_rule is not None:
        check_stages(judges)
        stages = Stages(options.stop_rule)
    tallies = [Tally(_price(options, judge)) for judge in judges]
    stop = options.stop
    with (
        _signals(stop, options.handle_signals),
        _frozen_heap(),
        closing(options.subjects(pairs, judges[0])) as subjects,
        ExitStack() as lists,
    ):
        survey = await asyncio.to_thread(subjects.survey)
        first = next(iter(subjects))
        if options.announce is not None:
            each = len(judges[0].protocol.questions(first))
            asked = 1 if stages is not None else len(judges)
            words = calls_in_words(judges[0], survey.subjects, each, judges=asked)
            later = (
                ""
                if stages is None
                else " of the first judge; the others only if it is not sure enough"
            )
            options.announce(words + later)
        team = None
        if options.engine == "ray":
            from adjudge.judges.cluster.team import Team

            team = lists.enter_context(closing(Team(options)))
        thread = StoreThread(options.store)
        contexts: list[RunContext] = []
        parts = [OpenSubjects(subjects, bytearray(b"\1") * survey.subjects)]
        elapsed: list[float] = []
        remarks: list[tuple[str, ...]] = []
        try:
            await thread.open()
            for given, tally in zip(judges, tallies, strict=True):
                part = parts[-1]
                tally.began = time.monotonic()
                pace = None if options.rpm is None else Pace(options.rpm, stop)
                if given.backend.keep_pace(pace):
                    # One call can need several requests: their sender takes the turns.
                    pace = None
                settled = None
                # Workers decide the route themselves, on their machines.
                if part.total and not stop.requested and team is None:
                    settled = await stop.see_through(
                        settle(given, thread, part, batch=options.batch), grace_s=GRACE_S
                    )
                judge, remark, claimed = settled or (given, None, set())
                remarks.append(() if remark is None else (remark,))
                calls = CallList(part, count=part.total, each=len(call_keys(judge, first)))
                context = RunContext(
                    judge=judge,
                    options=options,
                    store=thread,
                    since=await thread.do_apart(partial(_begin, judge=judge)),
                    calls=lists.enter_context(closing(calls)),
                    # What the caller holds in memory cannot always be copied to a file.
                    maker=RowMaker(judge, price=tally.price, store=thread.name)
                    if subjects.copied
                    else None,
                    tally=tally,
                    claimed=claimed,
                    pace=pace,
                    budget=options.max_cost,
                    spent=sum(other.tally.cost for other in contexts),
                )
                contexts.append(context)
                if part.total and not stop.requested:
                    asking = (
                        _ask(context, part)
                        if team is None
                        else team.ask(context, options.named_judges[len(contexts) - 1], part)
                    )
                    await stop.see_through(asking, grace_s=GRACE_S)
                elapsed.append(tally.elapsed_s)
                if stages is not None:
                    rest = await stop.see_through(
                        stages.settle(part, _rows_of(context)), grace_s=math.inf
                    )
                    if rest is None or stop.requested:
                        break
                    parts.append(rest)
                elif given is not judges[-1]:
                    parts.append(part)
            # Complete rows are written whatever stopped the run; only a second interrupt exits
            # without them.
            collected = await stop.see_through(_collect(contexts), grace_s=math.inf)
        finally:
            if stages is not None:
                stages.close()
            await thread.close()
    counts, rows = collected or (None, ())
    summaries = tuple(
        replace(
            _summary(context, survey, None if counts is None else counts[at], elapsed[at]),
            subjects=parts[at].total,
            notes=(*survey.notes, *remarks[at], *_remarks(context)),
        )
        for at, context in enumerate(contexts)
    )
    return JudgingRun(summaries, rows, schema_of(judges[0]), stages)


def _remarks(context: RunContext) -> tuple[str, ...]:
    """The backend's notes on how it was asked, here or in the workers."""
    return context.remarks or tuple(context.judge.backend.remarks())


def _price(options: JudgingOptions, judge: Judge) -> Price | None:
    price = options.price_of(judge)
    if price is None and options.max_cost is not None:
        raise ArgumentError(
            "max_cost", options.max_cost, f"no price for {judge.backend.name}; give --prices"
        )
    return price


def _begin(store: Store, judge: Judge) -> int:
    """Store the judge's prompt. Returns the call id at which this run's history begins."""
    prompt = judge.protocol.prompt
    if prompt is not None:
        kept = KnownPrompt(prompt.name, prompt.text, dict(prompt.answer))
        store.remember_prompt(prompt.sha256, kept)
    return store.latest_call_id()


async def _ask(context: RunContext, subjects: OpenSubjects) -> None:
    backend, options = context.judge.backend, context.options
    if options.batch:
        from adjudge.judges.batching import BatchRunner, batch_folder

        store_id = await context.store.do(lambda store: store.store_id)
        folder = batch_folder(options.batch_folder, context.judge.fingerprint, store_id)
        await BatchRunner(context, backend.open_batches(folder)).run()
        return
    try:
        # Inside: resources of a start that fails half-way are freed too.
        await backend.start()
        if place := await find_place(context, subjects):
            context.calls.divide(subjects.cut(place))
        await Runner(context).run()
    finally:
        await backend.close()


def _rows_of(context: RunContext) -> AsyncIterator[RowBatch]:
    """The rows of one judge."""
    return make_rows(
        context.judge,
        context.calls,
        context.store,
        price=context.tally.price,
        complete=not context.options.stop.requested,
    )


async def _collect(
    contexts: Sequence[RunContext],
) -> tuple[Sequence[RowCounts], tuple[Row, ...] | None]:
    """The rows of all judges, one judge after the other: counted, and written or returned."""
    options = contexts[0].options
    output, schema = options.output, schema_of(contexts[0].judge)
    kept: list[Row] = []
    counts = []
    with nullcontext() if output is None else row_writer(output, schema=schema) as writer:
        for context in contexts:
            counts.append(RowCounts(record=context.judge.protocol.record))
            async for batch in _rows_of(context):
                counts[-1].add(batch.rows, incomplete=batch.incomplete)
                if writer is None:
                    kept += batch.rows
                else:
                    writer.write(batch.rows)
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
        median_answer_mass=float(np.median(counts.masses)) if counts.masses else None,
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


@contextmanager
def _signals(stop: Stop, wanted: bool) -> Iterator[None]:
    """SIGINT and SIGTERM stop the run: the first gracefully, the second immediately."""
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


@contextmanager
def _frozen_heap() -> Iterator[None]:
    """Take what is loaded by now out of the garbage collector's rounds until the run ends.

    A run makes many short-lived objects, and every full collection would walk through all modules
    and the caller's data: a sixth of the time of a run. What was frozen before stays frozen.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def run_to_end(work: Coroutine[Any, Any, T], stop: Stop) -> T:
    """Run to the end, in a new thread if this thread already runs an event loop."""
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
