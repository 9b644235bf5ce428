"""What a run of judges returns, or would do: counts, costs and warnings, and how they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from adjudge.present.blocks import Block, Fact, Facts, Headline, notes_of, table_of
from adjudge.present.result import (
    Check,
    Count,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
    same_length,
)
from adjudge.present.text import count, left_out, number, percent

_NO_PRICE = Fact("cost", "unknown", "no price for this model: give --prices FILE")
_FREE = Fact("cost", "none")


@frozen
class Judging(Result):
    """Counts, costs and warnings of one run of one judge.

    `statuses` counts rows, `calls` counts calls of this run, `reused` calls answered from the
    store. `first_slot_share` is how often the answer shown first was preferred, over all orders
    asked (half for a draw): one half for a judge without position bias. `agreement` is the share of
    rows with a verdict and a label (without ties) where the two are equal; it is not corrected and
    not a promise. `undecided` rows have a score and no verdict; in `judge_ties` the judge's verdict
    is a tie. `median_answer_mass` is over all rows where the probability of the requested letters
    is known; below `min_answer_mass` rows are `off_answer`. `dropped` counts rows of the input that
    are not a pair, by reason; `notes` are about a public data set. `not_asked` subjects have no
    row: the run stopped before them.
    After a run that was interrupted twice, no rows are made and none are counted: `rows` is 0 and
    `not_asked` is None.
    """

    kind: ClassVar[str] = "judging"

    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    subjects: Count
    dropped: Mapping[str, Count] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: Count
    statuses: Mapping[str, Count]
    measured: Count
    not_asked: Count | None
    calls: Mapping[str, Count]
    reused: Count
    first_slot_share: Proportion | None
    first_slot_orders: Count
    agreement: float | None
    agreement_rows: Count
    undecided: Count = 0
    judge_ties: Count = 0
    median_answer_mass: Proportion | None = None
    min_answer_mass: Proportion | None = None
    prompt_tokens: Count
    completion_tokens: Count
    calls_without_tokens: Count
    cost: NotNegative | None
    cost_this_run: NotNegative | None
    price_source: str | None
    elapsed_s: NotNegative
    calls_per_second: NotNegative
    stopped: str | None
    output: str | None
    store: str | None

    @property
    def calls_made(self) -> int:
        """Calls made in this run."""
        return sum(self.calls.values())

    def view(self) -> list[Block]:
        return view_judging(self)


@frozen
class JudgingPanel(Result):
    """One run of several judges on the same rows: the counts of each, and one file of all rows."""

    kind: ClassVar[str] = "judging_panel"
    rows_in: ClassVar[str] = "judges"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("judges"),)

    judges: tuple[Judging, ...]
    output: str | None
    store: str | None

    def view(self) -> list[Block]:
        return view_panel(self)


@frozen
class JudgingCascade(Result):
    """One run of a cascade: each judge was asked only about rows that were still undecided.

    Of the subjects of each judge, `settled` ended there, `doubtful` continued because of doubt and
    `failed` continued because it had no usable answer. If the last judge failed, there is no
    verdict.
    """

    kind: ClassVar[str] = "judging_cascade"
    rows_in: ClassVar[str] = "judges"
    checks: ClassVar[tuple[Check, ...]] = (
        not_empty("judges"),
        same_length("judges", "settled", "doubtful", "failed"),
    )

    judges: tuple[Judging, ...]
    settled: tuple[Count, ...]
    doubtful: tuple[Count, ...]
    failed: tuple[Count, ...]
    output: str | None
    store: str | None

    @property
    def stopped(self) -> str | None:
        """What stopped the run before its end."""
        return self.judges[0].stopped

    def view(self) -> list[Block]:
        return view_cascade(self)


@frozen
class JudgingPlan(Result):
    """What a run would do, computed without a call: calls, tokens and cost.

    Tokens are estimated as characters divided by four, completions by their maximum length.
    `unknown_parts` of the fingerprint are known only after the server has answered: until then
    `judge_fingerprint` is that of the other parts.
    """

    kind: ClassVar[str] = "plan_judging"

    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    subjects: Count
    calls: Count
    kept: Count
    to_ask: Count
    prompt_tokens_estimate: Count
    completion_tokens_most: Count
    cost_estimate: NotNegative | None
    price_source: str | None
    unknown_parts: tuple[str, ...] = ()

    def view(self) -> list[Block]:
        return view_plan(self)


@frozen
class JudgingPlans(Result):
    """What a run of several judges would do."""

    kind: ClassVar[str] = "plan_judging_panel"
    rows_in: ClassVar[str] = "plans"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("plans"),)

    plans: tuple[JudgingPlan, ...]

    @property
    def cost_estimate(self) -> float | None:
        """For all judges together; None if the price of one is not known."""
        costs = [plan.cost_estimate for plan in self.plans if plan.cost_estimate is not None]
        return sum(costs) if len(costs) == len(self.plans) else None

    def view(self) -> list[Block]:
        return view_plans(self)


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
        f"{stage.judge}: {stage.not_asked:,} of {count(stage.subjects, 'subject')} not asked yet"
        for stage in run.judges
        if stage.not_asked
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


def view_plan(plan: JudgingPlan) -> list[Block]:
    """Calls, tokens and cost of a run that has not been made."""
    if plan.cost_estimate is None:
        cost = _NO_PRICE
    elif plan.cost_estimate == 0:
        cost = _FREE
    else:
        cost = Fact("cost, about", f"${plan.cost_estimate:,.4f}", str(plan.price_source))
    parts = ", ".join(plan.unknown_parts)
    unknown = f"fingerprint: {parts} unknown until the server has answered a first question"
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
        *notes_of([unknown] if parts else []),
    ]


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


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.4f}" if cost else "none"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "none"
