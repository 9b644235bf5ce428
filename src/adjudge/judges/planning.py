"""What a run would do: its calls, tokens and cost. Nothing is asked."""

from __future__ import annotations

import math
from contextlib import ExitStack

from adjudge.errors import StoreMissingError
from adjudge.judges.calls import CHARACTERS_PER_TOKEN, prepare_calls
from adjudge.judges.fingerprint import by_route
from adjudge.judges.interface import Judge
from adjudge.judges.options import JudgingOptions
from adjudge.judges.routing import kept_route, usual_route
from adjudge.judges.subjects import SubjectSource
from adjudge.present.text import count
from adjudge.results.judging import JudgingPlan, JudgingPlans
from adjudge.store import use_store


def calls_in_words(judge: Judge, subjects: int, each: int, *, judges: int = 1) -> str:
    """The number of calls of a run as a product; `each` is per subject, repeat and judge."""
    protocol = judge.protocol
    factors = dict(protocol.factors())
    if math.prod(factors.values()) != each:
        factors = {"questions": each}
    factors |= {"repeats": judge.repeats, "judges": judges}
    shown = [f"{n:,} {name}" for name, n in factors.items() if n > 1]
    parts = [count(subjects, protocol.subjects.removesuffix("s")), *shown]
    return f"{' x '.join(parts)} = {count(subjects * math.prod(factors.values()), 'call')}"


def make_plans(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan | JudgingPlans:
    """What a run with one judge or several would do."""
    plans = tuple(_plan(pairs, options, judge) for judge in options.make_judges())
    return plans[0] if len(plans) == 1 else JudgingPlans(plans=plans)


def make_plan(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan:
    """What a run would do, without any call. It creates no store."""
    return _plan(pairs, options, options.make_judge())


def _plan(pairs: SubjectSource, options: JudgingOptions, judge: Judge) -> JudgingPlan:
    price = options.price_of(judge)
    subjects = options.subjects(pairs, judge)
    calls = kept = characters = written = rows = 0
    with ExitStack() as stack:
        try:
            store = stack.enter_context(use_store(options.store, readonly=True))
        except StoreMissingError:
            store = None
        kept_judge = None if store is None else kept_route(judge, store)
        judge, remark = kept_judge or (judge, None)
        routes = by_route(judge) if kept_judge is None else {}
        if len(routes) == 1:
            judge = usual_route(judge)
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
        unknown_parts=("route",) if len(routes) > 1 else (),
        notes=() if remark is None else (remark,),
    )
