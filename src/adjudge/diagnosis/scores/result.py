"""What the diagnosis of scores returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.diagnosis.agreement import Agreement
from adjudge.diagnosis.family import FamilyScores
from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.records import HasInterval, Interval

#: Methods whose sets all have the same width, except at the ends of the scale.
_ONE_QUANTILE = ("constant", "per-criterion", "per-group")


@dataclass(frozen=True, kw_only=True)
class WidthBin(HasInterval):
    """Rows whose set has this many scores, and the judge's mean error on them."""

    width: Count
    n: Count
    mean_error: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class ScoreSetGroup:
    """One judge, criterion, method and alpha; means over the splits by document.

    `quantile` is calibrated on all labelled documents; None if a method has none or several.
    `whole_scale`: too few documents are labelled for this alpha, so every set is the entire scale.
    """

    judge: str | None
    criterion: str | None
    method: str
    alpha: Level
    n: Count
    documents: Count
    coverage: Proportion
    coverage_sd: NotNegative
    mean_size: NotNegative
    spearman: Correlation | None
    quantile: float | None
    whole_scale: bool
    distinct_widths: Count
    trust: Proportion
    look: Proportion
    human: Proportion
    by_width: tuple[WidthBin, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class WidthAgreement(HasInterval):
    """Spearman correlation of the set widths that two judges give to the same rows."""

    judge_a: str
    judge_b: str
    criterion: str | None
    method: str
    alpha: Level
    n: Count
    spearman: Correlation | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class HumanAgreement:
    """Agreement of one judge's scores with people on one criterion."""

    judge: str | None
    criterion: str | None
    agreement: Agreement


@dataclass(frozen=True, kw_only=True)
class PooledWidth:
    """Width against error over all criteria together, and the mean within one criterion."""

    method: str
    alpha: Level
    n: Count
    pooled: float | None
    within: float | None


@frozen
class ScoreDiagnosis(Result):
    """The distance of human scores from the judge's, and what the width of a set indicates.

    `sets` is the kind of set that the diagnosis is about: learned, cross-fitted, residual or
    adaptive; other methods are for comparison. `documents` counts the labelled ones. `agreement`,
    of the widths of two judges, is at one level.
    """

    kind: ClassVar[str] = "score_diagnosis"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups"),)
    groups: tuple[ScoreSetGroup, ...]
    agreement: tuple[WidthAgreement, ...]
    pooled: tuple[PooledWidth, ...]
    human_agreement: tuple[HumanAgreement, ...]
    family: tuple[FamilyScores, ...]
    documents: Count
    scale: tuple[int, int]
    target: str
    weigh: str
    splits: Count
    confidence_level: Level
    seed: Count | None
    dropped: Mapping[str, Count]
    assumptions: tuple[str, ...]
    sets: str = "residual"

    @property
    def main_method(self) -> str:
        """For each criterion, the method with a promise: the one to read first."""
        methods = {group.method for group in self.groups}
        if self.sets in methods:
            return self.sets
        return "per-criterion" if "per-criterion" in methods else "constant"

    @property
    def telling_methods(self) -> tuple[str, ...]:
        """Methods whose width can differ between rows, the main one first.

        With one quantile for all rows, the width changes only where the scale's end truncates a
        set.
        """
        methods = dict.fromkeys((self.main_method, *(group.method for group in self.groups)))
        return tuple(name for name in methods if name not in _ONE_QUANTILE)

    @property
    def main_alpha(self) -> float:
        """The paper's level 0.1 if it was requested, else the first."""
        levels = [group.alpha for group in self.groups]
        return 0.1 if 0.1 in levels else levels[0]

    def view(self) -> list[Block]:
        from adjudge.diagnosis.scores.view import view_scores

        return view_scores(self)
