"""A cascade's plan for people: what it costs and covers as tau falls, next to each judge alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from adjudge.policy.doubts import money
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
from adjudge.present.figure import ACCENT, GOOD, INK, MUTED, WARM, new_figure, themed
from adjudge.present.text import clip_names, count, left_out, percent
from adjudge.selection.cascade_plan import CascadePlan, CostPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


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
            for point in shown_points(plan)
        ],
        caption=f"Cost and coverage over tau at alpha {plan.alpha:g}, on "
        f"{count(plan.rule.n_learning, 'row')} of the learning share, each scored by a fit "
        "without it",
    )
    alone = table_of(
        plan.alone,
        {
            "judge alone": lambda judge: judge.judge,
            "cost per row": lambda judge: money(judge.cost, plan.cost_source),
            "accepted": lambda judge: percent(judge.coverage),
            "error share": lambda judge: percent(judge.wrong),
        },
        caption="Each judge alone on the same rows",
    )
    notes = [
        f"dropped {judge.judge}: with it {percent(judge.coverage_with)} accepted at "
        f"{money(judge.cost_with, plan.cost_source)} per row at the planned tau, without it "
        f"{percent(judge.coverage_without)} at {money(judge.cost_without, plan.cost_source)} at "
        "the cheapest tau"
        for judge in plan.dropped_stages
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
        _plan_headline(plan),
        curve,
        alone,
        *warnings_of(plan.warnings),
        Note(notes),
        *assumed,
        figure,
    ]


def _plan_headline(plan: CascadePlan) -> Headline:
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


def shown_points(plan: CascadePlan) -> list[CostPoint]:
    """Lines of the curve, evenly spaced, with the planned one and half of it."""
    points, last = plan.points, len(plan.points) - 1
    places = {round(at * last / (_LINES - 1)) for at in range(_LINES)}
    half = min(points, key=lambda point: abs(point.tau - plan.rule.tau / 2))
    places |= {points.index(plan.planned), points.index(half)}
    return [points[at] for at in sorted(places)]


def cascade_figure(plan: CascadePlan) -> Drawing:
    """Coverage against cost, the curve of the cascade and a dot for each judge alone."""
    with themed():
        figure = new_figure(7.4, 4.6)
        axes = figure.subplots()
        whole = plan.last.cost
        points = sorted(plan.points, key=lambda point: (point.cost, point.coverage))
        axes.plot(
            [point.cost / whole for point in points],
            [point.coverage for point in points],
            color=ACCENT,
            marker=".",
            markersize=9,
            label="cascade, over tau",
            clip_on=False,
            zorder=3,
        )
        dropped = {stage.judge for stage in plan.dropped_stages}
        judges = [judge.judge for judge in plan.alone]
        names = dict(zip(judges, clip_names(judges), strict=True))
        for judge in plan.alone:
            colour = WARM if judge.judge in dropped else MUTED
            where = (judge.cost / whole, judge.coverage)
            axes.plot(*where, "s", color=colour, markersize=7, clip_on=False)
            name = names[judge.judge] + (", dropped" if judge.judge in dropped else " alone")
            # The name stays inside the axes.
            right, low = where[0] > 0.6, where[1] < 0.1
            axes.annotate(
                name,
                where,
                xytext=(-8 if right else 8, 8 if low else -14),
                textcoords="offset points",
                color=colour,
                fontsize=9,
                ha="right" if right else "left",
                # If a judge alone is as good as the cascade, its name is over the curve.
                bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
                zorder=3,
            )
        planned = plan.planned
        named = "your tau" if plan.tau_given else "planned tau"
        axes.plot(
            planned.cost / whole,
            planned.coverage,
            "o",
            color=GOOD,
            markersize=11,
            label=f"{named} {planned.tau:.3g}",
            zorder=4,
            markerfacecolor="none",
            markeredgewidth=2.5,
            clip_on=False,
        )
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.03)
        axes.set_xlabel(f"cost of a row, as a share of {names[plan.last.judge]} alone")
        axes.set_ylabel(f"share accepted at alpha {plan.alpha:g}")
        axes.set_title(_plan_title(plan), color=INK)
        axes.legend(fontsize=9, loc="lower right")
    return figure


def _plan_title(plan: CascadePlan) -> str:
    planned, last = plan.planned, plan.last
    return (
        f"About {percent(planned.coverage, 0)} accepted at "
        f"{percent(planned.cost / last.cost, 0)} of the cost; the last judge alone: "
        f"{percent(last.coverage, 0)}"
    )
