"""A leaderboard: its rows with intervals, ranks and rank ranges, and what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Note,
    Table,
    Tone,
    explain,
    remarks_of,
    table_of,
)
from adjudge.present.result import (
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
)
from adjudge.ranking.evaluation_view import (
    beta_columns,
    evaluation_blocks,
    group_blocks,
    interval_notes,
)
from adjudge.ranking.leaderboard_view import (
    board_headline,
    board_tables,
    fitted_facts,
    leaderboard_figure,
    placed_headline,
    placed_tables,
)
from adjudge.ranking.orders import RankAgreement, agreement_facts
from adjudge.ranking.style import StyleRow
from adjudge.ranking.targets import JurorRow
from adjudge.ranking.temperature import GroupRow, Temperature, temperature_blocks
from adjudge.records import Interval


@dataclass(frozen=True, kw_only=True)
class PlainRow:
    """A model without control of style; ranks count the models that are ranked at equal style."""

    elo: float
    rank: Count | None = None
    rank_low: Count | None = None
    rank_high: Count | None = None


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model. `elo` is None for methods that give only an order; `score` is their own number.

    `interval` is of the Elo or score, `difference` of the Elo minus that of the component's
    reference, if the board has references. An end that is None is open (then `unbounded` is True).
    If a method has no interval, both are None and `unbounded` is False. Ranks count within the
    model's component; a model with too few battles has none, and `votes_needed` is how many would
    do. `votes` counts the battles with a vote. `origin` is "battles" for models ranked by these
    battles, "anchor" for known ones and "new" for placed ones. On a board at equal style `plain`
    has the Elo without control, `like_style` the share of its battles with like style (below 5 %
    it is extrapolated and has no rank), and `bend` by how much Elo a bent effect would move it.
    """

    model: str
    elo: float | None
    interval: Interval | None
    se: NotNegative | None
    n_battles: Count
    rank: Count | None
    votes: Count | None = None
    votes_needed: Count | None = None
    rank_low: Count | None = None
    rank_high: Count | None = None
    score: float | None = None
    component: Count = 0
    unbounded: bool = False
    origin: str = "battles"
    difference: Interval | None = None
    plain: PlainRow | None = None
    like_style: Proportion | None = None
    bend: float | None = None

    @property
    def moved(self) -> int | None:
        """How many places higher it is at equal style."""
        if self.plain is None or self.plain.rank is None or self.rank is None:
            return None
        return self.plain.rank - self.rank

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The ends of the interval, or of the difference; None if open or if there is none."""
        shown = self.interval or self.difference
        return (None, None) if shown is None else (shown.low, shown.high)


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
    mae_interval: Interval | None = None
    residual_by_quarter: tuple[float, ...] = ()
    left_out: dict[str, Count] = field(default_factory=dict)


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
    interval: Interval
    unbounded: bool
    covered: bool | None

    @property
    def width(self) -> float | None:
        """The width of the interval; None if it is unbounded."""
        low, high = self.interval
        return None if low is None or high is None else high - low


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

    @property
    def why_unbounded(self) -> str:
        """Why there is no width, if there is none."""
        if self.models_needed is not None and self.n_calibration < self.models_needed:
            return f"{self.n_calibration} models calibrate, and {self.models_needed} are needed"
        return "too many models have no standard error"


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
class Leaderboard(Result):
    """Models in order, with the uncertainty of that order.

    `covers_judge_error` is true if intervals are about people's preferences: on votes, on votes
    combined with a judge, and for placed models. Otherwise they cover only the noise of these
    battles. `reason` explains why there are no models. `references` names a model for each
    component if some model, or group of models, won or lost everything: intervals are then of
    differences to it. `whose` names the votes or verdicts, `doubt` asks whether those
    are a judge's, and `advice` is how to include judge errors.
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
    widest: NotNegative | None = None
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
    references: tuple[str, ...] = ()
    whose: str | None = None
    doubt: str = ""
    style: tuple[StyleRow, ...] = ()
    top: Count | None = None
    advice: str = ""
    mix: Mapping[str, float] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether there is a leaderboard."""
        return any(row.rank is not None for row in self.models)

    def view(self) -> list[Block]:
        new = [row for row in self.models if row.origin == "new"]
        blocks: list[Block] = [placed_headline(self, new) if new else board_headline(self)]
        if self.models:
            blocks += placed_tables(self, new) if new else board_tables(self)
        if self.feasible:
            caption = "Each model with its interval; after a name its rank, or rank range."
            blocks.append(Figure("leaderboard", partial(leaderboard_figure, self), caption))
        facts = [] if self.agreement is None else agreement_facts(self.agreement)
        if self.proven is not None:
            proof = f"not proven, gap {text.percent(self.gap, 2)} of all wins"
            facts.append(Fact("fewest wins against the order", "proven" if self.proven else proof))
        if facts:
            blocks.append(Facts(facts))
        fitted = [] if self.temperature is not None else fitted_facts(self)
        if self.kappa is not None:
            kappa = text.number(self.kappa)
            fitted.append(Fact("kappa of verdicts and votes", kappa, "battle by battle"))
        lines = [
            f"{fact.label} {fact.value}" + f" ({fact.note})" * bool(fact.note) for fact in fitted
        ]
        details: list[Block] = [Note(lines, title="What was fitted")] if lines else []
        if (fit := self.temperature) is not None:
            caption = f"beta {text.number(fit.beta)} (se {text.number(fit.beta_se)}, "
            caption += f"{text.count(fit.n_battles, 'vote')})"
            if fit.ece is not None:
                caption += f", calibration error {text.number(fit.ece)}"
            details += temperature_blocks(fit, caption)
        if self.jury:
            caption = "The jury: the temperature of each judge"
            details.append(table_of(self.jury, beta_columns("judge"), caption=caption))
        if self.loo:
            details += evaluation_blocks(self)
        if self.groups or self.pooling:
            details += group_blocks(self)
        blocks += [
            replace(block, detail=True) if isinstance(block, Table | Note) else block
            for block in details
        ]
        remarks = [f"warning: {warning}" for warning in self.warnings]
        remarks += text.left_out(self.dropped, "battle")
        advice = [] if self.loo or self.interval == "none" or not self.advice else [self.advice]
        folded = explain(self.assumptions, others=advice, brief=not remarks)
        tone: Tone = "bad" if self.warnings else "plain"
        if self.held_out:
            blocks += interval_notes(self)
        return blocks + folded + remarks_of(remarks, tone=tone)
