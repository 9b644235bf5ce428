"""TRUST: which verdicts can be accepted, and with which guarantee."""

from adjudge.selection.calibrating import calibrate
from adjudge.selection.cascade import judge_cascade
from adjudge.selection.cascade_plan import CascadePlan, plan_cascade
from adjudge.selection.doubts.jury import Jury, mean_jury
from adjudge.selection.evaluating import Evaluation, evaluate
from adjudge.selection.guarantees import (
    Guarantee,
    Labels,
    all_guarantees,
    find_guarantee,
    register_guarantee,
    scope_threshold,
    unregister_guarantee,
)
from adjudge.selection.guarantees.fdr import (
    effective_size,
    fdr_select,
    pooled_fdr_select,
    weighted_fdr_select,
)
from adjudge.selection.guarantees.pac import pac_threshold, pac_thresholds
from adjudge.selection.planning import LabelPlan, SelectionPlan, plan_labels, plan_selection
from adjudge.selection.selecting import Selection, SelectionRun, select
from adjudge.selection.split_counts import Levels
from adjudge.selection.splits import SplitRisk, split_risks
from adjudge.selection.thresholds import BatchSelection, Threshold
from adjudge.selection.verifying import PolicyCheck, read_policy, verify_policy

__all__ = [
    "BatchSelection",
    "CascadePlan",
    "Evaluation",
    "Guarantee",
    "Jury",
    "LabelPlan",
    "Labels",
    "Levels",
    "PolicyCheck",
    "Selection",
    "SelectionPlan",
    "SelectionRun",
    "SplitRisk",
    "Threshold",
    "all_guarantees",
    "calibrate",
    "effective_size",
    "evaluate",
    "fdr_select",
    "find_guarantee",
    "judge_cascade",
    "mean_jury",
    "pac_threshold",
    "pac_thresholds",
    "plan_cascade",
    "plan_labels",
    "plan_selection",
    "pooled_fdr_select",
    "read_policy",
    "register_guarantee",
    "scope_threshold",
    "select",
    "split_risks",
    "unregister_guarantee",
    "verify_policy",
    "weighted_fdr_select",
]
