"""`adjudge gate`: does a run pass, by people's number?"""

from __future__ import annotations

from typing import Any

from adjudge.cli.steps import Typed
from adjudge.cli.verb import Option, Values, Verb


def _is_bad(result: Any, _: Values) -> bool:
    return bool(result.outcome == "fail")


def _is_unknown(result: Any, _: Values) -> bool:
    return bool(result.outcome == "inconclusive")


def _next(result: Any, typed: Typed) -> str | None:
    if result.outcome != "inconclusive" or result.labels_needed is None:
        return None
    if typed["baseline"] is not None:
        return None
    more = result.labels_needed
    if result.decided_by == "labels of this run":
        more -= sum(each.n_labels for each in result.numbers)
    return typed.on_same_rows("plan labels", "--n", more, "--write-ids", "to_label.csv")


COMMAND = Verb(
    "gate",
    "adjudge.gating.gate:gate",
    "Pass, fail or inconclusive: for CI, by people's number.",
    "gate run.jsonl --card card.json --at-least 0.8 --labels labels.csv",
    "Decided on an end of the corrected interval. Exit 0: it passes. Exit 2: it fails. Exit 3: "
    "inconclusive, because the labels are too few, there are none, or the card does not hold.",
    main="card baseline at_least at_most margin assume_same_errors labels column output plot json",
    without="today",
    added="output plot explain json",
    options=[
        Option("data", metavar="ROWS"),
        Option("store", default=None),
    ],
    bad=_is_bad,
    unknown=_is_unknown,
    step=_next,
    panels={"Rows": "baseline judged store"},
    panel="Trust and deploy",
    place=7,
)
