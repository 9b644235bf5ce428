"""ORDER: leaderboards from battles, on people's scale, with valid intervals."""

from adjudge.ranking.anchors import Anchors, make_anchors, place, read_anchors
from adjudge.ranking.bradley_terry import (
    Fit,
    bradley_terry,
    count_wins,
    prediction_powered,
    sandwich,
)
from adjudge.ranking.differences import rank_ranges
from adjudge.ranking.evaluation import (
    elo_quantile,
    evaluate_methods,
    evaluation_rules,
    hold_out_each,
    human_reference,
    models_needed,
    residuals,
    sample_efficiency,
    split_conformal,
)
from adjudge.ranking.leaderboard import Leaderboard
from adjudge.ranking.orders import (
    LeastReversals,
    RankAgreement,
    copeland,
    least_reversals,
    online_elo,
    rank_correlations,
    ranking_agreement,
    schulze,
    win_rate,
)
from adjudge.ranking.plan import BattlePlan, next_battles, plan_battles
from adjudge.ranking.rank import METHODS, rank
from adjudge.ranking.targets import smoothed_targets, soft_targets
from adjudge.ranking.temperature import Temperature, fit_temperature

__all__ = [
    "METHODS",
    "Anchors",
    "BattlePlan",
    "Fit",
    "Leaderboard",
    "LeastReversals",
    "RankAgreement",
    "Temperature",
    "bradley_terry",
    "copeland",
    "count_wins",
    "elo_quantile",
    "evaluate_methods",
    "evaluation_rules",
    "fit_temperature",
    "hold_out_each",
    "human_reference",
    "least_reversals",
    "make_anchors",
    "models_needed",
    "next_battles",
    "online_elo",
    "place",
    "plan_battles",
    "prediction_powered",
    "rank",
    "rank_correlations",
    "rank_ranges",
    "ranking_agreement",
    "read_anchors",
    "residuals",
    "sample_efficiency",
    "sandwich",
    "schulze",
    "smoothed_targets",
    "soft_targets",
    "split_conformal",
    "win_rate",
]
