"""Pictures of selection: what a policy accepts, and how methods fare over random splits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from adjudge._validation import FloatArray
from adjudge.errors import ArgumentError
from adjudge.present.theme import ACCENT, GOOD, INK, MUTED, SERIES, WARM, new_figure, themed
from adjudge.results.evaluation import Curve, Evaluation, MethodRisk, SelectionPlan
from adjudge.results.selection import Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The signal of the paper's baselines, where the file has both orders.
_SINGLE = "single_order"
#: Colours of guarantees and of baselines, in the order of the evaluation.
_GUARANTEES = (ACCENT, SERIES[2], GOOD, SERIES[5], SERIES[7])
_BASELINES = (SERIES[6], WARM, SERIES[4])
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class _Line:
    """One line of a panel; `banded` has its standard deviation drawn, `bounded` promises."""

    name: str
    rows: list[MethodRisk]
    colour: str
    banded: bool
    bounded: bool


# --- evaluate --------------------------------------------------------------------------------


def evaluation_figure(evaluation: Evaluation, *, judge: str | None = None) -> Figure:
    """Four panels: risk and coverage against alpha, reliability, risk against coverage.

    One judge: a line per method. Several: a line per judge for the first guarantee (scope),
    unless `judge` picks one.
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
    axes.plot(
        [0, top * 1.08],
        [0, top * 1.08],
        color=MUTED,
        linestyle="--",
        linewidth=1.2,
        label="error share = alpha",
    )
    several = sum(line.banded for line in lines) > 1
    for at, line in enumerate(lines):
        alphas, risk, spread = _risks(line)
        if line.banded:
            low, high = np.maximum(risk - spread, 0), risk + spread
            strength = 0.06 if several else 0.15
            axes.fill_between(alphas, low, high, color=line.colour, alpha=strength, linewidth=0)
        axes.plot(
            alphas,
            risk,
            color=line.colour,
            marker=_MARKS[at % 8],
            markersize=5,
            label=line.name,
            zorder=4 if line.banded else 3,
        )
    axes.set_title(_risk_title(lines, evaluation.splits))
    axes.set_xlabel("alpha: error level allowed")
    axes.set_ylabel("error share among accepted")
    axes.set_xlim(0, top * 1.08)
    axes.set_ylim(bottom=0)
    axes.legend(ncols=2, fontsize=8.5)


def draw_coverage(axes: Axes, evaluation: Evaluation, *, judge: str | None = None) -> None:
    """Mean share accepted against alpha."""
    for at, line in enumerate(_lines(evaluation, judge)):
        axes.plot(
            [row.alpha for row in line.rows],
            [row.coverage for row in line.rows],
            color=line.colour,
            marker=_MARKS[at % 8],
            markersize=5,
            label=line.name,
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
    single = _SINGLE if any(m.signal == _SINGLE for m in own) else main
    order = list(dict.fromkeys(m.method for m in own))
    kept = [m for m in own if m.signal == (single if m.baseline else main)]
    return sorted(kept, key=lambda m: (order.index(m.method), m.alpha))


def _judges(evaluation: Evaluation, judge: str | None) -> list[tuple[str, str | None]]:
    known = list(dict.fromkeys((s.judge, s.protocol) for s in evaluation.signals))
    kept = [one for one in known if judge is None or one[0] == judge]
    if not kept:
        names = ", ".join(dict.fromkeys(name for name, _ in known))
        raise ArgumentError("judge", judge, f"the evaluation has {names}")
    return kept


def judge_name(evaluation: Evaluation, one: tuple[str, str | None]) -> str:
    """The judge, with its protocol where it was asked by several."""
    same = [s for s in _judges(evaluation, None) if s[0] == one[0]]
    return one[0] if len(same) == 1 else f"{one[0]} ({one[1]})"


def _lines(evaluation: Evaluation, judge: str | None) -> list[_Line]:
    kept = _judges(evaluation, judge)
    methods = {m.method: m.baseline for m in evaluation.methods}
    bounded = [name for name, baseline in methods.items() if not baseline]
    shown = (bounded or list(methods))[0]
    if len(kept) == 1:
        baselines = [name for name, baseline in methods.items() if baseline]
        rows = paper_rows(evaluation, *kept[0])
        colours = dict(zip(baselines, cycle(_BASELINES), strict=False))
        colours |= dict(zip(bounded, cycle(_GUARANTEES), strict=False))
        return [
            _Line(
                name,
                [row for row in rows if row.method == name],
                colours[name],
                banded=name == shown,
                bounded=name in bounded,
            )
            for name in dict.fromkeys(row.method for row in rows)
        ]
    return [
        _Line(
            judge_name(evaluation, one),
            [m for m in paper_rows(evaluation, *one) if m.method == shown],
            SERIES[at % len(SERIES)],
            banded=True,
            bounded=shown in bounded,
        )
        for at, one in enumerate(kept)
    ]


def _risks(line: _Line) -> tuple[FloatArray, FloatArray, FloatArray]:
    return (
        np.array([row.alpha for row in line.rows]),
        np.array([row.risk for row in line.rows]),
        np.array([row.risk_sd for row in line.rows]),
    )


def _risk_title(lines: list[_Line], splits: int) -> str:
    over = []
    bounded = [line for line in lines if line.bounded]
    for line in bounded:
        # A mean over splits scatters, and some fifteen are looked at: above is above by more
        # than three standard errors.
        alphas, risk, spread = _risks(line)
        if (risk > alphas + 3 * spread / np.sqrt(splits)).any():
            over.append(line.name)
    if over:
        return f"Above alpha on average: {', '.join(over)}"
    names = list(dict.fromkeys(line.rows[0].method for line in bounded))
    if not names:
        return "Mean error share among accepted, without any promise"
    kept = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    verb = "keep" if len(names) > 1 else "keeps"
    return f"{kept} {verb} the mean error share within alpha"


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
