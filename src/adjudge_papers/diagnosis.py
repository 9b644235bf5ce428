"""The diagnosis paper: on judges asked now, on your files, on SummEval's crowd, or simulated.

The answers of the paper's judges are not published. SummEval has human scores: from three experts,
whom the paper calls human, and from crowd workers, whose mean is used as the one judge that comes
with the data. Judges can be asked about it with both of the paper's protocols, and files of
tournaments and scores can be given. Of each kind the first that is here is used: asked judges, your
files, the crowd. If a kind is missing, a simulated study of the paper's size is used. Numbers are
in `diagnosis_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data.scores import Scores, prepare_scores
from adjudge.data.tables import TableLike, source_name
from adjudge.data.tournaments import TournamentRows, prepare_tournaments
from adjudge.diagnosis import diagnose_transitivity
from adjudge.diagnosis.scores.figures import size_map, width_matrices
from adjudge.diagnosis.transitivity import Transitivity, cycles_figure
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Headline
from adjudge.present.figure import (
    ACCENT,
    INK,
    axis_name,
    criterion_panels,
    draw_legend,
    draw_promise,
    legend_mark,
    plot_band,
    set_suptitle,
)
from adjudge.present.result import frozen
from adjudge.present.text import number, percent, signed, span
from adjudge.validation import count
from adjudge_papers.diagnosis_study import (
    DOCUMENTS,
    JUDGES,
    MAIN_CRITERION,
    SYSTEMS,
    Size,
    ask_judges,
    crowd_as_judge,
    simulate_study,
)
from adjudge_papers.diagnosis_tables import (
    ALL,
    SET_SIZE,
    WITH_CYCLE,
    compare_by_scores,
    compare_rankings,
    cycle_rows,
    cycles_and_widths,
    noise_rows,
    people_means,
    published_variance,
    set_tables,
    variance_of,
)
from adjudge_papers.items import PaperItem
from adjudge_papers.paper import (
    REHEARSAL,
    Gallery,
    MeasuredTable,
    Picks,
    Reproduction,
    Source,
    build_items,
    costs_calls,
    measured_tables,
    parts_of,
    source_of,
    values_of,
)
from adjudge_papers.printed import Row, contains

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


SIMULATOR = "simulator"
CROWD = "SummEval, crowd"
#: If the first slot wins this often, the judge depends on little else.
_ALWAYS = 0.9
PICTURES = Gallery()


@frozen
class DiagnosisReproduction(Reproduction):
    """The diagnosis paper's tables on the given data, our numbers with the paper's."""

    kind: ClassVar[str] = "reproduction_diagnosis"
    paper: ClassVar[str] = "diagnosis"
    drawings = PICTURES
    main_table: ClassVar[str] = "sets"

    transitivity: Transitivity

    def data_of(self, name: str) -> str:
        """Whose rows a table is about."""
        table = self.table(name)
        return "no rows" if table is None else table.data

    def short_data(self, name: str) -> str:
        """The same for a title: the name of a file without its folders."""
        return Path(self.data_of(name)).name

    def headline(self) -> Headline:
        """Cycles, sizes of sets, and what their width says."""
        rates = values_of(self.rows("cycles"), "rate")
        shares = values_of(self.rows("cycles"), "share")
        sizes = values_of(self.rows("signals"), "mean_size")
        pooled = values_of(self.rows("pooled", criterion=ALL), "spearman")
        parts = ["No cycle could be counted"]
        if rates and shares:
            parts = [
                f"{_range(shares)} of documents have a cycle, {_range(rates, 1)} of triples are one"
            ]
        if sizes:
            ends = span(number(min(sizes), 1), number(max(sizes), 1))
            parts.append(f"sets for 90 % have {ends} of 5 scores")
        if pooled:
            parts.append(f"their width against the error: {signed(pooled[0], 2)} (paper +0.58)")
        return Headline("; ".join(parts), self.caution)


def _range(shares: Sequence[float], digits: int = 0) -> str:
    return span(percent(min(shares), digits), percent(max(shares), digits))


def reproduce_diagnosis(
    summeval: TableLike | None = None,
    *,
    tournaments: TableLike | None = None,
    scores: TableLike | None = None,
    judge: str | Sequence[str] | None = None,
    documents: int | None = 30,
    systems: int | None = 8,
    repeats: int = 3,
    samples: int | None = None,
    prompts: Mapping[str, str | Path] | None = None,
    splits: int = 20,
    seed: int = 0,
    **asking: Any,
) -> DiagnosisReproduction:
    """The tables and figures of the diagnosis paper.

    Cycles, rankings, score sets and the meaning of their width: on judges asked about SummEval, on
    your files, on its crowd workers, or simulated if no data is given.

    Args:
        summeval: SummEval as published (model_annotations.aligned.jsonl, with its articles for
            `judge`); its crowd workers are compared with its experts.
        tournaments: Your judges' pairwise verdicts: a tournaments file.
        scores: Scores of your judges, in the scores format.
        judge: Ask this judge about SummEval with both protocols of the paper, all pairs and all
            scores; several are asked one after the other.
        documents: Documents of SummEval. All of them if None.
        systems: Systems of SummEval, of its 16. All of them if None.
        repeats: How often each pair is asked in one order.
        samples: Written answers per question, for judges without logprobs.
        prompts: Your prompt file for a protocol (criterion for pairs, likert for scores).
        splits: Random halves of the rows.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store or `min_answer_mass`.

    >>> done = reproduce_diagnosis(splits=1)
    >>> done.data_of("cycles"), done.data_of("sets"), done.items[0].name, done.items[0].status
    ('simulator', 'simulator', 'Table 1', 'simulated')
    """
    count(splits, "splits", least=1)
    judges = [judge] if isinstance(judge, str) else list(judge or ())
    if judges and summeval is None:
        raise ArgumentError("judge", judges[0], "also give SummEval, with its articles")
    size = Size(documents=documents, systems=systems)
    # What is wrong with the files is known before a judge is asked.
    compared: list[tuple[str, TournamentRows]] = []
    scored: list[tuple[str, Scores]] = []
    if tournaments is not None:
        compared.append((source_name(tournaments), prepare_tournaments(tournaments)))
    if scores is not None:
        scored.append((source_name(scores), prepare_scores(scores)))
    warnings: list[str] = []
    if summeval is not None:
        scored.append((CROWD, prepare_scores(crowd_as_judge(summeval, size))))
        if judges:
            how: dict[str, Any] = {"samples": samples, "prompts": prompts}
            if costs_calls(judges[0]):
                ask_judges(summeval, [REHEARSAL], size, **how, store=None, limit=50)
            answers = ask_judges(summeval, judges, size, repeats=repeats, **how, **asking)
            name = ", ".join(judges)
            compared.insert(0, (name, prepare_tournaments(answers.tournaments)))
            scored.insert(0, (name, prepare_scores(answers.scores)))
            warnings = _blind_judges(answers.tournaments)
    if not (compared and scored):
        simulated = simulate_study(repeats=repeats, seed=seed)
        compared = compared or [(SIMULATOR, prepare_tournaments(simulated.tournaments))]
        scored = scored or [(SIMULATOR, prepare_scores(simulated.scores))]
    transitivity, tables = _tables(compared[0], scored[0], splits, seed)
    done = DiagnosisReproduction(
        settings={"splits": splits},
        seed=seed,
        tables=tables,
        transitivity=transitivity,
        warnings=tuple(warnings),
        dropped=transitivity.dropped,
    )
    return replace(done, items=_items(done))


def _tables(
    pairs: tuple[str, TournamentRows], scores: tuple[str, Scores], splits: int, seed: int
) -> tuple[Transitivity, tuple[MeasuredTable, ...]]:
    """Every table, with whose rows it is about, and whether these can be the paper's data."""
    (pairs_of, rows) = pairs
    (scores_of, rated) = scores
    transitivity = diagnose_transitivity(rows, replicates=50, worst=5, seed=seed)
    cycles = cycle_rows(transitivity)
    sets = set_tables(rated, splits=splits, seed=seed)
    frame = rated.frame
    pairs_source = _source(pairs_of, (row["judge"] for row in cycles))
    scores_source = _source(scores_of, frame["judge"].unique())
    # Scores can be of the tournaments' documents if both are real or both simulated.
    both = pairs_source == scores_source
    people = people_means(frame)
    rankings = compare_rankings(rows.tournaments, people, seed=seed) if both else []
    ranked = (pairs_of, pairs_source)
    if not rankings:
        rankings = compare_rankings(compare_by_scores(frame), people, seed=seed)
        ranked = (f"{scores_of}, by scores", scores_source)
    together = cycles_and_widths(rows.tournaments, rated) if both else []
    variance = [
        *published_variance(),
        *variance_of(scores_of, SET_SIZE, sets["signals"]),
        *variance_of(pairs_of, WITH_CYCLE, cycles),
    ]
    compared = {tournament.judge: tournament for tournament in rows.tournaments}.values()
    design = all((len(t.documents), len(t.models)) == (DOCUMENTS, SYSTEMS) for t in compared)
    same = (frame["doc_id"].n_unique(), frame["model"].n_unique()) == (DOCUMENTS, SYSTEMS)
    four = all(any(contains(name, judge) for name in frame["judge"].unique()) for judge in JUDGES)

    asked = [
        (pairs_of, pairs_source, {"protocol": "pairs", "n": rows.rows}),
        (scores_of, scores_source, {"protocol": "scores", "n": frame.height}),
    ]
    # How many answers were simulated has no information about files.
    asked = [entry for entry in asked if entry[1] != "simulated"] or asked
    answers_of = ", ".join(f"{row['protocol']} of {name}" for name, _, row in asked)
    answers = [row for *_, row in asked]
    scored = (scores_of, scores_source)
    tables: dict[str, tuple[Sequence[Row], str, Source, bool]] = {
        "cycles": (cycles, pairs_of, pairs_source, design),
        "noise": (noise_rows(seed), "", "formula", True),
        "rankings": (rankings, *ranked, design and ranked[0] == pairs_of),
        **{name: (sets[name], *scored, same) for name in ("signals", "agreement", "sets")},
        **{name: (sets[name], *scored, same and four) for name in ("pooled", "bins")},
        "variance": (variance, "", scores_source, False),
        "together": (together, *scored, False),
        "answers": (answers, answers_of, asked[0][1], False),
    }
    return transitivity, measured_tables(tables)


def _source(name: str, judges: Iterable[str]) -> Source:
    return "simulated" if name == SIMULATOR else source_of(judges)


def _blind_judges(tournaments: pl.DataFrame) -> list[str]:
    """Warnings for judges that pick what is shown first: one order hides that and has no cycles."""
    first = (
        tournaments.drop_nulls("verdict")
        .group_by("judge", maintain_order=True)
        .agg(share=(pl.col("verdict") == "A").mean())
        .filter(pl.col("share") >= _ALWAYS)
    )
    return [
        f"{judge}: the summary shown first wins {percent(share, 0)} of its answers; asked in one "
        "order, as in the paper, such a judge has no cycles and ranks systems by their place in "
        "the file"
        for judge, share in first.iter_rows()
    ]


# --- items -----------------------------------------------------------------------------------


def _items(result: DiagnosisReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    # Coherence, which the paper shows; else every available criterion.
    shown = {
        table: MAIN_CRITERION if result.rows(table, criterion=MAIN_CRITERION) else ""
        for table in ("cycles", "rankings")
    }
    data = {"scores": result.data_of("signals"), "pairs": result.data_of("cycles")}
    pooled = values_of(result.rows("pooled", criterion=ALL), "spearman")
    picks: Picks = {"raised": _raised, "pooled": lambda rows: pooled}
    counted = any(group.rates for group in result.transitivity.groups)
    missing = {} if counted else {"Figure 2": "no decisive triple"}
    return build_items("diagnosis", result.tables, names=shown | data, picks=picks, missing=missing)


def _raised(rows: Sequence[Row]) -> list[float]:
    """1 for each judge with a higher tau by the exact order than by win rate, else 0."""

    def taus(method: str) -> dict[tuple[str, str], float | None]:
        return {(r["judge"], r["criterion"]): r["tau"] for r in rows if r["method"] == method}

    wins = taus("win-rate")
    exact = taus("mfas")
    pairs = [(exact[key], wins[key]) for key in exact if key in wins]
    return [float(a > b + 1e-9) for a, b in pairs if a is not None and b is not None]


# --- pictures ---------------------------------------------------------------------------------


@PICTURES.add("figure-02")
def figure_2(result: DiagnosisReproduction) -> Drawing:
    return cycles_figure(result.transitivity)


@PICTURES.add("figure-03")
def figure_3(result: DiagnosisReproduction) -> Drawing:
    cells = parts_of({**row, "alpha": 0.1} for row in result.rows("signals"))
    title = f"{result.short_data('signals')}: sets for 90 % coverage"
    return size_map(cells, title, whole=5, room=(3.1, 1.35, 0.66), note=lambda cell: "")


@PICTURES.add("figure-04")
def figure_4(result: DiagnosisReproduction) -> Drawing:
    pooled = {row["criterion"]: row for row in result.rows("pooled")}
    whole = pooled.pop("all")
    figure, panels = criterion_panels(list(pooled))
    top = 0.1
    for axes, (criterion, panel) in zip(panels, pooled.items(), strict=True):
        bins = result.rows("bins", criterion=criterion)
        widths = [row["width"] for row in bins]
        errors = [row["mean_error"] for row in bins]
        axes.plot(widths, errors, color=ACCENT, linewidth=1.4, marker="o", ms=5, zorder=3)
        for row in bins:
            ends = [row["mean_error_low"], row["mean_error_high"]]
            if None not in ends:
                axes.plot([row["width"]] * 2, ends, color=ACCENT, linewidth=1.2)
            top = max(top, row["mean_error_high"] or row["mean_error"])
        rank = f"r = {signed(panel['spearman'], 2)}"
        axes.set_title(f"{axis_name(criterion)}\n{rank}", fontsize=9)
        rows = {row["width"]: number(row["n"]) for row in bins}
        ticks = range(1, 6)
        axes.set_xticks(ticks, [f"{width}\n{rows.get(width, '')}" for width in ticks], fontsize=8.5)
        axes.set_xlim(0.5, 5.5)
        axes.set_xlabel("scores in the set, rows below", fontsize=8.5)
    panels[0].set(ylabel="mean |judge − human|, 95 % interval", ylim=(0, 1.06 * top))
    rank = f"width against error {signed(whole['spearman'], 2)} over all {whole['n']:,} rows"
    set_suptitle(figure, f"{result.short_data('pooled')}: {rank}")
    return figure


@PICTURES.add("figure-05")
def figure_5(result: DiagnosisReproduction) -> Drawing:
    pairs = result.rows("agreement")
    title = f"{result.short_data('agreement')}: Spearman of two judges' set widths, and the mean"
    return width_matrices(parts_of(pairs), title)


@PICTURES.add("figure-06")
def figure_6(result: DiagnosisReproduction) -> Drawing:
    cells = sorted(result.rows("sets"), key=lambda row: row["alpha"])
    criteria = list(dict.fromkeys(row["criterion"] for row in result.rows("sets")))
    levels = sorted({row["alpha"] for row in cells})
    figure, panels = criterion_panels(criteria)
    for axes, criterion in zip(panels, criteria, strict=True):
        coverage: dict[str, list[float]] = {}
        for row in cells:
            if row["criterion"] == criterion:
                coverage.setdefault(row["judge"], []).append(100 * row["coverage"])
        plot_band(axes, levels, np.array([*coverage.values()]), ACCENT, "mean over judges")
        draw_promise(axes, levels)
    panels[0].set(ylabel="coverage of held-out rows, %", ylim=(None, 100.8))
    short = sum(row["margin"] < -1e-9 for row in cells)
    where = f"below 1 − alpha in {short} of {len(cells)} cells"
    if not short:
        where = f"at least 1 − alpha in all {len(cells)} cells"
    set_suptitle(figure, f"{result.short_data('sets')}: coverage is {where}")
    marks = [
        legend_mark("mean over judges", color=ACCENT, marker="o", ms=5),
        legend_mark("one standard deviation", color=ACCENT, alpha=0.2, linewidth=7),
        legend_mark("1 − alpha", color=INK, linestyle="--", linewidth=1.3),
    ]
    draw_legend(figure, marks)
    return figure
