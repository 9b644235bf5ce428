"""Pictures of selection: what a policy accepts, and how methods fare over random splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.theme import ACCENT, GOOD, INK, MUTED, SERIES, WARM, new_figure, themed
from adjudge.results.evaluation import Curve, Evaluation, MethodRisk, SelectionPlan
from adjudge.results.selection import Policy
from adjudge.selection.splits import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Which signal each method runs on, as in the paper, where the file has both orders.
PAPER_SIGNAL = {"vanilla": "single_order", "heuristic": "single_order", "naive": "single_order"}
_METHOD_COLOURS = {
    "scope": ACCENT,
    "fdr": SERIES[2],
    "pac": GOOD,
    "naive": SERIES[4],
    "heuristic": WARM,
    "vanilla": SERIES[6],
}
_BOUNDED = ("scope", "fdr", "pac")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


# --- evaluate --------------------------------------------------------------------------------


def evaluation_figure(evaluation: Evaluation, *, judge: str | None = None) -> Figure:
    """Four panels: risk and coverage against alpha, reliability, risk against coverage.

    One judge: a line per method. Several: a line per judge for scope, unless `judge` picks one.
    """
    with themed():
        figure = new_figure(12.0, 8.6)
        axes = figure.subplots(2, 2, gridspec_kw={"wspace": 0.06, "hspace": 0.08})
        draw_risk(axes[0, 0], evaluation, judge=judge)
        draw_coverage(axes[0, 1], evaluation, judge=judge)
        draw_reliability(axes[1, 0], evaluation, judge=judge)
        draw_risk_coverage(axes[1, 1], evaluation, judge=judge)
    return figure


def evaluation_pictures(evaluation: Evaluation) -> list[tuple[Figure, str]]:
    """The four panels as figures of their own, each with a caption."""
    parts = (
        (
            draw_risk,
            "Use a method whose line stays below the dashed one: its mean error share over splits "
            "is within alpha. The band is one standard deviation.",
        ),
        (draw_coverage, "Choose the smallest alpha at which enough verdicts are accepted."),
        (
            draw_reliability,
            "Where dots lie below the diagonal, do not take the confidence at its word; the larger "
            "the dot, the more rows.",
        ),
        (
            draw_risk_coverage,
            "Look how far the curve stays below the error share you allow; calibrate before you "
            "promise it.",
        ),
    )
    pictures = []
    for draw, caption in parts:
        with themed():
            figure = new_figure(7.2, 4.6)
            draw(figure.subplots(), evaluation)
        pictures.append((figure, caption))
    return pictures


def draw_risk(axes: Axes, evaluation: Evaluation, *, judge: str | None = None) -> None:
    """Mean error share against alpha, with the diagonal and a band of one standard deviation."""
    top = max(evaluation.alphas)
    lines = _lines(evaluation, judge)
    several = lines[0][0] not in _METHOD_COLOURS
    axes.plot(
        [0, top * 1.08],
        [0, top * 1.08],
        color=MUTED,
        linestyle="--",
        linewidth=1.2,
        label="error share = alpha",
    )
    over = []
    for at, (name, rows, colour) in enumerate(lines):
        alphas = np.array([row.alpha for row in rows])
        risk, spread = np.array([row.risk for row in rows]), np.array([row.risk_sd for row in rows])
        if several or name == "scope":
            low, high = np.maximum(risk - spread, 0), risk + spread
            strength = 0.06 if several else 0.15
            axes.fill_between(alphas, low, high, color=colour, alpha=strength, linewidth=0)
        axes.plot(
            alphas,
            risk,
            color=colour,
            marker=_MARKS[at % 8],
            markersize=5,
            label=name,
            zorder=4 if name == "scope" else 3,
        )
        if several or name in _BOUNDED:
            # A mean over splits scatters, and some fifteen are looked at: above is above by more
            # than three standard errors.
            slack = 3 * spread / np.sqrt(evaluation.n_splits)
            over += [name] * int((risk > alphas + slack).any())
    told = ", ".join(dict.fromkeys(over))
    kept = "scope keeps" if several else "scope, fdr and pac keep"
    axes.set_title(
        f"Above alpha on average: {told}" if over else f"{kept} the mean error share within alpha"
    )
    axes.set_xlabel("alpha: error level allowed")
    axes.set_ylabel("error share among accepted")
    axes.set_xlim(0, top * 1.08)
    axes.set_ylim(bottom=0)
    axes.legend(ncols=2, fontsize=8.5)


def draw_coverage(axes: Axes, evaluation: Evaluation, *, judge: str | None = None) -> None:
    """Mean share accepted against alpha."""
    for at, (name, rows, colour) in enumerate(_lines(evaluation, judge)):
        axes.plot(
            [row.alpha for row in rows],
            [row.coverage for row in rows],
            color=colour,
            marker=_MARKS[at % 8],
            markersize=5,
            label=name,
        )
    axes.set_title("A larger error budget accepts more verdicts")
    axes.set_xlabel("alpha: error level allowed")
    axes.set_ylabel("share of verdicts accepted")
    axes.set_xlim(0, max(evaluation.alphas) * 1.08)
    axes.set_ylim(0, 1.04)
    axes.legend(ncols=2, fontsize=8.5)


def draw_reliability(axes: Axes, evaluation: Evaluation, *, judge: str | None = None) -> None:
    """Accuracy against confidence in ten bins; the area of a mark is its share of the rows."""
    axes.plot([0.5, 1], [0.5, 1], color=MUTED, linestyle="--", linewidth=1.2)
    ece = {(s.judge, s.protocol, s.signal): s.ece for s in evaluation.signals}
    shown = _curves(evaluation, judge)
    for at, (name, curve, colour) in enumerate(shown):
        size = np.array(curve.bin_count) / sum(curve.bin_count)
        axes.plot(curve.bin_confidence, curve.bin_accuracy, color=colour, linewidth=1, alpha=0.35)
        axes.scatter(
            curve.bin_confidence,
            curve.bin_accuracy,
            s=20 + 260 * size,
            color=colour,
            marker=_MARKS[at % 8],
            alpha=0.85,
            label=f"{name}, ECE {ece[curve.judge, curve.protocol, curve.signal]:.3f}",
        )
    best = min(shown, key=lambda one: ece[one[1].judge, one[1].protocol, one[1].signal])
    axes.set_title(f"Best calibrated confidence: {best[0]}")
    axes.set_xlabel("confidence: max(p_a, 1 - p_a)")
    axes.set_ylabel("share of verdicts right")
    axes.set_xlim(0.48, 1.02)
    axes.set_ylim(0, 1.04)
    legend = axes.legend(fontsize=8.5, loc="lower right")
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([40])


def draw_risk_coverage(axes: Axes, evaluation: Evaluation, *, judge: str | None = None) -> None:
    """Error share among the surest rows against their share of all rows."""
    for name, curve, colour in _curves(evaluation, judge):
        axes.step(curve.coverage, curve.risk, where="post", color=colour, label=name, linewidth=1.7)
    axes.set_title("The surer the verdict, the fewer errors: lower is better")
    axes.set_xlabel("share of verdicts accepted, surest first")
    axes.set_ylabel("error share among accepted")
    axes.set_xlim(0, 1.01)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8.5)


def main_signal(evaluation: Evaluation, judge: str, protocol: str | None) -> str:
    """The signal a judge is calibrated on: the entropy of both orders where there is one."""
    names = [s.signal for s in evaluation.signals if (s.judge, s.protocol) == (judge, protocol)]
    return "preference_entropy" if "preference_entropy" in names else names[0]


def paper_rows(evaluation: Evaluation, judge: str, protocol: str | None) -> list[MethodRisk]:
    """Every method on the signal that the paper gives it, for one judge."""
    own = [m for m in evaluation.methods if (m.judge, m.protocol) == (judge, protocol)]
    main = main_signal(evaluation, judge, protocol)
    single = any(m.signal == "single_order" for m in own)
    kept = [m for m in own if m.signal == (PAPER_SIGNAL.get(m.method, main) if single else main)]
    return sorted(kept, key=lambda m: (METHODS.index(m.method), m.alpha))


def _judges(evaluation: Evaluation, judge: str | None) -> list[tuple[str, str | None]]:
    found = list(dict.fromkeys((s.judge, s.protocol) for s in evaluation.signals))
    kept = [one for one in found if judge is None or one[0] == judge]
    if not kept:
        names = ", ".join(dict.fromkeys(name for name, _ in found))
        raise ArgumentError("judge", judge, f"the evaluation has {names}")
    return kept


def judge_name(evaluation: Evaluation, one: tuple[str, str | None]) -> str:
    """The judge, with its protocol where it was asked by several."""
    same = [s for s in _judges(evaluation, None) if s[0] == one[0]]
    return one[0] if len(same) == 1 else f"{one[0]} ({one[1]})"


def _lines(evaluation: Evaluation, judge: str | None) -> list[tuple[str, list[MethodRisk], str]]:
    kept = _judges(evaluation, judge)
    if len(kept) == 1:
        rows = paper_rows(evaluation, *kept[0])
        methods = list(dict.fromkeys(row.method for row in rows))
        return [
            (name, [row for row in rows if row.method == name], _METHOD_COLOURS[name])
            for name in methods
        ]
    lines = []
    for at, one in enumerate(kept):
        rows = [m for m in paper_rows(evaluation, *one) if m.method == "scope"]
        lines.append((judge_name(evaluation, one), rows, SERIES[at % len(SERIES)]))
    return lines


def _curves(evaluation: Evaluation, judge: str | None) -> list[tuple[str, Curve, str]]:
    kept = _judges(evaluation, judge)
    if len(kept) == 1:
        own = [c for c in evaluation.curves if (c.judge, c.protocol) == kept[0]]
        return [(c.signal, c, SERIES[at % len(SERIES)]) for at, c in enumerate(own)]
    shown = []
    for at, one in enumerate(kept):
        signal = main_signal(evaluation, *one)
        curve = next(
            c for c in evaluation.curves if (c.judge, c.protocol, c.signal) == (*one, signal)
        )
        shown.append((judge_name(evaluation, one), curve, SERIES[at % len(SERIES)]))
    return shown


# --- calibrate and plan ----------------------------------------------------------------------


def policy_figure(policy: Policy) -> Figure:
    """Errors among the accepted as the threshold loosens, and where each group's rule stops."""
    shown = [group for group in policy.groups if len(group.scores) > 1][: len(SERIES)]
    if not shown:
        raise ArgumentError("plot", policy.n_calibration, "there is nothing to draw")
    with themed():
        figure = new_figure(7.6, 4.6)
        axes = figure.subplots()
        axes.axhline(policy.alpha, color=WARM, linestyle="--", linewidth=1.3)
        axes.annotate(
            f"alpha = {policy.alpha:g}",
            (0.0, policy.alpha),
            xytext=(6, 4),
            textcoords="offset points",
            color=WARM,
            fontsize=9,
        )
        for at, group in enumerate(shown):
            colour = SERIES[at % len(SERIES)] if len(shown) > 1 else ACCENT
            scores, errors = np.array(group.scores), np.cumsum(group.errors)
            ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
            coverage, risk = (ends + 1) / len(scores), errors[ends] / (ends + 1)
            name = group.name if len(shown) > 1 else "error share among accepted labels"
            axes.step(coverage, risk, where="post", color=colour, label=name, linewidth=1.8)
            if group.accepts in ("below", "all"):
                axes.plot(group.coverage, group.empirical_risk, "o", color=colour, markersize=9)
                if len(shown) == 1:
                    axes.axvspan(0, group.coverage, color=colour, alpha=0.07, linewidth=0)
        axes.set_title(_policy_title(policy))
        axes.set_xlabel("share of labelled verdicts accepted, surest first")
        axes.set_ylabel("error share among accepted")
        axes.set_xlim(0, 1.01)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8.5, loc="best")
    return figure


def _policy_title(policy: Policy) -> str:
    if not policy.feasible:
        return f"{policy.guarantee}: nothing can be accepted at alpha {policy.alpha:g}"
    about = "about " if policy.indicative else ""
    return (
        f"{policy.guarantee} accepts {about}{policy.n_accepted} of {policy.n_calibration} labelled "
        f"verdicts, {100 * policy.empirical_risk:.1f} % of them wrong"
    )


def plan_figure(plan: SelectionPlan) -> Figure:
    """Expected coverage against the number of labels, with one standard deviation."""
    with themed():
        figure = new_figure(7.2, 4.4)
        axes = figure.subplots()
        n = np.array([p.n for p in plan.points])
        mean = np.array([p.coverage for p in plan.points])
        spread = np.array([p.coverage_sd for p in plan.points])
        axes.fill_between(
            n, np.clip(mean - spread, 0, 1), np.clip(mean + spread, 0, 1), color=ACCENT, alpha=0.14
        )
        measured = [at for at, p in enumerate(plan.points) if not p.extrapolated]
        rest = list(range(measured[-1] if measured else 0, len(n)))
        axes.plot(n[rest], mean[rest], color=ACCENT, linestyle=":", label="extrapolated")
        axes.plot(n[measured], mean[measured], color=ACCENT, marker="o", label="from your labels")
        if plan.recommended is not None:
            axes.axvline(plan.recommended, color=GOOD, linewidth=1.3)
            axes.annotate(
                f"{plan.recommended} labels",
                (plan.recommended, 0.03),
                xytext=(5, 0),
                textcoords="offset points",
                color=GOOD,
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
    if plan.recommended is None:
        return f"{plan.guarantee} at alpha {plan.alpha:g}: more labels still buy coverage"
    return (
        f"Beyond {plan.recommended} labels a doubling buys less than {100 * plan.gain:g} points "
        "of coverage"
    )
