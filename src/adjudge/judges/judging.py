"""Judge pairs or items: the public calls, and one run from its options to its summary."""

from __future__ import annotations

import asyncio
import json
import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import polars as pl

from adjudge.data import read_table
from adjudge.data.writing import Row, Schema, row_writer, rows_frame
from adjudge.errors import ArgumentError, StoreMissingError
from adjudge.judges.flow import GRACE_S, Stop, Tally
from adjudge.judges.interface import Judge
from adjudge.judges.judge import by_route, kept_route, usual_route
from adjudge.judges.options import JudgingOptions, spread_options
from adjudge.judges.rows import Outcome, RowCounts, Stages, outdated_calls, schema_of
from adjudge.judges.runner import RunContext, ask_all
from adjudge.judges.subjects import (
    CallNotes,
    OpenSubjects,
    Subjects,
    SubjectSource,
    call_keys,
    prepare_calls,
    tokens_of_images,
    tokens_of_texts,
)
from adjudge.judges.summary import Judging, JudgingCascade, JudgingPanel, JudgingPlan, JudgingPlans
from adjudge.present.text import count
from adjudge.records import CERTIFY, STATUSES
from adjudge.store import Store, store_name, use_store
from adjudge.store.interface import STATE_OF_ALIGNMENT
from adjudge.store.tables import KnownPrompt, decode_reply
from adjudge.store.thread import StoreThread

_COUNTED = ("rows", "measured", "undecided", "servers", "served_models")
P = ParamSpec("P")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
Options = TypeVar("Options", bound=JudgingOptions)


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
            names = ", ".join(summary.judge for summary in self.summaries)
            remedy = "there is one summary for each judge: use summaries"
            raise ArgumentError("judge", names, remedy)
        return self.summaries[0]

    @property
    def result(self) -> Judging | JudgingPanel | JudgingCascade:
        """The outcome of the run as one result, with one judge or several."""
        first = self.summaries[0]
        files = {"output": first.output, "store": first.store}
        if self._stages is not None:
            # A second interrupt leaves a stage without its outcomes.
            unknown = len(self.summaries) - len(self._stages.outcomes)
            outcomes = [*self._stages.outcomes, *[Counter[Outcome]()] * unknown]
            return JudgingCascade(
                judges=self.summaries,
                settled=tuple(outcome["settled"] for outcome in outcomes),
                doubtful=tuple(outcome["doubt"] for outcome in outcomes),
                failed=tuple(outcome["failure"] for outcome in outcomes),
                **files,
            )
        many = len(self.summaries) > 1
        return JudgingPanel(judges=self.summaries, **files) if many else first

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
        for summary in self.summaries:
            statuses = ", ".join(f"{n:,} {name}" for name, n in summary.statuses.items())
            parts.append(f"{summary.judge!r}, {summary.protocol!r}: {statuses or 'no rows'}")
        return f"JudgingRun({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


class _Call(Protocol[P, R_co]):
    """A function of pairs and, by name, of options."""

    def __call__(self, pairs: SubjectSource, *args: P.args, **options: P.kwargs) -> R_co: ...


def takes(
    make_options: Callable[P, Options],
) -> Callable[[Callable[[SubjectSource, Options], R_co]], _Call[P, R_co]]:
    """A function whose keyword arguments are the options, which are declared once."""
    return partial(spread_options, make_options=make_options)


@takes(JudgingOptions)
def judge_pairs(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Ask a judge about pairs or items, keep every reply, and return the rows in input order.

    Also works if an event loop is running (notebooks). Every field of `JudgingOptions` is a keyword
    argument, and is explained there.

    Args:
        pairs: Pairs: id, prompt, response_a, response_b; grade, likert: id, prompt, response. A
            path, a polars or pandas frame, or an iterable of `Pair` (or `Item`).
        options: The fields of `JudgingOptions`, by name.

    An interrupted run writes its complete rows; a refused run writes nothing. Both keep their
    replies in the store: make the same call again to resume.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> run = judge_pairs(simulate_pairs(50, seed=1), judge="simulated:accuracy=0.9", store=None)
    >>> run.summary.statuses, run.judgments.height
    ({'ok': 50}, 50)
    """
    return run_options(pairs, options)


@takes(JudgingOptions)
def judge_pairs_async(pairs: SubjectSource, options: JudgingOptions) -> Awaitable[JudgingRun]:
    """`judge_pairs` for programs with their own event loop; the arguments are the same.

    Args:
        pairs: Pairs: id, prompt, response_a, response_b; grade, likert: id, prompt, response.
        options: The fields of `JudgingOptions`, by name.
    """
    return run_judging(pairs, options)


@takes(JudgingOptions)
def plan_judging(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan:
    """What `judge_pairs` would do with the same arguments: calls, tokens, cost. Makes no calls.

    Args:
        pairs: Pairs: id, prompt, response_a, response_b; grade, likert: id, prompt, response.
        options: The fields of `JudgingOptions`, by name, with one judge.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> plan = plan_judging(simulate_pairs(50, seed=1), judge="simulated:", store=None)
    >>> plan.calls, plan.to_ask, plan.cost_estimate
    (100, 100, 0.0)
    """
    return plan_options(pairs, options)


def run_options(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Run with these options until the end."""
    return run_to_end(run_judging(pairs, options), options.stop)


def plan_options(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan:
    """What a run with these options and one judge would do."""
    return _plan(pairs, options, options.make_judge())


def make_plans(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan | JudgingPlans:
    """What a run with one judge or several would do."""
    plans = tuple(_plan(pairs, options, judge) for judge in options.make_judges())
    return plans[0] if len(plans) == 1 else JudgingPlans(plans=plans)


def _plan(pairs: SubjectSource, options: JudgingOptions, judge: Judge) -> JudgingPlan:
    price = options.price_of(judge)
    subjects = options.subjects(pairs, judge)
    calls = reused = written = rows = cached = first = 0
    read = 0.0
    images: list[int | None] = []
    place = store_name(options.store) or "memory"
    with ExitStack() as stack:
        try:
            store = stack.enter_context(use_store(options.store, readonly=True))
        except StoreMissingError:
            store = None
        stored_judge = None if store is None else kept_route(judge, store)
        routes = by_route(judge) if stored_judge is None else {}
        judge = stored_judge or judge
        if len(routes) == 1:
            judge = usual_route(judge)
        for subject in subjects.read():
            rows += 1
            work = prepare_calls(judge, subject)
            keys = [call.key for call in work]
            stored = {} if store is None else store.lookup_rows(keys)
            outdated = outdated_calls(keys, stored, judge.repeats)
            for call in work:
                calls += 1
                row = None if call.key in outdated else stored.get(call.key)
                if row is not None and not options.asks_again(judge, decode_reply(row, place)):
                    reused += 1
                    continue
                read += tokens_of_texts(call.question.messages)
                written += call.most_written
                images += tokens_of_images(call.question.messages, judge.backend)
                if price is not None and price.cached is not None:
                    again = call.most_cached(price.cache_least, judge.backend)
                    first = first or again  # nothing was read before the first call
                    cached += again
    known = sum(filter(None, images))
    prompt_tokens = round(read) + known
    return JudgingPlan(
        judge=judge.backend.name,
        protocol=judge.protocol.name,
        judge_fingerprint=judge.fingerprint,
        fingerprint_parts=judge.fingerprint_parts,
        subjects=rows,
        calls=calls,
        kept=reused,
        to_ask=calls - reused,
        prompt_tokens_estimate=prompt_tokens,
        cached_tokens_most=cached - first,
        completion_tokens_most=written,
        cost_estimate=None if price is None else price.of(prompt_tokens, written),
        cost_least=None if price is None else price.of(prompt_tokens, written, cached - first),
        price_source=None if price is None else price.source,
        unknown_parts=("route",) if len(routes) > 1 else (),
        images=len(images),
        image_tokens=known,
        images_not_counted=images.count(None),
    )


async def run_judging(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Ask, store, make the rows. The rows are returned unless they were written to a file.

    Several judges are asked one after the other: about everything, or with a `stop_rule` about what
    those before it left open. If one fails, nothing is written.
    """
    judges = options.make_judges()
    stages = None if options.stop_rule is None else Stages(options.stop_rule, judges)
    tallies = [Tally(options.price_of(judge, for_run=True)) for judge in judges]
    for judge in judges:
        judge.backend.check()
    stop = options.stop
    store = StoreThread(options.store)
    stop.hurry = store.hurry
    team = None
    contexts: list[RunContext] = []
    with (
        _signals(stop, options.handle_signals),
        closing(options.subjects(pairs, judges[0])) as subjects,
        ExitStack() as resources,
    ):
        await asyncio.to_thread(subjects.survey, judges)
        if options.announce is not None:
            options.announce(_announcement(judges, subjects, in_stages=stages is not None))
        left_open = OpenSubjects(subjects, bytearray(b"\1") * subjects.total)
        if options.engine == "ray":
            from adjudge.judges.cluster.team import Team

            team = resources.enter_context(closing(Team(options)))
        try:
            await store.open()
            certify = await store.do_apart(_certify_questions)
            for judge, tally, name in zip(judges, tallies, options.named_judges, strict=True):
                tally.began = time.monotonic()
                each = len(call_keys(judge, next(iter(subjects))))
                context = RunContext(
                    judge=judge,
                    options=options,
                    store=store,
                    since=await store.do_apart(partial(_begin, judge=judge)),
                    parts=[CallNotes(left_open, left_open.total)],
                    count=left_open.total,
                    total=left_open.total * each,
                    # What the caller holds in memory cannot always be copied to a file.
                    copied=subjects.copied,
                    certify=certify,
                    tally=tally,
                    spent=sum(other.tally.cost for other in contexts),
                )
                contexts.append(context)
                resources.callback(context.close)
                if left_open.total and not stop.requested:
                    ask = ask_all if team is None else partial(team.ask, judge=name)
                    await stop.see_through(ask(context, left_open), grace_s=GRACE_S)
                context.elapsed_s = tally.elapsed_s
                if stages is not None:
                    settling = stages.settle(left_open, context.rows())
                    rest = await stop.see_through(settling, grace_s=math.inf)
                    if rest is None or stop.requested:
                        break
                    left_open = rest
            # Complete rows are written whatever stopped the run; only a second interrupt exits
            # without them.
            collected = await stop.see_through(_collect(contexts), grace_s=math.inf)
        finally:
            if stages is not None:
                stages.close()
            await store.close()
    counts: Sequence[RowCounts | None] = [None] * len(contexts)
    counts, rows = collected or (counts, ())
    summaries = map(partial(_summary, subjects=subjects), contexts, counts)
    return JudgingRun(tuple(summaries), rows, schema_of(judges[0]), stages)


def _announcement(judges: Sequence[Judge], subjects: Subjects, *, in_stages: bool) -> str:
    """The number of calls as a product, before the first call."""
    first = judges[0]
    each = len(first.protocol.questions(next(iter(subjects))))
    asked = 1 if in_stages else len(judges)
    factors = {"questions": each, "repeats": first.repeats, "judges": asked}
    shown = [f"{n:,} {name}" for name, n in factors.items() if n > 1]
    parts = [count(subjects.total, first.protocol.subjects.removesuffix("s")), *shown]
    calls = count(subjects.total * math.prod(factors.values()), "call")
    words = f"{' x '.join(parts)} = {calls}"
    rest = " of the first judge; the others only if it is not sure enough"
    return words + rest if in_stages else words


def _begin(store: Store, judge: Judge) -> int:
    """Store the judge's prompt. Returns the call id at which this run's history begins."""
    prompt = judge.protocol.prompt
    if prompt is not None:
        known_prompt = KnownPrompt(prompt.name, prompt.text, dict(prompt.answer))
        store.remember_prompt(prompt.sha256, known_prompt)
    return store.latest_call_id()


def _certify_questions(store: Store) -> frozenset[str]:
    """The questions that alignments in this store keep to certify their gains."""
    questions: set[str] = set()
    for name, text in store.monitors().items():
        if name.startswith(STATE_OF_ALIGNMENT):
            # `align` refuses a state that it cannot read.
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                parts = json.loads(text)["parts"].items()
                questions |= {question for question, part in parts if part == CERTIFY}
    return frozenset(questions)


async def _collect(
    contexts: Sequence[RunContext],
) -> tuple[Sequence[RowCounts], tuple[Row, ...] | None]:
    """The rows of all judges, one judge after the other: counted, and written or returned."""
    options = contexts[0].options
    output = options.output
    schema = schema_of(contexts[0].judge)
    rows: list[Row] = []
    counts = []
    with nullcontext() if output is None else row_writer(output, schema=schema) as writer:
        for context in contexts:
            counts.append(RowCounts(record=context.judge.protocol.record))
            async for batch, incomplete in context.rows():
                counts[-1].incomplete += incomplete
                for row in batch:
                    counts[-1].add(row)
                if writer is None:
                    rows += batch
                else:
                    writer.write(batch)
    return counts, tuple(rows) if output is None else None


def _summary(context: RunContext, collected: RowCounts | None, *, subjects: Subjects) -> Judging:
    judge = context.judge
    tally = context.tally
    options = context.options
    price = tally.price
    output = options.output
    elapsed = context.elapsed_s
    counts = collected or RowCounts()
    return Judging(
        judge=judge.backend.name,
        protocol=judge.protocol.name,
        judge_fingerprint=judge.fingerprint,
        fingerprint_parts=judge.fingerprint_parts,
        subjects=context.count,
        dropped=subjects.dropped,
        notes=(*subjects.notes, *context.remarks),
        statuses=counts.by_status(),
        not_asked=None if collected is None else counts.incomplete,
        calls={name: tally.made[name] for name in STATUSES if tally.made[name]},
        reused=tally.reused.total(),
        first_slot_share=counts.first_slot / counts.orders if counts.orders else None,
        first_slot_orders=counts.orders,
        agreement=counts.agreed / counts.labelled if counts.labelled else None,
        agreement_rows=counts.labelled,
        judge_ties=counts.ties,
        median_answer_mass=float(np.median(counts.masses)) if counts.masses else None,
        min_answer_mass=judge.protocol.min_answer_mass,
        **{name: getattr(counts, name) for name in _COUNTED},
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        cached_tokens=tally.cached_tokens,
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
