"""TRUST: which verdicts may be accepted, and what that promises."""

from adjudge.selection.fdr import fdr_select, pooled_fdr_select
from adjudge.selection.heuristic import heuristic_accept
from adjudge.selection.naive import naive_threshold
from adjudge.selection.pac import pac_threshold
from adjudge.selection.scope import scope_threshold
from adjudge.selection.shift import effective_size, weighted_fdr_select
from adjudge.selection.vanilla import vanilla_threshold

__all__ = [
    "effective_size",
    "fdr_select",
    "heuristic_accept",
    "naive_threshold",
    "pac_threshold",
    "pooled_fdr_select",
    "scope_threshold",
    "vanilla_threshold",
    "weighted_fdr_select",
]
