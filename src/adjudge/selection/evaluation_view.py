"""Which verdicts can be trusted: methods over random splits, and how many labels are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from adjudge.present.blocks import (
    Block,
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
from adjudge.present.figure import (
    ACCENT,
    GOOD,
    LINES,
    MARKS,
    MUTED,
    SERIES,
    WARM,
    name_rows,
    new_figure,
    themed,
)
from adjudge.present.text import (
    begin,
    clip_names,
    count,
    group_name,
    left_out,
    level,
    number,
    percent,
)
from adjudge.selection.evaluating import Curve, Evaluation, JudgeKey, MethodRisk, SignalQuality
from adjudge.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


#: The alpha of the paper's Table 3; shown first if it was run.
_SHOWN_ALPHA = 0.10
_METHOD_COLUMNS = (
    *("method", "coverage", "sd", "accuracy", "error share", "sd", "ratio", "above alpha"),
)


def view_evaluation(evaluation: Evaluation) -> list[Block]:
    """What each guarantee accepts; folded: the SCOPE paper's Table 1 and 3, and its pictures."""
    alpha = _SHOWN_ALPHA if _SHOWN_ALPHA in evaluation.alphas else evaluation.alphas[0]
    blocks: list[Block] = [_evaluation_headline(evaluation), *_guarantees(evaluation, alpha)]
    blocks.append(_signals_table(evaluation))
    blocks += [_methods_table(evaluation, key, alpha) for key in evaluation.judges]
    if evaluation.comparisons:
        blocks += _comparison(evaluation, alpha)
    lines = [
        *_signals_used(evaluation),
        "above alpha: share of splits with a larger error share in the test half; ratio: all "
        "errors divided by all accepted verdicts, over all splits; accuracy: of the accepted",
    ]
    notes = [*(f"note: {line}" for line in evaluation.warnings), *left_out(evaluation.dropped)]
    rows = [
        (
            *(evaluation.judge_name(m.key), m.signal, m.method, f"{m.alpha:g}"),
            *_method(m)[1:],
        )
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
    return [*blocks, *remarks_of(notes), *assumed, every, *_evaluation_figures(evaluation)]


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
        shares = dict.fromkeys(percent(m.coverage) for m in (ranked[0], ranked[-1]))
        wrong = f"accepted, {percent(ranked[0].risk)} wrong; above {level(alpha)} in "
        if len(ranked) > 1:
            wrong = f"accepted, by judge; above {level(alpha)} in up to "
        above = percent(max(m.share_above for m in risks), 0)
        splits = count(evaluation.splits, "split") if len(ranked) == 1 else "splits"
        facts.append(Fact(name, " to ".join(shares), f"{wrong}{above} of {splits}"))
    return [Facts(facts)] if facts else []


def _evaluation_headline(evaluation: Evaluation) -> Headline:
    main = [(key, evaluation.main_signal(key)) for key in evaluation.judges]
    if len(main) == 1:
        ((key, quality),) = main
        name = evaluation.judge_name(key)
        if quality.accuracy is None:
            rows = count(quality.n, "labelled row")
            return Headline(begin(f"{name} gives no verdict on any of {rows}"), tone="bad")
        alike = "no AUROC: all are right, or all are wrong"
        ranks = alike if quality.auroc is None else f"AUROC {number(quality.auroc)}"
        return Headline(
            begin(f"{name} is right on {percent(quality.accuracy)} of ")
            + f"{count(quality.n_verdicts, 'labelled verdict')} "
            f"({ranks}, ECE {number(quality.ece)})"
        )
    ranked = sorted((s.accuracy, key) for key, s in main if s.accuracy is not None)
    if not ranked:
        return Headline(f"None of {count(len(main), 'judge')} gives a verdict", tone="bad")
    (worst, worst_key), (best, best_key) = ranked[0], ranked[-1]
    return Headline(
        f"{count(len(main), 'judge')}: right on {percent(worst)} "
        f"({evaluation.judge_name(worst_key)}) to {percent(best)} "
        f"({evaluation.judge_name(best_key)}) of their labelled verdicts"
    )


def _signals_table(evaluation: Evaluation) -> Table:
    """How good each judge's signals of doubt are. The headline names a judge that is alone."""
    name: dict[str, Callable[[SignalQuality], str]] = {}
    if len(evaluation.judges) > 1:
        name["judge"] = lambda s: evaluation.judge_name(s.key)
    return table_of(
        evaluation.signals,
        {
            **name,
            "signal": lambda s: s.signal,
            "rows": lambda s: number(s.n),
            "no verdict": lambda s: number(s.n_no_verdict),
            "accuracy": lambda s: number(s.accuracy),
            "ECE": lambda s: number(s.ece),
            "AUROC": lambda s: number(s.auroc),
            "AUPRC": lambda s: number(s.auprc),
        },
        caption="Quality of each doubt signal, on labelled rows with a verdict (positives: right "
        "verdicts)",
        text_columns=1 + len(name),
        detail=True,
        optional=("rows", "no verdict"),
    )


def _method(m: MethodRisk) -> tuple[str, ...]:
    return (
        m.method,
        *map(number, (m.coverage, m.coverage_sd, m.accuracy, m.risk, m.risk_sd, m.ratio)),
        percent(m.share_above, 0),
    )


def _methods_table(evaluation: Evaluation, key: JudgeKey, alpha: float) -> Table:
    return Table(
        _METHOD_COLUMNS,
        [_method(m) for m in evaluation.paper_rows(key) if m.alpha == alpha],
        caption=f"{evaluation.judge_name(key)}: alpha {alpha:g}, "
        f"{count(evaluation.splits, 'random split')}",
        detail=True,
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
            "doubt of": lambda row: group_name(row.candidate, none="the judge"),
            "coverage": lambda row: number(row.coverage),
            "sd": lambda row: number(row.coverage_sd),
            "error share": lambda row: number(row.risk),
            "above alpha": lambda row: percent(row.share_above, 0),
        },
        caption=f"Does learning pay? Each doubt at alpha {alpha:g}, on the first "
        f"{evaluation.comparison_splits:,} splits; learning uses part of each calibration half",
        text_columns=2,
    )
    lines = []
    for method in order:
        candidates = [row for row in here if row.method == method]
        learned = next((row for row in candidates if row.learned), candidates[-1])
        best = max((row for row in candidates if row is not learned), key=lambda row: row.coverage)
        gain = learned.coverage - best.coverage
        more = f"{number(100 * abs(gain), 1)} points {'more' if gain > 0 else 'less'}"
        lines.append(
            f"{method}: {learned.candidate} accepts {percent(learned.coverage)}, {more} than "
            f"{group_name(best.candidate, none='the judge')}"
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


def _evaluation_figures(evaluation: Evaluation) -> list[Block]:
    figures = {
        "risk": (
            draw_risk,
            f"{'Left of' if len(evaluation.alphas) == 1 else 'Below'} the dashed line a method's "
            "mean error share over splits is within alpha.",
        ),
        "coverage": (
            draw_coverage,
            "Choose the smallest alpha at which enough verdicts are accepted.",
        ),
        "reliability": (
            draw_reliability,
            "Below the diagonal the judge is right less often than its confidence; a larger dot "
            "has more rows.",
        ),
        "risk-coverage": (
            draw_risk_coverage,
            "Error share if only the verdicts with the least doubt are accepted. Calibrate before "
            "you rely on it.",
        ),
    }
    return [
        Figure(name, partial(panel, draw, evaluation), caption)
        for name, (draw, caption) in figures.items()
    ]


#: Colours of guarantees and of baselines, in the order of the evaluation.
_GUARANTEES = (ACCENT, SERIES[2], GOOD, SERIES[5], SERIES[7])
_BASELINES = (SERIES[6], WARM, SERIES[4])
_BAND = "± one standard deviation"
_NO_VERDICT = "No row has a verdict"


@dataclass(frozen=True)
class _Line:
    """One line of a panel; `banded` has its standard deviation drawn."""

    name: str
    rows: list[MethodRisk]
    colour: str
    banded: bool

    def values(self, field: str) -> FloatArray:
        """One field of its rows, in the order of alpha."""
        return np.array([getattr(row, field) for row in self.rows])


def panel(draw: Callable[[Axes, Evaluation], None], evaluation: Evaluation) -> Drawing:
    """One of the panels below as a separate figure."""
    with themed():
        figure = new_figure(7.2, 4.6)
        draw(figure.subplots(), evaluation)
    return figure


def risk_and_coverage(evaluation: Evaluation) -> Drawing:
    """Error share and coverage against alpha side by side."""
    with themed():
        figure = new_figure(12.0, 4.4)
        left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.06})
        draw_risk(left, evaluation)
        draw_coverage(right, evaluation)
    return figure


def draw_risk(axes: Axes, evaluation: Evaluation) -> None:
    """Mean error share against alpha, with the diagonal and a band of one standard deviation."""
    lines = _lines(evaluation)
    if len(evaluation.alphas) == 1:
        _draw_dots(axes, lines, "risk")
        axes.axvline(
            evaluation.alphas[0],
            color=MUTED,
            linestyle="--",
            linewidth=1.2,
            label=f"alpha = {evaluation.alphas[0]:g}",
        )
        axes.set(title=_risk_title(lines, evaluation.splits), xlim=(0, None))
        axes.set_xlabel("error share among accepted")
        _add_legend(axes, columns=2)
        return
    end = max(evaluation.alphas) * 1.08
    axes.plot(
        [0, end], [0, end], color=MUTED, linestyle="--", linewidth=1.2, label="error share = alpha"
    )
    banded = [line for line in lines if line.banded]
    for line in banded:
        risk, spread = line.values("risk"), line.values("risk_sd")
        axes.fill_between(
            line.values("alpha"),
            np.maximum(risk - spread, 0),
            risk + spread,
            color=line.colour,
            alpha=0.06 if len(banded) > 1 else 0.15,
            linewidth=0,
        )
    axes.fill_between([], [], color=MUTED, alpha=0.3, linewidth=0, label=_BAND)
    _draw_lines(axes, lines, "risk")
    axes.set(title=_risk_title(lines, evaluation.splits), xlim=(0, end), ylim=(0, None))
    axes.set_ylabel("error share among accepted")


def draw_coverage(axes: Axes, evaluation: Evaluation) -> None:
    """Mean share accepted against alpha."""
    lines = _lines(evaluation)
    axes.set_title(_coverage_title(lines))
    if len(evaluation.alphas) == 1:
        _draw_dots(axes, lines, "coverage")
        axes.set_xlabel(f"share of verdicts accepted at alpha = {evaluation.alphas[0]:g}")
        axes.set_xlim(0, 1.04)
        _add_legend(axes, columns=1)
        return
    _draw_lines(axes, lines, "coverage")
    axes.set(xlim=(0, max(evaluation.alphas) * 1.08), ylim=(0, 1.04))
    axes.set_ylabel("share of verdicts accepted")


def _draw_lines(axes: Axes, lines: list[_Line], field: str) -> None:
    for at, line in enumerate(lines):
        axes.plot(
            line.values("alpha"),
            line.values(field),
            color=line.colour,
            marker=MARKS[at % len(MARKS)],
            markersize=5,
            label=line.name,
            clip_on=False,
            zorder=4 if line.banded else 3,
        )
    axes.set_xlabel("alpha: error level allowed")
    # Lines cross the whole panel: a legend inside it would hide some.
    _add_legend(axes, columns=4 if max(len(line.name) for line in lines) <= 20 else 2)


def _draw_dots(axes: Axes, lines: Sequence[_Line], field: str) -> None:
    """At a single alpha: a row for each line, with one standard deviation to either side."""
    for at, line in enumerate(lines):
        (value,), (spread,) = line.values(field), line.values(f"{field}_sd")
        ends = [max(value - spread, 0), min(value + spread, 1)]
        axes.plot(ends, [at, at], color=line.colour, linewidth=2.2, alpha=0.5)
        mark = MARKS[at % len(MARKS)]
        axes.plot(value, at, mark, color=line.colour, markersize=7, clip_on=False, zorder=4)
    axes.plot([], [], color=MUTED, linewidth=2.2, alpha=0.5, label=_BAND)
    name_rows(axes, [line.name for line in lines])
    axes.tick_params(axis="y", length=0)


def _add_legend(axes: Axes, *, columns: int) -> None:
    axes.legend(ncols=columns, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def draw_reliability(axes: Axes, evaluation: Evaluation) -> None:
    """Accuracy against confidence in ten bins; the area of a mark is its share of the rows."""
    axes.plot([0.5, 1], [0.5, 1], color=MUTED, linestyle="--", linewidth=1.2)
    eces = {(quality.key, quality.signal): quality.ece for quality in evaluation.signals}
    shown = [
        (name, curve, colour, ece)
        for name, curve, colour in _curves(evaluation)
        if (ece := eces[curve.key, curve.signal]) is not None
    ]
    for at, (name, curve, colour, ece) in enumerate(shown):
        size = np.array(curve.bin_count) / sum(curve.bin_count)
        axes.plot(curve.bin_confidence, curve.bin_accuracy, color=colour, linewidth=1, alpha=0.35)
        axes.scatter(
            curve.bin_confidence,
            curve.bin_accuracy,
            s=20 + 260 * size,
            color=colour,
            marker=MARKS[at % len(MARKS)],
            alpha=0.85,
            clip_on=False,
            label=f"{name}, ECE {ece:.3f}",
        )
    axes.set_title(_reliability_title([(name, ece) for name, _, _, ece in shown]))
    axes.set_xlabel("confidence: max(p_a, 1 − p_a) (dashed: equal; larger marks: more verdicts)")
    axes.set(ylabel="share of verdicts right", xlim=(0.48, 1.02), ylim=(0, 1.04))
    for handle in axes.legend(fontsize=8.5, loc="lower right").legend_handles if shown else ():
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([40])


def draw_risk_coverage(axes: Axes, evaluation: Evaluation) -> None:
    """Error share among the rows with the least doubt, against their share of all rows."""
    curves = [row for row in _curves(evaluation) if row[1].coverage]
    for at, (name, curve, colour) in enumerate(curves):
        # A signal with one value has one point, which is not a line.
        mark = MARKS[at % len(MARKS)] if len(curve.coverage) == 1 else ""
        axes.step(
            curve.coverage,
            curve.risk,
            LINES[at % len(LINES)] + mark,
            where="post",
            color=colour,
            label=name,
            linewidth=1.7,
            clip_on=not mark,
        )
    several = len(evaluation.judges) > 1
    title = _fewest_errors if several else _risk_coverage_title
    axes.set_title(title([row[:2] for row in curves]) if curves else _NO_VERDICT)
    axes.set_xlabel("share of verdicts accepted, least doubt first")
    axes.set(ylabel="error share among accepted", xlim=(0, 1.01), ylim=(0, None))
    if curves:
        axes.legend(fontsize=8.5)


def _lines(evaluation: Evaluation) -> list[_Line]:
    """One judge: a line per method. Several: a line per judge for the first guarantee."""
    methods = {m.method: m.baseline for m in evaluation.methods}
    shown = next((name for name, baseline in methods.items() if not baseline), next(iter(methods)))
    if len(evaluation.judges) > 1:
        names = clip_names(map(evaluation.judge_name, evaluation.judges))
        return [
            _Line(
                names[at],
                [m for m in evaluation.paper_rows(key) if m.method == shown],
                SERIES[at % len(SERIES)],
                banded=True,
            )
            for at, key in enumerate(evaluation.judges)
        ]
    rows = evaluation.paper_rows(evaluation.judges[0])
    colours = {True: cycle(_BASELINES), False: cycle(_GUARANTEES)}
    return [
        _Line(
            name,
            [row for row in rows if row.method == name],
            next(colours[baseline]),
            banded=name == shown,
        )
        for name, baseline in methods.items()
    ]


def _curves(evaluation: Evaluation) -> list[tuple[str, Curve, str]]:
    """One judge: a curve per signal. Several: the main signal of each."""
    keys = evaluation.judges
    if len(keys) == 1:
        named = [(curve.signal, curve) for curve in evaluation.curves]
    else:
        main = {key: evaluation.main_signal(key).signal for key in keys}
        names = dict(zip(keys, clip_names(map(evaluation.judge_name, keys)), strict=True))
        named = [
            (names[curve.key], curve)
            for curve in evaluation.curves
            if curve.signal == main[curve.key]
        ]
    return [(name, curve, SERIES[at % len(SERIES)]) for at, (name, curve) in enumerate(named)]


def _risk_title(lines: list[_Line], splits: int) -> str:
    bounded = [line for line in lines if not line.rows[0].baseline]
    if not bounded:
        return "Mean error share of baselines"
    above = {line.name: line.values("risk") - line.values("alpha") for line in bounded}
    # Means over splits vary, and about fifteen are compared: only one that is more than three
    # standard errors above alpha counts as above.
    slack = {line.name: 3 * line.values("risk_sd") / np.sqrt(splits) for line in bounded}
    over = [name for name, gap in above.items() if (gap > slack[name]).any()]
    if over:
        return f"Above alpha on average: {', '.join(over)}"
    names = list(dict.fromkeys(line.rows[0].method for line in bounded))
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    title = f"{listed} keep{'' if len(names) > 1 else 's'} the mean error share within alpha"
    chance = any((gap > 0).any() for gap in above.values())
    return f"{title}, up to chance" if chance else title


def _coverage_title(lines: list[_Line]) -> str:
    banded = [line for line in lines if line.banded]
    if len(banded) > 1:
        most = max(banded, key=lambda line: line.rows[-1].coverage)
        last = most.rows[-1]
        return f"Most accepted at alpha {last.alpha:g}: {most.name}, {percent(last.coverage, 0)}"
    (line,) = banded
    ends = line.rows[:1] if len(line.rows) == 1 else [line.rows[0], line.rows[-1]]
    return f"{line.name} accepts " + " and ".join(
        f"{percent(row.coverage, 0)} at alpha {row.alpha:g}" for row in ends
    )


def _reliability_title(errors: list[tuple[str, float]]) -> str:
    """Whose confidence is nearest to its accuracy, of names with their ECE."""
    if not errors:
        return _NO_VERDICT
    name, ece = min(errors, key=lambda row: row[1])
    best = "Best calibrated confidence: " if len(errors) > 1 else "Calibration of the confidence: "
    return f"{best}{name}, {100 * ece:.1f} points off on average"


def _fewest_errors(curves: list[tuple[str, Curve]]) -> str:
    """The judge with the fewest errors in the half with the least doubt, if ties allow a half."""
    halves = [
        (curve.risk[int(np.argmax(reached))], name)
        for name, curve in curves
        if (reached := np.array(curve.coverage) >= 0.5).any()
    ]
    if not halves:
        return "No judge has verdicts on half of the rows"
    risk, name = min(halves)
    return f"Fewest errors in the half with the least doubt: {name}, {percent(risk, 0)}"


def _risk_coverage_title(curves: list[tuple[str, Curve]]) -> str:
    """The error share among the tenth and the half with the least doubt, and among all.

    The last is below all where rows have no verdict.
    """
    name, curve = curves[0]
    coverage = np.array(curve.coverage)
    reached = (min(share, coverage[-1]) for share in (0.1, 0.5, 1.0))
    places = dict.fromkeys(int(np.argmax(coverage >= share)) for share in reached)
    first, *rest = ((percent(curve.risk[at], 0), percent(float(coverage[at]), 0)) for at in places)
    points = [
        f"{first[0]} wrong at {first[1]} accepted",
        *(f"{risk} at {share}" for risk, share in rest),
    ]
    return f"{name}: {', '.join(points)}"
