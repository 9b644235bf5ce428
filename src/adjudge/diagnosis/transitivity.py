"""Contradictions of a judge: cycles per document (diagnosis paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from adjudge.data.rows import spelled_alike
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.data.tournaments import Combine, TournamentRows, Tournaments, prepare_tournaments
from adjudge.diagnosis.cycles import cyclic_triples, document_cycles
from adjudge.diagnosis.measures import (
    Sample,
    ends_of,
    left_out_together,
    lines_of,
    mean_or_none,
    name_group,
    table_of_groups,
)
from adjudge.errors import ArgumentError
from adjudge.present import figure as theme
from adjudge.present.blocks import (
    Block,
    Columns,
    Fact,
    Figure,
    Headline,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.result import Count, Level, Proportion, Result, frozen
from adjudge.present.text import DASH, clip, level, number, percent, percent_interval, span
from adjudge.records import Interval
from adjudge.validation import FloatArray, IntArray, Seed, count, known_seed, open_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: A tournament of coin flips: one of the four ways to orient a triple is a cycle, up to rotation.
RANDOM_RATE = 0.25
_NO_TRIPLE = "no document has three models with decisive verdicts among them"
#: A rate is more than noise explains if at most this share of the redraws reaches it.
_TAIL = 0.025
_ASSUMPTIONS = (
    "rate = 3-cycles / decisive triples of a document; ties and missing edges are in no triple; "
    "Eq. 1 of the paper divides by all C(n, 3) triples of n models",
    "expected: a Bradley-Terry judge with one strength per model, redrawn on the same decisive "
    "edges; a random judge would have 0.25",
)


@dataclass(frozen=True, kw_only=True)
class TransitivityGroup:
    """One judge and criterion. Rates are over the documents that have a decisive triple.

    `expected_*` is what a Bradley-Terry judge without circular preferences shows on the same
    comparisons; `p_value` is the share of such judges with a mean rate at least as high.
    `same_rate_share` is the share of documents with a cycle if this judge's rate were spread at
    random over the documents. `eq1_*` are the paper's, by its Eq. 1: cycles over all C(n, 3)
    triples of a document with n models, decisive or not.
    """

    judge: str | None
    criterion: str | None
    documents: Count
    documents_with_triples: Count
    complete: Count
    cycles: Count
    triples: Count
    mean_rate: Proportion | None
    mean_interval: Interval | None
    median_rate: Proportion | None
    max_rate: Proportion | None
    share_with_cycle: Proportion | None
    share_interval: Interval | None
    expected_rate: Proportion | None = None
    expected_rate_interval: Interval | None = None
    expected_share: Proportion | None = None
    expected_share_interval: Interval | None = None
    p_value: Proportion | None = None
    same_rate_share: Proportion | None = None
    same_rate_interval: Interval | None = None
    models: Count
    decisive_edges: Count
    tied_edges: Count
    missing_edges: Count
    repeated_edges: Count
    win_rate_confidence: Proportion | None
    rates: tuple[Proportion, ...] = field(repr=False)
    eq1_mean: Proportion | None = None
    eq1_median: Proportion | None = None
    eq1_max: Proportion | None = None
    eq1_share: Proportion | None = None


@dataclass(frozen=True, kw_only=True)
class WorstDocument:
    """A document to look at first, and its cycle of the surest verdicts.

    In `cycle` each model was preferred to the next, the last to the first.
    """

    doc_id: str
    rate: Proportion
    judge: str | None
    criterion: str | None
    cycles: Count
    triples: Count
    cycle: tuple[str, ...]


@frozen
class Transitivity(Result):
    """Cycles per document, judge and criterion."""

    kind: ClassVar[str] = "transitivity"
    rows_in: ClassVar[str] = "groups"
    groups: tuple[TransitivityGroup, ...]
    worst: tuple[WorstDocument, ...]
    combine: str
    rows: Count
    dropped: Mapping[str, Count]
    replicates: Count
    confidence_level: Level
    seed: Count | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def ranges(self) -> tuple[str, str] | None:
        """From the smallest to the largest mean rate and share with a cycle; None without any."""
        rates = [g.mean_rate for g in self.groups if g.mean_rate is not None]
        shares = [g.share_with_cycle for g in self.groups if g.share_with_cycle is not None]
        if not rates or not shares:
            return None
        return (
            span(percent(min(rates)), percent(max(rates))),
            span(percent(min(shares), 0), percent(max(shares), 0)),
        )

    def view(self) -> list[Block]:
        return view_transitivity(self)


def diagnose_transitivity(
    source: TableLike | TournamentRows,
    *,
    combine: Combine = "mean",
    replicates: int = 200,
    worst: int = 10,
    confidence_level: float = 0.95,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> Transitivity:
    """Cycles per document for each judge and criterion, and the rate that noise alone gives.

    rho(x) = 3-cycles / decisive triples (Eq. 1 if the tournament is complete).

    Args:
        source: doc_id, model_a, model_b and verdict (A, B, tie, empty) or p_a, about model_a; or
            both orders in one row as verdict_fwd and verdict_rev. About model_a, whichever was
            shown first. Optional: judge, criterion, order, repeat. A path or a frame.
        combine: How repeats and orders become one edge: mean (more than half) or unanimous.
        replicates: Simulations of the noisy judge.
        worst: How many of the worst documents to list.
        confidence_level: Level of all intervals.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> circle = [("x", "y", "A"), ("y", "z", "A"), ("x", "z", "B")]
    >>> names = ("doc_id", "model_a", "model_b", "verdict")
    >>> cycles = diagnose_transitivity([dict(zip(names, ("d1", *row))) for row in circle])
    >>> cycles.groups[0].cycles, cycles.worst[0].doc_id, cycles.worst[0].rate
    (1, 'd1', 1.0)

    With fewer than about ten documents the fit of the noisy judge follows the data too closely for
    a useful comparison.
    """
    count(replicates, "replicates", least=1)
    count(worst, "worst")
    open_unit(confidence_level, "confidence_level")
    rows = prepare_tournaments(source, combine=combine, **reading)
    groups: list[TransitivityGroup] = []
    documents: list[WorstDocument] = []
    for tournaments in rows.tournaments:
        cycles, triples, expected = document_cycles(tournaments, replicates=replicates, seed=seed)
        group = _transitivity_group(tournaments, cycles, triples, confidence_level, expected)
        groups.append(group)
        documents.extend(_worst_documents(tournaments, cycles, triples, worst))
    models = [model for tournaments in rows.tournaments for model in tournaments.models]
    documents.sort(key=lambda document: (-document.rate, -document.cycles))
    return Transitivity(
        groups=tuple(groups),
        worst=tuple(documents[:worst]),
        combine=combine,
        rows=rows.rows,
        dropped=rows.dropped,
        replicates=replicates,
        confidence_level=confidence_level,
        seed=known_seed(seed),
        assumptions=_ASSUMPTIONS,
        warnings=tuple(spelled_alike(models)),
    )


def _transitivity_group(
    tournaments: Tournaments,
    cycles: IntArray,
    triples: IntArray,
    confidence_level: float,
    expected: Mapping[str, Any],
) -> TransitivityGroup:
    n = tournaments.entrants
    possible = n * (n - 1) // 2
    of_all = n * (n - 1) * (n - 2) // 6
    decisive = tournaments.winner != 0
    edges = np.bincount(tournaments.document[decisive], minlength=len(tournaments.documents))
    complete = (edges == possible) & (possible >= 3)
    rates = cycles[triples > 0] / triples[triples > 0]
    documents = Sample.of(len(rates), confidence_level=confidence_level)
    repeated = tournaments.asked > 1
    sure = np.maximum(tournaments.win_share, 1 - tournaments.win_share)[repeated]
    by_eq1 = cycles[n >= 3] / of_all[n >= 3]
    return TransitivityGroup(
        judge=tournaments.judge,
        criterion=tournaments.criterion,
        documents=len(tournaments.documents),
        documents_with_triples=len(rates),
        complete=int(complete.sum()),
        cycles=int(cycles.sum()),
        triples=int(triples.sum()),
        mean_interval=documents.mean_interval(rates, 0.0, 1.0),
        share_interval=documents.share_interval((rates > 0).astype(np.float64)),
        **_summarise(rates, "mean_rate", "median_rate", "max_rate", "share_with_cycle"),
        **expected,
        models=len(tournaments.models),
        decisive_edges=int(decisive.sum()),
        tied_edges=int((~decisive).sum()),
        missing_edges=int(possible.sum()) - len(decisive),
        repeated_edges=int(repeated.sum()),
        win_rate_confidence=mean_or_none(sure),
        rates=tuple(float(rate) for rate in rates),
        **_summarise(by_eq1, "eq1_mean", "eq1_median", "eq1_max", "eq1_share"),
    )


def _summarise(rates: FloatArray, *names: str) -> dict[str, Any]:
    """The mean, median and maximum, and the share above zero; None without a rate."""
    if not len(rates):
        return dict.fromkeys(names)
    values = rates.mean(), np.median(rates), rates.max(), (rates > 0).mean()
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def _worst_documents(
    tournaments: Tournaments, cycles: IntArray, triples: IntArray, worst: int
) -> Iterator[WorstDocument]:
    rate = cycles / np.maximum(triples, 1)
    order = np.lexsort((-cycles, -rate))
    for at in order[cycles[order] > 0][:worst].tolist():
        beats, sure = tournaments.matrix(at)
        # Sorting by confidence needs every cycle; a very large tournament gets the first few.
        weigh = sure if cycles[at] <= 100_000 else None
        [first] = cyclic_triples(beats, weigh, limit=1)
        cycle = tuple(tournaments.models[model] for model in first)
        yield WorstDocument(
            doc_id=tournaments.documents[at],
            rate=float(rate[at]),
            judge=tournaments.judge,
            criterion=tournaments.criterion,
            cycles=int(cycles[at]),
            triples=int(triples[at]),
            cycle=cycle,
        )


# --- view ------------------------------------------------------------------------------------


def view_transitivity(result: Transitivity) -> list[Block]:
    """Cycle rates with what noise alone would show; then tables of documents and comparisons."""
    groups = result.groups
    ends = f"{level(result.confidence_level)} interval"
    facts = []
    for g in (g for g in groups if g.mean_rate is not None):
        rate = f"{percent(g.mean_rate)} {percent_interval(g.mean_interval)}"
        by_noise = f"{percent(g.expected_rate)} by noise"
        note = f"{percent(g.eq1_mean)} over all triples (Eq. 1), {by_noise}"
        facts.append(Fact(name_group(g), rate, note))
    tables: dict[str, Columns[TransitivityGroup]] = {
        "Cycles among the decisive triples of a document (by noise: expected from a transitive "
        "judge with noise)": {
            "mean": lambda g: percent(g.mean_rate),
            ends: lambda g: percent_interval(g.mean_interval),
            "median": lambda g: percent(g.median_rate),
            "max": lambda g: percent(g.max_rate),
            "by noise": lambda g: percent(g.expected_rate),
            "p": lambda g: number(g.p_value),
        },
        "Cycles over all triples, as in the diagnosis paper (Eq. 1, Tables 1 and 6)": {
            "mean": lambda g: percent(g.eq1_mean),
            "documents with a cycle": lambda g: percent(g.eq1_share),
            "max": lambda g: percent(g.eq1_max),
            "median": lambda g: percent(g.eq1_median),
        },
        "Documents with a cycle": {
            "documents": lambda g: number(g.documents),
            "share": lambda g: percent(g.share_with_cycle),
            ends: lambda g: percent_interval(g.share_interval),
            "by noise": lambda g: percent(g.expected_share),
            "if spread at random": lambda g: percent(g.same_rate_share),
        },
        "Comparisons behind these rates": {
            "cycles": lambda g: number(g.cycles),
            "triples": lambda g: number(g.triples),
            "decisive": lambda g: number(g.decisive_edges),
            "tied": lambda g: number(g.tied_edges),
            "missing": lambda g: number(g.missing_edges),
            "repeats agree": lambda g: percent(g.win_rate_confidence),
        },
    }
    worst: Columns[WorstDocument] = {
        "document": lambda d: d.doc_id,
        "judge, criterion": name_group,
        "cycle to read first": lambda d: " > ".join((*d.cycle, *d.cycle[:1])) or DASH,
        "rate": lambda d: percent(d.rate),
        "cycles": lambda d: f"{d.cycles:,} of {d.triples:,}",
    }
    drawn = (
        "Each dot is a document; the bar is the mean rate that a transitive judge with noise "
        "shows on the same comparisons."
    )
    lines = [f"{name_group(g)}: {_describe_cycles(g)}" for g in groups]
    names = ", ".join(clip(document.doc_id, 16) for document in result.worst[:5])
    notes = [f"documents to read first: {names}"] if names else []
    notes += left_out_together(result.dropped)
    blocks: list[Block] = [_cycles_headline(result), *lines_of(facts)]
    blocks += warnings_of(result.warnings) + notes_of(notes)
    blocks += [table_of_groups(groups, columns, caption) for caption, columns in tables.items()]
    if result.worst:
        caption = "Documents to read first"
        blocks.append(table_of(result.worst, worst, caption=caption, text_columns=3, detail=True))
    blocks += notes_of([*lines, *result.assumptions], detail=True)
    if any(g.rates for g in groups):
        blocks.append(Figure("cycles", partial(cycles_figure, result), drawn))
    return blocks


def _cycles_headline(result: Transitivity) -> Headline:
    ranges = result.ranges()
    if ranges is None:
        return Headline(f"No cycle could be counted: {_NO_TRIPLE}", tone="bad")
    more = sum(g.p_value is not None and g.p_value <= _TAIL for g in result.groups)
    groups = sum(g.mean_rate is not None for g in result.groups)
    if groups == 1:
        finding = "more than noise explains" if more else "not shown to be more than noise"
    else:
        finding = f"more than noise explains in {more} of {groups} groups"
    return Headline(
        f"{ranges[0]} of a document's triples are cycles, {ranges[1]} of documents have one: "
        f"{finding}",
        tone="bad" if more else "plain",
        decision=f"{ranges[0]} of triples are cycles: {finding}",
    )


def _describe_cycles(g: TransitivityGroup) -> str:
    """Whether noise around one ranking explains the rate, and whether few documents have it."""
    if g.mean_rate is None or g.share_with_cycle is None:
        return f"{_NO_TRIPLE}: nothing to count"
    finding = "noise around one ranking explains as many"
    least, _ = ends_of(g.expected_rate_interval)
    if g.p_value is not None and g.p_value <= _TAIL:
        finding = f"noise around one ranking does not explain as many (p = {number(g.p_value)})"
    elif least is not None and g.mean_rate < least:
        finding = "fewer cycles than from noise around one ranking, which does not describe it"
    least, _ = ends_of(g.same_rate_interval)
    if g.mean_rate > 0 and least is not None and g.share_with_cycle < least:
        finding += "; they are in fewer documents than if they were spread at random"
    return finding


# --- figure ----------------------------------------------------------------------------------


def cycles_figure(result: Transitivity) -> Drawing:
    """Violins of the rate per document by judge and criterion, and the noisy judge's mean rate."""
    groups = [g for g in result.groups if g.rates]
    ranges = result.ranges()
    if not groups or ranges is None:
        raise ArgumentError("plot", "no document has a decisive triple", "there is nothing to draw")
    criteria = theme.unique(g.criterion for g in groups)
    judges = theme.unique(g.judge for g in groups)
    width = max(6.4, min(16.0, 1.6 + 0.75 * len(groups) + 0.5 * len(criteria)))
    with theme.themed():
        figure = theme.new_figure(width, 4.6)
        axes = figure.subplots()
        place = 0.0
        ticks: list[tuple[float, str]] = []
        shares: list[tuple[float, str]] = []
        for criterion in criteria:
            start = place
            for g in (g for g in groups if g.criterion == criterion):
                colour = theme.SERIES[judges.index(g.judge) % len(theme.SERIES)]
                _draw_violin(axes, place, np.array(g.rates), colour)
                if g.expected_rate is not None:
                    ends = [place - 0.36, place + 0.36]
                    axes.plot(ends, [100 * g.expected_rate] * 2, color=theme.INK, linewidth=1.6)
                shares.append((place, percent(g.share_with_cycle, 0)))
                place += 1
            ticks.append(((start + place - 1) / 2, theme.axis_name(criterion)))
            place += 0.6
        axes.axhline(100 * RANDOM_RATE, color=theme.MUTED, linestyle="--", linewidth=1.2)
        axes.set_xticks([at for at, _ in shares], [text for _, text in shares], fontsize=8)
        for at, name in ticks:
            axes.annotate(
                name,
                (at, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -30),
                textcoords="offset points",
                ha="center",
            )
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=0)
        axes.set_ylim(top=max(30.0, axes.get_ylim()[1] * 1.06))
        axes.set_ylabel("cycles among decisive triples, % per document")
        named = any(name for _, name in ticks)
        label = "share of documents with a cycle"
        axes.set_xlabel(label, fontsize=8.5, labelpad=22 if named else 4)
        # One shape alone would be as wide as the picture.
        space = max(0.0, 3 - place) / 2
        axes.set_xlim(-0.7 - space, place - 0.9 + space)
        axes.set_title(f"Cycles: {ranges[0]} of a document's triples, in {ranges[1]} of documents")
        legend = [
            theme.legend_dot(name, theme.SERIES[at % len(theme.SERIES)])
            for at, name in enumerate(theme.axis_names(judges).values())
        ]
        legend.append(
            theme.legend_mark("transitive judge with noise", color=theme.INK, linewidth=1.6)
        )
        coins = f"coin flips: {percent(RANDOM_RATE)}"
        legend.append(theme.legend_mark(coins, color=theme.MUTED, linewidth=1.2, linestyle="--"))
        theme.draw_legend(figure, legend, columns=min(4, len(legend)))
    return figure


def _draw_violin(axes: Axes, place: float, rates: FloatArray, colour: str) -> None:
    values = 100 * rates
    if len(values) > 1 and np.ptp(values) > 0:
        shapes: Any = axes.violinplot([values], [place], widths=0.8, showextrema=False)
        for body in shapes["bodies"]:
            # A density estimate reaches below zero; a rate does not.
            shape = body.get_paths()[0]
            shape.vertices[:, 1] = np.clip(shape.vertices[:, 1], 0, values.max())
            body.set_facecolor(colour)
            body.set_alpha(0.28)
            body.set_edgecolor("none")
    # Every document with a cycle is drawn, and at most a hundred of the others.
    dots = np.concatenate([values[values > 0], values[values == 0][:100]])
    jitter = np.random.default_rng(0).uniform(-0.16, 0.16, len(dots))
    axes.scatter(place + jitter, dots, s=9, color=colour, alpha=0.55, linewidth=0, zorder=3)
