"""Asking judges. Names are loaded on first use: a backend needs little more than its library."""

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


def __getattr__(name: str) -> Any:
    for file in ("interface", "judge", "options", "summary", "judging", "transcript", "weights"):
        if name in __all__ and hasattr(module := import_module(f"{__name__}.{file}"), name):
            globals()[name] = getattr(module, name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
