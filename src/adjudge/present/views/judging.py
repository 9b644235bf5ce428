"""What was judged: runs of a judge, their plans, the weights of the embedded judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adjudge.present.blocks import Block, Fact, Facts, Headline, notes_of, table_of
from adjudge.present.text import count, left_out, number, percent
from adjudge.results.judging import (
    Judging,
    JudgingCascade,
    JudgingPanel,
    JudgingPlan,
    JudgingPlans,
    ModelList,
)

_NO_PRICE = Fact("cost", "unknown", "no price for this model: give --prices FILE")
_FREE = Fact("cost", "none")


def view_judging(run: Judging) -> list[Block]:
    """Rows and statuses first, then calls, position, agreement and cost."""
    facts = [Fact("calls", number(run.calls_made), _calls(run))]
    if run.first_slot_share is not None:
        answers = f"of {count(run.first_slot_orders, 'answer')}"
        facts.append(Fact("answer shown first preferred", percent(run.first_slot_share), answers))
    if run.agreement is not None:
        labelled = f"of {count(run.agreement_rows, 'row')} with both"
        facts.append(Fact("verdict matches label", percent(run.agreement), labelled))
    if run.undecided:
        scored = f"of {count(run.measured, 'scored row')}: neither answer is ahead"
        facts.append(Fact("no verdict", number(run.undecided), scored))
    if run.judge_ties:
        never = f"of {count(run.measured, 'scored row')}: never accepted"
        facts.append(Fact("judge tie", number(run.judge_ties), never))
    if run.median_answer_mass is not None:
        limit = f"median; a row below {percent(run.min_answer_mass)} is off_answer"
        share = percent(run.median_answer_mass)
        facts.append(Fact("probability of the letters asked for", share, limit))
    tokens = f"{run.prompt_tokens:,} read, {run.completion_tokens:,} written"
    if unknown := run.calls_without_tokens:
        tokens += f"; {count(unknown, 'call')} without a count"
    total = number(run.prompt_tokens + run.completion_tokens)
    facts += [Fact("tokens this run", total, tokens), _cost(run)]
    notes = left_out(run.dropped, "input row")
    if run.not_asked:
        notes.append(f"{run.not_asked:,} of {count(run.subjects, 'subject')} not asked yet")
    if run.output is not None:
        notes.append(f"rows written to {run.output}")
    notes += [f"note: {note}" for note in run.notes]
    headline = _headline(f"{run.judge} asked by {run.protocol}", [run])
    return [headline, Facts(facts), *notes_of(notes)]


def _headline(asked: str, runs: Sequence[Judging]) -> Headline:
    written = sum(run.rows for run in runs)
    if runs[0].stopped == "interrupted":
        rows = "no rows" if runs[0].not_asked is None else count(written, "complete row")
        return Headline(
            f"{asked}: interrupted, {rows} written", "Run the same command again to resume."
        )
    statuses: Counter[str] = Counter()
    for run in runs:
        statuses.update(run.statuses)
    text = f"{asked}: {count(written, 'row')}, {_list(statuses)}"
    if written == sum(run.measured for run in runs):
        return Headline(text)
    return Headline(text, "Rows without a score are not used by other commands.", tone="bad")


def _calls(run: Judging) -> str:
    parts = []
    if run.calls_made:
        # As many digits as agree with each other: 0.0 s at 15,100.2 a second do not.
        seconds = f"{run.elapsed_s:.1f}" if run.elapsed_s >= 1 else f"{run.elapsed_s:.2g}"
        rate = f"{run.calls_per_second:,.{1 if run.calls_per_second < 100 else 0}f}"
        parts.append(f"in {seconds} s ({rate} a second)")
        failed = {name: n for name, n in run.calls.items() if name != "ok"}
        if failed:
            parts.append(_list(failed))
    return ", ".join([*parts, f"{run.reused:,} reused from the store"])


def _cost(run: Judging) -> Fact:
    if run.cost_this_run is None:
        return _NO_PRICE
    if run.cost_this_run == 0 and run.cost == 0:
        return _FREE
    all_rows = "" if run.cost is None else f"${run.cost:,.4f} for all rows; "
    return Fact("cost this run", f"${run.cost_this_run:,.4f}", f"{all_rows}{run.price_source}")


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "none"


def view_panel(panel: JudgingPanel) -> list[Block]:
    """Rows of all judges together, then a line for each."""
    runs = panel.judges
    notes = [
        f"{run.judge}: {run.not_asked:,} of {count(run.subjects, 'subject')} not asked yet"
        for run in runs
        if run.not_asked
    ]
    notes += left_out(runs[0].dropped, "input row")
    notes.append(
        "first slot: share of answers that prefer what is shown first; matches label: share of "
        "verdicts; calls and cost: of this run"
    )
    if panel.output is not None:
        notes.append(f"rows of all judges written to {panel.output}")
    notes += [f"note: {note}" for note in runs[0].notes]
    return [
        _headline(f"{count(len(runs), 'judge')} asked by {runs[0].protocol}", runs),
        table_of(
            runs,
            {
                "judge": lambda run: run.judge,
                "rows": lambda run: number(run.rows),
                "scored": lambda run: number(run.measured),
                "first slot": lambda run: percent(run.first_slot_share),
                "matches label": lambda run: percent(run.agreement),
                "calls": lambda run: number(run.calls_made),
                "cost": lambda run: _dollars(run.cost_this_run),
            },
        ),
        *notes_of(notes),
    ]


def view_cascade(run: JudgingCascade) -> list[Block]:
    """Where subjects ended and why they were passed on, judge by judge, with calls and cost."""
    stages = list(zip(run.judges, run.settled, run.doubtful, run.failed, strict=True))
    subjects, last = run.judges[0].subjects, run.judges[-1]
    whose = f"cascade of {count(len(stages), 'judge')}"
    notes = [
        "settled: no other judge was asked; doubt, failed: passed to the next judge; calls and "
        "cost: of this run",
        *left_out(run.judges[0].dropped, "input row"),
    ]
    notes += [
        f"{one.judge}: {one.not_asked:,} of {count(one.subjects, 'subject')} not asked yet"
        for one in run.judges
        if one.not_asked
    ]
    if run.output is not None:
        notes.append(f"rows of all judges written to {run.output}; adjudge select decides on them")
    notes += [f"note: {note}" for note in run.judges[0].notes]
    if run.stopped is not None:
        headline = Headline(
            f"{whose}: stopped ({run.stopped}) at {last.judge}",
            "Run the same command again to resume.",
        )
    else:
        escalated = sum(run.failed[:-1])
        headline = Headline(
            f"{whose}: {last.judge} was asked about "
            f"{last.subjects:,} of {count(subjects, 'subject')}"
            + (f" ({percent(last.subjects / subjects)})" if subjects else "")
            + (
                f"; {count(escalated, 'subject')} passed on because a judge failed"
                if escalated
                else ""
            )
        )
    return [
        headline,
        table_of(
            stages,
            {
                "judge": lambda stage: stage[0].judge,
                "asked": lambda stage: number(stage[0].subjects),
                "settled": lambda stage: number(stage[1]),
                "doubt": lambda stage: number(stage[2]),
                "failed": lambda stage: number(stage[3]),
                "calls": lambda stage: number(stage[0].calls_made),
                "reused": lambda stage: number(stage[0].reused),
                "cost": lambda stage: _dollars(stage[0].cost_this_run),
            },
            optional=("reused",),
        ),
        *notes_of(notes),
    ]


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.4f}" if cost else "none"


def view_plans(planned: JudgingPlans) -> list[Block]:
    """Calls, tokens and cost of each judge, and of all."""
    plans = planned.plans
    calls = sum(plan.to_ask for plan in plans)
    cost = planned.cost_estimate
    price = f", about {_dollars(cost)}" if cost else ""
    if cost is None:
        price = "; no price for some of them: give --prices FILE"
    return [
        Headline(
            f"{count(len(plans), 'judge')} asked by {plans[0].protocol}, "
            f"{count(plans[0].subjects, 'subject')}: {count(calls, 'call')} to make" + price
        ),
        table_of(
            plans,
            {
                "judge": lambda plan: plan.judge,
                "calls": lambda plan: number(plan.calls),
                "in the store": lambda plan: number(plan.kept),
                "to read, about": lambda plan: number(plan.prompt_tokens_estimate),
                "to write, at most": lambda plan: number(plan.completion_tokens_most),
                "cost, about": lambda plan: _dollars(plan.cost_estimate),
            },
        ),
    ]


def view_plan(plan: JudgingPlan) -> list[Block]:
    """Calls, tokens and cost of a run that has not been made."""
    if plan.cost_estimate is None:
        cost = _NO_PRICE
    elif plan.cost_estimate == 0:
        cost = _FREE
    else:
        cost = Fact("cost, about", f"${plan.cost_estimate:,.4f}", str(plan.price_source))
    notes = [f"note: {note}" for note in plan.notes]
    if plan.unknown_parts:
        parts = ", ".join(plan.unknown_parts)
        notes.append(f"fingerprint: {parts} unknown until the server has answered a first question")
    return [
        Headline(
            f"{plan.judge} asked by {plan.protocol}, {count(plan.subjects, 'subject')}: "
            f"{count(plan.to_ask, 'call')} to make"
        ),
        Facts(
            [
                Fact("calls", number(plan.calls), f"{plan.kept:,} of them in the store already"),
                Fact(
                    "tokens to read, about", number(plan.prompt_tokens_estimate), "characters / 4"
                ),
                Fact("tokens to write, at most", number(plan.completion_tokens_most)),
                cost,
            ]
        ),
        *notes_of(notes),
    ]


def view_models(listed: ModelList) -> list[Block]:
    """The weights that can be fetched, and which of them are here."""
    cached = sum(model.cached for model in listed.models)
    return [
        Headline(
            f"{count(len(listed.models), 'model')}, {cached} on this machine",
            f"Ask one with --judge {listed.models[0].judge}; weights are kept in {listed.folder}.",
        ),
        table_of(
            listed.models,
            {
                "name": lambda m: m.name,
                "model": lambda m: m.description,
                "licence": lambda m: m.licence,
                "size": lambda m: f"{m.size / 1e6:.0f} MB",
                "here": lambda m: m.path if m.cached else f"adjudge models pull {m.name}",
            },
            text_columns=3,
        ),
    ]
