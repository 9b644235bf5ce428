"""Pictures of selection: what a policy accepts, and how many labels are enough.

Titles are computed from the lines below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.text import clip_names, percent
from adjudge.present.theme import ACCENT, GOOD, INK, LINES, SERIES, new_figure, themed
from adjudge.results.evaluation import SelectionPlan
from adjudge.results.selection import Policy
from adjudge.uncertainty import INFINITE_DOUBT

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def policy_figure(policy: Policy) -> Drawing:
    """Errors among the accepted as the threshold loosens, and where each group's rule stops."""
    shown = [group for group in policy.groups if len(group.scores) > 1][: len(SERIES)]
    if not shown:
        raise ArgumentError("plot", policy.n_calibration, "there is nothing to draw")
    with themed():
        figure = new_figure(7.6, 4.6)
        axes = figure.subplots()
        names = clip_names(group.name for group in shown)
        for at, group in enumerate(shown):
            colour = SERIES[at % len(SERIES)] if len(shown) > 1 else ACCENT
            scores, errors = np.array(group.scores), np.cumsum(group.errors)
            ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
            ends = ends[scores[ends] < INFINITE_DOUBT]  # ties of the judge are never accepted
            coverage, risk = (ends + 1) / len(scores), errors[ends] / (ends + 1)
            name = names[at] if len(shown) > 1 else "error share as the threshold rises"
            line = LINES[at % len(LINES)]
            axes.step(coverage, risk, line, where="post", color=colour, label=name, linewidth=1.8)
            if group.accepts in ("below", "all"):
                (dot,) = axes.plot(group.coverage, group.empirical_risk, "o", color=colour, ms=9)
                dot.set_clip_on(False)
                if len(shown) == 1:
                    axes.axvspan(0, group.coverage, color=colour, alpha=0.07, linewidth=0)
        if policy.feasible:
            colour = INK if len(shown) > 1 else ACCENT
            axes.plot([], [], "o", color=colour, markersize=7, label="calibrated threshold")
        name = f"alpha = {policy.alpha:g}"
        axes.axhline(policy.alpha, color=INK, linestyle="--", linewidth=1.2, label=name)
        axes.set_title(_policy_title(policy))
        axes.set_xlabel("share of labelled verdicts accepted, least doubt first")
        axes.set_ylabel("error share among accepted")
        axes.set_xlim(0, 1.01)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8.5, loc="best")
    return figure


def _policy_title(policy: Policy) -> str:
    if not policy.feasible:
        return f"{policy.guarantee} accepts nothing at alpha {policy.alpha:g}"
    about = "about " if policy.indicative else ""
    return (
        f"{policy.guarantee} accepts {about}{policy.n_accepted:,} of {policy.n_calibration:,} "
        f"calibration verdicts, {percent(policy.empirical_risk)} of them wrong"
    )


def plan_figure(plan: SelectionPlan) -> Drawing:
    """Expected coverage against the number of labels, with one standard deviation."""
    with themed():
        figure = new_figure(7.2, 4.4)
        axes = figure.subplots()
        n = np.array([p.n for p in plan.points])
        mean = np.array([p.coverage for p in plan.points])
        spread = np.array([p.coverage_sd for p in plan.points])
        axes.fill_between(
            n,
            np.clip(mean - spread, 0, 1),
            np.clip(mean + spread, 0, 1),
            color=ACCENT,
            alpha=0.14,
            linewidth=0,
            label="± one std. deviation over draws",
        )
        measured = sum(not p.extrapolated for p in plan.points)
        if measured < len(n):
            first = max(measured - 1, 0)  # the dotted line starts where the other ends
            axes.plot(n[first:], mean[first:], color=ACCENT, linestyle=":", label="extrapolated")
        if measured:
            known = n[:measured], mean[:measured]
            axes.plot(*known, color=ACCENT, marker="o", label="from your labels")
        if plan.recommended is not None:
            axes.axvline(plan.recommended, color=GOOD, linewidth=1.3, zorder=1)
            axes.annotate(
                f"{plan.recommended:,} labels",
                (plan.recommended, 0.03),
                xytext=(5, 0),
                textcoords="offset points",
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(n, [f"{v:,}" for v in n])
        axes.minorticks_off()
        axes.set_ylim(0, 1.03)
        axes.set_xlabel("human labels for calibration")
        axes.set_ylabel("share of verdicts accepted")
        axes.set_title(_plan_title(plan), color=INK)
        axes.legend(fontsize=8.5, loc="lower right")
    return figure


def _plan_title(plan: SelectionPlan) -> str:
    last = plan.points[-1]
    reached = f"{percent(last.coverage, 0)} accepted with {last.n:,} labels"
    if plan.recommended is None:
        return f"{plan.guarantee} at alpha {plan.alpha:g}: {reached}"
    return (
        f"After {plan.recommended:,} labels, doubling them adds less than {100 * plan.gain:g} "
        "points of coverage"
    )
