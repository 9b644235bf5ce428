"""What running the diagnosis paper's protocol returns: its figures and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen
from adjudge.results.checks import Correlation, Count, Level, NotNegative, Proportion
from adjudge.results.diagnosis import ScoreDiagnosis, Transitivity


@dataclass(frozen=True, kw_only=True)
class ReproducedCycles:
    """One row of Tables 1 and 6, and a simulated judge of the same mean rate.

    `chance_share` is the share of documents with a cycle that a consistent judge with noise shows
    when its noise is tuned to the published rate; the other simulated figures are one draw of the
    paper's size with that noise.
    """

    judge: str
    criterion: str
    published_rate: Proportion
    published_share: Proportion
    published_max: Proportion | None
    published_median: Proportion | None
    chance_share: Proportion
    rate: Proportion
    share: Proportion
    max: float
    median: float


@dataclass(frozen=True, kw_only=True)
class ReproducedSets:
    """Coverage and size on one data set; published figures are of other judges on SummEval."""

    data: str
    judge: str
    criterion: str
    method: str
    weigh: str
    alpha: Level
    coverage: Proportion
    mean_size: NotNegative
    spearman: Correlation | None


@dataclass(frozen=True, kw_only=True)
class PublishedSets:
    """One cell of Table 5."""

    judge: str
    criterion: str
    alpha: Level
    coverage: Proportion
    mean_size: NotNegative


@dataclass(frozen=True, kw_only=True)
class ReproducedWidth:
    """Width against error, over all rows and within one judge and criterion."""

    data: str
    method: str
    n: Count
    pooled: float | None
    within: float | None


@dataclass(frozen=True, kw_only=True)
class WidthSignal:
    """Tables 3 and 4 for one criterion at alpha 0.10: what the width of a set says.

    `error` is the Spearman correlation of width and error, mean over judges; `agreement` that of
    the widths of two judges, mean over pairs of judges.
    """

    data: str
    method: str
    criterion: str
    error: float | None
    agreement: float | None


@frozen
class DiagnosisReproduction(Result):
    """The tables of the diagnosis paper, published and ours."""

    kind: ClassVar[str] = "reproduction_diagnosis"
    cycles: tuple[ReproducedCycles, ...]
    published_sets: tuple[PublishedSets, ...]
    sets: tuple[ReproducedSets, ...]
    widths: tuple[ReproducedWidth, ...]
    signals: tuple[WidthSignal, ...]
    published_signals: tuple[WidthSignal, ...]
    published_pooled_width: float
    notes: tuple[str, ...]
    seed: Count

    def _parts(self) -> Sequence[Any]:
        return self.sets


@dataclass(frozen=True)
class DiagnosisRun:
    """The reproduction, and the full results behind its pictures."""

    summary: DiagnosisReproduction
    cycles: Transitivity
    scores: dict[str, ScoreDiagnosis]
