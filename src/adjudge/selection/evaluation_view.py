"""Which verdicts can be trusted: methods over random splits, and how many labels are enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjudge.present import figure as theme
from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Columns,
    Fact,
    Facts,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    remarks_of,
    table_of,
)
from adjudge.selection.evaluating import Curve, Evaluation, MethodRisk, SignalQuality
from adjudge.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


#: The alpha of the paper's Table 3; shown first if it was run.
_SHOWN_ALPHA = 0.10
_METHOD_COLUMNS = (
    *("method", "coverage", "sd", "accuracy", "error share", "sd", "ratio", "above alpha"),
)
#: Colours of guarantees and of baselines, in the order of the evaluation.
_GUARANTEES = (theme.ACCENT, theme.SERIES[2], theme.GOOD, theme.SERIES[5], theme.SERIES[7])
_BASELINES = (theme.SERIES[6], theme.WARM, theme.SERIES[4])


def view_evaluation(evaluation: Evaluation) -> list[Block]:
    """What each guarantee accepts; folded: the SCOPE paper's Table 1 and 3, and its pictures."""
    alpha = _SHOWN_ALPHA if _SHOWN_ALPHA in evaluation.alphas else evaluation.alphas[0]
    blocks: list[Block] = [_evaluation_headline(evaluation), *_guarantees(evaluation, alpha)]
    blocks.append(_signals_table(evaluation))
    for key in evaluation.judges:
        shown = [_method(m) for m in evaluation.paper_rows(key) if m.alpha == alpha]
        splits = text.count(evaluation.splits, "random split")
        caption = f"{evaluation.judge_name(key)}: alpha {alpha:g}, {splits}"
        blocks.append(Table(_METHOD_COLUMNS, shown, caption, detail=True))
    if evaluation.comparisons:
        blocks += _comparison(evaluation, alpha)
    lines = [
        *_signals_used(evaluation),
        "above alpha: share of splits with a larger error share in the test half; ratio: all "
        "errors divided by all accepted verdicts, over all splits; accuracy: of the accepted",
    ]
    notes = [*(f"note: {line}" for line in evaluation.warnings), *text.left_out(evaluation.dropped)]
    rows = [
        (*(evaluation.judge_name(m.key), m.signal, m.method, f"{m.alpha:g}"), *_method(m)[1:])
        for m in evaluation.methods
    ]
    every = Table(
        ("judge", "signal", "method", "alpha", *_METHOD_COLUMNS[1:]),
        rows,
        caption="Every method on every signal at every alpha",
        text_columns=3,
        detail=True,
    )
    assumed = explain(evaluation.assumptions, others=lines, brief=False)
    return [*blocks, *remarks_of(notes), *assumed, every, *_figures(evaluation)]


def _guarantees(evaluation: Evaluation, alpha: float) -> list[Block]:
    """What each guarantee accepts over the splits, in a line each."""
    methods: dict[str, list[MethodRisk]] = {}
    for key in evaluation.judges:
        for m in evaluation.paper_rows(key):
            if m.alpha == alpha and not m.baseline:
                methods.setdefault(m.method, []).append(m)
    facts = []
    for name, risks in methods.items():
        ranked = sorted(risks, key=lambda m: m.coverage)
        shares = dict.fromkeys(text.percent(m.coverage) for m in (ranked[0], ranked[-1]))
        wrong = f"accepted, {text.percent(ranked[0].risk)} wrong; above {text.level(alpha)} in "
        if len(ranked) > 1:
            wrong = f"accepted, by judge; above {text.level(alpha)} in up to "
        above = text.percent(max(m.share_above for m in risks), 0)
        splits = text.count(evaluation.splits, "split") if len(ranked) == 1 else "splits"
        facts.append(Fact(name, " to ".join(shares), f"{wrong}{above} of {splits}"))
    return [Facts(facts)] if facts else []


def _evaluation_headline(evaluation: Evaluation) -> Headline:
    main = [(key, evaluation.main_signal(key)) for key in evaluation.judges]
    if len(main) == 1:
        ((key, quality),) = main
        name = evaluation.judge_name(key)
        if quality.accuracy is None:
            rows = text.count(quality.n, "labelled row")
            return Headline(text.begin(f"{name} gives no verdict on any of {rows}"), tone="bad")
        alike = "no AUROC: all are right, or all are wrong"
        ranks = alike if quality.auroc is None else f"AUROC {text.number(quality.auroc)}"
        right = text.begin(f"{name} is right on {text.percent(quality.accuracy)} of ")
        verdicts = text.count(quality.n_verdicts, "labelled verdict")
        return Headline(f"{right}{verdicts} ({ranks}, ECE {text.number(quality.ece)})")
    ranked = sorted((s.accuracy, key) for key, s in main if s.accuracy is not None)
    if not ranked:
        return Headline(f"None of {text.count(len(main), 'judge')} gives a verdict", tone="bad")
    worst, worst_key = ranked[0]
    best, best_key = ranked[-1]
    low = f"{text.percent(worst)} ({evaluation.judge_name(worst_key)})"
    high = f"{text.percent(best)} ({evaluation.judge_name(best_key)})"
    judges = text.count(len(main), "judge")
    return Headline(f"{judges}: right on {low} to {high} of their labelled verdicts")


def _signals_table(evaluation: Evaluation) -> Table:
    """How good each judge's signals of doubt are. The headline names a judge that is alone."""
    columns: Columns[SignalQuality] = {}
    if len(evaluation.judges) > 1:
        columns["judge"] = lambda s: evaluation.judge_name(s.key)
    columns["signal"] = lambda s: s.signal
    names = len(columns)
    columns |= {
        "rows": lambda s: text.number(s.n),
        "no verdict": lambda s: text.number(s.n_no_verdict),
        "accuracy": lambda s: text.number(s.accuracy),
        "ECE": lambda s: text.number(s.ece),
        "AUROC": lambda s: text.number(s.auroc),
        "AUPRC": lambda s: text.number(s.auprc),
    }
    return table_of(
        evaluation.signals,
        columns,
        caption="Quality of each doubt signal, on labelled rows with a verdict (positives: right "
        "verdicts)",
        text_columns=names,
        detail=True,
        optional=("rows", "no verdict"),
    )


def _method(m: MethodRisk) -> tuple[str, ...]:
    return (
        m.method,
        *map(text.number, (m.coverage, m.coverage_sd, m.accuracy, m.risk, m.risk_sd, m.ratio)),
        text.percent(m.share_above, 0),
    )


def _comparison(evaluation: Evaluation, alpha: float) -> list[Block]:
    """Each doubt under each guarantee, and whether learning paid in these splits."""
    order = list(dict.fromkeys(row.method for row in evaluation.comparisons))
    here = [row for row in evaluation.comparisons if row.alpha == alpha]
    here.sort(key=lambda row: order.index(row.method))
    table = table_of(
        here,
        {
            "guarantee": lambda row: row.method,
            "doubt of": lambda row: text.group_name(row.candidate, none="the judge"),
            "coverage": lambda row: text.number(row.coverage),
            "sd": lambda row: text.number(row.coverage_sd),
            "error share": lambda row: text.number(row.risk),
            "above alpha": lambda row: text.percent(row.share_above, 0),
        },
        caption=f"Does learning pay? Each doubt at alpha {alpha:g}, on the first "
        f"{evaluation.comparison_splits:,} splits; learning uses part of each calibration half",
        text_columns=2,
    )
    lines = []
    for method in order:
        rows = [row for row in here if row.method == method]
        learned = next((row for row in rows if row.learned), rows[-1])
        others = [row for row in rows if row is not learned]
        best = max(others, key=lambda row: row.coverage)
        gain = learned.coverage - best.coverage
        more = f"{text.number(100 * abs(gain), 1)} points {'more' if gain > 0 else 'less'}"
        lines.append(
            f"{method}: {learned.candidate} accepts {text.percent(learned.coverage)}, {more} than "
            f"{text.group_name(best.candidate, none='the judge')}"
        )
    return [table, Note(lines)]


def _signals_used(evaluation: Evaluation) -> list[str]:
    """Which signal each method of the tables runs on, where that differs."""
    used: dict[str, list[str]] = {}
    for row in (row for key in evaluation.judges for row in evaluation.paper_rows(key)):
        names = used.setdefault(row.signal, [])
        if row.method not in names:
            names.append(row.method)
    if "single_order" not in used:
        return []
    uses = [f"{', '.join(methods)} on {signal}" for signal, methods in used.items()]
    return [f"signals, as in the SCOPE paper: {'; '.join(uses)}"]


def _figures(evaluation: Evaluation) -> list[Block]:
    figures = {
        "risk": (
            draw_risk,
            "Below the dashed line a method's mean error share over splits is within alpha.",
        ),
        "coverage": (
            draw_coverage,
            "Choose the smallest alpha at which enough verdicts are accepted.",
        ),
        "reliability": (
            _draw_accuracy,
            "Below the diagonal the judge is right less often than its confidence.",
        ),
        "risk-coverage": (
            draw_risk_coverage,
            "Error share if only the verdicts with the least doubt are accepted. Calibrate before "
            "you rely on it.",
        ),
    }
    return [
        Figure(name, partial(_panel, draw, evaluation), caption)
        for name, (draw, caption) in figures.items()
    ]


class _Line(NamedTuple):
    """One line of a panel; `banded` has its standard deviation drawn."""

    name: str
    rows: list[MethodRisk]
    colour: str
    banded: bool

    def values(self, field: str) -> FloatArray:
        return np.array([getattr(row, field) for row in self.rows])


def _panel(draw: Callable[[Axes, Evaluation], None], evaluation: Evaluation) -> Drawing:
    with theme.themed():
        figure = theme.new_figure(7.2, 4.6)
        draw(figure.subplots(), evaluation)
    return figure


def risk_and_coverage(evaluation: Evaluation) -> Drawing:
    with theme.themed():
        figure = theme.new_figure(12.0, 4.4)
        left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.06})
        draw_risk(left, evaluation)
        draw_coverage(right, evaluation)
    return figure


def draw_risk(axes: Axes, evaluation: Evaluation) -> None:
    """Mean error share against alpha, with the diagonal and a band of one standard deviation."""
    lines = _lines(evaluation)
    end = max(evaluation.alphas) * 1.08
    same = "error share = alpha"
    axes.plot([0, end], [0, end], color=theme.MUTED, linestyle="--", linewidth=1.2, label=same)
    banded = [line for line in lines if line.banded]
    for line in banded:
        risk = line.values("risk")
        spread = line.values("risk_sd")
        ends = np.maximum(risk - spread, 0), risk + spread
        alpha = 0.06 if len(banded) > 1 else 0.15
        axes.fill_between(line.values("alpha"), *ends, color=line.colour, alpha=alpha, linewidth=0)
    band = "± one standard deviation"
    axes.fill_between([], [], color=theme.MUTED, alpha=0.3, linewidth=0, label=band)
    _draw_lines(axes, lines, "risk")
    axes.set(title="Error share at each alpha, over random splits", xlim=(0, end), ylim=(0, None))
    axes.set_ylabel("error share among accepted")


def draw_coverage(axes: Axes, evaluation: Evaluation) -> None:
    _draw_lines(axes, _lines(evaluation), "coverage")
    axes.set(xlim=(0, max(evaluation.alphas) * 1.08), ylim=(0, 1.04))
    axes.set(title="Accepted at each alpha, over random splits")
    axes.set_ylabel("share of verdicts accepted")


def _draw_lines(axes: Axes, lines: list[_Line], field: str) -> None:
    for at, line in enumerate(lines):
        axes.plot(
            line.values("alpha"),
            line.values(field),
            color=line.colour,
            marker=theme.MARKS[at % len(theme.MARKS)],
            markersize=5,
            label=line.name,
            clip_on=False,
            zorder=4 if line.banded else 3,
        )
    axes.set_xlabel("alpha: error level allowed")
    # Lines cross the whole panel: a legend inside it would hide some.
    columns = 4 if max(len(line.name) for line in lines) <= 20 else 2
    axes.legend(ncols=columns, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _draw_accuracy(axes: Axes, evaluation: Evaluation) -> None:
    """Accuracy against confidence in ten bins."""
    eces = {(quality.key, quality.signal): quality.ece for quality in evaluation.signals}
    shown = [row for row in _curves(evaluation) if row[1].bin_count]
    for at, (name, curve) in enumerate(shown):
        theme.draw_reliability(
            axes,
            curve.bin_confidence,
            curve.bin_accuracy,
            n=curve.bin_count,
            series=at,
            label=f"{name}, ECE {text.number(eces[curve.key, curve.signal])}",
        )
    axes.set_title("Accuracy at each confidence" if shown else "No row has a verdict")
    axes.set_xlabel("confidence: max(p_a, 1 − p_a) (dashed: equal)")
    axes.set_ylabel("share of verdicts right, ± SE")
    theme.add_legend(axes, fontsize=8.5)


def draw_risk_coverage(axes: Axes, evaluation: Evaluation) -> None:
    """Error share among the rows with the least doubt, against their share of all rows."""
    curves = [row for row in _curves(evaluation) if row[1].coverage]
    for at, (name, curve) in enumerate(curves):
        # A signal with one value has one point, which is not a line.
        mark = theme.MARKS[at % len(theme.MARKS)] if len(curve.coverage) == 1 else ""
        axes.step(
            curve.coverage,
            curve.risk,
            theme.LINES[at % len(theme.LINES)] + mark,
            where="post",
            color=theme.SERIES[at % len(theme.SERIES)],
            label=name,
            linewidth=1.7,
            clip_on=not mark,
        )
    title = "Error share as more verdicts are accepted" if curves else "No row has a verdict"
    axes.set_title(title)
    axes.set_xlabel("share of verdicts accepted, least doubt first")
    axes.set(ylabel="error share among accepted", xlim=(0, 1.01), ylim=(0, None))
    if curves:
        axes.legend(fontsize=8.5)


def _lines(evaluation: Evaluation) -> list[_Line]:
    """One judge: a line per method. Several: a line per judge for the first guarantee."""
    methods = {m.method: m.baseline for m in evaluation.methods}
    shown = next((name for name, baseline in methods.items() if not baseline), next(iter(methods)))
    rows = {key: evaluation.paper_rows(key) for key in evaluation.judges}
    if len(rows) > 1:
        names = text.clip_names(map(evaluation.judge_name, rows))
        of_shown = ([m for m in risks if m.method == shown] for risks in rows.values())
        cells = zip(names, of_shown, cycle(theme.SERIES), strict=False)
        return [_Line(name, risks, colour, banded=True) for name, risks, colour in cells]
    colours = {True: cycle(_BASELINES), False: cycle(_GUARANTEES)}
    [risks] = rows.values()
    return [
        _Line(name, [m for m in risks if m.method == name], next(colours[baseline]), name == shown)
        for name, baseline in methods.items()
    ]


def _curves(evaluation: Evaluation) -> list[tuple[str, Curve]]:
    """One judge: a curve per signal. Several: the main signal of each."""
    keys = evaluation.judges
    curves = evaluation.curves
    names = [curve.signal for curve in curves]
    if len(keys) > 1:
        curves = tuple(c for c in curves if c.signal == evaluation.main_signal(c.key).signal)
        short = dict(zip(keys, text.clip_names(map(evaluation.judge_name, keys)), strict=True))
        names = [short[curve.key] for curve in curves]
    return list(zip(names, curves, strict=True))
