"""What the ranking room returns: leaderboards, temperatures, anchors, exact orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.results.base import Result


@dataclass(frozen=True, kw_only=True)
class AgreementBin:
    """Battles whose |s| lies in (low, high]: how often people chose the judge's side."""

    low: float
    high: float
    n: int
    agreement: float
    agreement_low: float
    agreement_high: float
    predicted: float


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """One bin of the reliability diagram of sigma(beta |s|)."""

    predicted: float
    observed: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Temperature(Result):
    """beta of sigma(beta s), and the checks that say whether to trust it.

    `signal` is the mean of beta |s|; `slope` says how the log-odds of agreement grow with |s|;
    `correlation` is Pearson's between |s| and agreement. `reason` explains a missing or unusable
    beta.
    """

    kind: ClassVar[str] = "temperature"

    beta: float | None
    beta_se: float | None
    n_battles: int
    signal: float | None = None
    correlation: float | None = None
    slope: float | None = None
    slope_se: float | None = None
    ece: float | None = None
    agreement: tuple[AgreementBin, ...] = ()
    reliability: tuple[ReliabilityBin, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str | None = None

    def lines(self) -> list[str]:
        """In words."""
        if self.beta is None or self.beta_se is None:
            return [f"no temperature: {self.reason}"]
        spread = f"standard error {self.beta_se:.3f}, {self.n_battles:,} votes"
        told = [f"beta {self.beta:.3f} ({spread})"]
        if self.ece is not None:
            told.append(f"calibration error of sigma(beta |s|): {self.ece:.3f}")
        return told + [f"warning: {text}" for text in self.warnings]


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model. `elo` is None for methods that give an order only; `score` is their own number.

    An end that is None is open (`unbounded` says so); where a method has no interval, both are
    None and `unbounded` is False. Ranks count within the model's component. `origin` tells models
    ranked by these battles ("battles") from known ones ("anchor") and placed ones ("new").
    """

    model: str
    elo: float | None
    low: float | None
    high: float | None
    se: float | None
    n_battles: int
    rank: int
    rank_low: int | None = None
    rank_high: int | None = None
    score: float | None = None
    component: int = 0
    unbounded: bool = False
    origin: str = "battles"


@dataclass(frozen=True, kw_only=True)
class LooRow:
    """How far a method's held-out Elo is from people's, over models left out in turn.

    `mean_beta` is the mean refitted temperature (soft-elo), `mean_smoothing` the mean constant.
    """

    method: str
    n_models: int
    mae: float | None
    spearman: float | None
    kendall: float | None
    mean_beta: float | None = None
    mean_smoothing: float | None = None
    mae_low: float | None = None
    mae_high: float | None = None
    residual_by_quarter: tuple[float, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ConformalRow:
    """Split conformal intervals over random halves of the models; means over the splits.

    Half-width = quantile x standard error: `quantile` and `median_se` are its two factors. Without
    enough calibration models the interval is unbounded and `models_needed` says how many it takes.
    """

    method: str
    alpha: float
    coverage: float | None
    median_width: float | None
    quantile: float | None
    median_se: float | None = None
    width_low: float | None = None
    width_high: float | None = None
    coverage_low: float | None = None
    coverage_high: float | None = None
    splits: int = 0
    n_calibration: int = 0
    n_test: int = 0
    unbounded: bool = False
    models_needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class HeldOutRow:
    """One model left out: people's Elo, the judge's, and the conformal interval around it.

    The interval's quantile comes from all the other models.
    """

    method: str
    model: str
    human_elo: float
    elo: float
    residual: float
    se: float | None
    low: float | None
    high: float | None
    unbounded: bool
    covered: bool | None


@dataclass(frozen=True, kw_only=True)
class BudgetRow:
    """Held-out error when only `battles` judged battles (`per_model` x models) are used."""

    method: str
    battles: int
    per_model: float
    mae: float
    mae_sd: float | None
    draws: int


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group's own temperature, beside the pooled one."""

    group: str
    n_votes: int
    beta: float | None
    beta_se: float | None


@dataclass(frozen=True, kw_only=True)
class RankAgreement(Result):
    """Kendall's tau and Spearman's rho between two rankings of the same models."""

    kind: ClassVar[str] = "rank-agreement"

    n_models: int
    kendall: float | None
    kendall_low: float | None
    kendall_high: float | None
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    confidence_level: float
    replicates: int
    failed: int = 0

    def lines(self) -> list[str]:
        """In words."""
        if self.kendall is None or self.spearman is None:
            return [f"{self.n_models} models: too few, or all tied, to correlate"]
        told = []
        for name, value, low, high in (
            ("Kendall", self.kendall, self.kendall_low, self.kendall_high),
            ("Spearman", self.spearman, self.spearman_low, self.spearman_high),
        ):
            span = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
            told.append(f"{name} {value:.3f}{span} over {self.n_models} models")
        return told


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Result):
    """Models in order, with what is known about how sure that order is."""

    kind: ClassVar[str] = "leaderboard"

    method: str
    beta: float | None
    beta_se: float | None
    l2: float | None
    models: tuple[ModelRow, ...]
    components: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...]
    dropped: Mapping[str, int]
    n_battles: int
    outcome: str
    interval: str
    confidence_level: float | None
    replicates: int | None = None
    clusters: int | None = None
    seed: int | None = None
    smoothing: float | None = None
    temperature: Temperature | None = None
    kappa: float | None = None
    agreement: RankAgreement | None = None
    loo: tuple[LooRow, ...] = ()
    conformal: tuple[ConformalRow, ...] = ()
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    pooling: str | None = None
    proven: bool | None = None
    gap: float | None = None
    assumptions: tuple[str, ...] = ()
    judge_fingerprint: str | None = None

    @property
    def feasible(self) -> bool:
        """Whether there is a leaderboard at all."""
        return bool(self.models)

    def lines(self) -> list[str]:
        """In words: the order, then what to keep in mind."""
        told = [f"{self.method} from {self.n_battles:,} battles ({self.outcome})"]
        if self.beta is not None and self.beta_se is not None:
            told.append(f"beta {self.beta:.3f} (standard error {self.beta_se:.3f})")
        told += [_told(row) for row in self.models]
        if self.agreement is not None:
            told += self.agreement.lines()
        told += [_told_loo(row) for row in self.loo]
        told += [f"warning: {text}" for text in self.warnings]
        if self.dropped:
            told.append("dropped: " + ", ".join(f"{k} {v:,}" for k, v in self.dropped.items()))
        return told


def _told(row: ModelRow) -> str:
    ranks = ""
    if row.rank_low is not None and row.rank_high is not None and row.rank_low != row.rank_high:
        ranks = f" ({row.rank_low} to {row.rank_high})"
    if row.elo is None:
        return f"{row.rank:>3}{ranks} {row.model}" + (
            f"  {row.score:.3f}" if row.score is not None else ""
        )
    span = ""
    if row.unbounded:
        low = "-inf" if row.low is None else f"{row.low:.0f}"
        high = "inf" if row.high is None else f"{row.high:.0f}"
        span = f" [{low}, {high}]"
    elif row.low is not None and row.high is not None:
        span = f" [{row.low:.0f}, {row.high:.0f}]"
    return f"{row.rank:>3}{ranks} {row.model}  {row.elo:.0f}{span}"


def _told_loo(row: LooRow) -> str:
    if row.mae is None:
        return f"left out in turn, {row.method}: no model could be compared"
    rho = "–" if row.spearman is None else f"{row.spearman:.3f}"
    return (
        f"left out in turn, {row.method}: mean error {row.mae:.1f} Elo, Spearman {rho} "
        f"({row.n_models} models)"
    )


@dataclass(frozen=True, kw_only=True)
class AnchorRow:
    """A known model: its judge-scale strength, people's Elo, and its left-out residual and SE."""

    model: str
    theta: float
    human_elo: float | None
    residual: float | None
    se: float | None
    n_battles: int


@dataclass(frozen=True, kw_only=True)
class Anchors(Result):
    """What `rank --save-anchors` keeps: all it takes to put a new model on people's scale.

    `method` says how targets are made (soft-elo with `beta`, hard-elo, smoothed with `smoothing`).
    `score_quantiles` of |s| are kept to notice a judge that has changed.
    """

    kind: ClassVar[str] = "anchors"

    schema_version: int = 1
    method: str
    beta: float | None
    beta_se: float | None
    smoothing: float | None
    l2: float
    replicates: int
    models: tuple[AnchorRow, ...]
    judge: str | None
    judge_fingerprint: str | None
    score_source: str
    score_quantiles: tuple[float, ...]
    n_battles: int
    warnings: tuple[str, ...]
    dropped: Mapping[str, int]
    adjudge_version: str

    def lines(self) -> list[str]:
        """In words."""
        usable = sum(row.residual is not None and row.se is not None for row in self.models)
        told = [
            f"{self.method}: {len(self.models)} anchors, {usable} of them with a left-out residual"
        ]
        if self.beta is not None and self.beta_se is not None:
            told.append(f"beta {self.beta:.3f} (standard error {self.beta_se:.3f})")
        return told + [f"warning: {text}" for text in self.warnings]


@dataclass(frozen=True, kw_only=True)
class LeastReversals(Result):
    """The order that contradicts the fewest wins (minimum feedback arc set).

    `cost` is the weight of wins against the order, `bound` what no order can beat; `gap` is their
    difference as a share of all weight, 0 when `proven`.
    """

    kind: ClassVar[str] = "least-reversals"

    order: tuple[int, ...]
    cost: float
    bound: float
    gap: float
    proven: bool
    seconds: float

    def lines(self) -> list[str]:
        """In words."""
        state = "proven optimal" if self.proven else f"not proven: gap {100 * self.gap:.2f} %"
        return [f"{self.cost:g} of wins against the order, {state}", f"order: {list(self.order)}"]


@dataclass(frozen=True, kw_only=True)
class BattlePlan(Result):
    """Which battles of a pool to judge next. `rows` are positions in the pool, in order."""

    kind: ClassVar[str] = "battle-plan"

    rule: str
    budget: int
    chosen: int
    rows: tuple[int, ...]
    appearances: Mapping[str, int]
    least: int
    most: int
    seed: int | None
    dropped: Mapping[str, int]
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """In words."""
        told = [
            f"{self.chosen:,} battles chosen by {self.rule}; models will have {self.least:,} to "
            f"{self.most:,} battles each"
        ]
        return told + [f"warning: {text}" for text in self.warnings]
