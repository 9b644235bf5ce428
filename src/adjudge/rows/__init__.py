"""PREPARE: the entry point of every analysis; left-out rows are returned and counted."""

from adjudge.rows.agreement import cohen_kappa
from adjudge.rows.battles import Battles, prepare_battles
from adjudge.rows.clusters import cluster_column, one_row_per_cluster
from adjudge.rows.drift import drift_from_quantiles, score_drift
from adjudge.rows.dropped import Rows, merge_dropped
from adjudge.rows.grades import Grades, prepare_grades
from adjudge.rows.identity import Identity, match_judge
from adjudge.rows.judgments import Judgments, prepare_judgments
from adjudge.rows.labels import LabelJoin, join_labels, join_values
from adjudge.rows.scores import Scores, prepare_scores
from adjudge.rows.tournaments import Tournaments, prepare_tournaments
from adjudge.rows.verdicts import Verdicts, prepare_verdicts

__all__ = [
    "Battles",
    "Grades",
    "Identity",
    "Judgments",
    "LabelJoin",
    "Rows",
    "Scores",
    "Tournaments",
    "Verdicts",
    "cluster_column",
    "cohen_kappa",
    "drift_from_quantiles",
    "join_labels",
    "join_values",
    "match_judge",
    "merge_dropped",
    "one_row_per_cluster",
    "prepare_battles",
    "prepare_grades",
    "prepare_judgments",
    "prepare_scores",
    "prepare_tournaments",
    "prepare_verdicts",
    "score_drift",
]
