"""`adjudge card`: what is known of a judge, and by which labels, on one page."""

from __future__ import annotations

from typing import Any

from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import Group, Option, Verb, bad_if

_OPTIONS = [Option("store", default=None)]


def _after_making(_: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return typed.again("-o", "card.json")
    if output.suffix != ".json":
        return None
    return command("gate", "NEW_ROWS", "--card", output, "--at-least", "RATE")


_MAKE = Verb(
    "card make",
    "adjudge.gating.card:make_card",
    "Bind a judge to its labels: agreement, errors, promise, expiry.",
    "card make graded.jsonl --labels labels.csv -o card.json",
    "The numbers are those of evaluate. The card has no texts and no ids.",
    main="labels policy judge expires expires_after column output json",
    options=_OPTIONS,
    step=_after_making,
    panels={"Rows": "slices"},
)

_VERIFY = Verb(
    "card verify",
    "adjudge.gating.card_check:verify_card",
    "Check that a card was not edited and holds; exit 2 if not.",
    "card verify card.json graded.jsonl --labels labels.csv",
    "With the rows that it was made of, also that they give its labels and numbers.",
    rows=("card", "rows"),
    main="labels policy judge column output json",
    without="today",
    added="output json",
    options=[Option("card", type=None), *_OPTIONS],
    bad=bad_if("intact", False),
)

_DIFF = Verb(
    "card diff",
    "adjudge.gating.card_check:diff_cards",
    "What changed from one card to the next.",
    "card diff old_card.json card.json",
    rows=("old", "new"),
    added="output json",
)


COMMAND = Group(
    "card",
    "One page that binds a judge to its labels; check it, compare two.",
    [_MAKE, _VERIFY, _DIFF],
    panel="Trust and deploy",
    place=6,
)
