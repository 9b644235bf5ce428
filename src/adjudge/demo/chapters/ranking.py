"""Chapter: a leaderboard of made-up writers, from the judge's probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.demo.writers import STRENGTHS, battles
from adjudge.io import write_rows
from adjudge.present.ranking import leaderboard_figure
from adjudge.present.tables import table
from adjudge.ranking import rank

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "How do the models rank?"


def run(context: DemoContext) -> None:
    """Soft Elo from the judge, beside the leaderboard of the truth."""
    rows = battles(context.pairs, context.rows, rng=context.seed)
    path = write_rows(rows, context.out / "battles.csv")
    context.files.append(str(path))
    judged = rank(rows, method="soft-elo", rng=context.seed)
    truth = rank(rows, method="bt", rng=context.seed)
    context.keep(judged, "leaderboard")
    known = {row.model: row.elo for row in truth.models if row.elo is not None}
    context.show(
        table(
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
                    "–" if row.elo is None else f"{row.elo:.0f}",
                    "–"
                    if row.low is None or row.high is None
                    else f"{row.low:.0f} to {row.high:.0f}",
                    "–" if row.rank_low is None else f"{row.rank_low} to {row.rank_high}",
                    "–" if (elo := known.get(row.model)) is None else f"{elo:.0f}",
                )
                for row in judged.models
            ],
        )
    )
    order = [row.model for row in judged.models]
    found = "the true order" if order == list(STRENGTHS) else "not the true order"
    context.say(
        f"From {judged.n_battles} battles the judge finds {found}. Read the rank range, not the "
        "rank."
    )
    outside = sum(
        row.low is not None and row.high is not None and not row.low <= known[row.model] <= row.high
        for row in judged.models
        if row.model in known
    )
    if outside:
        context.say(
            f"{outside} of {len(order)} true Elos lie outside: these intervals speak of the noise "
            "in the battles, not of the judge's own errors. adjudge rank --evaluate measures those."
        )
    context.picture(leaderboard_figure(judged), "leaderboard")
