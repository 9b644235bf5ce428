"""ORDER: leaderboards from battles, on people's scale, with valid intervals."""

from adjudge.ranking.anchors import Anchors, make_anchors, place, read_anchors
from adjudge.ranking.bradley_terry import bradley_terry, count_wins, prediction_powered
from adjudge.ranking.differences import rank_ranges
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
from adjudge.ranking.plan import BattlePlan, plan_battles
from adjudge.ranking.rank import METHODS, ReadingBattles, rank
from adjudge.ranking.temperature import Temperature, fit_temperature

__all__ = [
    "METHODS",
    "Anchors",
    "BattlePlan",
    "Leaderboard",
    "LeastReversals",
    "RankAgreement",
    "ReadingBattles",
    "Temperature",
    "bradley_terry",
    "copeland",
    "count_wins",
    "fit_temperature",
    "least_reversals",
    "make_anchors",
    "online_elo",
    "place",
    "plan_battles",
    "prediction_powered",
    "rank",
    "rank_correlations",
    "rank_ranges",
    "ranking_agreement",
    "read_anchors",
    "schulze",
    "win_rate",
]
