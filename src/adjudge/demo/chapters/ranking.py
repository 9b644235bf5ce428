"""Chapter: a leaderboard of invented writers, and which intervals hold the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.data import write_rows
from adjudge.demo.writers import NAMES, battles
from adjudge.present.blocks import Table
from adjudge.present.text import interval, level, number
from adjudge.ranking import rank
from adjudge.ranking.evaluation_view import draw_intervals, panel

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "How do the models rank?"
#: Error level of the conformal intervals: eleven other writers are enough for 90 %.
ALPHA = 0.1
CONFIDENCE_LEVEL = 0.95


def run(context: DemoContext) -> None:
    """Soft Elo of each writer without its votes, next to its Elo by votes."""
    rows = battles(context.pairs, context.rows, seed=context.seed)
    context.files.append(str(write_rows(rows, context.out / "battles.csv")))
    board = rank(
        rows,
        method="soft-elo",
        confidence_level=CONFIDENCE_LEVEL,
        evaluate=True,
        alpha=ALPHA,
        seed=context.seed,
    )
    context.keep(board, "leaderboard")
    held_out = sorted(
        (row for row in board.held_out if row.method == "soft-elo"),
        key=lambda row: row.human_elo,
        reverse=True,
    )
    if not held_out:
        context.say(f"No leaderboard: {board.reason}.")
        return
    by_battles = {row.model: row for row in board.models}
    context.show(
        Table(
            (
                "invented writer",
                "Elo by votes",
                "judge, votes withheld",
                f"{level(1 - ALPHA)} conformal",
                f"{level(CONFIDENCE_LEVEL)} of the battles alone",
            ),
            [
                (
                    row.model,
                    number(row.human_elo, 0),
                    number(row.elo, 0),
                    interval(row.low, row.high, 0, unbounded=row.unbounded),
                    interval(by_battles[row.model].low, by_battles[row.model].high, 0),
                )
                for row in held_out
            ],
        )
    )
    alone = sum(
        mine.low is not None and mine.high is not None and mine.low <= row.human_elo <= mine.high
        for row in held_out
        if (mine := by_battles[row.model])
    )
    context.say(
        f"{board.n_battles} battles, {len(NAMES) // 2} on each pair. Each writer in turn is a new "
        "model without votes. The conformal interval contains its Elo by votes for "
        f"{sum(row.covered is True for row in held_out)} of {len(held_out)} writers, because it is "
        "made from the judge's errors on the other writers."
    )
    context.say(
        f"The usual intervals, from the noise of the battles alone, contain it for {alone}: they "
        "do not include the judge's errors."
    )
    by_judge = [row.elo for row in held_out]
    by_votes = [row.human_elo for row in held_out]
    context.say(
        f"The judge's Elos span {number(max(by_judge) - min(by_judge), 0)} points, those of the "
        f"votes {number(max(by_votes) - min(by_votes), 0)}. A judge that is often wrong pulls "
        "models together, and this makes the conformal intervals wide."
    )
    context.picture(panel(draw_intervals, (7.2, 4.2), board), "leaderboard")
