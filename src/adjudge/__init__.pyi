"""adjudge: trustworthy LLM-as-a-judge evaluation."""

from adjudge.auditing import check_audits as check_audits
from adjudge.data import LogRows as LogRows
from adjudge.data import convert_log as convert_log
from adjudge.data import join_labels as join_labels
from adjudge.data import open_battles as open_battles
from adjudge.data import open_judgments as open_judgments
from adjudge.data import open_pairs as open_pairs
from adjudge.data import open_scores as open_scores
from adjudge.data import prepare_battles as prepare_battles
from adjudge.data import prepare_grades as prepare_grades
from adjudge.data import prepare_judgments as prepare_judgments
from adjudge.data import prepare_scores as prepare_scores
from adjudge.data import read_battles as read_battles
from adjudge.data import read_binary as read_binary
from adjudge.data import read_grades as read_grades
from adjudge.data import read_items as read_items
from adjudge.data import read_judgments as read_judgments
from adjudge.data import read_labels as read_labels
from adjudge.data import read_pairs as read_pairs
from adjudge.data import read_public as read_public
from adjudge.data import read_scores as read_scores
from adjudge.data import read_table as read_table
from adjudge.data import read_tournaments as read_tournaments
from adjudge.data import write_rows as write_rows
from adjudge.data.conversion import LogSummary as LogSummary
from adjudge.demo.check import JudgeCheck as JudgeCheck
from adjudge.demo.run import Demo as Demo
from adjudge.diagnosis import ScoreSets as ScoreSets
from adjudge.diagnosis import agreement as agreement
from adjudge.diagnosis import contradictions as contradictions
from adjudge.diagnosis import count_cycles as count_cycles
from adjudge.diagnosis import diagnose_bias as diagnose_bias
from adjudge.diagnosis import diagnose_prompts as diagnose_prompts
from adjudge.diagnosis import diagnose_scores as diagnose_scores
from adjudge.diagnosis import diagnose_transitivity as diagnose_transitivity
from adjudge.diagnosis import family_bias as family_bias
from adjudge.diagnosis import family_scores as family_scores
from adjudge.diagnosis import length_bias as length_bias
from adjudge.diagnosis import position_bias as position_bias
from adjudge.diagnosis import reliability as reliability
from adjudge.diagnosis import retest as retest
from adjudge.diagnosis import score_set_rows as score_set_rows
from adjudge.diagnosis import verbosity_bias as verbosity_bias
from adjudge.diagnosis.agreement import Agreement as Agreement
from adjudge.diagnosis.bias import BiasReport as BiasReport
from adjudge.diagnosis.cycles import CycleCount as CycleCount
from adjudge.diagnosis.family import FamilyBias as FamilyBias
from adjudge.diagnosis.family import FamilyScores as FamilyScores
from adjudge.diagnosis.length import LengthBias as LengthBias
from adjudge.diagnosis.length import VerbosityBias as VerbosityBias
from adjudge.diagnosis.position import PositionBias as PositionBias
from adjudge.diagnosis.prompts import PromptSensitivity as PromptSensitivity
from adjudge.diagnosis.reliability import Reliability as Reliability
from adjudge.diagnosis.repeats import Contradictions as Contradictions
from adjudge.diagnosis.repeats import Retest as Retest
from adjudge.diagnosis.scores.result import ScoreDiagnosis as ScoreDiagnosis
from adjudge.diagnosis.transitivity import Transitivity as Transitivity
from adjudge.errors import AdjudgeError as AdjudgeError
from adjudge.errors import ArgumentError as ArgumentError
from adjudge.errors import DataError as DataError
from adjudge.errors import JudgeError as JudgeError
from adjudge.errors import PolicyMismatchError as PolicyMismatchError
from adjudge.errors import StoreError as StoreError
from adjudge.estimation import Counts as Counts
from adjudge.estimation import VerdictCounts as VerdictCounts
from adjudge.estimation import allocate as allocate
from adjudge.estimation import corrected_interval as corrected_interval
from adjudge.estimation import corrected_rate as corrected_rate
from adjudge.estimation import corrected_variance as corrected_variance
from adjudge.estimation import estimate as estimate
from adjudge.estimation import plan_from_table as plan_from_table
from adjudge.estimation import plan_rate as plan_rate
from adjudge.estimation import profile_interval as profile_interval
from adjudge.estimation import proposition_51 as proposition_51
from adjudge.estimation import proposition_61 as proposition_61
from adjudge.estimation import rows_interval as rows_interval
from adjudge.estimation import rows_to_label as rows_to_label
from adjudge.estimation.classes import ClassEstimate as ClassEstimate
from adjudge.estimation.difference import RateDifference as RateDifference
from adjudge.estimation.groups import GroupedEstimate as GroupedEstimate
from adjudge.estimation.label_shift import LabelShift as LabelShift
from adjudge.estimation.panel import PanelEstimate as PanelEstimate
from adjudge.estimation.plan import RatePlan as RatePlan
from adjudge.estimation.rate import Estimate as Estimate
from adjudge.judges import JudgingOptions as JudgingOptions
from adjudge.judges import JudgingRun as JudgingRun
from adjudge.judges import judge_pairs as judge_pairs
from adjudge.judges import judge_pairs_async as judge_pairs_async
from adjudge.judges import plan_judging as plan_judging
from adjudge.judges.summary import Judging as Judging
from adjudge.judges.summary import JudgingCascade as JudgingCascade
from adjudge.judges.summary import JudgingPanel as JudgingPanel
from adjudge.judges.summary import JudgingPlan as JudgingPlan
from adjudge.judges.summary import JudgingPlans as JudgingPlans
from adjudge.judges.transcript import Replies as Replies
from adjudge.judges.transcript import read_replies as read_replies
from adjudge.judges.weights import ModelList as ModelList
from adjudge.monitoring import AuditRun as AuditRun
from adjudge.monitoring import draw_audits as draw_audits
from adjudge.monitoring import estimate_change as estimate_change
from adjudge.monitoring import log_evidence as log_evidence
from adjudge.monitoring import running_interval as running_interval
from adjudge.monitoring.drawing import AuditDraw as AuditDraw
from adjudge.policy.audits import Monitor as Monitor
from adjudge.policy.result import Policy as Policy
from adjudge.present.result import Result as Result
from adjudge.ranking import bradley_terry as bradley_terry
from adjudge.ranking import count_wins as count_wins
from adjudge.ranking import fit_temperature as fit_temperature
from adjudge.ranking import least_reversals as least_reversals
from adjudge.ranking import make_anchors as make_anchors
from adjudge.ranking import place as place
from adjudge.ranking import plan_battles as plan_battles
from adjudge.ranking import prediction_powered as prediction_powered
from adjudge.ranking import rank as rank
from adjudge.ranking.anchors import Anchors as Anchors
from adjudge.ranking.evaluation import RankAgreement as RankAgreement
from adjudge.ranking.leaderboard import Leaderboard as Leaderboard
from adjudge.ranking.orders import LeastReversals as LeastReversals
from adjudge.ranking.plan import BattlePlan as BattlePlan
from adjudge.ranking.temperature import Temperature as Temperature
from adjudge.records import Grade as Grade
from adjudge.records import Item as Item
from adjudge.records import Judgment as Judgment
from adjudge.records import Label as Label
from adjudge.records import Pair as Pair
from adjudge.records import Score as Score
from adjudge.report import write_report as write_report
from adjudge.selection import SelectionRun as SelectionRun
from adjudge.selection import calibrate as calibrate
from adjudge.selection import evaluate as evaluate
from adjudge.selection import fdr_select as fdr_select
from adjudge.selection import judge_cascade as judge_cascade
from adjudge.selection import pac_threshold as pac_threshold
from adjudge.selection import pac_thresholds as pac_thresholds
from adjudge.selection import plan_cascade as plan_cascade
from adjudge.selection import plan_labels as plan_labels
from adjudge.selection import plan_selection as plan_selection
from adjudge.selection import read_policy as read_policy
from adjudge.selection import register_guarantee as register_guarantee
from adjudge.selection import scope_threshold as scope_threshold
from adjudge.selection import select as select
from adjudge.selection import verify_policy as verify_policy
from adjudge.selection.cascade_plan import CascadePlan as CascadePlan
from adjudge.selection.evaluating import Evaluation as Evaluation
from adjudge.selection.label_plan import LabelPlan as LabelPlan
from adjudge.selection.planning import SelectionPlan as SelectionPlan
from adjudge.selection.selecting import Selection as Selection
from adjudge.selection.thresholds import BatchSelection as BatchSelection
from adjudge.selection.thresholds import Threshold as Threshold
from adjudge.selection.verifying import PolicyCheck as PolicyCheck
from adjudge.server.label_summary import LabellingSummary as LabellingSummary
from adjudge.statistics.entropy import confidence as confidence
from adjudge.statistics.entropy import mean_preference as mean_preference
from adjudge.statistics.entropy import preference_entropy as preference_entropy
from adjudge.statistics.entropy import verdicts as verdicts
from adjudge.store import check_store as check_store
from adjudge.store import copy_store as copy_store
from adjudge.store import open_store as open_store
from adjudge.store.checking import StoreCheck as StoreCheck
from adjudge.store.copying import StoreCopy as StoreCopy

__version__: str
__all__ = [
    "AdjudgeError",
    "Agreement",
    "Anchors",
    "ArgumentError",
    "AuditDraw",
    "AuditRun",
    "BatchSelection",
    "BattlePlan",
    "BiasReport",
    "CascadePlan",
    "ClassEstimate",
    "Contradictions",
    "Counts",
    "CycleCount",
    "DataError",
    "Demo",
    "Estimate",
    "Evaluation",
    "FamilyBias",
    "FamilyScores",
    "Grade",
    "GroupedEstimate",
    "Item",
    "JudgeCheck",
    "JudgeError",
    "Judging",
    "JudgingCascade",
    "JudgingOptions",
    "JudgingPanel",
    "JudgingPlan",
    "JudgingPlans",
    "JudgingRun",
    "Judgment",
    "Label",
    "LabelPlan",
    "LabelShift",
    "LabellingSummary",
    "Leaderboard",
    "LeastReversals",
    "LengthBias",
    "LogRows",
    "LogSummary",
    "ModelList",
    "Monitor",
    "Pair",
    "PanelEstimate",
    "Policy",
    "PolicyCheck",
    "PolicyMismatchError",
    "PositionBias",
    "PromptSensitivity",
    "RankAgreement",
    "RateDifference",
    "RatePlan",
    "Reliability",
    "Replies",
    "Result",
    "Retest",
    "Score",
    "ScoreDiagnosis",
    "ScoreSets",
    "Selection",
    "SelectionPlan",
    "SelectionRun",
    "StoreCheck",
    "StoreCopy",
    "StoreError",
    "Temperature",
    "Threshold",
    "Transitivity",
    "VerbosityBias",
    "VerdictCounts",
    "agreement",
    "allocate",
    "bradley_terry",
    "calibrate",
    "check_audits",
    "check_store",
    "confidence",
    "contradictions",
    "convert_log",
    "copy_store",
    "corrected_interval",
    "corrected_rate",
    "corrected_variance",
    "count_cycles",
    "count_wins",
    "diagnose_bias",
    "diagnose_prompts",
    "diagnose_scores",
    "diagnose_transitivity",
    "draw_audits",
    "estimate",
    "estimate_change",
    "evaluate",
    "family_bias",
    "family_scores",
    "fdr_select",
    "fit_temperature",
    "join_labels",
    "judge_cascade",
    "judge_pairs",
    "judge_pairs_async",
    "least_reversals",
    "length_bias",
    "log_evidence",
    "make_anchors",
    "mean_preference",
    "open_battles",
    "open_judgments",
    "open_pairs",
    "open_scores",
    "open_store",
    "pac_threshold",
    "pac_thresholds",
    "place",
    "plan_battles",
    "plan_cascade",
    "plan_from_table",
    "plan_judging",
    "plan_labels",
    "plan_rate",
    "plan_selection",
    "position_bias",
    "prediction_powered",
    "preference_entropy",
    "prepare_battles",
    "prepare_grades",
    "prepare_judgments",
    "prepare_scores",
    "profile_interval",
    "proposition_51",
    "proposition_61",
    "rank",
    "read_battles",
    "read_binary",
    "read_grades",
    "read_items",
    "read_judgments",
    "read_labels",
    "read_pairs",
    "read_policy",
    "read_public",
    "read_replies",
    "read_scores",
    "read_table",
    "read_tournaments",
    "register_guarantee",
    "reliability",
    "retest",
    "rows_interval",
    "rows_to_label",
    "running_interval",
    "scope_threshold",
    "score_set_rows",
    "select",
    "verbosity_bias",
    "verdicts",
    "verify_policy",
    "write_report",
    "write_rows",
]
