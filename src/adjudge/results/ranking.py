"""Results of the ranking room: leaderboards, temperatures, anchors, exact orders, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    ResultWithDigest,
    frozen,
)


@dataclass(frozen=True, kw_only=True)
class AgreementBin:
    """Battles whose |s| lies in (low, high]: how often people chose the judge's side."""

    low: float
    high: float
    n: Count
    agreement: float
    agreement_low: float
    agreement_high: float
    predicted: Proportion


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """One bin of the reliability diagram of sigma(beta |s|)."""

    predicted: Proportion
    observed: Proportion
    n: Count


@frozen
class Temperature(Result):
    """beta of sigma(beta s), and the checks of whether it can be trusted.

    `signal` is the mean of beta |s|; `slope` is how the log-odds of agreement grow with |s|;
    `correlation` is Pearson's between |s| and agreement. `reason` explains a missing or unusable
    beta.
    """

    kind: ClassVar[str] = "temperature"

    beta: float | None
    beta_se: NotNegative | None
    n_battles: Count
    signal: float | None = None
    correlation: Correlation | None = None
    slope: float | None = None
    slope_se: NotNegative | None = None
    ece: Proportion | None = None
    agreement: tuple[AgreementBin, ...] = ()
    reliability: tuple[ReliabilityBin, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str | None = None

    def _parts(self) -> Sequence[Any]:
        return self.agreement or [self]

    def view(self) -> list[Block]:
        from adjudge.present.views._ranking_evaluation import view_temperature

        return view_temperature(self)


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model. `elo` is None for methods that give only an order; `score` is their own number.

    An end that is None is open (then `unbounded` is True). If a method has no interval, both are
    None and `unbounded` is False. Ranks count within the model's component. `origin` is "battles"
    for models ranked by these battles, "anchor" for known ones and "new" for placed ones.
    """

    model: str
    elo: float | None
    low: float | None
    high: float | None
    se: NotNegative | None
    n_battles: Count
    rank: Count
    rank_low: Count | None = None
    rank_high: Count | None = None
    score: float | None = None
    component: Count = 0
    unbounded: bool = False
    origin: str = "battles"


@dataclass(frozen=True, kw_only=True)
class LooRow:
    """The distance of a method's held-out Elo from people's, over models left out in turn.

    `mean_beta` is the mean refitted temperature (soft-elo), `mean_smoothing` the mean constant.
    """

    method: str
    n_models: Count
    mae: NotNegative | None
    spearman: Correlation | None
    kendall: Correlation | None
    mean_beta: float | None = None
    mean_smoothing: float | None = None
    mae_low: float | None = None
    mae_high: float | None = None
    residual_by_quarter: tuple[float, ...] = ()
    left_out: dict[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ConformalRow:
    """Split conformal intervals over random halves of the models; means over the splits.

    Half-width = quantile x standard error: `quantile` and `median_se` are its two factors. Without
    enough calibration models the interval is unbounded; `models_needed` is the required number.
    """

    method: str
    alpha: Level
    coverage: Proportion | None
    median_width: NotNegative | None
    quantile: float | None
    median_se: NotNegative | None = None
    width_low: float | None = None
    width_high: float | None = None
    coverage_low: float | None = None
    coverage_high: float | None = None
    splits: Count = 0
    n_calibration: Count = 0
    n_test: Count = 0
    unbounded: bool = False
    models_needed: Count | None = None


@dataclass(frozen=True, kw_only=True)
class HeldOutRow:
    """One model left out: people's Elo, the judge's, and its conformal interval.

    The interval's quantile comes from all the other models.
    """

    method: str
    model: str
    human_elo: float
    elo: float
    residual: float
    se: NotNegative | None
    low: float | None
    high: float | None
    unbounded: bool
    covered: bool | None


@dataclass(frozen=True, kw_only=True)
class BudgetRow:
    """Held-out error when only `battles` judged battles (`per_model` x models) are used.

    `betas` are the mean temperatures over the folds of each draw (soft-elo).
    """

    method: str
    battles: Count
    per_model: NotNegative
    mae: NotNegative
    mae_sd: NotNegative | None
    draws: Count
    betas: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group's own temperature."""

    group: str
    n_votes: Count
    beta: float | None
    beta_se: NotNegative | None


@dataclass(frozen=True, kw_only=True)
class JurorRow:
    """A judge of a jury, with its own temperature."""

    judge: str
    beta: float | None
    beta_se: NotNegative | None
    n_votes: Count


@dataclass(frozen=True, kw_only=True)
class GroupQuantile:
    """Conformal intervals from the models of one family, or from the battles of one group alone.

    Each model's interval is made from the others of the group; `coverage` is how many contain
    people's Elo. With too few models there is no quantile, and `reason` explains it.
    """

    method: str
    by: str
    group: str
    n_models: Count
    quantile: NotNegative | None = None
    median_width: NotNegative | None = None
    coverage: Proportion | None = None
    reason: str | None = None


@frozen
class RankAgreement(Result):
    """Kendall's tau and Spearman's rho between two rankings of the same models."""

    kind: ClassVar[str] = "rank_agreement"

    n_models: Count
    kendall: Correlation | None
    kendall_low: float | None
    kendall_high: float | None
    spearman: Correlation | None
    spearman_low: float | None
    spearman_high: float | None
    confidence_level: Level
    replicates: Count
    failed: Count = 0

    def view(self) -> list[Block]:
        from adjudge.present.views._ranking_evaluation import view_agreement

        return view_agreement(self)


@frozen
class Leaderboard(Result):
    """Models in order, with the uncertainty of that order.

    `covers_judge_error` is true if intervals are about people's preferences: on votes, on votes
    combined with a judge, and for placed models. Otherwise they cover only the noise of these
    battles. `reason` explains why there are no models.
    """

    kind: ClassVar[str] = "leaderboard"
    rows_in: ClassVar[str] = "models"

    method: str
    beta: float | None
    beta_se: NotNegative | None
    l2: NotNegative | None
    models: tuple[ModelRow, ...]
    components: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...]
    dropped: Mapping[str, Count]
    n_battles: Count
    outcome: str
    interval: str
    confidence_level: Level | None
    covers_judge_error: bool = False
    reason: str | None = None
    replicates: Count | None = None
    clusters: Count | None = None
    seed: Count | None = None
    smoothing: float | None = None
    temperature: Temperature | None = None
    kappa: float | None = None
    agreement: RankAgreement | None = None
    loo: tuple[LooRow, ...] = ()
    conformal: tuple[ConformalRow, ...] = ()
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    quantiles: tuple[GroupQuantile, ...] = ()
    jury: tuple[JurorRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    pooling: str | None = None
    proven: bool | None = None
    gap: float | None = None
    assumptions: tuple[str, ...] = ()
    judge_fingerprint: str | None = None

    @property
    def feasible(self) -> bool:
        """Whether there is a leaderboard."""
        return bool(self.models)

    def view(self) -> list[Block]:
        from adjudge.present.views.ranking import view_leaderboard

        return view_leaderboard(self)


@dataclass(frozen=True, kw_only=True)
class AnchorRow:
    """A known model: its judge-scale strength, people's Elo, and its held-out residual and SE."""

    model: str
    theta: float
    human_elo: float | None
    residual: float | None
    se: NotNegative | None
    n_battles: Count


@frozen
class Anchors(ResultWithDigest):
    """What `rank --save-anchors` keeps: all that is needed to place a new model on people's scale.

    `method` is how targets are made (soft-elo with `beta`, hard-elo, smoothed with `smoothing`).
    `score_quantiles` of |s| are kept to detect a judge that has changed. `cluster` is the column
    that was resampled for standard errors; None: battle by battle.
    """

    kind: ClassVar[str] = "anchors"
    rows_in: ClassVar[str] = "models"
    digest_since: ClassVar[int] = 2

    schema_version: Count = 2
    method: str
    beta: float | None
    beta_se: NotNegative | None
    smoothing: float | None
    l2: NotNegative
    replicates: Count
    models: tuple[AnchorRow, ...]
    judge: str | None
    judge_fingerprint: str | None
    score_source: str
    score_quantiles: tuple[float, ...]
    n_battles: Count
    warnings: tuple[str, ...]
    dropped: Mapping[str, Count]
    adjudge_version: str
    cluster: str | None = None

    def view(self) -> list[Block]:
        from adjudge.present.views.ranking import view_anchors

        return view_anchors(self)


@frozen
class LeastReversals(Result):
    """The order that contradicts the fewest wins (minimum feedback arc set).

    `cost` is the weight of wins against the order, `bound` a lower bound for any order; `gap` is
    their difference as a share of all weight, 0 if `proven`.
    """

    kind: ClassVar[str] = "least_reversals"

    order: tuple[Count, ...]
    cost: NotNegative
    bound: NotNegative
    gap: float
    proven: bool
    seconds: NotNegative

    def _parts(self) -> Sequence[Any]:
        return [{"rank": rank, "row": row} for rank, row in enumerate(self.order, 1)]

    def view(self) -> list[Block]:
        from adjudge.present.views.ranking import view_reversals

        return view_reversals(self)


@frozen
class BattlePlan(Result):
    """Which battles of a pool to judge next. `rows` are positions in the pool, in order."""

    kind: ClassVar[str] = "plan_battles"

    rule: str
    budget: Count
    chosen: Count
    rows: tuple[Count, ...]
    appearances: Mapping[str, Count]
    least: Count
    most: Count
    seed: Count | None
    dropped: Mapping[str, Count]
    warnings: tuple[str, ...] = ()

    def _parts(self) -> Sequence[Any]:
        return [{"row": row} for row in self.rows]

    def view(self) -> list[Block]:
        from adjudge.present.views.ranking import view_plan

        return view_plan(self)
