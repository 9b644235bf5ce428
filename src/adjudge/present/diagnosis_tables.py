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
        ["judge, criterion", "docs", "mean", "median", "max", "docs hit", "noisy judge", "strewn"],
        (
            (
                named(g.judge, g.criterion),
                number(g.documents),
                percent(g.mean_rate, 1),
                percent(g.median_rate, 1),
                percent(g.max_rate, 1),
                percent(g.share_with_cycle),
                f"{percent(g.expected_rate)}, {percent(g.expected_share)}",
                percent(g.same_rate_share),
            )
            for g in result.groups
        ),
        title="Cycles per document: rate, documents hit, and both for a noisy transitive judge",
    )
    edges = table(
        ["judge, criterion", "cycles", "triples", "decisive", "tied", "missing", "repeats agree"],
        (
            (
                named(g.judge, g.criterion),
                number(g.cycles),
                number(g.triples),
                number(g.decisive_edges),
                number(g.tied_edges),
                number(g.missing_edges),
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
    judges: dict[str | None, dict[tuple[str | None, str], dict[float, str]]] = {}
    for g in result.groups:
        rows = judges.setdefault(g.judge, {})
        cells = rows.setdefault((g.criterion, g.method), {})
        cells[g.alpha] = f"{percent(g.coverage)} {number(g.mean_size, 2)}"
    scale = f"covered and mean size, scale {result.scale[0]} to {result.scale[1]}"
    # A table for each judge: the names of both would leave 80 columns no room for the numbers.
    sizes = [
        table(
            ["criterion", "method", *(f"alpha {level:g}" for level in levels)],
            (
                (criterion or "all", method, *(cells.get(level, "–") for level in levels))
                for (criterion, method), cells in rows.items()
            ),
            title=f"{judge or 'the judge'}: {scale}",
            text_columns=2,
        )
        for judge, rows in judges.items()
    ]
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
    return [*sizes, people, "\n".join(result.lines())]


def bias_view(result: BiasReport) -> list[RenderableType]:
    """One row per judge and bias with its interval, then the findings."""
    rows = [row for judge in result.judges for row in _bias_rows(judge)]
    made = table(
        ["judge", "measure", "value", "interval", "unbiased", "n"],
        rows,
        title=f"Biases, intervals clustered by {result.clustered_by}",
        text_columns=2,
    )
    return [made, "\n".join(result.lines())]


def _bias_rows(judge: JudgeBias) -> Iterable[tuple[str, ...]]:
    def row(
        measure: str,
        value: float | None,
        low: float | None,
        high: float | None,
        unbiased: str,
        n: int,
    ) -> tuple[str, ...]:
        span = "–" if low is None or high is None else interval(low, high)
        return named(judge.judge, None), measure, number(value), span, unbiased, number(n)

    if (p := judge.position) is not None:
        yield row("first slot", p.first_share, p.low, p.high, "0.5", p.n)
        if p.first_advantage is not None:
            ends = p.advantage_low, p.advantage_high
            yield row("first slot, points", p.first_advantage, *ends, "0", p.n)
        yield row("order flips", p.flip_share, p.flip_low, p.flip_high, "0", p.n)
    if (v := judge.verbosity) is not None:
        yield row("longer, near-tied", v.longer_share, v.low, v.high, "0.5", v.n)
    if (f := judge.family) is not None:
        yield row("own family, excess", f.excess, f.low, f.high, "0", f.n)
    if (s := judge.family_scores) is not None:
        yield row("own family, points", s.excess, s.low, s.high, "0", s.n)
    if (a := judge.agreement) is not None:
        yield row("agrees with people", a.raw, a.raw_low, a.raw_high, "–", a.n)
        yield row("kappa", a.kappa, a.kappa_low, a.kappa_high, "–", a.n)
    if (r := judge.reliability) is not None:
        yield row("over-confidence", r.over_confidence, r.low, r.high, "0", r.n)
        known = number(r.ece_if_calibrated)
        yield row("ECE, equal mass", r.ece_equal_mass, r.ece_low, r.ece_high, known, r.n)
    if (c := judge.contradictions) is not None:
        yield row("against own scores", c.share, c.low, c.high, "0", c.n)
