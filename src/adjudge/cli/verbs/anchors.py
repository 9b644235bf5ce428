"""`adjudge anchors make`, `check` and `place`: new models without votes on people's scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.cli.steps import Typed, command, save_as
from adjudge.cli.verb import MIX, Group, Option, Values, Verb


def _after_making(_: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return typed.again("-o", "anchors.json")
    return command("anchors place", "NEW_BATTLES", "--anchors", output)


_MAKE = Verb(
    "anchors make",
    "adjudge.ranking:make_anchors",
    "Calibrate on models with votes, to place new models.",
    "anchors make battles.csv -o anchors.json",
    "Needs battles with judge scores and people's votes.",
    main="method control cluster mix column format output json",
    added="output explain json",
    options=[
        Option("by", "Keep anchors of each value of this column, or those of --mix."),
        MIX,
    ],
    step=_after_making,
    panels={"Rows": "baseline human verdict score"},
)


def _after_checking(check: Any, typed: Typed) -> str | None:
    if check.changed:
        style = [word for name in check.control for word in ("--control", name)]
        return typed.on_same_rows("anchors make", *style, "-o", typed["anchors"])
    return command("anchors place", "NEW_BATTLES", "--anchors", typed["anchors"])


_CHECK = Verb(
    "anchors check",
    "adjudge.ranking:check_anchors",
    "Test whether anchors still predict new votes.",
    "anchors check new_votes.csv --anchors anchors.json",
    "Needs judged battles that people voted on. Exit 2: make the anchors again; 3: too few votes.",
    main="anchors column format output json",
    added="output json",
    options=[Option("anchors", type=Path)],
    bad=lambda check, _: bool(check.changed),
    unknown=lambda check, _: check.p_value is None,
    step=_after_checking,
    panels={"Rows": "baseline human verdict score"},
)


def _is_unbounded(board: Any, _: Values) -> bool:
    return all(row.unbounded for row in board.models if row.origin == "new")


_PLACE = Verb(
    "anchors place",
    "adjudge.ranking:place",
    "Place new models without votes on people's scale.",
    "anchors place new.csv --anchors anchors.json",
    "Each gets an Elo with a conformal interval. Exit 2: no new model has a bounded interval.",
    main="anchors alpha quantile column format output plot json",
    options=[Option("anchors", type=Path)],
    bad=_is_unbounded,
    step=save_as("leaderboard.json"),
    panels={"Rows": "baseline verdict score"},
)


COMMAND = Group(
    "anchors",
    "Place new models on people's scale.",
    [_MAKE, _CHECK, _PLACE],
    panel="Leaderboards",
    place=2,
)
