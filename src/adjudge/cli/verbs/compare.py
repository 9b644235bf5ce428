"""`adjudge compare`: is B better than A, on the same questions?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudge.cli.output import remark
from adjudge.cli.steps import Typed, save_as
from adjudge.cli.verb import Option, Values, Verb


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.estimation import compare

    result = compare(**arguments)
    if options["json"]:
        for text in result.warnings:
            remark(f"warning: {text}")
    return result


def _is_bad(result: Any, _: Values) -> bool:
    pairs = result.differences
    return bool(pairs) and all(pair.reported.estimate is None for pair in pairs)


def _next(result: Any, typed: Typed) -> str | None:
    pairs: Sequence[Any] = () if result.of_many else result.differences
    if len(pairs) == 1 and not result.by_people and typed["other"] is None:
        [pair] = pairs
        how = typed.options("abtest", ("by", "confidence_level"))
        words = ("--a", pair.a, "--b", pair.b, *how, "--write-ids", "to_label.csv")
        if (step := typed.on_same_rows("abtest", *words)) is not None:
            return step
    if typed["judges"] and typed["output"] is not None and typed["other"] is None:
        return typed.on_same_rows("view")
    return save_as("comparison.json")(result, typed)


COMMAND = Verb(
    "compare",
    "adjudge.estimation:compare",
    "Is system B better than system A, on the same questions?",
    "compare results.csv --a old --b new",
    "By the judge alone, or with labels on both answers of some questions what people would say. "
    "Differences are B - A. Two files are two systems: compare a.eval b.eval. Exit 2: no "
    "difference can be given. To pass or fail in CI: adjudge gate --baseline.",
    rows=("data", "other"),
    main="a b by within judges labels column output plot json",
    options=[
        Option("data", metavar="TABLE"),
        Option("judges", type=bool, repeats=False),
        Option("figure", "For --plot: difference, or of many systems matrix."),
    ],
    run=_run,
    bad=_is_bad,
    step=_next,
    panel="Numbers",
    place=2,
)
