"""`adjudge rank`: a leaderboard from battles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjudge.cli.output import remark
from adjudge.cli.steps import Typed, save_as
from adjudge.cli.verb import MIX, Option, Values, Verb, written
from adjudge.errors import ArgumentError
from adjudge.validation import one_of

if TYPE_CHECKING:
    from adjudge.ranking.leaderboard import Leaderboard

_FIGURES = (
    *("leaderboard", "reliability"),
    *("evaluation", "held-out", "residuals", "widths", "intervals", "budgets"),
)


def _run(arguments: Values, options: Values) -> Leaderboard:
    from adjudge.ranking import rank

    if options["figure"] is not None:
        one_of(options["figure"], _FIGURES, "figure")
    if options["fail_above"] is not None and not arguments.get("evaluate"):
        raise ArgumentError("--fail-above", options["fail_above"], "add --evaluate")
    if options["table"] is not None:
        from adjudge.ranking.table import table_path

        table_path(options["table"])
    board = rank(**arguments)
    if board.held_out:
        options["figure"] = options["figure"] or "evaluation"
    if not board.feasible:
        options["plot"] = None
    elif options["table"] is not None:
        from adjudge.ranking.table import write_table

        remark(f"wrote {write_table(board, options['table'])}")
    return board


def _is_bad(board: Leaderboard, options: Values) -> bool:
    if not board.feasible:
        return True
    if (limit := options["fail_above"]) is None:
        return False
    row = next((row for row in board.loo if row.method == board.method), None)
    if row is None:
        remark(f"--fail-above: {board.method} is not among the evaluated methods")
        return True
    if row.mae is None or row.mae > limit:
        error = "unknown" if row.mae is None else f"{row.mae:.1f} Elo, above {limit:g}"
        remark(f"{row.method}: mean held-out error {error}")
        return True
    return False


def _next(board: Any, typed: Typed) -> str | None:
    """The command of the advice, which ends it, unless the board was written."""
    _, colon, advised = getattr(board, "advice", "").partition(": adjudge ")
    if colon and typed["output"] is None and typed.rows is not None and not board.loo:
        return str(advised)
    return save_as("leaderboard.json")(board, typed)


COMMAND = Verb(
    "rank",
    "adjudge.ranking:rank",
    "Rank models by their battles.",
    "rank battles.csv --plot board.png",
    main="method control interval widest cluster against evaluate column format output plot json",
    options=[
        Option("splits", least=1),
        written("table", "Write the board as one table to publish (.md, .csv)."),
        MIX,
        Option(
            "fail_above",
            "With --evaluate: exit with code 2 if the mean held-out error is above this.",
            float,
        ),
        Option(
            "figure",
            f"What --plot draws: {', '.join(_FIGURES[:2])}; with --evaluate also "
            f"{', '.join(_FIGURES[2:-1])} or {_FIGURES[-1]}.",
        ),
    ],
    run=_run,
    bad=_is_bad,
    step=_next,
    panels={"Rows": "baseline human verdict score", "Output": "table top"},
    panel="Leaderboards",
    place=1,
)
