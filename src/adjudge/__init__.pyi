"""adjudge: trustworthy LLM-as-a-judge evaluation."""

from adjudge.alignment import align as align
from adjudge.auditing import check_audits as check_audits
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
from adjudge.estimation import compare as compare
from adjudge.estimation import estimate as estimate
from adjudge.estimation import plan_compare as plan_compare
from adjudge.estimation import plan_rate as plan_rate
from adjudge.judges import JudgingOptions as JudgingOptions
from adjudge.judges import judge_pairs as judge_pairs
from adjudge.judges import judge_pairs_async as judge_pairs_async
from adjudge.judges import plan_judging as plan_judging
from adjudge.judges import read_replies as read_replies
from adjudge.monitoring import draw_audits as draw_audits
from adjudge.present.result import Result as Result
from adjudge.ranking import plan_battles as plan_battles
from adjudge.ranking import rank as rank
from adjudge.report import write_report as write_report
from adjudge.selection import calibrate as calibrate
from adjudge.selection import evaluate as evaluate
from adjudge.selection import plan_cascade as plan_cascade
from adjudge.selection import plan_labels as plan_labels
from adjudge.selection import plan_selection as plan_selection
from adjudge.selection import read_policy as read_policy
from adjudge.selection import select as select
from adjudge.selection import verify_policy as verify_policy
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
    "evaluate",
    "judge_pairs",
    "judge_pairs_async",
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
    "select",
    "verify_policy",
    "write_report",
]
