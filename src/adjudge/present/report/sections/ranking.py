"""How the models rank, and how sure that order is."""

from __future__ import annotations

from adjudge.present.ranking import leaderboard_figure
from adjudge.present.ranking_evaluation import evaluation_figure
from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Block, Section, TableBlock, Words
from adjudge.present.report.sections.pictures import drawn
from adjudge.present.report.sections.several import together, under_names
from adjudge.present.tables import counted, number
from adjudge.results.ranking import Leaderboard, ModelRow


def ranking_section(found: Collected) -> Section | None:
    """Every leaderboard of the folder."""
    boards = [(name, board) for name, board in found.named(Leaderboard) if board.models]
    if not boards:
        return None
    finding, action = _said(boards[0][1])
    if len(boards) > 1:
        finding = together(
            boards, lambda board: f"{board.models[0].model} leads by {board.method}", "leaderboards"
        )
        action = "Read the rank ranges, not the ranks."
    return Section(
        key="ranking",
        title="How the models rank",
        finding=finding,
        action=action,
        blocks=tuple(under_names(boards, _board, named=len(boards) > 1)),
    )


def _said(board: Leaderboard) -> tuple[str, str]:
    first = board.models[0]
    tied = [
        row.model
        for row in board.models[1:]
        if row.component == first.component and row.rank_low == 1
    ]
    finding = f"{first.model} leads by {board.method}, from {board.n_battles:,} battles."
    if tied:
        return (
            f"{finding} {counted(len(tied), 'other', 'others')} could be first too.",
            "Do not call a winner: the rank ranges overlap.",
        )
    return finding, "Read the rank range, not the rank."


def _board(board: Leaderboard) -> list[Block]:
    level = "" if board.confidence_level is None else f"{100 * board.confidence_level:g} % "
    blocks: list[Block] = [
        TableBlock(
            columns=("model", "rank", "rank range", "Elo", f"{level}interval", "battles"),
            rows=tuple(_row(row) for row in board.models),
            caption=f"{board.method} ({board.outcome}; interval: {board.interval})",
        )
    ]
    blocks += drawn(
        lambda: leaderboard_figure(board),
        "Models whose intervals overlap widely are not told apart by these battles.",
    )
    if board.loo:
        blocks.append(
            TableBlock(
                columns=("method", "models", "mean error (Elo)", "Spearman", "Kendall"),
                rows=tuple(
                    (
                        row.method,
                        number(row.n_models),
                        number(row.mae, 1),
                        number(row.spearman),
                        number(row.kendall),
                    )
                    for row in board.loo
                ),
                caption="Each model left out in turn, against people's Elo",
            )
        )
    if board.held_out:
        blocks += drawn(
            lambda: evaluation_figure(board),
            "Held-out models: how far the judge's Elo is from people's.",
        )
    told = (*board.warnings, *(f"{n:,} rows set aside: {why}" for why, n in board.dropped.items()))
    if told:
        blocks.append(Words(lines=told, tone="bad"))
    return blocks


def _row(row: ModelRow) -> tuple[str, ...]:
    ranks = "–" if row.rank_low is None else f"{row.rank_low} to {row.rank_high}"
    if row.unbounded:
        span = "unbounded"
    elif row.low is None or row.high is None:
        span = "–"
    else:
        span = f"[{row.low:.0f}, {row.high:.0f}]"
    elo = number(row.score) if row.elo is None else f"{row.elo:.0f}"
    return (row.model, str(row.rank), ranks, elo, span, f"{row.n_battles:,}")
