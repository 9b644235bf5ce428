"""TRUST: which verdicts may be accepted, and what that promises."""

from adjudge.selection.calibrating import calibrate
from adjudge.selection.clusters import one_row_per_cluster
from adjudge.selection.drift import score_drift
from adjudge.selection.evaluating import evaluate
from adjudge.selection.fdr import fdr_select, pooled_fdr_select
from adjudge.selection.heuristic import heuristic_accept
from adjudge.selection.jury import Jury, calibrate_jury, mean_jury
from adjudge.selection.naive import naive_threshold
from adjudge.selection.pac import pac_threshold
from adjudge.selection.planning import ids_to_label, plan_selection
from adjudge.selection.policy import read_policy
from adjudge.selection.scope import scope_threshold
from adjudge.selection.selecting import Selected, select
from adjudge.selection.shift import effective_size, weighted_fdr_select
from adjudge.selection.splits import SplitRisk, split_risks
from adjudge.selection.vanilla import vanilla_threshold

__all__ = [
    "Jury",
    "Selected",
    "SplitRisk",
    "calibrate",
    "calibrate_jury",
    "effective_size",
    "evaluate",
    "fdr_select",
    "heuristic_accept",
    "ids_to_label",
    "mean_jury",
    "naive_threshold",
    "one_row_per_cluster",
    "pac_threshold",
    "plan_selection",
    "pooled_fdr_select",
    "read_policy",
    "scope_threshold",
    "score_drift",
    "select",
    "split_risks",
    "vanilla_threshold",
    "weighted_fdr_select",
]
