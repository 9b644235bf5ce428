"""Results of `adjudge reproduce soft-elo`: a row per judge and corpus, ours and the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

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
from adjudge.ranking.evaluation import BudgetRow
from adjudge.ranking.leave_one_out import HeldOutRow
from adjudge.ranking.temperature import AgreementBin, ReliabilityBin
from adjudge_papers.items import SECTION, PaperItem
from adjudge_papers.soft_elo_parts import (
    BetaStability,
    FamilyExcess,
    LengthEffect,
    PositionEffect,
    StrengthStructure,
)


@dataclass(frozen=True, kw_only=True)
class SoftEloRow:
    """One judge on one corpus. Fields named `published_*` are the paper's; None if it has none.

    `smoothed` maps each constant of Table 8 to its error. `*_quarters` are mean residuals, judge
    minus people, from the weakest quarter of models to the strongest. `*_width_range` is over the
    splits; `*_quantile` and `*_se` are the two factors of the width. `agreement` counts people's
    votes for the judge's side by |s|, `agreement_correlation` is Pearson's of the two; `raw_*` is
    about sigma(|s|), before beta. `contradictions` is the share of decided verdicts for the side
    with the judge's lower score.
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
    hard_width_range: tuple[float, float] | None = None
    soft_width_range: tuple[float, float] | None = None
    hard_quantile: float | None = None
    soft_quantile: float | None = None
    hard_se: NotNegative | None = None
    soft_se: NotNegative | None = None
    agreement: tuple[AgreementBin, ...] = ()
    agreement_rate: Proportion | None = None
    agreement_correlation: Correlation | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    raw_reliability: tuple[ReliabilityBin, ...] = ()
    raw_ece: Proportion | None = None
    contradictions: Proportion | None = None
    stability: BetaStability | None = None
    strength: StrengthStructure | None = None
    length: LengthEffect | None = None
    position: PositionEffect | None = None
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    smoothed: Mapping[str, float | None] = field(default_factory=dict)
    chosen_smoothing_mae: float | None = None
    hard_quarters: tuple[float, ...] = ()
    soft_quarters: tuple[float, ...] = ()
    hard_family: FamilyExcess | None = None
    soft_family: FamilyExcess | None = None
    family_points: FamilyExcess | None = None
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
    published_hard_width_range: tuple[float, float] | None = None
    published_soft_width_range: tuple[float, float] | None = None
    published_smoothed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """One language, averaged over the judges of the corpus (Table 6, Figure 10).

    `prompts` are those that every judge scored. `own_beta` is fitted on the language's own votes,
    `own_beta_mae` the error with it; `*_sd` is over judges.
    """

    corpus: str
    language: str
    prompts: Count
    judges: Count
    hard_mae: NotNegative
    soft_mae: NotNegative
    hard_spearman: Correlation | None
    soft_spearman: Correlation | None
    own_beta: float | None = None
    own_beta_sd: NotNegative | None = None
    own_beta_mae: NotNegative | None = None
    mean_score: float | None = None
    mean_score_sd: NotNegative | None = None
    agreement: Proportion | None = None
    agreement_sd: NotNegative | None = None
    published_prompts: Count | None = None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: Correlation | None = None
    published_soft_spearman: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class JuryRow:
    """All judges of a corpus as one jury, on the battles that each of them scored.

    `best` is the judge with the smallest error on those same battles, alone.
    """

    corpus: str
    judges: Count
    battles: Count
    mae: NotNegative | None
    spearman: Correlation | None
    best: str
    best_mae: NotNegative | None


@frozen
class SoftEloReproduction(Result):
    """The Soft-Elo paper's protocol on the released files, our numbers next to the paper's.

    `published_quarters` are means over the paper's judges on LMArena 100K, if that is available.
    `juries` are all judges of a corpus as one, which the paper does not have. `language_counts` are
    prompts by corpus and language; `items` lists the status of every table, figure and claim of the
    paper.
    """

    kind: ClassVar[str] = "reproduction_soft_elo"
    section: ClassVar[tuple[str, str]] = SECTION
    rows_in: ClassVar[str] = "rows"

    rows: tuple[SoftEloRow, ...]
    languages: tuple[LanguageRow, ...]
    l2: NotNegative
    alpha: Level
    splits: Count
    replicates: Count
    seed: Count
    notes: tuple[str, ...]
    simulated: bool = False
    juries: tuple[JuryRow, ...] = ()
    language_counts: Mapping[str, Mapping[str, Count]] = field(default_factory=dict)
    items: tuple[PaperItem, ...] = ()
    published_quarters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def view(self) -> list[Block]:
        from adjudge_papers.soft_elo_view import view_soft_elo

        return view_soft_elo(self)
