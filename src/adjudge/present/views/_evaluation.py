"""Which verdicts can be trusted: methods over random splits, and how many labels are enough."""

from __future__ import annotations

from functools import partial

from adjudge._text import count, group_name, left_out, number, percent
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
from adjudge.present.figures.selection import (
    draw_coverage,
    draw_reliability,
    draw_risk,
    draw_risk_coverage,
    panel,
    plan_figure,
)
from adjudge.results.evaluation import Evaluation, JudgeKey, LabelPlan, MethodRisk, SelectionPlan

#: The alpha of the paper's Table 3; shown first where it was run.
_SHOWN_ALPHA = 0.10
_METHOD_COLUMNS = ("method", "coverage", "sd", "error share", "sd", "ratio", "above alpha")


def view_evaluation(evaluation: Evaluation) -> list[Block]:
    """The SCOPE paper's Table 1 and Table 3 for these judgments, and its pictures."""
    blocks: list[Block] = [_evaluation_headline(evaluation), signals_table(evaluation)]
    alpha = _SHOWN_ALPHA if _SHOWN_ALPHA in evaluation.alphas else evaluation.alphas[0]
    blocks += [_methods_table(evaluation, key, alpha) for key in evaluation.judges]
    if evaluation.comparisons:
        blocks += _comparison(evaluation, alpha)
    lines = [
        *_signals_used(evaluation),
        "above alpha: share of splits whose test half had a larger error share; ratio: all errors "
        "over all accepted, across splits",
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
            return Headline(
                f"{name} gives no verdict on any of {count(quality.n, 'labelled row')}", tone="bad"
            )
        ranks = (
            "its doubt cannot be ranked, for all of them are alike"
            if quality.auroc is None
            else f"its confidence is higher on a right one than on a wrong one "
            f"{percent(quality.auroc, 0)} of the time (AUROC, {quality.signal})"
        )
        return Headline(
            f"{name} is right on {percent(quality.accuracy)} of "
            f"{count(quality.n_verdicts, 'labelled verdict')}; {ranks}"
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


def signals_table(evaluation: Evaluation, caption: str = "") -> Table:
    """How good each judge's signals of doubt are."""
    return table_of(
        evaluation.signals,
        {
            "judge": lambda s: evaluation.judge_name((s.judge, s.protocol)),
            "signal": lambda s: s.signal,
            "rows": lambda s: number(s.n),
            "no verdict": lambda s: number(s.n_no_verdict),
            "accuracy": lambda s: number(s.accuracy),
            "ECE": lambda s: number(s.ece),
            "AUROC": lambda s: number(s.auroc),
            "AUPRC": lambda s: number(s.auprc),
        },
        caption=caption
        or "How good each signal of doubt is on labelled rows with a verdict (right verdicts are "
        "positives)",
        text_columns=2,
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
        f"{count(evaluation.splits, 'random half', 'random halves')}",
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
        caption=f"Does it pay? alpha {alpha:g}, the first {evaluation.comparison_splits:,} halves; "
        "what is learned takes its share of each half's labels",
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
    return [f"as in the paper, methods run on these signals: {'; '.join(parts)}"]


def _evaluation_figures(evaluation: Evaluation) -> list[Block]:
    figures = {
        "risk": (
            draw_risk,
            "Below the dashed line a method's mean error share over splits is within alpha. The "
            "band is one standard deviation.",
        ),
        "coverage": (
            draw_coverage,
            "Choose the smallest alpha at which enough verdicts are accepted.",
        ),
        "reliability": (
            draw_reliability,
            "Where dots lie below the diagonal, the judge is less often right than it says; the "
            "larger the dot, the more rows.",
        ),
        "risk-coverage": (
            draw_risk_coverage,
            "Look how far the curve stays below the error share you allow; calibrate before you "
            "promise it.",
        ),
    }
    return [
        Figure(name, partial(panel, draw, evaluation), caption)
        for name, (draw, caption) in figures.items()
    ]


def view_plan(plan: SelectionPlan) -> list[Block]:
    """Coverage against labels, and from where on more of them buy little."""
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
                "accepting": lambda p: percent(p.share_feasible, 0),
            },
            caption=f"{group_name(plan.judge, none='the judge')}: {plan.guarantee} at alpha "
            f"{plan.alpha:g}, {count(plan.n_labelled, 'label')}, "
            f"{count(plan.repeats, 'draw')} each",
            text_columns=0,
        ),
        Note(
            [
                "above alpha, accepting: share of the draws; * extrapolated",
                *left_out(plan.dropped),
            ]
        ),
        *explain([f"It assumes: {line}" for line in plan.assumptions]),
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
            f"A policy made of them accepts at most {most} of the verdicts.",
        ),
        Facts(
            [
                Fact("measured verdicts", number(plan.n_pool)),
                Fact(
                    "below the cut",
                    number(plan.n_below),
                    f"an uncertainty of at most {plan.cut.at:.6g}; tied rows enter together",
                ),
            ]
        ),
        Note(
            [
                "They are for pac, which has more labels where its threshold can be; scope gains "
                "nothing from them.",
                f"calibrate, select and serve never go beyond the cut: the other "
                f"{count(plan.n_pool - plan.n_below, 'verdict')} are for people.",
                "The share must not come from these labels: to try another, draw others.",
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
            f"{count(last.n, 'label')}; the last doubling bought {gain:.1f} points",
            f"Label {last.n:,} or more.",
        )
    at = next(p for p in plan.points if p.n == plan.recommended)
    return Headline(
        f"From {count(at.n, 'label')} on ({percent(at.coverage)} accepted), one more doubling "
        f"buys less than {100 * plan.gain:g} points of coverage"
    )
