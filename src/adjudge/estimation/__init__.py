"""REPORT: the rate to report, its interval, and which labels to collect next (question 2)."""

from adjudge.estimation.allocation import (
    Allocation,
    allocate,
    optimal_split,
    proposition_51,
    proposition_61,
)
from adjudge.estimation.counts import Counts
from adjudge.estimation.front import AnyEstimate, estimate
from adjudge.estimation.misclassification import (
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge.estimation.pilot import draw_rows, plan_from_table, rows_to_label
from adjudge.estimation.planning import plan_rate
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.these_rows import VerdictCounts, rows_interval

__all__ = [
    "Allocation",
    "AnyEstimate",
    "Counts",
    "VerdictCounts",
    "allocate",
    "corrected_interval",
    "corrected_rate",
    "corrected_variance",
    "draw_rows",
    "estimate",
    "optimal_split",
    "plan_from_table",
    "plan_rate",
    "profile_interval",
    "proposition_51",
    "proposition_61",
    "rows_interval",
    "rows_to_label",
]
