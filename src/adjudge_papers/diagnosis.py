"""The diagnosis paper: on SummEval, on judges asked now, on your files, or simulated.

The answers of the paper's judges are not published. SummEval has human scores: from three experts,
whom the paper calls human, and from crowd workers, whose mean is used as the one judge that comes
with the data. Judges can be asked about it with both of the paper's protocols, and files of
tournaments and scores can be given. If one of these kinds is missing, a simulated study of the
paper's size is used. `diagnosis_items` lists the outcome of every table and figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data.scores import Scores, prepare_scores
from adjudge.data.tables import TableLike
from adjudge.data.tournaments import TournamentRows, build_tournaments, prepare_tournaments
from adjudge.diagnosis import diagnose_scores, diagnose_transitivity
from adjudge.diagnosis.cycles import complete_cycles
from adjudge.diagnosis.scores.result import ScoreDiagnosis
from adjudge.diagnosis.transitivity import Transitivity
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Headline, notes_of
from adjudge.present.result import Count, Proportion, frozen
from adjudge.present.text import left_out, percent
from adjudge.simulate.battles import simulate_tournaments
from adjudge.statistics.agreement import spearman_p
from adjudge.validation import count
from adjudge_papers import diagnosis_data as published
from adjudge_papers import diagnosis_measures as measures
from adjudge_papers.diagnosis_data import Size, ask_judges, crowd_as_judge, simulate_study
from adjudge_papers.diagnosis_figures import PICTURES
from adjudge_papers.diagnosis_items import list_items
from adjudge_papers.diagnosis_measures import (
    CyclesAndWidths,
    RankingRow,
    VarianceShare,
    compare_rankings,
)
from adjudge_papers.diagnosis_sets import PooledErrors, SetCell, WidthPair, tabulate_sets
from adjudge_papers.diagnosis_tables import describe_diagnosis, diagnosis_tables
from adjudge_papers.reproduction import Reproduction

#: The name of each set of rows.
ASKED, YOURS, CROWD, SIMULATOR = "asked judges", "your judges", "SummEval, crowd", "simulator"
BY_SCORES = "by scores"
#: The rows of a test half in the paper.
_HALF = published.DOCUMENTS * published.SYSTEMS // 2
#: If the first slot wins this often, the judge depends on little else.
_ALWAYS = 0.9


@dataclass(frozen=True, kw_only=True)
class PublishedCycles:
    """One row of Tables 1 and 6 as published.

    `chance_share` is the share of documents with a cycle for a consistent judge with noise, if its
    noise is tuned to the published rate.
    """

    judge: str
    criterion: str
    rate: Proportion
    share: Proportion
    max: Proportion | None
    median: Proportion | None
    chance_share: Proportion


@dataclass(frozen=True, kw_only=True)
class CycleRow:
    """One row of Tables 1 and 6, ours. `rate`, `share`, `median` and `max` are by Eq. 1.

    `decisive_rate` divides by decisive triples; `chance_share` is the share of documents with a
    cycle if this rate were spread at random over them.
    """

    judge: str
    criterion: str
    documents: Count
    rate: Proportion | None
    decisive_rate: Proportion | None
    share: Proportion | None
    median: Proportion | None
    max: Proportion | None
    chance_share: Proportion | None
    published_rate: Proportion | None = None
    published_share: Proportion | None = None


@frozen
class DiagnosisReproduction(Reproduction):
    """The diagnosis paper's tables on the given data, our numbers next to the paper's.

    `cycles` and `transitivity` are for one set of tournaments, `sets` and what follows for every
    set of scores, the paper's own (`PAPER`) last; `pictured` names the one in the figures. `scores`
    are diagnoses that weight documents, not rows.
    """

    kind: ClassVar[str] = "reproduction_diagnosis"
    rows_in: ClassVar[str] = "sets"
    drawings = PICTURES

    published_cycles: tuple[PublishedCycles, ...]
    cycles: tuple[CycleRow, ...]
    rankings: tuple[RankingRow, ...]
    sets: tuple[SetCell, ...]
    pairs: tuple[WidthPair, ...]
    pooled: tuple[PooledErrors, ...]
    variance: tuple[VarianceShare, ...]
    together: tuple[CyclesAndWidths, ...]
    transitivity: Transitivity
    scores: Mapping[str, ScoreDiagnosis]
    tournaments: str
    pictured: str
    pairwise_answers: Count
    score_answers: Count
    splits: Count
    simulated_cycles: bool = False
    simulated_scores: bool = False

    def headline(self) -> Headline:
        """Cycles, sizes of sets, and what their width says, ours and the paper's."""
        return describe_diagnosis(self)

    def tables(self) -> list[Block]:
        """Tables 1 to 6 in the paper's order, then its claims."""
        return diagnosis_tables(self)

    def remarks(self) -> list[Block]:
        """Rows left out, then notes about judges and the paper."""
        lost = left_out(self.transitivity.dropped)
        for data, diagnosis in self.scores.items():
            lost = [*lost, *(f"{data}: {line}" for line in left_out(diagnosis.dropped))]
        return notes_of([*lost, *self.notes])


@dataclass(frozen=True)
class _Given:
    """Tournaments of one kind, and scores of every kind, the one to plot first."""

    tournaments: TournamentRows
    tournaments_of: str
    scores: Mapping[str, Scores]
    remarks: tuple[str, ...] = ()

    @property
    def pictured(self) -> str:
        return next(iter(self.scores))

    def belong_together(self, data: str) -> bool:
        """Whether scores can be of the tournaments' documents: both real or both simulated."""
        return (data == SIMULATOR) == (self.tournaments_of == SIMULATOR)


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
    splits: int = 20,
    seed: int = 0,
    **asking: Any,
) -> DiagnosisReproduction:
    """The tables and figures of the diagnosis paper.

    Cycles, rankings, score sets and the meaning of their width: on your files, on judges asked
    about SummEval, on its crowd workers, or simulated if no data is given.

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
        splits: Random halves of the rows.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store or `min_answer_mass`.

    >>> done = reproduce_diagnosis(splits=1)
    >>> done.tournaments, done.pictured, done.items[0].name, done.items[0].status
    ('simulator', 'simulator', 'Table 1', 'simulated')
    """
    count(splits, "splits", least=1)
    judges = [judge] if isinstance(judge, str) else list(judge or ())
    if judges and summeval is None:
        raise ArgumentError("judge", judges[0], "also give SummEval, with its articles")
    size = Size(documents=documents, systems=systems)
    given = _gather(summeval, tournaments, scores, judges, size, repeats, samples, seed, asking)
    transitivity = diagnose_transitivity(given.tournaments, replicates=50, worst=5, seed=seed)
    tables = {
        data: tabulate_sets(data, own, splits=splits, seed=seed)
        for data, own in given.scores.items()
    }
    cycles = _cycle_rows(transitivity)
    # The answers of a simulated judge are simulated, also on real summaries.
    invented = {SIMULATOR} | ({ASKED} if all(map(_is_simulated, judges)) else set())
    result = DiagnosisReproduction(
        published_cycles=published_cycles(seed),
        cycles=cycles,
        rankings=(*_rankings(given, seed), *_published_rankings()),
        sets=(*(c for table in tables.values() for c in table.cells), *_published_sets()),
        pairs=(*(p for table in tables.values() for p in table.pairs), *_published_pairs()),
        pooled=tuple(part for table in tables.values() for part in table.pooled),
        variance=(
            *measures.published_variance(),
            *(
                share
                for data, table in tables.items()
                for share in measures.share_variance(
                    data, measures.SET_SIZE, measures.size_grid(table.cells)
                )
            ),
            *measures.share_variance(
                given.tournaments_of,
                measures.WITH_CYCLE,
                {(row.judge, row.criterion): row.share for row in cycles},
            ),
        ),
        together=tuple(
            part
            for data, own in given.scores.items()
            if given.belong_together(data)
            for part in measures.cycles_and_widths(data, given.tournaments.tournaments, own)
        ),
        transitivity=transitivity,
        scores={
            data: diagnose_scores(
                own, alphas=published.ALPHAS, sets="residual", splits=splits, seed=seed
            )
            for data, own in given.scores.items()
        },
        tournaments=given.tournaments_of,
        pictured=given.pictured,
        pairwise_answers=given.tournaments.rows,
        score_answers=given.scores[given.pictured].frame.height,
        splits=splits,
        seed=seed,
        notes=(*given.remarks, *published.NOTES),
        simulated_cycles=given.tournaments_of in invented,
        simulated_scores=given.pictured in invented,
    )
    return replace(result, items=list_items(result))


def _gather(
    summeval: TableLike | None,
    tournaments: TableLike | None,
    scores: TableLike | None,
    judges: Sequence[str],
    size: Size,
    repeats: int,
    samples: int | None,
    seed: int,
    asking: Mapping[str, Any],
) -> _Given:
    """The given or asked rows; a simulated study for a missing kind."""
    rows: dict[str, TournamentRows] = {}
    known: dict[str, Scores] = {}
    remarks: list[str] = []
    if judges and summeval is not None:
        answers = ask_judges(summeval, judges, size, repeats=repeats, samples=samples, **asking)
        rows[ASKED] = prepare_tournaments(answers.tournaments)
        known[ASKED] = prepare_scores(answers.scores)
        remarks = _blind_judges(answers.tournaments)
    if tournaments is not None:
        rows[YOURS] = prepare_tournaments(tournaments)
    if scores is not None:
        known[YOURS] = prepare_scores(scores)
    if summeval is not None:
        known[CROWD] = prepare_scores(crowd_as_judge(summeval, size))
    if not rows or not known:
        study = simulate_study(repeats=repeats, seed=seed)
        if not rows:
            rows[SIMULATOR] = prepare_tournaments(study.tournaments)
        if not known:
            known[SIMULATOR] = prepare_scores(study.scores)
    name = next(iter(rows))
    return _Given(rows[name], name, known, tuple(remarks))


def _blind_judges(tournaments: pl.DataFrame) -> list[str]:
    """Warnings for judges that pick what is shown first: one order hides that and has no cycles."""
    first = (
        tournaments.drop_nulls("verdict")
        .group_by("judge", maintain_order=True)
        .agg(share=(pl.col("verdict") == "A").mean())
        .filter(pl.col("share") >= _ALWAYS)
    )
    return [
        f"warning, {judge}: the summary shown first wins {percent(share, 0)} of its answers; asked "
        "in one order, as in the paper, such a judge has no cycles and ranks systems by their "
        "place in the file"
        for judge, share in first.iter_rows()
    ]


def _is_simulated(judge: str) -> bool:
    return judge.startswith("simulated:")


def _cycle_rows(result: Transitivity) -> tuple[CycleRow, ...]:
    rows = []
    for group in result.groups:
        judge, criterion = group.judge or "unnamed", group.criterion or "unnamed"
        paper = published.published_row("cycles", judge, criterion=criterion)
        rows.append(
            CycleRow(
                judge=judge,
                criterion=criterion,
                documents=group.documents,
                rate=group.eq1_mean,
                decisive_rate=group.mean_rate,
                share=group.eq1_share,
                median=group.eq1_median,
                max=group.eq1_max,
                chance_share=group.same_rate_share,
                published_rate=paper.get("rate"),
                published_share=paper.get("share"),
            )
        )
    return tuple(rows)


def _rankings(given: _Given, seed: int) -> list[RankingRow]:
    """Table 2 on the tournaments, if people scored them; else on pairs decided by scores."""
    rows = [
        row
        for data, own in given.scores.items()
        if given.belong_together(data)
        for row in compare_rankings(
            given.tournaments_of,
            given.tournaments.tournaments,
            measures.people_means(own.frame),
            seed=seed,
        )
    ]
    # SummEval's people are also in the asked judges' scores: the first ones are enough.
    unique = {(row.judge, row.criterion, row.method): row for row in reversed(rows)}
    if unique:
        return list(reversed(unique.values()))
    return [
        row
        for data, own in given.scores.items()
        for row in compare_rankings(
            f"{data}, {BY_SCORES}",
            build_tournaments(measures.compare_by_scores(own.frame)),
            measures.people_means(own.frame),
            seed=seed,
        )
    ]


def published_cycles(seed: int = 0) -> tuple[PublishedCycles, ...]:
    """Tables 1 and 6, and the share of a consistent judge with noise at the same rate."""
    return tuple(
        PublishedCycles(
            **row,
            chance_share=_chance_share(
                row["rate"], seed + published.CRITERIA.index(row["criterion"])
            ),
        )
        for row in published.published_rows("cycles")
    )


def _published_rankings() -> list[RankingRow]:
    """Table 2 as rows."""
    return [
        RankingRow(
            data=published.PAPER,
            criterion="coherence",
            systems=published.SYSTEMS,
            documents=published.DOCUMENTS,
            **row,
        )
        for row in published.published_rows("rankings")
    ]


def _published_sets() -> list[SetCell]:
    """Tables 3 and 5 as rows."""
    return [
        SetCell(
            data=published.PAPER,
            judge=row["judge"],
            criterion=row["criterion"],
            alpha=row["alpha"],
            n=_HALF,
            coverage=row["coverage"],
            coverage_sd=None,
            mean_size=row["size"],
            spearman=row["spearman"],
            p_value=None,
            monotonic=None,
        )
        for row in published.published_rows("sets")
    ]


def _published_pairs() -> list[WidthPair]:
    """Table 4 as rows; the p-values follow from the rows of the test half."""
    return [
        WidthPair(data=published.PAPER, n=_HALF, p_value=spearman_p(row["spearman"], _HALF), **row)
        for row in published.published_rows("agreement")
    ]


@cache
def _chance_share(rate: float, seed: int) -> float:
    """The share of documents with a cycle, at the noise at which a judge has this mean rate."""

    i, j = np.array(list(combinations(range(published.SYSTEMS), 2))).T
    systems = np.arange(published.SYSTEMS)

    def measured(noise: float) -> tuple[float, float]:
        drawn = simulate_tournaments(
            documents=200, models=published.SYSTEMS, document_spread=1.0, noise=noise, seed=seed
        )
        first = (drawn.frame["verdict"] == "A").to_numpy().reshape(-1, len(i), 1)
        wins = np.where(first, i[:, None] == systems, j[:, None] == systems).sum(axis=1)
        rates = complete_cycles(wins) / comb(published.SYSTEMS, 3)
        return float(rates.mean()), float((rates > 0).mean())

    low, high = np.log(0.02), np.log(2.0)
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if measured(np.exp(middle))[0] > rate else (middle, high)
    return measured(float(np.exp((low + high) / 2)))[1]
