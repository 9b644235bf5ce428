"""Where the judge breaks: biases, cycles, scores that people do not share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from adjudge._text import (
    DASH,
    count,
    group_name,
    interval,
    left_out,
    level,
    number,
    percent,
    percent_interval,
    signed,
    span,
)
from adjudge.present.blocks import Block, Figure, Headline, Note, Table, table_of
from adjudge.present.figures.diagnosis import cycles_figure
from adjudge.present.figures.scores import (
    agreement_figure,
    coverage_figure,
    sizes_figure,
    width_figure,
)
from adjudge.present.views import View
from adjudge.present.views._bias import MANY_ROWS, describe, view_diagnosis, view_report
from adjudge.results.base import Result
from adjudge.results.bias import DIAGNOSES, BiasReport
from adjudge.results.diagnosis import (
    CycleCount,
    HumanAgreement,
    ScoreDiagnosis,
    ScoreSetGroup,
    Transitivity,
    TransitivityGroup,
    WorstDocument,
)

TITLE = "Where the judge breaks"
_NO_TRIPLE = "no document has three models with decisive verdicts among them"
#: A rate is more than noise explains where at most this share of the redraws reaches it.
_TAIL = 0.025


# --- cycles ----------------------------------------------------------------------------------


def view_transitivity(result: Transitivity) -> list[Block]:
    """Cycle rates and documents with a cycle, both with what noise alone would show."""
    ends = f"{level(result.confidence_level)} interval"
    lines = [f"{_name(g)}: {describe_cycles(g)}" for g in result.groups]
    blocks: list[Block] = [
        _cycles_headline(result),
        table_of(
            result.groups,
            {
                "judge, criterion": _name,
                "documents": lambda g: number(g.documents),
                "mean": lambda g: percent(g.mean_rate),
                ends: lambda g: percent_interval(g.mean_low, g.mean_high),
                "median": lambda g: percent(g.median_rate),
                "max": lambda g: percent(g.max_rate),
                "noisy judge": lambda g: percent(g.expected_rate),
            },
            caption="Cycles among the triples of a document, and for a noisy transitive judge",
        ),
        table_of(
            result.groups,
            {
                "judge, criterion": _name,
                "share": lambda g: percent(g.share_with_cycle),
                ends: lambda g: percent_interval(g.share_low, g.share_high),
                "noisy judge": lambda g: percent(g.expected_share),
                "same rate at random": lambda g: percent(g.same_rate_share),
            },
            caption="Documents with a cycle",
        ),
        table_of(
            result.groups,
            {
                "judge, criterion": _name,
                "cycles": lambda g: number(g.cycles),
                "triples": lambda g: number(g.triples),
                "decisive": lambda g: number(g.decisive_edges),
                "tied": lambda g: number(g.tied_edges),
                "missing": lambda g: number(g.missing_edges),
                "repeats agree": lambda g: percent(g.win_rate_confidence),
            },
            caption="Comparisons behind them",
        ),
        *_worst(result),
        Note([*lines, *left_out(result.dropped), *result.assumptions]),
    ]
    if any(g.rates for g in result.groups):
        caption = (
            "Each dot is a document; the bar is the mean rate that a transitive judge with noise "
            "shows on the same comparisons."
        )
        blocks.append(Figure("cycles", lambda: cycles_figure(result), caption))
    return blocks


def _worst(result: Transitivity) -> list[Block]:
    def cycle(document: WorstDocument) -> str:
        models = document.examples[0].models if document.examples else ()
        return " > ".join((*models, *models[:1])) or DASH

    table = table_of(
        result.worst,
        {
            "document": lambda d: d.doc_id,
            "judge, criterion": _name,
            "cycle to read first": cycle,
            "rate": lambda d: percent(d.rate),
            "cycles": lambda d: f"{d.cycles:,} of {d.triples:,}",
        },
        caption="Documents to read first",
        text_columns=3,
    )
    return [table] if result.worst else []


def _name(group: TransitivityGroup | WorstDocument | ScoreSetGroup | HumanAgreement) -> str:
    return group_name(group.judge, group.criterion)


def _cycles_headline(result: Transitivity) -> Headline:
    rates = [g.mean_rate for g in result.groups if g.mean_rate is not None]
    shares = [g.share_with_cycle for g in result.groups if g.share_with_cycle is not None]
    if not rates or not shares:
        return Headline(f"No cycle could be counted: {_NO_TRIPLE}", tone="bad")
    more = sum(g.p_value is not None and g.p_value <= _TAIL for g in result.groups)
    text = (
        f"{span(percent(min(rates)), percent(max(rates)))} of a document's triples are cycles, "
        f"{span(percent(min(shares), 0), percent(max(shares), 0))} of documents have one: "
    )
    if len(rates) == 1:
        text += "more than noise explains" if more else "not shown to be more than noise"
    else:
        text += f"more than noise explains in {more} of {len(rates)} groups"
    return Headline(text, tone="bad" if more else "plain")


def describe_cycles(g: TransitivityGroup) -> str:
    """One group's rates, what noise would show, and which of the two is larger."""
    if g.mean_rate is None or g.share_with_cycle is None:
        return f"{_NO_TRIPLE}: nothing to count"
    parts = [
        f"{percent(g.mean_rate)} of a document's triples are cycles and "
        f"{percent(g.share_with_cycle, 0)} of documents have one"
    ]
    if g.expected_rate is not None and g.p_value is not None:
        parts.append(
            "a transitive judge with one ranking and noise would show "
            f"{percent(g.expected_rate)} and {percent(g.expected_share, 0)}"
        )
        if g.p_value <= _TAIL:
            parts.append(f"more than that noise explains (p = {number(g.p_value)})")
        elif g.expected_rate_low is not None and g.mean_rate < g.expected_rate_low:
            parts.append("fewer than that: noise around one ranking does not describe this judge")
        else:
            parts.append("noise around one ranking explains them")
    if g.mean_rate > 0 and g.same_rate_share is not None and g.same_rate_low is not None:
        parts.append(
            f"the same rate at random would touch {percent(g.same_rate_share, 0)} of documents"
            + (": the cycles are in fewer" if g.share_with_cycle < g.same_rate_low else "")
        )
    return "; ".join(parts)


def view_cycle_count(result: CycleCount) -> list[Block]:
    """The cycles of one tournament."""
    models = count(result.models, "model")
    if result.rate is None:
        return [Headline(f"No cycle could be counted: no decisive triple among {models}")]
    text = f"{percent(result.rate)} of the decisive triples of {models} are cycles"
    blocks: list[Block] = [Headline(f"{text} ({result.cycles:,} of {result.triples:,})")]
    if not result.complete:
        blocks.append(Note(["ties and missing comparisons are in no triple"]))
    return blocks


# --- scores ----------------------------------------------------------------------------------


def view_scores(result: ScoreDiagnosis) -> list[Block]:
    """Coverage and size of the sets, advice by size, agreement with people."""
    key = result.main_method, result.main_alpha
    main = [g for g in result.groups if (g.method, g.alpha) == key]
    ends = f"{level(result.confidence_level)} interval"
    return [
        _scores_headline(result, main),
        *_sizes(result),
        table_of(
            main,
            {
                "judge, criterion": _name,
                "trust": lambda g: percent(g.trust),
                "look": lambda g: percent(g.look),
                "human": lambda g: percent(g.human),
                "Spearman": lambda g: signed(g.spearman, 2),
            },
            caption=f"Rows by size of their set (at most 2 scores: trust; the whole scale: human) "
            f"and Spearman of size and error, at alpha {result.main_alpha:g}",
        ),
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
        ),
        Note([*_score_remarks(result), *left_out(result.dropped), *result.assumptions]),
        *_score_figures(result),
    ]


def _score_figures(result: ScoreDiagnosis) -> list[Block]:
    """In the order of importance; agreement needs two judges."""
    figures = {
        "sizes": (
            sizes_figure,
            "Mean number of scores in a set, and coverage on held-out documents "
            "(bold: below 1 - alpha).",
        ),
        "width": (width_figure, "Mean error of the judge by the number of scores in the set."),
        "coverage": (
            coverage_figure,
            "Coverage on held-out documents at each alpha; the dashed line is 1 - alpha.",
        ),
        "agreement": (agreement_figure, "Whether two judges give the same rows wide sets."),
    }
    return [
        Figure(name, partial(draw, result), caption)
        for name, (draw, caption) in figures.items()
        if name != "agreement" or result.agreement
    ]


def _scores_headline(result: ScoreDiagnosis, main: list[ScoreSetGroup]) -> Headline:
    documents = count(result.documents, "labelled document")
    if all(g.whole_scale for g in result.groups):
        return Headline(f"Every set is the whole scale: {documents} are too few", tone="bad")
    whole = result.scale[1] - result.scale[0] + 1
    sizes, covered = [g.mean_size for g in main], [g.coverage for g in main]
    return Headline(
        f"Sets calibrated for {percent(1 - result.main_alpha)} coverage have "
        f"{span(number(min(sizes), 2), number(max(sizes), 2))} of {whole} scores on average and "
        f"cover {span(percent(min(covered)), percent(max(covered)))} on held-out documents"
    )


def _sizes(result: ScoreDiagnosis) -> list[Block]:
    """A table for each judge: the names of both would leave 80 columns no room for the numbers."""
    levels = sorted({g.alpha for g in result.groups})
    judges: dict[str | None, dict[tuple[str | None, str], dict[float, str]]] = {}
    for g in result.groups:
        cells = judges.setdefault(g.judge, {}).setdefault((g.criterion, g.method), {})
        cells[g.alpha] = f"{percent(g.coverage)} {number(g.mean_size, 2)}"
    return [
        Table(
            ("criterion", "method", *(f"alpha {one:g}" for one in levels)),
            [
                (group_name(criterion, none="all"), method, *(cells.get(a, DASH) for a in levels))
                for (criterion, method), cells in rows.items()
            ],
            caption=f"{group_name(judge, none='the judge')}: coverage and mean size of sets, "
            f"scale {result.scale[0]} to {result.scale[1]}",
            text_columns=2,
        )
        for judge, rows in judges.items()
    ]


def _score_remarks(result: ScoreDiagnosis) -> list[str]:
    """Judges that do not judge, sets that say nothing, what the width says, own families."""
    judges = dict.fromkeys(entry.judge for entry in result.human_agreement)
    lines = [line for judge in judges for line in _odd_scores(result, judge)]
    whole = result.scale[1] - result.scale[0] + 1
    for alpha in sorted({g.alpha for g in result.groups}):
        sizes = {g.mean_size for g in result.groups if g.alpha == alpha}
        if sizes == {float(whole)}:
            lines.append(f"alpha {alpha:g}: every set is the whole scale{_reason(result, alpha)}")
    lines += [
        f"width against error, {entry.method} sets: Spearman {signed(entry.pooled, 2)} over all "
        f"rows, {signed(entry.within, 2)} within one judge and criterion"
        for entry in result.pooled
        if entry.alpha == result.main_alpha
    ]
    return [
        *lines,
        *(f"{group_name(one.judge, none='the judge')} {describe(one)}" for one in result.family),
    ]


def _odd_scores(result: ScoreDiagnosis, judge: str | None) -> list[str]:
    """A judge that gives one score to everything, or always the human one."""
    who = group_name(judge, none="the judge")
    own = [entry for entry in result.human_agreement if entry.judge == judge]
    given = [{value for value, n in e.agreement.judge_values.items() if n} for e in own]
    rows = sum(entry.agreement.n for entry in own)
    if len(set().union(*given)) == 1:
        [value] = given[0]
        return [
            f"{who} gives {value} to all {rows:,} rows: its sets only describe how people score"
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
    return f", since calibration needs {needed} labelled documents and half of them is {half}"


VIEWS: Mapping[type[Result], View] = {
    BiasReport: view_report,
    Transitivity: view_transitivity,
    ScoreDiagnosis: view_scores,
    **dict.fromkeys(DIAGNOSES, view_diagnosis),
    CycleCount: view_cycle_count,
}
