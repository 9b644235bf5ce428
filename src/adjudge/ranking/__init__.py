"""ORDER: leaderboards from battles, on people's scale, with valid intervals."""

from adjudge.ranking.anchors import Anchors, make_anchors, read_anchors
from adjudge.ranking.bradley_terry import bradley_terry, count_wins
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
from adjudge.ranking.placing import place
from adjudge.ranking.plan import BattlePlan, plan_battles
from adjudge.ranking.pooled import PooledFit, fit_pooled
from adjudge.ranking.rank import METHODS, ReadingBattles, ReadingJudged, ReadingVotes, rank
from adjudge.ranking.stale import AnchorsCheck, check_anchors
from adjudge.ranking.table import write_table
from adjudge.ranking.temperature import Temperature, fit_temperature

__all__ = [
    "METHODS",
    "Anchors",
    "AnchorsCheck",
    "BattlePlan",
    "Leaderboard",
    "LeastReversals",
    "PooledFit",
    "RankAgreement",
    "ReadingBattles",
    "ReadingJudged",
    "ReadingVotes",
    "Temperature",
    "bradley_terry",
    "check_anchors",
    "copeland",
    "count_wins",
    "fit_pooled",
    "fit_temperature",
    "least_reversals",
    "make_anchors",
    "online_elo",
    "place",
    "plan_battles",
    "rank",
    "rank_correlations",
    "rank_ranges",
    "ranking_agreement",
    "read_anchors",
    "schulze",
    "win_rate",
    "write_table",
]
