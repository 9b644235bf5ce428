"""REPORT: the rate to report, its interval, and which labels to collect next (question 2)."""

from adjudge.estimation.abtest import ABTest, Experiment, abtest
from adjudge.estimation.classes import ClassEstimate
from adjudge.estimation.compare import compare
from adjudge.estimation.comparison import Comparison
from adjudge.estimation.difference_plan import ComparisonPlan, plan_compare
from adjudge.estimation.estimate import AnyEstimate, estimate
from adjudge.estimation.estimators import register_estimator
from adjudge.estimation.estimators.misclassification import (
    corrected_interval,
    corrected_rate,
    corrected_variance,
)
from adjudge.estimation.exact_interval import rows_interval
from adjudge.estimation.groups import GroupedEstimate
from adjudge.estimation.label_budget import Allocation, allocate, proposition_51, proposition_61
from adjudge.estimation.label_draw import rows_to_label
from adjudge.estimation.label_shift import LabelShift
from adjudge.estimation.mean_plan import MeanPlan
from adjudge.estimation.means import MeanEstimate
from adjudge.estimation.plan import RatePlan, plan_rate
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.rate import Estimate, EstimateResult, RateInterval
from adjudge.estimation.runs import RunsEstimate, estimate_runs
from adjudge.estimation.sample import Counts
from adjudge.estimation.systems import ReadingAnswers, ReadingSystems
from adjudge.statistics.by_verdict import VerdictCounts

__all__ = [
    "ABTest",
    "Allocation",
    "AnyEstimate",
    "ClassEstimate",
    "Comparison",
    "ComparisonPlan",
    "Counts",
    "Estimate",
    "EstimateResult",
    "Experiment",
    "GroupedEstimate",
    "LabelShift",
    "MeanEstimate",
    "MeanPlan",
    "RateInterval",
    "RatePlan",
    "ReadingAnswers",
    "ReadingSystems",
    "RunsEstimate",
    "VerdictCounts",
    "abtest",
    "allocate",
    "compare",
    "corrected_interval",
    "corrected_rate",
    "corrected_variance",
    "estimate",
    "estimate_runs",
    "plan_compare",
    "plan_rate",
    "profile_interval",
    "proposition_51",
    "proposition_61",
    "register_estimator",
    "rows_interval",
    "rows_to_label",
]
