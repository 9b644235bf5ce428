"""READ: one file per format, sniffed by content; labels joined by id. And write, atomically."""

from adjudge.io.battles import read_battles
from adjudge.io.binary import read_binary
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import Joined, join_labels, read_labels
from adjudge.io.pairs import iter_pairs, read_pairs
from adjudge.io.results import read_result, write_result
from adjudge.io.scores import read_scores
from adjudge.io.tables import iter_rows, read_table
from adjudge.io.tournaments import read_tournaments
from adjudge.io.writing import write_rows

__all__ = [
    "Joined",
    "iter_pairs",
    "iter_rows",
    "join_labels",
    "read_battles",
    "read_binary",
    "read_judgments",
    "read_labels",
    "read_pairs",
    "read_result",
    "read_scores",
    "read_table",
    "read_tournaments",
    "write_result",
    "write_rows",
]
