"""A plan of a cascade as blocks and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from adjudge.policy.doubts import money
from adjudge.present.blocks import (
    Block,
    Columns,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    table_of,
    warnings_of,
)
from adjudge.present.figure import ACCENT, GOOD, INK, MARKS, MUTED, WARM, new_figure, themed
from adjudge.present.text import clip_names, count, left_out, percent
from adjudge.selection.cascade_plan import CascadePlan, CostPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: What is between the names of the judges of a candidate.
_JOINED = {"learned": " -> ", "label_free": " -> ", "jury": " + "}
#: Lines of the curve that a table shows.
_LINES = 9


def view_plan(plan: CascadePlan) -> list[Block]:
    blocks: list[Block] = [_headline(plan), _curve(plan), _judges_alone(plan)]
    if plan.candidates:
        blocks.append(_candidates(plan))
    figure = Figure(
        "cascade",
        partial(cascade_figure, plan),
        "Up and to the left is better: more is accepted at less cost. A smaller tau moves right "
        "along the curve.",
    )
    notes = Note(_notes(plan))
    return [*blocks, *warnings_of(plan.warnings), notes, *explain(plan.assumptions), figure]


def _curve(plan: CascadePlan) -> Table:
    stages = range(len(plan.rule.stages))
    ends = {
        f"ends at {stage + 1}": partial(lambda stage, point: percent(point.stops[stage]), stage)
        for stage in stages
    }
    scored_by = "each scored by a fit without it"
    if plan.candidate != "learned":
        scored_by = "by their labels; nothing is fitted"
    columns: Columns[CostPoint] = {
        "tau": lambda point: _star(point.tau == plan.rule.tau) + f"{point.tau:.3g}",
        "cost": lambda point: percent(point.cost / plan.last.cost),
        "accepted": lambda point: percent(point.coverage),
        "error share": lambda point: percent(point.wrong),
    }
    caption = (
        f"Cost and coverage over tau at alpha {plan.alpha:g}, on "
        f"{count(plan.rule.n_learning, 'row')} of the learning share, {scored_by}"
    )
    return table_of(_shown_points(plan), columns | ends, caption=caption)


def _judges_alone(plan: CascadePlan) -> Table:
    return table_of(
        plan.alone,
        {
            "judge alone": lambda judge: judge.judge,
            "cost per row": lambda judge: money(judge.cost, plan.cost_source),
            "accepted": lambda judge: percent(judge.coverage),
            "error share": lambda judge: percent(judge.wrong),
        },
        caption="Each judge alone on the same rows",
    )


def _candidates(plan: CascadePlan) -> Table:
    return table_of(
        plan.candidates,
        {
            "candidate": lambda way: _star(way.name == plan.candidate) + way.name,
            "judges": lambda way: _JOINED[way.name].join(way.judges),
            "cost": lambda way: percent(way.cost / plan.last.cost),
            "accepted": lambda way: percent(way.coverage),
            "error share": lambda way: percent(way.wrong),
        },
        text_columns=2,
        caption="Candidates, by what scope accepts of the learning share; --candidate plans one",
    )


def _notes(plan: CascadePlan) -> list[str]:
    notes = []
    for judge in plan.dropped_stages:
        cost_with = money(judge.cost_with, plan.cost_source)
        cost_without = money(judge.cost_without, plan.cost_source)
        notes.append(
            f"dropped {judge.judge}: with it {percent(judge.coverage_with)} accepted at "
            f"{cost_with} per row at the planned tau, without it "
            f"{percent(judge.coverage_without)} at {cost_without} at the cheapest tau"
        )
    learning = plan.rule.learning
    risk = "mean fitted error probability"
    if plan.candidate != "learned":
        risk = "share of errors"
    notes += [
        f"cost: per row, relative to {plan.last.judge} alone; accepted: the largest share with a "
        f"{risk} of at most alpha; error share: by the labels; * planned",
        f"learning share: {percent(learning.share)} of the rows by a hash of {learning.column} "
        f"(seed {learning.seed}); calibrate refuses them",
    ]
    return [*notes, *left_out(plan.dropped)]


def _star(planned: bool) -> str:
    return "* " if planned else "  "


def _headline(plan: CascadePlan) -> Headline:
    stages = plan.rule.judges
    planned = plan.planned
    last = plan.last
    level = f"at alpha {plan.alpha:g}"
    accepted = f"about {percent(planned.coverage)}"
    if not plan.feasible:
        outcome = f"No tau passes {level}: every row would go to {stages[-1]}"
        if plan.candidate == "jury":
            outcome = f"The jury of {' + '.join(stages)} accepts nothing {level}"
        remedy = "Allow a larger alpha, label more rows, or use better judges."
        return Headline(outcome, remedy, tone="bad")
    if len(stages) == 1:
        alone = f"No cascade saves cost: {stages[0]} alone accepts {accepted} {level}"
        return Headline(alone, f"Ask {stages[0]} about every row.")
    tau = f"at tau {planned.tau:.3g}" + " (yours)" * plan.tau_given
    if plan.candidate != "learned":
        tau = "as a jury" if plan.candidate == "jury" else f"{tau}, label-free"
    outcome = f"{_JOINED[plan.candidate].join(stages)} {tau}: {accepted} accepted {level}"
    cost = f"{percent(planned.cost / last.cost)} of the cost of {last.judge} alone"
    return Headline(
        f"{outcome} for {cost}, which accepts about {percent(last.coverage)}",
        "Calibrate it on the other labels: adjudge calibrate --plan.",
    )


def _shown_points(plan: CascadePlan) -> list[CostPoint]:
    """Lines of the curve, evenly spaced, with the planned one and half of it."""
    points = plan.points
    last = len(plan.points) - 1
    places = {round(at * last / (_LINES - 1)) for at in range(_LINES)}
    half = min(points, key=lambda point: abs(point.tau - plan.rule.tau / 2))
    places |= {points.index(plan.planned), points.index(half)}
    return [points[at] for at in sorted(places)]


def cascade_figure(plan: CascadePlan) -> Drawing:
    most_cost = plan.last.cost
    planned = plan.planned
    points = sorted(plan.points, key=lambda point: (point.cost, point.coverage))
    names = clip_names(judge.judge for judge in plan.alone)
    style: dict[str, Any] = {"clip_on": False, "zorder": 3, "markersize": 9}
    with themed():
        figure = new_figure(7.4, 4.6)
        axes = figure.subplots()
        axes.plot(
            [point.cost / most_cost for point in points],
            [point.coverage for point in points],
            color=ACCENT,
            marker=".",
            label="cascade, over tau",
            **style,
        )
        _draw_judges(axes, plan, names)
        tau = f"{'your' if plan.tau_given else 'planned'} tau {planned.tau:.3g}"
        axes.plot(
            planned.cost / most_cost,
            planned.coverage,
            "o",
            color=GOOD,
            markersize=11,
            label="planned jury" if plan.candidate == "jury" else tau,
            zorder=4,
            markerfacecolor="none",
            markeredgewidth=2.5,
            clip_on=False,
        )
        axes.set(xlim=(0, None), ylim=(0, 1.03))
        axes.set_xlabel(f"cost of a row, as a share of {names[-1]} alone")
        axes.set_ylabel(f"share accepted at alpha {plan.alpha:g}")
        axes.set_title(
            f"About {percent(planned.coverage, 0)} accepted at "
            f"{percent(planned.cost / most_cost, 0)} of the cost; the last judge alone: "
            f"{percent(plan.last.coverage, 0)}",
            color=INK,
        )
        axes.legend(fontsize=9, loc="lower right")
    return figure


def _draw_judges(axes: Axes, plan: CascadePlan, names: Sequence[str]) -> None:
    """A mark for each judge alone."""
    dropped = {stage.judge for stage in plan.dropped_stages}
    for at, (name, judge) in enumerate(zip(names, plan.alone, strict=True)):
        is_dropped = judge.judge in dropped
        axes.plot(
            judge.cost / plan.last.cost,
            judge.coverage,
            color=WARM if is_dropped else MUTED,
            clip_on=False,
            linestyle="",
            label=f"{name}, dropped" if is_dropped else f"{name} alone",
            marker=MARKS[at % len(MARKS)],
        )
