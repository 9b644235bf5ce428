"""READ: every kind of rows, opened, checked and prepared; left-out rows are counted."""

from adjudge.data.battles import Battles, prepare_battles, read_battles
from adjudge.data.conversion import LogRows, LogSummary, convert_log, read_public
from adjudge.data.exporting import export_scores
from adjudge.data.formats import FORMATS, Format, Row, UnusableRow, kinds_of
from adjudge.data.grades import Grades, prepare_grades, read_grades
from adjudge.data.judgments import Judgments, prepare_judgments, read_judgments
from adjudge.data.labels import join_labels, read_labels
from adjudge.data.pairs import (
    Stream,
    iter_items,
    iter_pairs,
    open_items,
    open_pairs,
    read_items,
    read_pairs,
)
from adjudge.data.rows import Rows
from adjudge.data.scores import Scores, join_human_scores, prepare_scores, read_scores
from adjudge.data.source import Reading, Source, open_table
from adjudge.data.tables import Table, iter_rows, read_table, sniff
from adjudge.data.tournaments import prepare_tournaments, read_tournaments
from adjudge.data.writing import read_result, write_result, write_rows

__all__ = [
    "FORMATS",
    "Battles",
    "Format",
    "Grades",
    "Judgments",
    "LogRows",
    "LogSummary",
    "Reading",
    "Row",
    "Rows",
    "Scores",
    "Source",
    "Stream",
    "Table",
    "UnusableRow",
    "convert_log",
    "export_scores",
    "iter_items",
    "iter_pairs",
    "iter_rows",
    "join_human_scores",
    "join_labels",
    "kinds_of",
    "open_items",
    "open_pairs",
    "open_table",
    "prepare_battles",
    "prepare_grades",
    "prepare_judgments",
    "prepare_scores",
    "prepare_tournaments",
    "read_battles",
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
    "sniff",
    "write_result",
    "write_rows",
]
