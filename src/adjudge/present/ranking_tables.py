"""Leaderboards in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.console import RenderableType

from adjudge.present.tables import interval, number, percent, table
from adjudge.results.ranking import BattlePlan, Leaderboard, ModelRow

_SHOWN = 60
#: Known models shown on either side of a new one.
_AROUND = 3
_GROUPS_SHOWN = 15


def leaderboard_view(board: Leaderboard) -> list[RenderableType]:
    """The board, then what was measured about it, then what to keep in mind."""
    parts: list[RenderableType] = []
    if any(row.origin == "new" for row in board.models):
        parts += _placed(board)
    elif board.models:
        parts.append(_board(board))
        if len(board.models) > _SHOWN:
            parts.append(f"{len(board.models) - _SHOWN} more: write them all with -o FILE")
    parts += _temperature(board)
    if board.agreement is not None:
        parts += board.agreement.lines()
    if board.loo:
        parts.append(_loo(board))
    if board.conformal:
        parts += _conformal(board)
    if board.budgets:
        parts.append(_budgets(board))
    if board.groups:
        rows = [
            (row.group, number(row.n_votes), number(row.beta), number(row.beta_se))
            for row in sorted(board.groups, key=lambda row: -row.n_votes)[:_GROUPS_SHOWN]
        ]
        parts.append(table(("group", "votes", "beta", "se"), rows, title="Temperature by group"))
    if board.pooling:
        parts.append(board.pooling)
    parts += [f"note: {text}" for text in board.assumptions]
    parts += [f"warning: {text}" for text in board.warnings]
    if board.dropped:
        parts.append("dropped: " + ", ".join(f"{k} {v:,}" for k, v in board.dropped.items()))
    return parts


def _board(board: Leaderboard) -> RenderableType:
    has_elo = any(row.elo is not None for row in board.models)
    level = "" if board.confidence_level is None else f"{100 * board.confidence_level:g} % "
    columns = [
        "model",
        "rank",
        "ranks",
        "Elo" if has_elo else "score",
        f"{level}interval",
        "battles",
    ]
    several = len(board.components) > 1
    if several:
        columns.append("group")
    rows = []
    for row in board.models[:_SHOWN]:
        cells = [
            row.model,
            str(row.rank),
            _ranks(row),
            number(row.elo, 0) if has_elo else number(row.score),
            _span(row, 0 if has_elo else 3),
            number(row.n_battles),
        ]
        rows.append([*cells, str(row.component + 1)] if several else cells)
    title = f"{board.method}: {board.n_battles:,} battles, {board.outcome}"
    return table(columns, rows, title=title)


def _placed(board: Leaderboard) -> list[RenderableType]:
    """New models first, then the known ones they stand among."""
    new = [row for row in board.models if row.origin == "new"]
    level = 100 * (board.confidence_level or 0)
    answer = table(
        ("new model", "Elo", f"{level:g} % interval", "rank", "ranks", "battles"),
        [
            (
                row.model,
                number(row.elo, 0),
                _span(row, 0),
                f"{row.rank} of {len(board.models)}",
                _ranks(row),
                number(row.n_battles),
            )
            for row in new
        ],
        title=f"On people's scale: {board.method}, {board.n_battles:,} judged battles",
    )
    near = [
        row for row in board.models if any(abs(row.rank - other.rank) <= _AROUND for other in new)
    ][:_SHOWN]
    around = table(
        ("model", "rank", "Elo"),
        [
            (row.model + (" (new)" if row.origin == "new" else ""), str(row.rank), f"{row.elo:.0f}")
            for row in near
        ],
        title="Among people's Elo of the anchors, whose mean is 1500",
    )
    return [answer, around]


def _ranks(row: ModelRow) -> str:
    if row.rank_low is None or row.rank_high is None:
        return "–"
    return f"{row.rank_low}–{row.rank_high}"


def _span(row: ModelRow, digits: int) -> str:
    if row.unbounded and (row.low is not None or row.high is not None):
        low = "−∞" if row.low is None else f"{row.low:.{digits}f}"
        high = "∞" if row.high is None else f"{row.high:.{digits}f}"
        return f"[{low}, {high}]"
    if row.unbounded:
        return "unbounded"
    return "–" if row.low is None else interval(row.low, row.high, digits)


def _temperature(board: Leaderboard) -> list[RenderableType]:
    found = board.temperature
    if found is None or found.beta is None:
        return []
    rows = [
        (
            f"{bin_.low:.2f} to {bin_.high:.2f}",
            number(bin_.n),
            percent(bin_.agreement),
            f"{percent(bin_.agreement_low)} to {percent(bin_.agreement_high)}",
            percent(bin_.predicted),
        )
        for bin_ in found.agreement
    ]
    title = f"beta {found.beta:.3f} (se {number(found.beta_se)}, {found.n_battles:,} votes)"
    if found.ece is not None:
        title += f", calibration error {found.ece:.3f}"
    columns = ("|s|", "votes", "agree", "95 % interval", "sigma(beta |s|)")
    return [table(columns, rows, title=title)]


def _loo(board: Leaderboard) -> RenderableType:
    rows = [
        (
            row.method,
            number(row.mae, 1),
            number(row.spearman),
            number(row.kendall),
            number(row.mean_beta if row.mean_beta is not None else row.mean_smoothing),
            " ".join(f"{value:+.0f}" for value in row.residual_by_quarter) or "–",
        )
        for row in board.loo
    ]
    models = max(row.n_models for row in board.loo)
    title = f"Each of {models} models left out in turn: mean error in Elo against people"
    if board.kappa is not None:
        title += f" (battle by battle: kappa {board.kappa:.3f})"
    columns = ("method", "error", "Spearman", "Kendall", "beta, c", "weak ... strong quarter")
    return table(columns, rows, title=title)


def _conformal(board: Leaderboard) -> list[RenderableType]:
    """Intervals tested on random halves, where half the models suffice, and one model at a time."""
    first = board.conformal[0]
    level = f"{100 * (1 - first.alpha):g} %"
    told: list[RenderableType] = []
    if all(row.unbounded for row in board.conformal):
        told.append(
            f"{level} intervals for new models cannot be tested on halves of the models: "
            f"{first.n_calibration} calibrate, and it takes {first.models_needed}"
        )
    else:
        told.append(_halves(board))
    for method in dict.fromkeys(row.method for row in board.held_out):
        each = [row for row in board.held_out if row.method == method]
        width = [row.high - row.low for row in each if row.low is not None and row.high is not None]
        if width:
            held = sum(row.covered is True for row in each)
            told.append(
                f"{method}, {level} interval of each model from all the others: {held} of "
                f"{len(width)} hold people's Elo, median width {median(width):.0f}"
            )
    return told


def _budgets(board: Leaderboard) -> RenderableType:
    sizes = sorted({row.per_model for row in board.budgets})
    methods = dict.fromkeys(row.method for row in board.budgets)
    error = {(row.method, row.per_model): row.mae for row in board.budgets}
    return table(
        ("battles per model", *(f"{size:g}" for size in sizes)),
        [(name, *(number(error.get((name, size)), 1) for size in sizes)) for name in methods],
        title="Error in Elo with fewer judged battles",
    )


def _halves(board: Leaderboard) -> RenderableType:
    rows = [
        (
            row.method,
            percent(row.coverage, 1),
            "unbounded" if row.unbounded else number(row.median_width, 0),
            interval(row.width_low, row.width_high, 0) if not row.unbounded else "–",
            number(row.quantile, 2),
            number(row.median_se, 1),
        )
        for row in board.conformal
    ]
    first = board.conformal[0]
    title = (
        f"{100 * (1 - first.alpha):g} % intervals for new models: {first.splits} splits, "
        f"{first.n_calibration} models calibrate, {first.n_test} test"
    )
    return table(
        ("method", "coverage", "median width", "range", "quantile", "median se"), rows, title=title
    )


def plan_view(plan: BattlePlan) -> Sequence[RenderableType]:
    """What was chosen, and how evenly models will be covered."""
    counts = sorted(plan.appearances.items(), key=lambda item: (item[1], item[0]))
    shown = counts if len(counts) <= 12 else [*counts[:6], ("…", -1), *counts[-6:]]
    rows = [(name, "" if n < 0 else number(n)) for name, n in shown]
    told: list[RenderableType] = [table(("model", "battles after"), rows, title=plan.lines()[0])]
    told += [f"warning: {text}" for text in plan.warnings]
    if plan.dropped:
        told.append("dropped: " + ", ".join(f"{k} {v:,}" for k, v in plan.dropped.items()))
    return told
