"""Which verdicts can be trusted: methods over random splits, and how many labels are enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    table_of,
)
from adjudge.present.figures.evaluation import (
    draw_coverage,
    draw_reliability,
    draw_risk,
    draw_risk_coverage,
    panel,
)
from adjudge.present.figures.selection import plan_figure
from adjudge.present.text import begin, count, group_name, left_out, number, percent
from adjudge.results.evaluation import (
    Evaluation,
    JudgeKey,
    LabelPlan,
    MethodRisk,
    SelectionPlan,
    SignalQuality,
)

#: The alpha of the paper's Table 3; shown first if it was run.
_SHOWN_ALPHA = 0.10
_METHOD_COLUMNS = ("method", "coverage", "sd", "error share", "sd", "ratio", "above alpha")


def view_evaluation(evaluation: Evaluation) -> list[Block]:
    """The SCOPE paper's Table 1 and Table 3 for these judgments, and its pictures."""
    blocks: list[Block] = [_evaluation_headline(evaluation), _signals_table(evaluation)]
    alpha = _SHOWN_ALPHA if _SHOWN_ALPHA in evaluation.alphas else evaluation.alphas[0]
    blocks += [_methods_table(evaluation, key, alpha) for key in evaluation.judges]
    if evaluation.comparisons:
        blocks += _comparison(evaluation, alpha)
    lines = [
        *_signals_used(evaluation),
        "above alpha: share of splits with a larger error share in the test half; ratio: all "
        "errors divided by all accepted verdicts, over all splits",
        *(f"note: {line}" for line in evaluation.warnings),
        *left_out(evaluation.dropped),
    ]
    rows = [
        (
            *(evaluation.judge_name((m.judge, m.protocol)), m.signal, m.method, f"{m.alpha:g}"),
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
    assumed = explain(evaluation.assumptions)
    return [*blocks, Note(lines), *assumed, every, *_evaluation_figures(evaluation)]


def _evaluation_headline(evaluation: Evaluation) -> Headline:
    main = [(key, evaluation.main_signal(key)) for key in evaluation.judges]
    if len(main) == 1:
        ((key, quality),) = main
        name = evaluation.judge_name(key)
        if quality.accuracy is None:
            rows = count(quality.n, "labelled row")
            return Headline(begin(f"{name} gives no verdict on any of {rows}"), tone="bad")
        ranks = (
            "AUROC is not defined, because all of them are right or all are wrong"
            if quality.auroc is None
            else f"its confidence is higher on a right verdict than on a wrong one in "
            f"{percent(quality.auroc, 0)} of cases (AUROC, {quality.signal})"
        )
        return Headline(
            begin(f"{name} is right on {percent(quality.accuracy)} of ")
            + f"{count(quality.n_verdicts, 'labelled verdict')}; {ranks}"
        )
    ranked = sorted((one.accuracy, key) for key, one in main if one.accuracy is not None)
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
        name["judge"] = lambda s: evaluation.judge_name((s.judge, s.protocol))
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
        optional=("rows", "no verdict"),
    )


def _method(m: MethodRisk) -> tuple[str, ...]:
    return (
        m.method,
        *(number(value) for value in (m.coverage, m.coverage_sd, m.risk, m.risk_sd, m.ratio)),
        percent(m.share_above, 0),
    )


def _methods_table(evaluation: Evaluation, key: JudgeKey, alpha: float) -> Table:
    return Table(
        _METHOD_COLUMNS,
        [_method(m) for m in evaluation.paper_rows(key) if m.alpha == alpha],
        caption=f"{evaluation.judge_name(key)}: alpha {alpha:g}, "
        f"{count(evaluation.splits, 'random split')}",
    )


def _comparison(evaluation: Evaluation, alpha: float) -> list[Block]:
    """Each doubt under each guarantee, and whether learning paid in these splits."""
    order = list(dict.fromkeys(one.method for one in evaluation.comparisons))
    here = [one for one in evaluation.comparisons if one.alpha == alpha]
    here.sort(key=lambda one: order.index(one.method))
    table = table_of(
        here,
        {
            "guarantee": lambda one: one.method,
            "doubt of": lambda one: group_name(one.candidate, none="the judge"),
            "coverage": lambda one: number(one.coverage),
            "sd": lambda one: number(one.coverage_sd),
            "error share": lambda one: number(one.risk),
            "above alpha": lambda one: percent(one.share_above, 0),
        },
        caption=f"Does learning pay? Each doubt at alpha {alpha:g}, on the first "
        f"{evaluation.comparison_splits:,} splits; learning uses part of each calibration half",
        text_columns=2,
    )
    lines = []
    for method in order:
        own = [one for one in here if one.method == method]
        learned = next((one for one in own if one.learned), own[-1])
        best = max((one for one in own if one is not learned), key=lambda one: one.coverage)
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
    parts = [f"{', '.join(methods)} on {signal}" for signal, methods in used.items()]
    return [f"signals, as in the SCOPE paper: {'; '.join(parts)}"]


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


def view_plan(plan: SelectionPlan) -> list[Block]:
    """Coverage against labels, and from which number on more of them add little."""
    return [
        _plan_headline(plan),
        table_of(
            plan.points,
            {
                "labels": lambda p: number(p.n) + (" *" if p.extrapolated else "  "),
                "coverage": lambda p: number(p.coverage),
                "sd": lambda p: number(p.coverage_sd),
                "error share": lambda p: number(p.risk),
                "above alpha": lambda p: percent(p.share_above, 0),
                "accepts any": lambda p: percent(p.share_feasible, 0),
            },
            caption=f"{group_name(plan.judge, none='the judge')}: {plan.guarantee} at alpha "
            f"{plan.alpha:g}, {count(plan.n_labelled, 'label')}, "
            f"{count(plan.repeats, 'draw')} each",
            text_columns=0,
        ),
        Note(
            [
                "above alpha: share of draws with a larger error share; accepts any: share of "
                "draws that accept a verdict; * extrapolated",
                *left_out(plan.dropped),
            ]
        ),
        *explain(plan.assumptions),
        Figure(
            "plan",
            partial(plan_figure, plan),
            "Stop labelling where the line flattens; the band is one standard deviation over the "
            "draws.",
        ),
    ]


def view_label_plan(plan: LabelPlan) -> list[Block]:
    """Which rows to label, below which cut, and what the labels are good for."""
    if plan.cut is None:
        return [
            Headline(f"Label these {plan.n:,} of {count(plan.n_pool, 'pair')}, drawn at random"),
            Note(["They can calibrate a policy and estimate a rate.", *left_out(plan.dropped)]),
        ]
    most = percent(plan.cut.share)
    return [
        Headline(
            f"Label these {plan.n:,} pairs, drawn at random among {plan.cut.name}",
            f"A policy from these labels accepts at most {most} of the verdicts.",
        ),
        Facts(
            [
                Fact("scored verdicts", number(plan.n_pool)),
                Fact(
                    "below the cut",
                    number(plan.n_below),
                    f"an uncertainty of at most {plan.cut.at:.6g}; tied rows are included",
                ),
            ]
        ),
        Note(
            [
                "Use them with pac, which then has more labels near its threshold; scope gains "
                "nothing from them.",
                f"calibrate, select and serve never accept above the cut: the other "
                f"{count(plan.n_pool - plan.n_below, 'verdict')} go to people.",
                "Do not choose the share from these labels: to try another share, draw new labels.",
                "They cannot estimate a rate; labels drawn at random can.",
                *(f"note: {line}" for line in plan.warnings),
                *left_out(plan.dropped),
            ]
        ),
    ]


def _plan_headline(plan: SelectionPlan) -> Headline:
    last = plan.points[-1]
    rule = f"{plan.guarantee} at alpha {plan.alpha:g}"
    if last.coverage < plan.gain:
        return Headline(
            f"{rule} accepts {percent(last.coverage)} of the verdicts even with "
            f"{count(last.n, 'label')}",
            "Allow a larger alpha, or use a better judge.",
            tone="bad",
        )
    if plan.recommended is None:
        gain = 100 * (last.coverage - plan.points[-2].coverage)
        return Headline(
            f"{rule} accepts {percent(last.coverage)} of the verdicts with "
            f"{count(last.n, 'label')}; the last doubling added {gain:.1f} points",
            f"Label {last.n:,} or more.",
        )
    at = next(p for p in plan.points if p.n == plan.recommended)
    return Headline(
        f"{rule} accepts {percent(at.coverage)} of the verdicts with {count(at.n, 'label')}; "
        f"doubling them adds less than {100 * plan.gain:g} points of coverage"
    )
