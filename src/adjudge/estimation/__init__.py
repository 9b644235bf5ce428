"""REPORT: the rate to report, its interval, and which labels to collect next (question 2)."""

from adjudge.estimation.classes import ClassEstimate
from adjudge.estimation.compare import AnyComparison, compare
from adjudge.estimation.comparison import Comparison
from adjudge.estimation.difference_plan import ComparisonPlan, plan_compare
from adjudge.estimation.estimate import AnyEstimate, estimate
from adjudge.estimation.estimators import register_estimator
from adjudge.estimation.estimators.misclassification import (
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge.estimation.exact_interval import VerdictCounts, rows_interval
from adjudge.estimation.groups import GroupedEstimate
from adjudge.estimation.label_budget import Allocation, allocate, proposition_51, proposition_61
from adjudge.estimation.label_shift import LabelShift
from adjudge.estimation.means import MeanEstimate
from adjudge.estimation.panel import PanelEstimate
from adjudge.estimation.plan import RatePlan, plan_rate, rows_to_label
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.rate import Estimate
from adjudge.estimation.sample import Counts
from adjudge.estimation.systems import ReadingSystems
from adjudge.estimation.until_sure import SequentialComparison

__all__ = [
    "Allocation",
    "AnyComparison",
    "AnyEstimate",
    "ClassEstimate",
    "Comparison",
    "ComparisonPlan",
    "Counts",
    "Estimate",
    "GroupedEstimate",
    "LabelShift",
    "MeanEstimate",
    "PanelEstimate",
    "RatePlan",
    "ReadingSystems",
    "SequentialComparison",
    "VerdictCounts",
    "allocate",
    "compare",
    "corrected_interval",
    "corrected_rate",
    "corrected_variance",
    "estimate",
    "plan_compare",
    "plan_rate",
    "profile_interval",
    "proposition_51",
    "proposition_61",
    "register_estimator",
    "rows_interval",
    "rows_to_label",
]
