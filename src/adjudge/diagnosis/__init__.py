"""QUESTION: where the judge fails. Cycles, score sets, biases, agreement with people."""

from adjudge.data.families import family_of
from adjudge.diagnosis.agreement import Agreement, agreement
from adjudge.diagnosis.bias import BiasReport, diagnose_bias
from adjudge.diagnosis.cycles import count_cycles, cyclic_triples
from adjudge.diagnosis.family import FamilyScores, family_scores
from adjudge.diagnosis.prompts import PromptSensitivity, diagnose_prompts
from adjudge.diagnosis.scores.diagnose import diagnose_scores, score_set_rows
from adjudge.diagnosis.scores.nonconformity import ordinal_nonconformity
from adjudge.diagnosis.scores.result import ScoreDiagnosis
from adjudge.diagnosis.scores.sets import PredictedSets, ScoreSets, advise
from adjudge.diagnosis.transitivity import Transitivity, diagnose_transitivity

__all__ = [
    "Agreement",
    "BiasReport",
    "FamilyScores",
    "PredictedSets",
    "PromptSensitivity",
    "ScoreDiagnosis",
    "ScoreSets",
    "Transitivity",
    "advise",
    "agreement",
    "count_cycles",
    "cyclic_triples",
    "diagnose_bias",
    "diagnose_prompts",
    "diagnose_scores",
    "diagnose_transitivity",
    "family_of",
    "family_scores",
    "ordinal_nonconformity",
    "score_set_rows",
]
