"""Parts of the Soft-Elo reproduction: the measures of appendices C, F and G for one judge."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge.present.result import Correlation, Count, NotNegative, Proportion


@dataclass(frozen=True, kw_only=True)
class FamilyExcess:
    """Mean of the judge's own family minus that of the others (F.1), in Elo or in points.

    The interval is over models; None if a side has one model.
    """

    family: str
    own_models: Count
    other_models: Count
    excess: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class BetaStability:
    """How beta depends on which models are left out, and on the value of a tie (appendix C).

    `pooled` is fitted on all votes, `pooled_mae` the held-out error with it in every fold;
    `with_ties` is beta with people's ties as one half, then its error and Spearman's rho.
    """

    pooled: float
    fold_sd: NotNegative
    mean_deviation: NotNegative
    largest_deviation: NotNegative
    pooled_mae: NotNegative | None
    with_ties: float | None
    with_ties_mae: NotNegative | None
    with_ties_spearman: Correlation | None


@dataclass(frozen=True, kw_only=True)
class StrengthStructure:
    """How residuals and score differences depend on strength (sections 4.2 and 4.3).

    `*_correlation` is Pearson's of residual and people's Elo; `top_top` and `top_bottom` are median
    |s| of battles within the strongest quarter of models, and between it and the weakest.
    """

    hard_correlation: Correlation | None
    soft_correlation: Correlation | None
    top_top: NotNegative | None
    top_bottom: NotNegative | None


@dataclass(frozen=True, kw_only=True)
class LengthEffect:
    """The effect of length on near-tied verdicts and on residuals (F.1).

    `longer_share` is how often the longer answer wins if |s| <= 0.3. `partial` correlates the
    Hard-Elo residual with a model's mean length at fixed people's Elo.
    """

    near_tied: Count
    longer_share: Proportion | None
    low: float | None
    high: float | None
    partial: Correlation | None
    p_value: Proportion | None


@dataclass(frozen=True, kw_only=True)
class OrderError:
    """|Residual| of one model if every verdict is that of one order."""

    model: str
    first: NotNegative
    second: NotNegative


@dataclass(frozen=True, kw_only=True)
class PositionEffect:
    """The effect of the order of presentation (F.1): on verdicts, on points, on Elo.

    `first_favoured` is the share of battles in which the first slot gains points; `first_mae` and
    `second_mae` are errors of Hard-Elo with A always shown first, and second.
    """

    pairs: Count
    first_share: Proportion
    low: float | None
    high: float | None
    flip_share: Proportion
    flip_low: float | None
    flip_high: float | None
    advantage: float | None
    first_favoured: Proportion
    first_mae: NotNegative | None
    second_mae: NotNegative | None
    models: tuple[OrderError, ...] = ()
