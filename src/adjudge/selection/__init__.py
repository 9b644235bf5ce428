"""TRUST: which verdicts may be accepted, and what that promises."""

from adjudge.selection.clusters import one_row_per_cluster
from adjudge.selection.fdr import fdr_select, pooled_fdr_select
from adjudge.selection.heuristic import heuristic_accept
from adjudge.selection.naive import naive_threshold
from adjudge.selection.pac import pac_threshold
from adjudge.selection.scope import scope_threshold
from adjudge.selection.shift import effective_size, weighted_fdr_select
from adjudge.selection.splits import SplitRisk, split_risks
from adjudge.selection.vanilla import vanilla_threshold

__all__ = [
    "SplitRisk",
    "effective_size",
    "fdr_select",
    "heuristic_accept",
    "naive_threshold",
    "one_row_per_cluster",
    "pac_threshold",
    "pooled_fdr_select",
    "scope_threshold",
    "split_risks",
    "vanilla_threshold",
    "weighted_fdr_select",
]
