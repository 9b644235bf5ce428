"""`adjudge rank`: a leaderboard from battles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjudge.cli.output import remark
from adjudge.cli.steps import Typed, save_as
from adjudge.cli.verb import MIX, Intervals, Option, Values, Verb, above, written
from adjudge.errors import ArgumentError
from adjudge.validation import finite_number, one_of

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
        raise ArgumentError("--fail-above", options["fail_above"][_ERROR], "add --evaluate")
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


_ERROR = "held-out error"


def _errors(board: Leaderboard) -> Intervals:
    """The interval of the method's mean held-out error; None if it was not evaluated."""
    ends = [row.mae_interval for row in board.loo if row.method == board.method]
    return {board.method: {_ERROR: ends[0] if ends else None}}


def _is_bad(board: Leaderboard, options: Values) -> bool:
    return not board.feasible or above(options, _errors(board), "fail")


def _is_unknown(board: Leaderboard, options: Values) -> bool:
    return board.feasible and above(options, _errors(board), "inconclusive")


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
            "With --evaluate: exit 2 if the mean held-out error is shown to be above this, 3 if "
            "unknown.",
            float,
            read=lambda limit: {_ERROR: finite_number(limit, "--fail-above")},
        ),
        Option(
            "figure",
            f"What --plot draws: {', '.join(_FIGURES[:2])}; with --evaluate also "
            f"{', '.join(_FIGURES[2:-1])} or {_FIGURES[-1]}.",
        ),
    ],
    run=_run,
    bad=_is_bad,
    unknown=_is_unknown,
    step=_next,
    panels={"Rows": "baseline human verdict score", "Output": "table top"},
    panel="Leaderboards",
    place=1,
)
