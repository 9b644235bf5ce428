"""Asking judges: one file per protocol, one per backend, and the runner between them.

Names are loaded on first use. So a backend can be imported on a machine that has little more than
the backend's library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjudge.judges.interface import Backend, JudgeProtocol
    from adjudge.judges.judge import BACKENDS, PROTOCOLS, make_judge, parse_judge, parse_protocol
    from adjudge.judges.judging import JudgingRun, judge_pairs, judge_pairs_async, plan_judging
    from adjudge.judges.options import JudgingOptions
    from adjudge.judges.summary import (
        Judging,
        JudgingCascade,
        JudgingPanel,
        JudgingPlan,
        JudgingPlans,
    )
    from adjudge.judges.transcript import Replies, read_replies
    from adjudge.judges.weights import ModelList

__all__ = [
    "BACKENDS",
    "PROTOCOLS",
    "Backend",
    "JudgeProtocol",
    "Judging",
    "JudgingCascade",
    "JudgingOptions",
    "JudgingPanel",
    "JudgingPlan",
    "JudgingPlans",
    "JudgingRun",
    "ModelList",
    "Replies",
    "judge_pairs",
    "judge_pairs_async",
    "make_judge",
    "parse_judge",
    "parse_protocol",
    "plan_judging",
    "read_replies",
]

_FILES = {
    "summary": (
        "Judging",
        "JudgingCascade",
        "JudgingPanel",
        "JudgingPlan",
        "JudgingPlans",
    ),
    "transcript": (
        "Replies",
        "read_replies",
    ),
    "weights": ("ModelList",),
    "interface": ("Backend", "JudgeProtocol"),
    "judge": ("BACKENDS", "PROTOCOLS", "make_judge", "parse_judge", "parse_protocol"),
    "judging": ("JudgingRun", "judge_pairs", "judge_pairs_async", "plan_judging"),
    "options": ("JudgingOptions",),
}
_HOME = {name: file for file, names in _FILES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
