"""TRUST: which verdicts can be accepted, and with which guarantee."""

from typing import TYPE_CHECKING, Any

from adjudge.selection.calibrating import calibrate
from adjudge.selection.cascade import Cascade, PlannedCascade
from adjudge.selection.cascade_plan import CascadePlan, plan_cascade
from adjudge.selection.choices import Choices
from adjudge.selection.doubts.base import ReadingJudgments, find_doubt
from adjudge.selection.doubts.jury import Jury, Learned
from adjudge.selection.evaluating import Evaluation, evaluate_doubt
from adjudge.selection.guarantees import (
    Guarantee,
    Labels,
    all_guarantees,
    find_guarantee,
    register_guarantee,
    scope_threshold,
    unregister_guarantee,
)
from adjudge.selection.guarantees.fdr import fdr_select
from adjudge.selection.guarantees.pac import pac_threshold, pac_thresholds
from adjudge.selection.planning import LabelPlan, SelectionPlan, plan_labels, plan_selection
from adjudge.selection.selecting import Selection, SelectionRun, select
from adjudge.selection.thresholds import BatchSelection, Levels, Threshold
from adjudge.selection.verifying import PolicyCheck, read_policy, verify_policy

if TYPE_CHECKING:
    from adjudge.selection.cascade_judging import judge_cascade

__all__ = [
    "BatchSelection",
    "Cascade",
    "CascadePlan",
    "Choices",
    "Evaluation",
    "Guarantee",
    "Jury",
    "LabelPlan",
    "Labels",
    "Learned",
    "Levels",
    "PlannedCascade",
    "PolicyCheck",
    "ReadingJudgments",
    "Selection",
    "SelectionPlan",
    "SelectionRun",
    "Threshold",
    "all_guarantees",
    "calibrate",
    "evaluate_doubt",
    "fdr_select",
    "find_doubt",
    "find_guarantee",
    "judge_cascade",
    "pac_threshold",
    "pac_thresholds",
    "plan_cascade",
    "plan_labels",
    "plan_selection",
    "read_policy",
    "register_guarantee",
    "scope_threshold",
    "select",
    "unregister_guarantee",
    "verify_policy",
]


def __getattr__(name: str) -> Any:
    """`judge_cascade` is imported when it is asked for: only it needs the judges."""
    if name == "judge_cascade":
        from adjudge.selection import cascade_judging

        return cascade_judging.judge_cascade
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
