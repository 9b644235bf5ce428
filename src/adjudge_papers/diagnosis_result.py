"""Results of the diagnosis paper's protocol: its numbers and ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.diagnosis.scores.result import ScoreDiagnosis, WidthBin
from adjudge.diagnosis.transitivity import Transitivity
from adjudge.present.blocks import Block
from adjudge.present.result import (
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
)
from adjudge_papers.items import SECTION, PaperItem

#: The name of the paper's own rows, next to our data sets.
PAPER = "paper"


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


@dataclass(frozen=True, kw_only=True)
class RankingRow:
    """Table 2: Kendall's tau of a judge's ranking of systems with people's mean scores.

    The interval, 95 %, resamples documents: the hull of percentiles and their reflection. The exact
    order (mfas) is too slow to repeat and has no interval.
    """

    data: str
    judge: str
    criterion: str
    method: str
    systems: Count
    documents: Count
    tau: Correlation | None
    low: float | None = None
    high: float | None = None
    published: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class SetCell:
    """Tables 3 and 5: one judge, criterion and level by the paper's protocol, means over splits.

    `n` is the size of a test half. `spearman` is of set width and error; `p_value` treats its rows
    as independent, as the paper does. `monotonic`: the mean error never decreases as the width
    grows, at the first split; None if all sets have one width, and in the paper's rows.
    """

    data: str
    judge: str
    criterion: str
    alpha: Level
    n: Count
    coverage: Proportion
    coverage_sd: NotNegative | None
    mean_size: NotNegative
    spearman: Correlation | None
    p_value: Proportion | None
    monotonic: bool | None
    published_coverage: Proportion | None = None
    published_size: NotNegative | None = None
    published_spearman: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class WidthPair:
    """Table 4: Spearman of two judges' set widths on the rows of a test half, mean over splits."""

    data: str
    judge_a: str
    judge_b: str
    criterion: str
    n: Count
    spearman: Correlation | None
    p_value: Proportion | None
    published: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class PooledErrors:
    """A panel of Figure 4: all judges' sets of a criterion (None: of all) at the first split.

    The interval leaves out one document at a time, also in the bins; `p_value` treats rows as
    independent, as the paper does.
    """

    data: str
    criterion: str | None
    n: Count
    spearman: Correlation | None
    p_value: Proportion | None
    low: float | None
    high: float | None
    bins: tuple[WidthBin, ...]
    published: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class VarianceShare:
    """How much of a quantity's variance over judges and criteria each of the two explains.

    From the sums of squares of the two-way table of cells; `rest` is what neither explains alone.
    """

    data: str
    quantity: str
    cells: Count
    criterion: Proportion
    judge: Proportion
    rest: Proportion


@dataclass(frozen=True, kw_only=True)
class CyclesAndWidths:
    """Section 5.3: Spearman over documents of the cycle rate and the mean set width."""

    data: str
    judge: str
    criterion: str
    sets: str
    documents: Count
    spearman: Correlation | None
    low: float | None
    high: float | None


@frozen
class DiagnosisReproduction(Result):
    """The diagnosis paper's tables on the given data, our numbers next to the paper's.

    `cycles` and `transitivity` are for one set of tournaments, `sets` and what follows for every
    set of scores, the paper's own (`PAPER`) last; `pictured` names the one in the figures. `scores`
    are diagnoses that weight documents, not rows. `items` lists the status of every table, figure
    and claim.
    """

    kind: ClassVar[str] = "reproduction_diagnosis"
    section: ClassVar[tuple[str, str]] = SECTION
    rows_in: ClassVar[str] = "sets"
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
    seed: Count
    notes: tuple[str, ...]
    simulated_cycles: bool = False
    simulated_scores: bool = False
    items: tuple[PaperItem, ...] = field(default=())

    def view(self) -> list[Block]:
        from adjudge_papers.diagnosis_view import view_diagnosis_reproduction

        return view_diagnosis_reproduction(self)
