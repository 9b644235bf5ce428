"""Sets of scores around a judge's score: coverage, size, advice, and what their width says."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from adjudge.present.blocks import Block, Figure, Headline, Table, explain, notes_of, table_of
from adjudge.present.figures.scores import (
    agreement_figure,
    coverage_figure,
    sizes_figure,
    width_figure,
)
from adjudge.present.text import (
    DASH,
    count,
    group_name,
    interval,
    left_out,
    level,
    number,
    percent,
    signed,
    span,
)
from adjudge.present.views._bias_sentences import MANY_ROWS, describe
from adjudge.results.diagnosis import HumanAgreement, ScoreDiagnosis, ScoreSetGroup
from adjudge.statistics.numbers import mean_known


def view_scores(result: ScoreDiagnosis) -> list[Block]:
    """Coverage and size of the sets, advice by size, agreement with people."""
    key = result.main_method, result.main_alpha
    main = [g for g in result.groups if (g.method, g.alpha) == key]
    ends = f"{level(result.confidence_level)} interval"
    return [
        _headline(result, main),
        *_sizes(result),
        _advice(result, main),
        table_of(
            result.human_agreement,
            {
                "judge, criterion": _name,
                "agree": lambda h: percent(h.agreement.raw),
                "kappa": lambda h: number(h.agreement.kappa, 2),
                ends: lambda h: interval(h.agreement.kappa_low, h.agreement.kappa_high, 2),
                "Krippendorff's alpha": lambda h: number(h.agreement.alpha, 2),
                "two people": lambda h: percent(c.raw if (c := h.agreement.ceiling) else None),
            },
            caption="Agreement with people (kappa with quadratic weights)",
            optional=("Krippendorff's alpha",),
        ),
        *notes_of([*_remarks(result), *left_out(result.dropped)]),
        *notes_of([f"Promise: {result.assumptions[0]}"] if result.assumptions else []),
        *explain(result.assumptions[1:]),
        *_figures(result),
    ]


def _name(group: ScoreSetGroup | HumanAgreement) -> str:
    return group_name(group.judge, group.criterion)


def _advice(result: ScoreDiagnosis, main: list[ScoreSetGroup]) -> Table:
    """Rows by the size of their set, and how size and error correlate if that is known."""
    columns: dict[str, Callable[[ScoreSetGroup], str]] = {
        "judge, criterion": _name,
        "trust": lambda g: percent(g.trust),
        "look": lambda g: percent(g.look),
        "human": lambda g: percent(g.human),
    }
    caption = f"Rows by size of their {result.main_method} set at alpha {result.main_alpha:g} "
    caption += "(1 or 2 scores: trust; the entire scale: human; between: look)"
    if result.main_method in result.telling_methods:
        columns["Spearman"] = lambda g: signed(g.spearman, 2)
        caption += ", and Spearman of size and error"
    return table_of(main, columns, caption=caption)


def _figures(result: ScoreDiagnosis) -> list[Block]:
    """In the order of importance; widths are left out if they are not informative."""
    telling = result.telling_methods
    compared = {entry.method for entry in result.agreement} & set(telling)
    figures = [
        Figure(
            "sizes",
            partial(sizes_figure, result),
            "Mean number of scores in a set, and coverage on held-out documents "
            "(bold: below 1 - alpha).",
        ),
        Figure(
            "coverage",
            partial(coverage_figure, result),
            "Coverage on held-out documents at each alpha; the dashed line is 1 - alpha.",
        ),
    ]
    if telling:
        caption = "Mean error of the judge by the number of scores in the set."
        figures.append(Figure("width", partial(width_figure, result, telling), caption))
    if compared:
        caption = "Whether two judges give the same rows wide sets."
        figures.append(Figure("agreement", partial(agreement_figure, result, telling), caption))
    return [*figures]


def _headline(result: ScoreDiagnosis, main: list[ScoreSetGroup]) -> Headline:
    documents = count(result.documents, "labelled document")
    if all(g.whole_scale for g in result.groups):
        return Headline(f"Every set is the entire scale: {documents} are too few", tone="bad")
    whole = result.scale[1] - result.scale[0] + 1
    sizes, covered = [g.mean_size for g in main], [g.coverage for g in main]
    return Headline(
        f"{result.sets.capitalize()} sets for {percent(1 - result.main_alpha)} coverage contain "
        f"{span(number(min(sizes), 2), number(max(sizes), 2))} of {whole} scores on average and "
        f"cover {span(percent(min(covered)), percent(max(covered)))} on held-out documents"
    )


def _sizes(result: ScoreDiagnosis) -> list[Block]:
    """A table for each judge, the main method first.

    The names of both would leave 80 columns no room for the numbers.
    """
    levels = sorted({g.alpha for g in result.groups})
    judges: dict[str | None, dict[tuple[str | None, str], dict[float, str]]] = {}
    for g in sorted(result.groups, key=lambda g: g.method != result.main_method):
        cells = judges.setdefault(g.judge, {}).setdefault((g.criterion, g.method), {})
        cells[g.alpha] = f"{percent(g.coverage).removesuffix(' %')} {number(g.mean_size, 2)}"
    return [
        Table(
            ("criterion", "method", *(f"α {one:g}" for one in levels)),
            [
                (group_name(criterion, none="all"), method, *(cells.get(a, DASH) for a in levels))
                for (criterion, method), cells in rows.items()
            ],
            caption=f"{group_name(judge, none='the judge')}: coverage in % and mean size of sets "
            f"at each alpha, scale {result.scale[0]} to {result.scale[1]}",
            text_columns=2,
        )
        for judge, rows in sorted(judges.items(), key=lambda named: named[0] or "")
    ]


def _remarks(result: ScoreDiagnosis) -> list[str]:
    """Odd judges, uninformative sets, what learning gained, what width shows, own families."""
    judges = dict.fromkeys(entry.judge for entry in result.human_agreement)
    lines = [line for judge in judges for line in _odd_scores(result, judge)]
    whole = result.scale[1] - result.scale[0] + 1
    for alpha in sorted({g.alpha for g in result.groups}):
        sizes = {g.mean_size for g in result.groups if g.alpha == alpha}
        if sizes == {float(whole)}:
            lines.append(f"alpha {alpha:g}: every set is the entire scale{_reason(result, alpha)}")
    lines += _gain(result)
    lines += [
        f"set size against error, {entry.method} sets: Spearman {signed(entry.pooled, 2)} over all "
        f"rows, {signed(entry.within, 2)} within one judge and criterion"
        for entry in result.pooled
        if entry.alpha == result.main_alpha and entry.method in result.telling_methods
    ]
    return [
        *lines,
        *(f"{group_name(one.judge, none='the judge')} {describe(one)}" for one in result.family),
    ]


def _gain(result: ScoreDiagnosis) -> list[str]:
    """Mean size next to that of residual sets with the same promise."""
    methods = dict.fromkeys(g.method for g in result.groups)
    residual = "per-criterion" if "per-criterion" in methods else "constant"
    if result.main_method not in result.telling_methods or residual not in methods:
        return []
    main, other = (
        mean_known(
            g.mean_size for g in result.groups if (g.method, g.alpha) == (method, result.main_alpha)
        )
        for method in (result.main_method, residual)
    )
    return [
        f"{result.main_method} sets have {number(main, 2)} scores on average over judges and "
        f"criteria, residual sets {number(other, 2)}, at alpha {result.main_alpha:g}"
    ]


def _odd_scores(result: ScoreDiagnosis, judge: str | None) -> list[str]:
    """A judge whose scores are all the same, or always the human score."""
    who = group_name(judge, none="the judge")
    own = [entry for entry in result.human_agreement if entry.judge == judge]
    given = [{value for value, n in e.agreement.judge_values.items() if n} for e in own]
    rows = sum(entry.agreement.n for entry in own)
    if len(set().union(*given)) == 1:
        [value] = given[0]
        return [
            f"{who} gives {value} to all {rows:,} rows: its sets describe only how people score"
        ]
    lines = [
        f"{who} gives {values.pop()} to all {entry.agreement.n:,} rows of {entry.criterion}"
        for entry, values in zip(own, given, strict=True)
        if len(values) == 1
    ]
    errors = [one.mean_error for g in result.groups if g.judge == judge for one in g.by_width]
    if errors and not any(errors) and rows >= MANY_ROWS:
        lines.append(
            f"{who} equals the human score on all {rows:,} rows: check that it did not see the "
            "labels, or that the labels were not made by it"
        )
    return lines


def _reason(result: ScoreDiagnosis, alpha: float) -> str:
    """Half of the documents calibrate; D of them reach 1 - alpha only if D >= (1 - alpha)/alpha."""
    exact = Fraction(str(alpha))
    needed, half = math.ceil((1 - exact) / exact), result.documents // 2
    if result.weigh != "documents" or half >= needed:
        return ""
    return f", because calibration needs {needed} labelled documents and has {half}"
