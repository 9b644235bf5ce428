"""adjudge: trustworthy LLM-as-a-judge evaluation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The names at the top: the verbs, their options, `Result` and the errors. Everything else is
#: imported from its room. They are loaded on first use, so that `import adjudge` and the command
#: line start fast.
_ROOMS: dict[str, str] = {
    "adjudge.alignment": "align",
    "adjudge.auditing": "check_audits recalibrate renew",
    "adjudge.data": "convert_log",
    "adjudge.diagnosis": "diagnose_bias diagnose_prompts diagnose_scores diagnose_transitivity",
    "adjudge.errors": (
        "AdjudgeError ArgumentError DataError JudgeError PolicyMismatchError StoreError"
    ),
    "adjudge.estimation": "abtest compare estimate estimate_runs plan_compare plan_rate",
    "adjudge.evaluation": "evaluate",
    "adjudge.gating": "gate make_card",
    "adjudge.judges": "JudgingOptions judge_pairs judge_pairs_async plan_judging read_replies",
    "adjudge.monitoring": "monitor_judge draw_audits",
    "adjudge.present.result": "Result",
    "adjudge.ranking": "plan_battles rank",
    "adjudge.report": "write_report",
    "adjudge.selection": (
        "calibrate plan_cascade plan_labels plan_selection read_policy select verify_policy"
    ),
    "adjudge.server.viewer": "view",
    "adjudge.store": "open_store",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("adjudge")
        return globals()[name]
    if name not in _HOME:
        raise AttributeError(f"module 'adjudge' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
