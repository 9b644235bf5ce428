"""What `adjudge reproduce soft-elo` returns: a row per judge and corpus, ours and the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen
from adjudge.results.checks import Correlation, Count, Level, NotNegative, Proportion


@dataclass(frozen=True, kw_only=True)
class FamilyResiduals:
    """Mean residual in Elo of the judge's own family minus that of the others (appendix F.1).

    The interval is Welch's over models; None where a side has one model.
    """

    family: str
    own_models: Count
    other_models: Count
    excess: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class SoftEloRow:
    """One judge on one corpus. Fields named `published_*` are the paper's; None where it has none.

    `smoothed` maps each constant of Table 8 to its error. `*_quarters` are mean residuals, judge
    minus people, from the weakest quarter of models to the strongest.
    """

    corpus: str
    judge: str
    battles: Count
    models: Count
    mean_score: float | None
    kappa: float | None
    beta: float | None
    ece: Proportion | None
    hard_mae: NotNegative | None
    soft_mae: NotNegative | None
    hard_spearman: Correlation | None
    soft_spearman: Correlation | None
    hard_width: NotNegative | None
    soft_width: NotNegative | None
    hard_coverage: Proportion | None
    soft_coverage: Proportion | None
    smoothed: Mapping[str, float | None] = field(default_factory=dict)
    chosen_smoothing_mae: float | None = None
    hard_quarters: tuple[float, ...] = ()
    soft_quarters: tuple[float, ...] = ()
    hard_family: FamilyResiduals | None = None
    soft_family: FamilyResiduals | None = None
    warnings: tuple[str, ...] = ()
    published_mean_score: float | None = None
    published_kappa: float | None = None
    published_beta: float | None = None
    published_ece: float | None = None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: Correlation | None = None
    published_soft_spearman: Correlation | None = None
    published_hard_width: float | None = None
    published_soft_width: float | None = None
    published_hard_coverage: Proportion | None = None
    published_soft_coverage: Proportion | None = None
    published_smoothed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """One language, averaged over the judges of the corpus (Table 6)."""

    corpus: str
    language: str
    battles: Count
    judges: Count
    hard_mae: NotNegative
    soft_mae: NotNegative
    hard_spearman: Correlation | None
    soft_spearman: Correlation | None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: Correlation | None = None
    published_soft_spearman: Correlation | None = None


@frozen
class SoftEloReproduction(Result):
    """The Soft-Elo paper's protocol on the released files, our numbers with the paper's.

    `published_quarters` are means over the paper's judges on LMArena 100K, where that is here.
    """

    kind: ClassVar[str] = "reproduction_soft_elo"

    rows: tuple[SoftEloRow, ...]
    languages: tuple[LanguageRow, ...]
    l2: NotNegative
    alpha: Level
    splits: Count
    replicates: Count
    seed: Count
    notes: tuple[str, ...]
    published_quarters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def _parts(self) -> Sequence[Any]:
        return self.rows
