"""adjudge: trustworthy LLM-as-a-judge evaluation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The public names of each room or module. They are loaded on first use, so that `import adjudge`
#: and the command line start fast; tests/contracts compares this table with the rooms' exports.
_ROOMS: dict[str, str] = {
    "adjudge.auditing": "check_audits",
    "adjudge.data": (
        "LogRows convert_log join_labels open_battles open_judgments open_pairs open_scores "
        "prepare_battles prepare_grades prepare_judgments prepare_scores read_battles "
        "read_binary read_grades read_items read_judgments read_labels read_pairs read_public "
        "read_scores read_table read_tournaments write_rows"
    ),
    "adjudge.data.conversion": "LogSummary",
    "adjudge.demo.check": "JudgeCheck",
    "adjudge.demo.run": "Demo",
    "adjudge.diagnosis": (
        "ScoreSets agreement contradictions count_cycles diagnose_bias diagnose_prompts "
        "diagnose_scores diagnose_transitivity family_bias family_scores length_bias "
        "position_bias reliability retest score_set_rows verbosity_bias"
    ),
    "adjudge.diagnosis.agreement": "Agreement",
    "adjudge.diagnosis.bias": "BiasReport",
    "adjudge.diagnosis.cycles": "CycleCount",
    "adjudge.diagnosis.family": "FamilyBias FamilyScores",
    "adjudge.diagnosis.length": "LengthBias VerbosityBias",
    "adjudge.diagnosis.position": "PositionBias",
    "adjudge.diagnosis.prompts": "PromptSensitivity",
    "adjudge.diagnosis.reliability": "Reliability",
    "adjudge.diagnosis.repeats": "Contradictions Retest",
    "adjudge.diagnosis.scores.result": "ScoreDiagnosis",
    "adjudge.diagnosis.transitivity": "Transitivity",
    "adjudge.errors": (
        "AdjudgeError ArgumentError DataError JudgeError PolicyMismatchError StoreError"
    ),
    "adjudge.estimation": (
        "Counts VerdictCounts allocate corrected_interval corrected_rate corrected_variance "
        "estimate plan_from_table plan_rate profile_interval proposition_51 proposition_61 "
        "rows_interval rows_to_label"
    ),
    "adjudge.estimation.classes": "ClassEstimate",
    "adjudge.estimation.difference": "RateDifference",
    "adjudge.estimation.groups": "GroupedEstimate",
    "adjudge.estimation.label_shift": "LabelShift",
    "adjudge.estimation.panel": "PanelEstimate",
    "adjudge.estimation.plan": "RatePlan",
    "adjudge.estimation.rate": "Estimate",
    "adjudge.judges": "JudgingOptions JudgingRun judge_pairs judge_pairs_async plan_judging",
    "adjudge.judges.summary": "Judging JudgingCascade JudgingPanel JudgingPlan JudgingPlans",
    "adjudge.judges.transcript": "Replies read_replies",
    "adjudge.judges.weights": "ModelList",
    "adjudge.monitoring": "AuditRun draw_audits estimate_change log_evidence running_interval",
    "adjudge.monitoring.drawing": "AuditDraw",
    "adjudge.policy.audits": "Monitor",
    "adjudge.policy.result": "Policy",
    "adjudge.present.result": "Result",
    "adjudge.ranking": (
        "bradley_terry count_wins fit_temperature least_reversals make_anchors place "
        "plan_battles prediction_powered rank"
    ),
    "adjudge.ranking.anchors": "Anchors",
    "adjudge.ranking.evaluation": "RankAgreement",
    "adjudge.ranking.leaderboard": "Leaderboard",
    "adjudge.ranking.orders": "LeastReversals",
    "adjudge.ranking.plan": "BattlePlan",
    "adjudge.ranking.temperature": "Temperature",
    "adjudge.records": "Grade Item Judgment Label Pair Score",
    "adjudge.report": "write_report",
    "adjudge.selection": (
        "SelectionRun calibrate evaluate fdr_select judge_cascade pac_threshold "
        "pac_thresholds plan_cascade plan_labels plan_selection read_policy "
        "register_guarantee scope_threshold select verify_policy"
    ),
    "adjudge.selection.cascade_plan": "CascadePlan",
    "adjudge.selection.evaluating": "Evaluation",
    "adjudge.selection.label_plan": "LabelPlan",
    "adjudge.selection.planning": "SelectionPlan",
    "adjudge.selection.selecting": "Selection",
    "adjudge.selection.thresholds": "BatchSelection Threshold",
    "adjudge.selection.verifying": "PolicyCheck",
    "adjudge.server.label_summary": "LabellingSummary",
    "adjudge.statistics.entropy": "confidence mean_preference preference_entropy verdicts",
    "adjudge.store": "check_store copy_store open_store",
    "adjudge.store.checking": "StoreCheck",
    "adjudge.store.copying": "StoreCopy",
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
