"""`adjudge runs`: the same questions run several times."""

from __future__ import annotations

from typing import Any

from adjudge.cli.steps import Typed, save_as
from adjudge.cli.verb import Values, Verb


def _is_bad(result: Any, _: Values) -> bool:
    return any(rate.estimate is None for group in result.groups for rate in group.rates)


def _next(result: Any, typed: Typed) -> str | None:
    if _is_bad(result, {}):
        return typed.on_same_rows("plan labels", "--write-ids", "to_label.csv")
    return save_as("runs.json")(result, typed)


COMMAND = Verb(
    "runs",
    "adjudge.estimation:estimate_runs",
    "How often k runs of a question pass, and a gate flips.",
    "runs answers.csv --k 3 --gate 0.7 --by model",
    "Exit 2: some rate is not known, for example because labels are on single runs.",
    main="k gate labels by question column output plot json",
    bad=_is_bad,
    step=_next,
    panel="Numbers",
    place=2,
)
