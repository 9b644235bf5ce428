"""How good is the judge, and where is it wrong: on any rows."""

from adjudge.evaluation.evaluate import (
    JudgeEvaluation,
    disagreements,
    evaluate,
    prepare_evaluation,
)
from adjudge.evaluation.scores import ScoreAgreement, measure_scores
from adjudge.evaluation.slices import SliceErrors, find_slices
from adjudge.evaluation.verdicts import JudgedWords, VerdictAgreement, measure_verdicts

__all__ = [
    "JudgeEvaluation",
    "JudgedWords",
    "ScoreAgreement",
    "SliceErrors",
    "VerdictAgreement",
    "disagreements",
    "evaluate",
    "find_slices",
    "measure_scores",
    "measure_verdicts",
    "prepare_evaluation",
]
