"""adjudge: trustworthy LLM-as-a-judge evaluation."""

from adjudge.alignment import align as align
from adjudge.auditing import check_audits as check_audits
from adjudge.auditing import recalibrate as recalibrate
from adjudge.auditing import renew as renew
from adjudge.data import convert_log as convert_log
from adjudge.diagnosis import diagnose_bias as diagnose_bias
from adjudge.diagnosis import diagnose_prompts as diagnose_prompts
from adjudge.diagnosis import diagnose_scores as diagnose_scores
from adjudge.diagnosis import diagnose_transitivity as diagnose_transitivity
from adjudge.errors import AdjudgeError as AdjudgeError
from adjudge.errors import ArgumentError as ArgumentError
from adjudge.errors import DataError as DataError
from adjudge.errors import JudgeError as JudgeError
from adjudge.errors import PolicyMismatchError as PolicyMismatchError
from adjudge.errors import StoreError as StoreError
from adjudge.estimation import abtest as abtest
from adjudge.estimation import compare as compare
from adjudge.estimation import estimate as estimate
from adjudge.estimation import estimate_runs as estimate_runs
from adjudge.estimation import plan_compare as plan_compare
from adjudge.estimation import plan_rate as plan_rate
from adjudge.evaluation import evaluate as evaluate
from adjudge.gating import gate as gate
from adjudge.gating import make_card as make_card
from adjudge.judges import JudgingOptions as JudgingOptions
from adjudge.judges import judge_pairs as judge_pairs
from adjudge.judges import judge_pairs_async as judge_pairs_async
from adjudge.judges import plan_judging as plan_judging
from adjudge.judges import read_replies as read_replies
from adjudge.monitoring import draw_audits as draw_audits
from adjudge.monitoring import monitor_judge as monitor_judge
from adjudge.present.result import Result as Result
from adjudge.ranking import plan_battles as plan_battles
from adjudge.ranking import rank as rank
from adjudge.report import write_report as write_report
from adjudge.selection import calibrate as calibrate
from adjudge.selection import plan_cascade as plan_cascade
from adjudge.selection import plan_labels as plan_labels
from adjudge.selection import plan_selection as plan_selection
from adjudge.selection import read_policy as read_policy
from adjudge.selection import select as select
from adjudge.selection import verify_policy as verify_policy
from adjudge.server.viewer import view as view
from adjudge.store import open_store as open_store

__version__: str
__all__ = [
    "AdjudgeError",
    "ArgumentError",
    "DataError",
    "JudgeError",
    "JudgingOptions",
    "PolicyMismatchError",
    "Result",
    "StoreError",
    "abtest",
    "align",
    "calibrate",
    "check_audits",
    "compare",
    "convert_log",
    "diagnose_bias",
    "diagnose_prompts",
    "diagnose_scores",
    "diagnose_transitivity",
    "draw_audits",
    "estimate",
    "estimate_runs",
    "evaluate",
    "gate",
    "judge_pairs",
    "judge_pairs_async",
    "make_card",
    "monitor_judge",
    "open_store",
    "plan_battles",
    "plan_cascade",
    "plan_compare",
    "plan_judging",
    "plan_labels",
    "plan_rate",
    "plan_selection",
    "rank",
    "read_policy",
    "read_replies",
    "recalibrate",
    "renew",
    "select",
    "verify_policy",
    "view",
    "write_report",
]
