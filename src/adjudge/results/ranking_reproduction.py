"""What `adjudge reproduce soft-elo` returns: a row per judge and corpus, ours and the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen


@dataclass(frozen=True, kw_only=True)
class FamilyResiduals:
    """Mean residual in Elo of the judge's own family minus that of the others (appendix F.1).

    The interval is Welch's over models; None where a side has one model.
    """

    family: str
    own_models: int
    other_models: int
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
    battles: int
    models: int
    mean_score: float | None
    kappa: float | None
    beta: float | None
    ece: float | None
    hard_mae: float | None
    soft_mae: float | None
    hard_spearman: float | None
    soft_spearman: float | None
    hard_width: float | None
    soft_width: float | None
    hard_coverage: float | None
    soft_coverage: float | None
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
    published_hard_spearman: float | None = None
    published_soft_spearman: float | None = None
    published_hard_width: float | None = None
    published_soft_width: float | None = None
    published_hard_coverage: float | None = None
    published_soft_coverage: float | None = None
    published_smoothed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """One language, averaged over the judges of the corpus (Table 6)."""

    corpus: str
    language: str
    battles: int
    judges: int
    hard_mae: float
    soft_mae: float
    hard_spearman: float | None
    soft_spearman: float | None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: float | None = None
    published_soft_spearman: float | None = None


@frozen
class SoftEloReproduction(Result):
    """The Soft-Elo paper's protocol on the released files, our numbers with the paper's.

    `published_quarters` are means over the paper's judges on LMArena 100K, where that is here.
    """

    kind: ClassVar[str] = "reproduction_soft_elo"

    rows: tuple[SoftEloRow, ...]
    languages: tuple[LanguageRow, ...]
    l2: float
    alpha: float
    splits: int
    replicates: int
    seed: int
    notes: tuple[str, ...]
    published_quarters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def _parts(self) -> Sequence[Any]:
        return self.rows
