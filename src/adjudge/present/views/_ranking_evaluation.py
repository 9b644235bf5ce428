"""What was measured about a leaderboard: temperature, agreement, errors with models left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Heading,
    Headline,
    Note,
    Table,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figures.ranking_evaluation import (
    draw_budgets,
    draw_held_out,
    draw_intervals,
    draw_residuals,
    draw_widths,
    evaluation_figure,
    panel,
    reliability_figure,
)
from adjudge.present.text import DASH, count, interval, left_out, level, number, percent, signed
from adjudge.results.ranking import (
    ConformalRow,
    GroupQuantile,
    Leaderboard,
    RankAgreement,
    Temperature,
)

_GROUPS_SHOWN = 15
_REFUSED_SHOWN = 6


# --- temperature and rank agreement ----------------------------------------------------------


def view_temperature(fit: Temperature) -> list[Block]:
    """beta, the checks of it, agreement by score difference."""
    if fit.beta is None:
        return [Headline(f"No temperature: {fit.reason}", tone="bad")]
    votes = count(fit.n_battles, "vote")
    text = f"beta {number(fit.beta)} (standard error {number(fit.beta_se)}) from {votes}"
    slope_se = "" if fit.slope_se is None else f"log-odds, standard error {number(fit.slope_se)}"
    return [
        Headline(
            text if fit.reason is None else f"{text}: {fit.reason}",
            tone="bad" if fit.warnings else "plain",
        ),
        Facts(
            [
                Fact("mean of beta |s|", number(fit.signal)),
                Fact("correlation of |s| with agreement", number(fit.correlation)),
                Fact("growth of agreement with |s|", number(fit.slope), slope_se),
                Fact("calibration error of sigma(beta |s|)", number(fit.ece)),
            ]
        ),
        *temperature_blocks(fit, "Agreement with people by score difference"),
        *warnings_of(fit.warnings),
    ]


def temperature_blocks(fit: Temperature, caption: str) -> list[Block]:
    """Agreement with people by score difference, as a table and a picture."""
    if fit.beta is None:
        return []
    blocks: list[Block] = [
        table_of(
            fit.agreement,
            {
                "|s|": lambda row: f"{number(row.low, 2)} to {number(row.high, 2)}",
                "votes": lambda row: number(row.n),
                "people agree with the judge": lambda row: percent(row.agreement, 0),
                "95 % interval": lambda row: (
                    f"{percent(row.agreement_low, 0)} to {percent(row.agreement_high, 0)}"
                ),
                "sigma(beta |s|)": lambda row: percent(row.predicted, 0),
            },
            caption=caption,
        )
    ]
    if fit.reliability:
        how_often = (
            "How often people agree with the judge, against the prediction sigma(beta |s|); both "
            "are equal on the dashed line."
        )
        blocks.append(Figure("reliability", partial(reliability_figure, fit), how_often))
    return blocks


def view_agreement(agreement: RankAgreement) -> list[Block]:
    """Two rank correlations."""
    models = count(agreement.n_models, "model")
    if agreement.kendall is None or agreement.spearman is None:
        return [Headline(f"No rank correlation: {models}, too few or all tied", tone="bad")]
    blocks: list[Block] = [
        Headline(
            f"Two rankings of {models}: Kendall's tau {number(agreement.kendall)}, Spearman's rho "
            f"{number(agreement.spearman)}"
        ),
        Facts(agreement_facts(agreement)),
    ]
    if agreement.failed:
        failed = f"{agreement.failed:,} of {count(agreement.replicates, 'resample')}"
        blocks.append(Note([f"{failed} could not be correlated"]))
    return blocks


def agreement_facts(agreement: RankAgreement) -> list[Fact]:
    """Kendall and Spearman with their intervals."""
    models = count(agreement.n_models, "model")
    if agreement.kendall is None:
        return [Fact("rank correlation", DASH, f"{models}, too few or all tied")]
    rough = f"rough {level(agreement.confidence_level)} interval"
    return [
        Fact(
            f"{name} with the other ranking",
            number(value),
            models if low is None else f"{rough} {interval(low, high)}, {models}",
        )
        for name, value, low, high in (
            ("Kendall's tau", agreement.kendall, agreement.kendall_low, agreement.kendall_high),
            ("Spearman's rho", agreement.spearman, agreement.spearman_low, agreement.spearman_high),
        )
    ]


# --- models left out in turn -----------------------------------------------------------------


def evaluation_blocks(board: Leaderboard) -> list[Block]:
    """Errors, intervals and budgets of every method against people."""
    if not board.loo:
        return []
    blocks: list[Block] = [
        Heading("Against people, each model left out in turn"),
        _error_table(board),
    ]
    lines: dict[str, list[str]] = {}
    for row in board.loo:
        for line in left_out(row.left_out, "model"):
            lines.setdefault(line, []).append(row.method)
    blocks += notes_of([f"{line} ({', '.join(names)})" for line, names in lines.items()])
    blocks += _interval_blocks(board)
    if board.budgets:
        blocks.append(_budget_table(board))
    return blocks + _quantile_blocks(board) + _figures(board)


def _error_table(board: Leaderboard) -> Table:
    return table_of(
        board.loo,
        {
            "method": lambda row: row.method,
            "models": lambda row: number(row.n_models),
            "error": lambda row: number(row.mae, 1),
            "95 % interval": lambda row: interval(row.mae_low, row.mae_high, 1),
            "Spearman": lambda row: number(row.spearman),
            "Kendall": lambda row: number(row.kendall),
            "beta or constant": lambda row: number(
                row.mean_smoothing if row.mean_beta is None else row.mean_beta
            ),
            "weak to strong quarter": lambda row: quarters(row.residual_by_quarter),
        },
        caption="Mean error in Elo, and judge minus people by quarter of strength",
        optional=("Kendall", "beta or constant", "models"),
    )


def quarters(values: Sequence[float]) -> str:
    """Signed residuals, from the weakest quarter of models to the strongest."""
    return " ".join(signed(value, 0) for value in values) or DASH


def _interval_blocks(board: Leaderboard) -> list[Block]:
    """Intervals tested on random halves, if half the models are enough, and one model at a time."""
    if not board.conformal:
        return []
    first = board.conformal[0]
    name = f"{level(1 - first.alpha)} intervals"
    blocks: list[Block] = []
    if all(row.unbounded for row in board.conformal):
        reason = _no_quantile(first)
        blocks.append(Note([f"{name} for new models cannot be tested on random halves: {reason}"]))
    else:
        table = table_of(
            board.conformal,
            {
                "method": lambda row: row.method,
                "calibrate": lambda row: number(row.n_calibration),
                "test": lambda row: number(row.n_test),
                "coverage": lambda row: percent(row.coverage),
                "median width": lambda row: (
                    "unbounded" if row.unbounded else number(row.median_width, 0)
                ),
                "range of widths": lambda row: interval(row.width_low, row.width_high, 0),
                "quantile": lambda row: number(row.quantile, 2),
                "median se": lambda row: number(row.median_se, 1),
            },
            caption=f"{name} for new models, tested on random halves of the models "
            f"({count(first.splits, 'split')})",
            optional=("test", "calibrate", "range of widths"),
        )
        blocks.append(table)
    rows = []
    for method in dict.fromkeys(row.method for row in board.held_out):
        each = [row for row in board.held_out if row.method == method]
        widths = [
            row.high - row.low for row in each if row.low is not None and row.high is not None
        ]
        if widths:
            inside = f"{sum(row.covered is True for row in each)} of {len(widths)}"
            unbounded = number(len(each) - len(widths))
            rows.append((method, inside, number(median(widths), 0), unbounded))
    if rows:
        columns = ("method", "contain people's Elo", "median width", "unbounded")
        blocks.append(Table(columns, rows, f"{name} of each model, made from all the others"))
    return blocks


def _quantile_blocks(board: Leaderboard) -> list[Block]:
    """Quantiles by family and by group: a table of those that have one, a line for the others."""
    blocks: list[Block] = []
    for by in dict.fromkeys(row.by for row in board.quantiles):
        rows = [row for row in board.quantiles if row.by == by]
        own = [row for row in rows if row.quantile is not None]
        if own:
            columns: dict[str, Callable[[GroupQuantile], str]] = {
                by: lambda row: row.group,
                "models": lambda row: number(row.n_models),
                "quantile": lambda row: number(row.quantile, 2),
                "median width": lambda row: number(row.median_width, 0),
                "coverage": lambda row: percent(row.coverage),
            }
            caption = f"Intervals by {by}, each model's from the others of its {by}"
            blocks.append(table_of(own, columns, caption=f"{caption} ({own[0].method})"))
        refused = [f"{row.group} ({row.reason})" for row in rows if row.quantile is None]
        if refused:
            names = ", ".join(refused[:_REFUSED_SHOWN])
            more = len(refused) - _REFUSED_SHOWN
            text = f"{names} and {more} more" if more > 0 else names
            blocks.append(Note([f"no intervals by {by} for {text}"]))
    return blocks


def _no_quantile(row: ConformalRow) -> str:
    if row.models_needed is not None and row.n_calibration < row.models_needed:
        return f"{row.n_calibration} models calibrate, {row.models_needed} are needed"
    return "too many models have no standard error"


def _budget_table(board: Leaderboard) -> Table:
    sizes = sorted({row.per_model for row in board.budgets})
    error = {(row.method, row.per_model): row.mae for row in board.budgets}
    return Table(
        ("battles per model", *(f"{size:g}" for size in sizes)),
        [
            (name, *(number(error.get((name, size)), 1) for size in sizes))
            for name in dict.fromkeys(row.method for row in board.budgets)
        ],
        "Error in Elo with fewer judged battles",
    )


def _figures(board: Leaderboard) -> list[Block]:
    """Every picture with data to draw; the one with all panels is drawn only by name."""
    if not board.held_out:
        return []
    figures = {
        "held-out": (
            draw_held_out,
            (5.6, 5.2),
            "Judge's Elo of each left-out model against people's; both are equal on the dashed "
            "line.",
        ),
        "residuals": (
            draw_residuals,
            (5.6, 4.0),
            "Judge's Elo minus people's, by quarter of strength; a slope is a scale that is "
            "stretched or compressed.",
        ),
        "widths": (
            draw_widths,
            (5.6, 4.4),
            "The width of an interval is twice its quantile times its standard error.",
        ),
        "intervals": (
            draw_intervals,
            (7.6, 4.4),
            "Interval of each left-out model minus people's Elo; one that crosses 0 contains it.",
        ),
        "budgets": (
            draw_budgets,
            (5.6, 4.0),
            "Held-out error with fewer judged battles; bands are standard deviations over random "
            "draws.",
        ),
    }
    if not board.budgets:
        del figures["budgets"]
    if all(row.quantile is None for row in board.conformal):
        del figures["widths"], figures["intervals"]
    whole = partial(evaluation_figure, board)
    return [
        Figure("evaluation", whole, "What leaving models out measured.", on_page=False),
        *(
            Figure(name, partial(panel, draw, size, board), caption)
            for name, (draw, size, caption) in figures.items()
        ),
    ]


def group_blocks(board: Leaderboard) -> list[Block]:
    """The temperature of each group, and whether one is enough."""
    blocks: list[Block] = []
    if board.groups:
        columns = ("group", "votes", "beta", "se")
        rows = [
            (row.group, number(row.n_votes), number(row.beta), number(row.beta_se))
            for row in sorted(board.groups, key=lambda row: -row.n_votes)
        ]
        blocks.append(Table(columns, rows[:_GROUPS_SHOWN], "Temperature by group"))
        if smaller := rows[_GROUPS_SHOWN:]:
            caption = count(len(smaller), "smaller group")
            blocks.append(Table(columns, smaller, caption, detail=True))
    return blocks + notes_of([board.pooling] if board.pooling else [])
