"""READ: one file per format, sniffed by content; labels joined by id. And write, atomically."""

from adjudge.io.battles import read_battles
from adjudge.io.binary import read_binary
from adjudge.io.items import iter_items, read_items
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import Joined, join_labels, read_labels
from adjudge.io.opening import (
    Stream,
    open_battles,
    open_items,
    open_judgments,
    open_labels,
    open_pairs,
    open_scores,
)
from adjudge.io.pairs import iter_pairs, read_pairs
from adjudge.io.public import PUBLIC_FORMATS as PUBLIC_FORMATS
from adjudge.io.public import Opened, read_public, sniff
from adjudge.io.results import read_result, write_result
from adjudge.io.scores import join_human_scores, read_scores
from adjudge.io.tables import iter_rows, read_table
from adjudge.io.tournaments import read_tournaments
from adjudge.io.writing import write_rows

__all__ = [
    "Joined",
    "Opened",
    "Stream",
    "iter_items",
    "iter_pairs",
    "iter_rows",
    "join_human_scores",
    "join_labels",
    "open_battles",
    "open_items",
    "open_judgments",
    "open_labels",
    "open_pairs",
    "open_scores",
    "read_battles",
    "read_binary",
    "read_items",
    "read_judgments",
    "read_labels",
    "read_pairs",
    "read_public",
    "read_result",
    "read_scores",
    "read_table",
    "read_tournaments",
    "sniff",
    "write_result",
    "write_rows",
]
