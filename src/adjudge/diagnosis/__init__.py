"""QUESTION: where the judge fails. Cycles, score sets, biases, agreement with people."""

from adjudge.data.families import family_of
from adjudge.diagnosis.agreement import Agreement, agreement
from adjudge.diagnosis.bias import BiasReport, diagnose_bias
from adjudge.diagnosis.cycles import CycleCount, count_cycles, cyclic_triples
from adjudge.diagnosis.family import FamilyBias, FamilyScores, family_bias, family_scores
from adjudge.diagnosis.length import LengthBias, VerbosityBias, length_bias, verbosity_bias
from adjudge.diagnosis.position import PositionBias, position_bias
from adjudge.diagnosis.prompts import PromptSensitivity, diagnose_prompts, prompt_change
from adjudge.diagnosis.reliability import Reliability, reliability
from adjudge.diagnosis.repeats import Contradictions, Retest, contradictions, retest
from adjudge.diagnosis.scores.diagnose import diagnose_scores, score_set_rows
from adjudge.diagnosis.scores.nonconformity import ordinal_nonconformity
from adjudge.diagnosis.scores.result import ScoreDiagnosis
from adjudge.diagnosis.scores.sets import PredictedSets, ScoreSets, advise
from adjudge.diagnosis.transitivity import Transitivity, diagnose_transitivity

__all__ = [
    "Agreement",
    "BiasReport",
    "Contradictions",
    "CycleCount",
    "FamilyBias",
    "FamilyScores",
    "LengthBias",
    "PositionBias",
    "PredictedSets",
    "PromptSensitivity",
    "Reliability",
    "Retest",
    "ScoreDiagnosis",
    "ScoreSets",
    "Transitivity",
    "VerbosityBias",
    "advise",
    "agreement",
    "contradictions",
    "count_cycles",
    "cyclic_triples",
    "diagnose_bias",
    "diagnose_prompts",
    "diagnose_scores",
    "diagnose_transitivity",
    "family_bias",
    "family_of",
    "family_scores",
    "length_bias",
    "ordinal_nonconformity",
    "position_bias",
    "prompt_change",
    "reliability",
    "retest",
    "score_set_rows",
    "verbosity_bias",
]
