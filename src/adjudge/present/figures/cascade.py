"""The picture of a cascade: what it costs and covers as tau falls, next to each judge alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.present.text import clip_names, percent
from adjudge.present.theme import ACCENT, GOOD, INK, MUTED, WARM, new_figure, themed
from adjudge.results.cascade import CascadePlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


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
        axes.set_title(_title(plan), color=INK)
        axes.legend(fontsize=9, loc="lower right")
    return figure


def _title(plan: CascadePlan) -> str:
    planned, last = plan.planned, plan.last
    return (
        f"About {percent(planned.coverage, 0)} accepted at "
        f"{percent(planned.cost / last.cost, 0)} of the cost; the last judge alone: "
        f"{percent(last.coverage, 0)}"
    )
