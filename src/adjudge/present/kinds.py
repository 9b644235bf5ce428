"""Every kind of result: the section of a report that shows it, and where its class is.

A new kind is a line here. A package adds its kinds by the entry point group `adjudge.results`; a
report shows them after the built-in ones, in the section that their class names (`Result.section`).
"""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.plugins import Builtin, Registry
from adjudge.present.result import Result

#: The sections of a report in order: key, title, and its kinds, most important first.
SECTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "reading": (
        "What the logs hold",
        {
            "log": "adjudge.data.conversion:LogSummary",
        },
    ),
    "judging": (
        "What was judged",
        {
            "judging": "adjudge.judges.summary:Judging",
            "judging_panel": "adjudge.judges.summary:JudgingPanel",
            "judging_cascade": "adjudge.judges.summary:JudgingCascade",
            "plan_judging": "adjudge.judges.summary:JudgingPlan",
            "plan_judging_panel": "adjudge.judges.summary:JudgingPlans",
            "models": "adjudge.judges.weights:ModelList",
        },
    ),
    "replies": (
        "What the judge wrote",
        {
            "replies": "adjudge.judges.transcript:Replies",
        },
    ),
    "selection": (
        "Which verdicts can be trusted",
        {
            "policy": "adjudge.policy.result:Policy",
            "policy_check": "adjudge.selection.verifying:PolicyCheck",
            "selection": "adjudge.selection.selecting:Selection",
            "evaluation": "adjudge.selection.evaluating:Evaluation",
            "plan_selection": "adjudge.selection.planning:SelectionPlan",
            "plan_labels": "adjudge.selection.label_plan:LabelPlan",
            "plan_cascade": "adjudge.selection.cascade_plan:CascadePlan",
            "threshold": "adjudge.selection.thresholds:Threshold",
            "batch_selection": "adjudge.selection.thresholds:BatchSelection",
        },
    ),
    "estimation": (
        "The rate to report",
        {
            "estimate": "adjudge.estimation.rate:Estimate",
            "grouped_estimate": "adjudge.estimation.groups:GroupedEstimate",
            "class_estimate": "adjudge.estimation.classes:ClassEstimate",
            "rate_difference": "adjudge.estimation.difference:RateDifference",
            "plan_rate": "adjudge.estimation.plan:RatePlan",
            "panel_estimate": "adjudge.estimation.panel:PanelEstimate",
            "label_shift": "adjudge.estimation.label_shift:LabelShift",
        },
    ),
    "diagnosis": (
        "Where the judge breaks",
        {
            "bias_report": "adjudge.diagnosis.bias:BiasReport",
            "transitivity": "adjudge.diagnosis.transitivity:Transitivity",
            "score_diagnosis": "adjudge.diagnosis.scores.result:ScoreDiagnosis",
            "prompt_sensitivity": "adjudge.diagnosis.prompts:PromptSensitivity",
            "position_bias": "adjudge.diagnosis.position:PositionBias",
            "length_bias": "adjudge.diagnosis.length:LengthBias",
            "verbosity_bias": "adjudge.diagnosis.length:VerbosityBias",
            "family_bias": "adjudge.diagnosis.family:FamilyBias",
            "family_scores": "adjudge.diagnosis.family:FamilyScores",
            "agreement": "adjudge.diagnosis.agreement:Agreement",
            "reliability": "adjudge.diagnosis.reliability:Reliability",
            "contradictions": "adjudge.diagnosis.repeats:Contradictions",
            "retest": "adjudge.diagnosis.repeats:Retest",
            "cycle_count": "adjudge.diagnosis.cycles:CycleCount",
        },
    ),
    "ranking": (
        "How the models rank",
        {
            "leaderboard": "adjudge.ranking.leaderboard:Leaderboard",
            "temperature": "adjudge.ranking.temperature:Temperature",
            "rank_agreement": "adjudge.ranking.evaluation:RankAgreement",
            "anchors": "adjudge.ranking.anchors:Anchors",
            "least_reversals": "adjudge.ranking.orders:LeastReversals",
            "plan_battles": "adjudge.ranking.plan:BattlePlan",
        },
    ),
    "monitoring": (
        "Is the promise still kept",
        {
            "monitor": "adjudge.policy.audits:Monitor",
            "audit_draw": "adjudge.monitoring.drawing:AuditDraw",
        },
    ),
    "labelling": (
        "Human labels",
        {
            "labelling": "adjudge.server.label_summary:LabellingSummary",
        },
    ),
    "store": (
        "What the store holds",
        {
            "store_check": "adjudge.store.checking:StoreCheck",
            "store_copy": "adjudge.store.copying:StoreCopy",
        },
    ),
    "demo": (
        "The demo",
        {
            "judge_check": "adjudge.demo.check:JudgeCheck",
            "demo": "adjudge.demo.run:Demo",
        },
    ),
}
KINDS = Registry[type[Result]](
    "kind",
    "adjudge.results",
    {kind: Builtin(at) for _, kinds in SECTIONS.values() for kind, at in kinds.items()},
)
