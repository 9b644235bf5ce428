"""Diagnoses as terminal tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from adjudge.present.tables import interval, number, percent, table
from adjudge.results.diagnosis import named

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adjudge.results.bias import BiasReport, JudgeBias
    from adjudge.results.diagnosis import ScoreDiagnosis, Transitivity


def transitivity_view(result: Transitivity) -> list[RenderableType]:
    """Cycles per group beside what noise would show, the worst documents, the findings."""
    groups = table(
        [
            "judge, criterion",
            "documents",
            "cycles",
            "triples",
            "mean",
            "median",
            "max",
            "with a cycle",
            "noisy judge",
            "its share",
            "same rate",
        ],
        (
            (
                named(g.judge, g.criterion),
                number(g.documents),
                number(g.cycles),
                number(g.triples),
                percent(g.mean_rate, 1),
                percent(g.median_rate, 1),
                percent(g.max_rate, 1),
                percent(g.share_with_cycle, 1),
                percent(g.expected_rate, 1),
                percent(g.expected_share, 1),
                percent(g.same_rate_share, 1),
            )
            for g in result.groups
        ),
        title="Cycles per document",
    )
    edges = table(
        ["judge, criterion", "decisive", "tied", "missing", "complete documents", "repeats agree"],
        (
            (
                named(g.judge, g.criterion),
                number(g.decisive_edges),
                number(g.tied_edges),
                number(g.missing_edges),
                number(g.complete),
                percent(g.win_rate_confidence, 1),
            )
            for g in result.groups
        ),
        title="Comparisons they rest on",
    )
    parts: list[RenderableType] = [groups, edges]
    if result.worst:
        parts.append(
            table(
                ["document", "judge, criterion", "cycle to read first", "rate", "cycles"],
                (
                    (
                        w.doc_id,
                        named(w.judge, w.criterion),
                        " > ".join((*w.examples[0].models, w.examples[0].models[0]))
                        if w.examples
                        else "",
                        percent(w.rate, 1),
                        f"{w.cycles} of {w.triples}",
                    )
                    for w in result.worst
                ),
                title="Look at these first",
                text_columns=3,
            )
        )
    return [*parts, "\n".join(result.lines())]


def scores_view(result: ScoreDiagnosis) -> list[RenderableType]:
    """Coverage and size per judge, criterion and method at every level, and the findings."""
    levels = sorted({g.alpha for g in result.groups})
    rows: dict[tuple[str | None, str | None, str], dict[float, tuple[str, str]]] = {}
    for g in result.groups:
        cells = rows.setdefault((g.judge, g.criterion, g.method), {})
        cells[g.alpha] = (percent(g.coverage, 1), number(g.mean_size, 2))
    sizes = table(
        [
            "judge, criterion",
            "method",
            *(f"{what} {level:g}" for level in levels for what in ("cover", "size")),
        ],
        (
            (
                named(judge, criterion),
                method,
                *(cell for level in levels for cell in cells.get(level, ("–", "–"))),
            )
            for (judge, criterion, method), cells in rows.items()
        ),
        title=f"Sets on a scale of {result.scale[0]} to {result.scale[1]}, by alpha",
        text_columns=2,
    )
    people = table(
        ["judge, criterion", "raw", "kappa", "", "alpha", "two people"],
        (
            (
                named(h.judge, h.criterion),
                percent(h.agreement.raw, 1),
                number(h.agreement.kappa, 2),
                interval(h.agreement.kappa_low, h.agreement.kappa_high, 2),
                number(h.agreement.alpha, 2),
                percent(h.agreement.ceiling.raw if h.agreement.ceiling else None, 1),
            )
            for h in result.human_agreement
        ),
        title="Agreement with people (kappa with quadratic weights)",
    )
    return [sizes, people, "\n".join(result.lines())]


def bias_view(result: BiasReport) -> list[RenderableType]:
    """One row per judge and bias with its interval, then the findings."""
    rows = [row for judge in result.judges for row in _bias_rows(judge)]
    made = table(
        ["judge", "bias", "measure", "value", "interval", "unbiased", "n"],
        rows,
        title=f"Biases, intervals clustered by {result.clustered_by}",
        text_columns=3,
    )
    return [made, "\n".join(result.lines())]


def _bias_rows(judge: JudgeBias) -> Iterable[tuple[str, ...]]:
    who = named(judge.judge, None)
    if (p := judge.position) is not None:
        yield (
            who,
            "position",
            "first slot",
            number(p.first_share),
            interval(p.low, p.high),
            "0.5",
            number(p.n),
        )
        yield (
            who,
            "position",
            "flips",
            number(p.flip_share),
            interval(p.flip_low, p.flip_high),
            "0",
            number(p.n),
        )
    if (v := judge.verbosity) is not None:
        yield (
            who,
            "verbosity",
            "longer wins",
            number(v.longer_share),
            interval(v.low, v.high),
            "0.5",
            number(v.n),
        )
    if (f := judge.family) is not None:
        yield (
            who,
            "family",
            f"excess against {f.reference}",
            number(f.excess),
            interval(f.low, f.high),
            "0",
            number(f.n),
        )
    if (a := judge.agreement) is not None:
        yield (
            who,
            "agreement",
            "raw",
            number(a.raw),
            interval(a.raw_low, a.raw_high),
            "–",
            number(a.n),
        )
        yield (
            who,
            "agreement",
            "kappa",
            number(a.kappa),
            interval(a.kappa_low, a.kappa_high),
            "–",
            number(a.n),
        )
    if (r := judge.reliability) is not None:
        yield (
            who,
            "reliability",
            "over-confidence",
            number(r.over_confidence),
            interval(r.low, r.high),
            "0",
            number(r.n),
        )
        yield (
            who,
            "reliability",
            "ECE, equal mass",
            number(r.ece_equal_mass),
            interval(r.ece_low, r.ece_high),
            number(r.ece_if_calibrated),
            number(r.n),
        )
    if (c := judge.contradictions) is not None:
        yield (
            who,
            "contradictions",
            "verdict against scores",
            number(c.share),
            interval(c.low, c.high),
            "0",
            number(c.n),
        )
