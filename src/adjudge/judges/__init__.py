"""ASK: one file per protocol, one per backend, the runner between them.

Names are loaded on first use: a backend's file must be importable on a machine that has little
more than the backend's own library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjudge.judges.fingerprint import make_judge
    from adjudge.judges.judging import Judged, judge_pairs, judge_pairs_async
    from adjudge.judges.planning import plan_judging
    from adjudge.judges.spec import parse_judge, parse_protocol

__all__ = [
    "Judged",
    "judge_pairs",
    "judge_pairs_async",
    "make_judge",
    "parse_judge",
    "parse_protocol",
    "plan_judging",
]

_HOME = {
    "Judged": "judging",
    "judge_pairs": "judging",
    "judge_pairs_async": "judging",
    "make_judge": "fingerprint",
    "parse_judge": "spec",
    "parse_protocol": "spec",
    "plan_judging": "planning",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
