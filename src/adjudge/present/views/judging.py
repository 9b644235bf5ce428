"""What was judged: runs of a judge, their plans, the weights of the embedded judge."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge._text import count, left_out, number, percent
from adjudge.present.blocks import Block, Fact, Facts, Headline, notes_of, table_of
from adjudge.present.views import View
from adjudge.results.base import Result
from adjudge.results.judging import Judging, JudgingPlan, ModelList

TITLE = "What was judged"
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
    unknown = run.calls_without_tokens
    uncounted = f"{count(unknown, 'call')} without a count" if unknown else ""
    facts += [Fact("tokens this run", tokens, uncounted), _cost(run)]
    notes = left_out(run.dropped, "input row")
    if run.not_asked:
        notes.append(f"{run.not_asked:,} of {count(run.subjects, 'subject')} not asked yet")
    if run.output is not None:
        notes.append(f"rows written to {run.output}")
    notes += [f"note: {note}" for note in run.notes]
    return [_headline(run), Facts(facts), *notes_of(notes)]


def _headline(run: Judging) -> Headline:
    asked = f"{run.judge} asked by {run.protocol}"
    if run.stopped == "interrupted":
        rows = "no rows" if run.not_asked is None else count(run.rows, "complete row")
        return Headline(
            f"{asked}: interrupted, {rows} written", "Run the same command again to resume."
        )
    unscored = run.rows - run.measured
    text = f"{asked}: {count(run.rows, 'row')}, {_list(run.statuses)}"
    if not unscored:
        return Headline(text)
    return Headline(text, "Rows without a score take part in nothing else.", tone="bad")


def _calls(run: Judging) -> str:
    parts = []
    if run.calls_made:
        parts.append(f"in {run.elapsed_s:.1f} s ({run.calls_per_second:,.1f} a second)")
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


def view_plan(plan: JudgingPlan) -> list[Block]:
    """Calls, tokens and cost of a run that has not been made."""
    if plan.cost_estimate is None:
        cost = _NO_PRICE
    elif plan.cost_estimate == 0:
        cost = _FREE
    else:
        cost = Fact("cost, about", f"${plan.cost_estimate:,.4f}", str(plan.price_source))
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


VIEWS: Mapping[type[Result], View] = {
    Judging: view_judging,
    JudgingPlan: view_plan,
    ModelList: view_models,
}
