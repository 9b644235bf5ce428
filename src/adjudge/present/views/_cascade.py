"""Cascades: the plan, and the cascade of a policy and of a selection."""

from __future__ import annotations

from functools import partial

from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    table_of,
    warnings_of,
)
from adjudge.present.figures.cascade import cascade_figure
from adjudge.present.text import count, left_out, number, percent
from adjudge.results.cascade import CascadePlan, CascadeReport, CostPoint, CostSource
from adjudge.results.selection import Policy, Selection

#: Lines of the curve that a table shows.
_LINES = 9


def view_cascade_plan(plan: CascadePlan) -> list[Block]:
    """The planned cascade, the curve over tau, each judge alone, and the judges that do not pay."""
    stages = plan.rule.judges
    curve = Table(
        (
            "tau",
            "cost",
            "accepted",
            "error share",
            *(f"ends at {at + 1}" for at in range(len(stages))),
        ),
        [
            (
                ("* " if point.tau == plan.rule.tau else "  ") + f"{point.tau:.3g}",
                percent(point.cost / plan.last.cost),
                percent(point.coverage),
                percent(point.wrong),
                *(percent(share) for share in point.stops),
            )
            for point in _some(plan)
        ],
        caption=f"Cost and coverage over tau at alpha {plan.alpha:g}, on "
        f"{count(plan.rule.n_learning, 'row')} of the learning share, each scored by a fit "
        "without it",
    )
    alone = table_of(
        plan.alone,
        {
            "judge alone": lambda one: one.judge,
            "cost per row": lambda one: money(one.cost, plan.cost_source),
            "accepted": lambda one: percent(one.coverage),
            "error share": lambda one: percent(one.wrong),
        },
        caption="Each judge alone on the same rows",
    )
    notes = [
        f"dropped {one.judge}: with it {percent(one.coverage_with)} accepted at "
        f"{money(one.cost_with, plan.cost_source)} per row at the planned tau, without it "
        f"{percent(one.coverage_without)} at {money(one.cost_without, plan.cost_source)} at the "
        "cheapest tau"
        for one in plan.dropped_stages
    ]
    share = plan.rule.learning
    notes += [
        f"cost: per row, relative to {plan.last.judge} alone; accepted: the largest share with a "
        "mean fitted error probability of at most alpha; error share: by the labels; * planned",
        f"learning share: {percent(share.share)} of the rows by a hash of {share.column} "
        f"(seed {share.seed}); calibrate refuses them",
        *left_out(plan.dropped),
    ]
    figure = Figure(
        "cascade",
        partial(cascade_figure, plan),
        "Up and to the left is better: more is accepted at less cost. A smaller tau moves right "
        "along the curve.",
    )
    assumed = explain(plan.assumptions)
    return [
        _headline(plan),
        curve,
        alone,
        *warnings_of(plan.warnings),
        Note(notes),
        *assumed,
        figure,
    ]


def _headline(plan: CascadePlan) -> Headline:
    stages, planned, last = plan.rule.judges, plan.planned, plan.last
    if not plan.feasible:
        return Headline(
            f"No tau passes at alpha {plan.alpha:g}: every row would go to {stages[-1]}",
            "Allow a larger alpha, label more rows, or use better judges.",
            tone="bad",
        )
    whole = percent(planned.cost / last.cost)
    if len(stages) == 1:
        return Headline(
            f"No cascade saves cost: {stages[0]} alone accepts about {percent(planned.coverage)} "
            f"at alpha {plan.alpha:g}",
            f"Ask {stages[0]} about every row.",
        )
    tau = f"tau {planned.tau:.3g}" + (" (yours)" if plan.tau_given else "")
    return Headline(
        f"{' -> '.join(stages)} at {tau}: about {percent(planned.coverage)} accepted at alpha "
        f"{plan.alpha:g} for {whole} of the cost of {last.judge} alone, which accepts about "
        f"{percent(last.coverage)}",
        "Calibrate it on the other labels: adjudge calibrate --plan.",
    )


def cascade_blocks(cascade: CascadeReport, policy: Policy) -> list[Block]:
    """The cascade of a policy on the labels that calibrate."""
    table = table_of(
        list(zip(cascade.rule.stages, cascade.stopped, cascade.failed, strict=True)),
        {
            "stage": lambda one: one[0].judge,
            "cost per row": lambda one: money(one[0].cost, cascade.cost_source),
            "ended": lambda one: number(one[1]),
            "share": lambda one: percent(one[1] / max(cascade.n_verdicts, 1)),
            "failed": lambda one: number(one[2]),
        },
        caption=f"The cascade on {count(cascade.n_verdicts, 'calibration row')}: a row ends at the "
        f"first judge with a doubt of at most tau {cascade.rule.tau:.3g}",
    )
    last = cascade.rule.stages[-1]
    alone = "" if cascade.coverage_last is None else f", {percent(cascade.coverage_last)} accepted"
    notes = [
        f"mean cost {money(cascade.cost, cascade.cost_source)} per row, "
        f"{percent(policy.coverage)} accepted; {last.judge} alone "
        f"{money(cascade.cost_last, cascade.cost_source)}{alone}",
        f"learned from {count(cascade.rule.n_learning, 'row')} of the learning share, which "
        f"is not used to calibrate; {cascade.n_overturned:,} of "
        f"{count(cascade.n_verdicts, 'verdict')} differ from that of the last judge asked",
        *(f"{one.judge} was dropped: it does not save cost" for one in cascade.dropped_stages),
    ]
    return [table, Note(notes)]


def stage_table(selection: Selection) -> list[Block]:
    """Where the new rows ended."""
    if not selection.stages:
        return []
    return [
        table_of(
            selection.stages,
            {
                "stage": lambda one: one.judge,
                "ended": lambda one: number(one.n),
                "accepted": lambda one: number(one.n_accepted),
                "failed": lambda one: number(one.n_failed),
            },
            caption="The cascade"
            + ("" if selection.cost is None else f"; its rows cost ${selection.cost:,.4f}"),
        )
    ]


def money(cost: float, source: CostSource) -> str:
    """A cost: in dollars if it was measured, else as the user counts."""
    return f"${cost:.3g}" if source == "dollars" else f"{cost:,.4g}"


def _some(plan: CascadePlan) -> list[CostPoint]:
    """Lines of the curve, evenly spaced, with the planned one and half of it."""
    points, last = plan.points, len(plan.points) - 1
    places = {round(at * last / (_LINES - 1)) for at in range(_LINES)} if last else {0}
    half = min(points, key=lambda point: abs(point.tau - plan.rule.tau / 2))
    places |= {points.index(plan.planned), points.index(half)}
    return [points[at] for at in sorted(places)]
