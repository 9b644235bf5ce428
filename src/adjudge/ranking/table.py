"""A leaderboard as one table to publish: Markdown or CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.atomic import replacing
from adjudge.data.writing import write_rows
from adjudge.errors import ArgumentError
from adjudge.present import text
from adjudge.present.blocks import Columns, Note, table_of
from adjudge.present.render.markdown import render_blocks
from adjudge.ranking.leaderboard import Leaderboard, ModelRow
from adjudge.ranking.leaderboard_view import (
    board_columns,
    cannot_order,
    filled,
    interval_name,
    ranked_models,
)

_SUFFIXES = (".md", ".csv")


def table_path(path: str | Path) -> Path:
    """The path, if a table can be written to it."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ArgumentError("table", str(path), "end the name in .md or .csv")
    return path


def write_table(board: Leaderboard, path: str | Path) -> Path:
    """Write the ranked models as one table; the suffix decides the format, .md or .csv.

    Models of one `place` do not differ by it: as many models are shown to be better than
    each. Without rank ranges the place is the rank.
    """
    path = table_path(path)
    rows = _published(board)
    if path.suffix.lower() == ".csv":
        return write_rows(_frame(board, rows), path)
    with replacing(path) as scratch:
        scratch.write_text(_markdown(board, rows), encoding="utf-8")
    return path


def _published(board: Leaderboard) -> list[ModelRow]:
    """The ranked models, by place and then by strength, as many as the board shows."""
    ordered = sorted(
        ranked_models(board), key=lambda row: (row.component, _place(row), row.rank or 0)
    )
    return ordered[: board.top]


def _place(row: ModelRow) -> int:
    return row.rank_low or row.rank or 0


def _frame(board: Leaderboard, rows: list[ModelRow]) -> pl.DataFrame:
    lines = []
    for row in rows:
        low, high = row.ends
        line: dict[str, Any] = {"place": _place(row), "model": row.model, "elo": row.elo}
        if row.score is not None:
            line["score"] = row.score
        # Of a board with a model that won everything, the ends are of differences to one model.
        of = "difference_" if board.references else ""
        line |= {f"{of}low": low, f"{of}high": high}
        if board.references:
            line["reference"] = board.references[row.component]
        line |= {"rank_low": row.rank_low, "rank_high": row.rank_high}
        if row.plain is not None:
            line |= {"plain_elo": row.plain.elo, "moved": row.moved}
        if len(board.components) > 1:
            line["group"] = row.component + 1
        line["battles"] = row.n_battles
        if row.votes is not None:
            line["votes"] = row.votes
        lines.append(line)
    return pl.DataFrame(lines, infer_schema_length=None)


def _markdown(board: Leaderboard, rows: list[ModelRow]) -> str:
    first = {(row.component, _place(row)): row.model for row in reversed(rows)}

    def place(row: ModelRow) -> str:
        """Once for all models of a place."""
        at = (row.component, _place(row))
        return str(_place(row)) if first[at] == row.model else ""

    columns: Columns[ModelRow] = {"place": place, **board_columns(board)}
    wanted = [
        *("group", "place", "model", "Elo", "win rate", "score", interval_name(board)),
        *("rank range", "plain Elo", "moved", "votes", "battles"),
    ]
    columns = {name: columns[name] for name in wanted if name in columns}
    # What to type next is for who made the board, not for its readers.
    [headline, *_] = replace(board, doubt="").view()
    lines = [getattr(headline, "text", "")]
    if not cannot_order(board) and any(row.rank_low is not None for row in rows):
        lines.append("Models of one place: as many models are shown to be better than each.")
    hidden = len(board.models) - len(rows)
    if hidden:
        lines.append(f"{text.count(hidden, 'more model')} not listed.")
    return render_blocks([table_of(rows, filled(columns, rows)), Note(lines)])
