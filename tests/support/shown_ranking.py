"""Fixed ranking results to show: built by hand, all numbers different, so that a swap is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjudge.ranking.leaderboard import (
    BudgetRow,
    ConformalRow,
    HeldOutRow,
    Leaderboard,
    LooRow,
    ModelRow,
)
from adjudge.ranking.orders import RankAgreement
from adjudge.ranking.temperature import AgreementBin, GroupRow, ReliabilityBin, Temperature
from adjudge.records import Interval


def model(
    name: str,
    rank: int,
    elo: float | None,
    ends: tuple[float | None, float | None] | None = None,
    **other: Any,
) -> ModelRow:
    fields: dict[str, Any] = {"se": None, "n_battles": 100 + rank}
    interval = None if ends is None else Interval(*ends, level=0.95)
    return ModelRow(model=name, elo=elo, rank=rank, interval=interval, **{**fields, **other})


MODELS = (
    model("ash", 1, 1641.2, (1611.3, 1673.8), se=15.9, rank_low=1, rank_high=3),
    model("birch", 2, 1587.6, (1552.4, 1622.9), se=18.0, rank_low=1, rank_high=2),
    model("cedar", 3, 1448.7, (1409.1, 1487.5), se=20.1, rank_low=3, rank_high=3),
    model("dogwood", 4, 1322.4, (None, 1376.6), se=44.4, rank_low=4, rank_high=4, unbounded=True),
)

TEMPERATURE = Temperature(
    beta=0.6123,
    beta_se=0.0347,
    n_battles=1234,
    signal=1.4567,
    correlation=0.2871,
    slope=0.7319,
    slope_se=0.0862,
    ece=0.0418,
    agreement=(
        AgreementBin(low=0.05, high=0.9, n=611, agreement=0.583,
                     agreement_interval=Interval(0.541, 0.624, level=0.95), predicted=0.567),
        AgreementBin(low=0.9, high=3.2, n=598, agreement=0.791,
                     agreement_interval=Interval(0.752, 0.828, level=0.95), predicted=0.776),
    ),
    reliability=(
        ReliabilityBin(predicted=0.55, observed=0.58, n=603),
        ReliabilityBin(predicted=0.79, observed=0.77, n=606),
    ),
    warnings=("beta could be rough",),
)  # fmt: skip

AGREEMENT = RankAgreement(
    n_models=4,
    kendall=0.667,
    kendall_interval=Interval(0.331, 0.912, level=0.95),
    spearman=0.801,
    spearman_interval=Interval(0.402, 0.953, level=0.95),
    confidence_level=0.95,
    replicates=200,
    failed=7,
)

BOARD = Leaderboard(
    method="soft-elo",
    beta=0.6123,
    beta_se=0.0347,
    l2=0.01,
    models=MODELS,
    components=(("ash", "birch", "cedar", "dogwood"),),
    warnings=("dogwood (lost all): the interval is open on that side",),
    dropped={"no outcome": 17, "battle of a model with itself": 1},
    n_battles=2345,
    outcome="sigma(beta s), s = score_a - score_b",
    interval="bootstrap",
    confidence_level=0.95,
    replicates=500,
    clusters=321,
    seed=0,
    assumptions=("battles of different prompts are independent draws",),
    whose="the judge's scores",
    advice="adjudge rank battles.csv --evaluate measures judge errors.",
)


#: What BOARD shows wherever it is shown.
BOARD_TABLE = [
    "model | rank | rank range | Elo | 95 % interval | battles",
    "ash | 1 | 1 to 3 | 1641 | [1611, 1674] | 101",
    "birch | 2 | 1 to 2 | 1588 | [1552, 1623] | 102",
    "cedar | 3 | 3 | 1449 | [1409, 1488] | 103",
    "dogwood | 4 | 4 | at most 1377 | (-∞, 1377] | 104",
]
BOARD_FIGURE = "figure: Each model with its interval; after a name its rank, or rank range."
BOARD_NOTES = [
    "detail: What this assumes",
    "detail: battles of different prompts are independent draws",
    "warning: dogwood (lost all): the interval is open on that side",
    "left out 17 battles: no outcome",
    "left out 1 battle: battle of a model with itself",
]

PLACED = replace(
    BOARD,
    models=(
        model("ash", 1, 1641.2, origin="anchor", n_battles=0),
        model("newcomer", 2, 1588.4, (1533.2, 1644.6), se=12.3, rank_low=1, rank_high=3,
              n_battles=211, origin="new"),
        model("cedar", 3, 1448.7, origin="anchor", n_battles=0),
        model("dogwood", 7, 1322.4, origin="anchor", n_battles=0),
    ),
    outcome="judge, score_a - score_b, on people's scale",
    n_battles=211,
    interval="conformal",
    confidence_level=0.9,
    covers_judge_error=True,
    clusters=None,
    warnings=("judges compared by name alone",),
    dropped={"both models are anchors": 5},
    assumptions=("new models are like the anchors",),
)  # fmt: skip


def held(method: str, name: str, human: float, elo: float, half: float | None) -> HeldOutRow:
    return HeldOutRow(
        method=method,
        model=name,
        human_elo=human,
        elo=elo,
        residual=elo - human,
        se=9.9,
        interval=Interval(
            None if half is None else elo - half, None if half is None else elo + half, level=0.8
        ),
        unbounded=half is None,
        covered=None if half is None else abs(elo - human) <= half,
    )


def halves(method: str, **other: Any) -> ConformalRow:
    fields = {"alpha": 0.2, "splits": 5, "n_calibration": 6, "n_test": 7, "models_needed": 4}
    return ConformalRow(method=method, **{**fields, **other})


EVALUATED = replace(
    BOARD,
    temperature=TEMPERATURE,
    agreement=AGREEMENT,
    kappa=0.4321,
    loo=(
        LooRow(method="hard-elo", n_models=13, mae=57.63, spearman=0.912, kendall=0.834,
               mae_interval=Interval(41.23, 73.41, level=0.95),
               residual_by_quarter=(-71.0, -13.0, 22.0, 64.0),
               left_out={"fewer than two battles": 1}),
        LooRow(method="soft-elo", n_models=12, mae=19.54, spearman=0.947, kendall=0.856,
               mean_beta=0.6217, mae_interval=Interval(14.31, 25.72, level=0.95),
               residual_by_quarter=(5.0, 3.0, -4.0, -8.0),
               left_out={"fewer than two battles": 1, "no temperature without its battles": 2}),
        LooRow(method="smoothed", n_models=11, mae=22.78, spearman=None, kendall=None,
               mean_smoothing=0.7639),
    ),
    conformal=(
        halves("hard-elo", coverage=0.8571, median_width=243.9, quantile=6.12, median_se=19.8,
               width_low=201.4, width_high=287.3),
        halves("soft-elo", coverage=0.9143, median_width=75.1, quantile=4.43, median_se=8.4,
               width_low=66.2, width_high=83.6),
        halves("smoothed", coverage=None, median_width=None, quantile=None, unbounded=True),
    ),
    held_out=(
        held("hard-elo", "ash", 1633.0, 1713.0, 120.0),
        held("hard-elo", "birch", 1571.0, 1521.0, 30.0),
        held("soft-elo", "ash", 1633.0, 1623.0, 41.0),
        held("soft-elo", "birch", 1571.0, 1584.0, None),
    ),
    budgets=(
        BudgetRow(method="hard-elo", battles=65, per_model=5.0, mae=91.2, mae_sd=11.1, draws=5),
        BudgetRow(method="soft-elo", battles=65, per_model=5.0, mae=44.7, mae_sd=6.6, draws=5),
        BudgetRow(method="hard-elo", battles=130, per_model=10.0, mae=77.3, mae_sd=7.7, draws=5),
        BudgetRow(method="soft-elo", battles=130, per_model=10.0, mae=31.6, mae_sd=3.3, draws=5),
    ),
    groups=(
        GroupRow(group="de", n_votes=417, beta=0.533, beta_se=0.061),
        GroupRow(group="en", n_votes=817, beta=0.655, beta_se=0.043),
        GroupRow(group="fr", n_votes=0, beta=None, beta_se=None),
    ),
    pooling="one pooled beta is enough: groups do not clearly differ (p = 0.10)",
)  # fmt: skip
