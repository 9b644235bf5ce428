"""`adjudge replies`: what was asked and answered."""

from __future__ import annotations

from adjudge.cli.verb import Option, Verb, store_option

COMMAND = Verb(
    "replies",
    "adjudge.judges.transcript:read_replies",
    "Show what was asked and what the judge wrote.",
    "replies --status off_answer",
    "Shows the latest reply of every call.",
    options=[Option("row_id", metavar="ID"), store_option("Store of the judge's replies.")],
    added="output json",
    panel="Ask",
    place=3,
)
