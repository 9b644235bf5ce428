"""Reading files: one module per format, detected from content. And atomic writing."""

from adjudge.io.battles import read_battles
from adjudge.io.binary import read_binary
from adjudge.io.conversion import read_public, sniff
from adjudge.io.converting import LogRows, convert_log
from adjudge.io.formats import FORMATS, Format, kinds_of
from adjudge.io.grades import read_grades
from adjudge.io.items import iter_items, read_items
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import read_labels
from adjudge.io.opening import (
    Stream,
    open_battles,
    open_items,
    open_judgments,
    open_labels,
    open_pairs,
    open_scores,
    open_table,
    open_values,
    open_verdicts,
)
from adjudge.io.pairs import iter_pairs, read_pairs
from adjudge.io.published import Row, UnusableRow
from adjudge.io.refusals import refuse_values
from adjudge.io.results import read_result, write_result
from adjudge.io.scores import join_human_scores, read_scores
from adjudge.io.tables import Table, iter_rows, read_table
from adjudge.io.tournaments import read_tournaments
from adjudge.io.writing import write_rows

__all__ = [
    "FORMATS",
    "Format",
    "LogRows",
    "Row",
    "Stream",
    "Table",
    "UnusableRow",
    "convert_log",
    "iter_items",
    "iter_pairs",
    "iter_rows",
    "join_human_scores",
    "kinds_of",
    "open_battles",
    "open_items",
    "open_judgments",
    "open_labels",
    "open_pairs",
    "open_scores",
    "open_table",
    "open_values",
    "open_verdicts",
    "read_battles",
    "read_binary",
    "read_grades",
    "read_items",
    "read_judgments",
    "read_labels",
    "read_pairs",
    "read_public",
    "read_result",
    "read_scores",
    "read_table",
    "read_tournaments",
    "refuse_values",
    "sniff",
    "write_result",
    "write_rows",
]
