"""A better prompt from the same labels, and a number from labels that the search never saw."""

from adjudge.alignment.align import AlignmentOptions, align, plan_alignment
from adjudge.alignment.result import Alignment, AlignmentPlan, AlignmentRun

__all__ = [
    "Alignment",
    "AlignmentOptions",
    "AlignmentPlan",
    "AlignmentRun",
    "align",
    "plan_alignment",
]
