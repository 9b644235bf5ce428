"""The diagnosis paper: on SummEval, on judges asked now, on your files, or simulated.

The answers of the paper's judges are not published. SummEval has human scores: from three experts,
whom the paper calls human, and from crowd workers, whose mean is used as the one judge that comes
with the data. Judges can be asked about it with both of the paper's protocols, and files of
tournaments and scores can be given. If one of these kinds is missing, a simulated study of the
paper's size is used. Numbers, tables and items of every exhibit are in `diagnosis_cycles`,
`diagnosis_rankings` and `diagnosis_sets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from adjudge.data.scores import Scores, prepare_scores
from adjudge.data.tables import TableLike
from adjudge.data.tournaments import TournamentRows, prepare_tournaments
from adjudge.diagnosis import diagnose_scores, diagnose_transitivity
from adjudge.diagnosis.scores.result import ScoreDiagnosis
from adjudge.diagnosis.transitivity import Transitivity
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Headline, notes_of
from adjudge.present.result import Count, frozen
from adjudge.present.text import left_out, number, percent, signed, span
from adjudge.validation import count
from adjudge_papers import diagnosis_cycles, diagnosis_rankings, diagnosis_sets
from adjudge_papers.diagnosis_data import (
    ALPHAS,
    MAIN_ALPHA,
    NOTES,
    Size,
    ask_judges,
    crowd_as_judge,
    simulate_study,
    whose,
)
from adjudge_papers.items import ItemBook, PaperItem
from adjudge_papers.reproduction import REHEARSAL, Pictures, Reproduction, costs_calls

#: The name of each set of rows.
ASKED, YOURS, CROWD, SIMULATOR = "asked judges", "your judges", "SummEval, crowd", "simulator"
#: If the first slot wins this often, the judge depends on little else.
_ALWAYS = 0.9
_SIMULATED = (
    "Simulated where nothing was given: judges, documents and numbers are invented. Compare the "
    "pattern with the paper's, not the numbers."
)


@frozen
class DiagnosisReproduction(Reproduction):
    """The diagnosis paper's tables on the given data, our numbers next to the paper's.

    `cycles` and `transitivity` are for one set of tournaments, `sets` and what follows for every
    set of scores, the paper's own (`PAPER`) last; `pictured` names the one in the figures. `scores`
    are diagnoses that weight documents, not rows.
    """

    kind: ClassVar[str] = "reproduction_diagnosis"
    rows_in: ClassVar[str] = "sets"
    drawings: ClassVar[Pictures] = {**diagnosis_cycles.PICTURES, **diagnosis_sets.PICTURES}

    published_cycles: tuple[diagnosis_cycles.PublishedCycles, ...]
    cycles: tuple[diagnosis_cycles.CycleRow, ...]
    rankings: tuple[diagnosis_rankings.RankingRow, ...]
    sets: tuple[diagnosis_sets.SetCell, ...]
    pairs: tuple[diagnosis_sets.WidthPair, ...]
    pooled: tuple[diagnosis_sets.PooledErrors, ...]
    variance: tuple[diagnosis_cycles.VarianceShare, ...]
    together: tuple[diagnosis_cycles.CyclesAndWidths, ...]
    transitivity: Transitivity
    scores: Mapping[str, ScoreDiagnosis]
    tournaments: str
    pictured: str
    pairwise_answers: Count
    score_answers: Count
    splits: Count
    simulated_cycles: bool = False
    simulated_scores: bool = False

    @property
    def pictured_cells(self) -> list[diagnosis_sets.SetCell]:
        """The cells of Tables 3 and 5 that the pictures and items show."""
        return [cell for cell in self.sets if cell.data == self.pictured]

    @property
    def simulated(self) -> bool:
        """Whether a part of it is."""
        return self.simulated_cycles or self.simulated_scores

    def headline(self) -> Headline:
        """Cycles, sizes of sets, and what their width says, ours and the paper's."""
        rates = [row.rate for row in self.cycles if row.rate is not None]
        shares = [row.share for row in self.cycles if row.share is not None]
        sizes = [cell.mean_size for cell in self.pictured_cells if cell.alpha == MAIN_ALPHA]
        [whole] = [p for p in self.pooled if p.data == self.pictured and p.criterion is None]
        theirs = self.published_cycles
        parts = [
            f"{_range(shares)} of documents have a cycle (paper "
            f"{_range([row.share for row in theirs])}), {_range(rates, 1)} of triples are one "
            f"(paper {_range([row.rate for row in theirs], 1)})"
            if rates and shares
            else "No cycle could be counted",
            f"sets for 90 % have {span(number(min(sizes), 1), number(max(sizes), 1))} of 5 scores",
            f"their width against the error: {signed(whole.spearman, 2)} (paper "
            f"{signed(whole.published, 2)})",
        ]
        return Headline("; ".join(parts), _SIMULATED if self.simulated else "")

    def tables(self) -> list[Block]:
        """Tables 1 to 6 in the paper's order, then its claims."""
        return [
            *diagnosis_cycles.cycle_tables(self),
            *diagnosis_rankings.ranking_table(self.rankings),
            *diagnosis_sets.set_tables(self),
            *diagnosis_cycles.claim_tables(self),
        ]

    def remarks(self) -> list[Block]:
        """Rows left out, then notes about judges and the paper."""
        lost = left_out(self.transitivity.dropped)
        for data, diagnosis in self.scores.items():
            lost = [*lost, *(f"{data}: {line}" for line in left_out(diagnosis.dropped))]
        return notes_of([*lost, *self.notes])


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
    # The tournaments of the first kind are used, and the scores of every kind; its first is drawn.
    compared: dict[str, TournamentRows] = {}
    scored: dict[str, Scores] = {}
    remarks: list[str] = []
    yours = None if tournaments is None else prepare_tournaments(tournaments)
    your_scores = None if scores is None else prepare_scores(scores)
    crowd = None if summeval is None else prepare_scores(crowd_as_judge(summeval, size))
    if judges and summeval is not None:
        if costs_calls(judges[0]):
            ask_judges(summeval, [REHEARSAL], size, samples=samples, store=None, limit=50)
        answers = ask_judges(summeval, judges, size, repeats=repeats, samples=samples, **asking)
        compared[ASKED] = prepare_tournaments(answers.tournaments)
        scored[ASKED] = prepare_scores(answers.scores)
        remarks = _blind_judges(answers.tournaments)
    if yours is not None:
        compared[YOURS] = yours
    if your_scores is not None:
        scored[YOURS] = your_scores
    if crowd is not None:
        scored[CROWD] = crowd
    if not compared or not scored:
        study = simulate_study(repeats=repeats, seed=seed)
        if not compared:
            compared[SIMULATOR] = prepare_tournaments(study.tournaments)
        if not scored:
            scored[SIMULATOR] = prepare_scores(study.scores)
    name, rows = next(iter(compared.items()))
    pictured = next(iter(scored))
    # Scores can be of the tournaments' documents if both are real or both simulated.
    same = {
        data: rated for data, rated in scored.items() if (data == SIMULATOR) == (name == SIMULATOR)
    }
    transitivity = diagnose_transitivity(rows, replicates=50, worst=5, seed=seed)
    tables = {
        data: diagnosis_sets.tabulate_sets(data, rated, splits=splits, seed=seed)
        for data, rated in scored.items()
    }
    sizes = {data: table.main_sizes for data, table in tables.items()}
    every_table = [*tables.values(), diagnosis_sets.published_tables()]
    counted = diagnosis_cycles.cycle_rows(transitivity)
    # The answers of a simulated judge are simulated, also on real summaries.
    asked = {ASKED} if all(spec.startswith("simulated:") for spec in judges) else set()
    result = DiagnosisReproduction(
        published_cycles=diagnosis_cycles.published_cycles(seed),
        cycles=counted,
        rankings=diagnosis_rankings.rank_systems(name, rows, same, scored, seed),
        sets=tuple(cell for table in every_table for cell in table.cells),
        pairs=tuple(pair for table in every_table for pair in table.pairs),
        pooled=tuple(panel for table in every_table for panel in table.pooled),
        variance=diagnosis_cycles.explain_variance(sizes, name, counted),
        together=tuple(
            row
            for data, rated in same.items()
            for row in diagnosis_cycles.cycles_and_widths(data, rows.tournaments, rated)
        ),
        transitivity=transitivity,
        scores={
            data: diagnose_scores(rated, alphas=ALPHAS, sets="residual", splits=splits, seed=seed)
            for data, rated in scored.items()
        },
        tournaments=name,
        pictured=pictured,
        pairwise_answers=rows.rows,
        score_answers=scored[pictured].frame.height,
        splits=splits,
        seed=seed,
        notes=(*remarks, *NOTES),
        simulated_cycles=name in {SIMULATOR, *asked},
        simulated_scores=pictured in {SIMULATOR, *asked},
    )
    return replace(result, items=_items(result))


def _items(result: DiagnosisReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    simulated = result.simulated_scores
    remark = whose((cell.judge for cell in result.pictured_cells), simulated)
    book = ItemBook("diagnosis", simulated=simulated, remark=remark)
    answers = {"pairwise answers": result.pairwise_answers, "scores": result.score_answers}
    book.add(
        "Figure 1",
        {name: float(number) for name, number in answers.items()},
        simulated=result.simulated,
        remark="a drawing without data: only its counts",
    )
    diagnosis_cycles.add_cycles(book, result)
    diagnosis_rankings.add_rankings(book, result)
    diagnosis_sets.add_sets(book, result)
    diagnosis_cycles.add_claims(book, result)
    return book.items()


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
