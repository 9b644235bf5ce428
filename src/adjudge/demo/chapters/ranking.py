"""Chapter: a leaderboard of made-up writers, from the judge's probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge._text import interval, number
from adjudge.demo.writers import STRENGTHS, battles
from adjudge.io import write_rows
from adjudge.present.blocks import Table
from adjudge.present.figures.ranking import leaderboard_figure, rank_range
from adjudge.ranking import rank

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "How do the models rank?"


def run(context: DemoContext) -> None:
    """Soft Elo from the judge, with the leaderboard of the truth."""
    rows = battles(context.pairs, context.rows, seed=context.seed)
    path = write_rows(rows, context.out / "battles.csv")
    context.files.append(str(path))
    board = rank(rows, method="soft-elo", seed=context.seed)
    truth = rank(rows, method="bt", seed=context.seed)
    context.keep(board, "leaderboard")
    known = {row.model: row.elo for row in truth.models if row.elo is not None}
    context.show(
        Table(
            (
                "made-up writer",
                "Elo by the judge",
                "95 % interval",
                "rank range",
                "Elo by the truth",
            ),
            [
                (
                    row.model,
                    number(row.elo, 0),
                    interval(row.low, row.high, 0, unbounded=row.unbounded),
                    rank_range(row),
                    number(known.get(row.model), 0),
                )
                for row in board.models
            ],
        )
    )
    order = [row.model for row in board.models]
    agrees = "the true order" if order == list(STRENGTHS) else "not the true order"
    context.say(
        f"From {board.n_battles} battles the judge's order is {agrees}. Read the rank range, not "
        "the rank."
    )
    outside = sum(
        row.low is not None and row.high is not None and not row.low <= known[row.model] <= row.high
        for row in board.models
        if row.model in known
    )
    if outside:
        context.say(
            f"{outside} of {len(order)} true Elos lie outside: these intervals cover the noise in "
            "the battles, not the judge's own errors. adjudge rank --evaluate measures those."
        )
    context.picture(leaderboard_figure(board), "leaderboard")
