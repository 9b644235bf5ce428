"""`adjudge store`: check or copy a store."""

from __future__ import annotations

from adjudge.cli.verb import Group, Option, Verb, bad_if

_CHECK = Verb(
    "store check",
    "adjudge.store:check_store",
    "Read a store completely and count what it holds.",
    "store check adjudge.db",
    "Changes nothing. Exit 2 if anything is damaged.",
    added="output json",
    options=[Option("store", argument="place", type=str), Option("rescue", written=True)],
    bad=bad_if("damaged"),
    panels={"Output": "rescue"},
)


_COPY = Verb(
    "store copy",
    "adjudge.store:copy_store",
    "Copy a store: SQLite to PostgreSQL, or back.",
    "store copy adjudge.db postgresql://localhost/judging",
    "Copies every reply, label, audit and monitor. Safe to repeat. If the target has other "
    "content for the same key, it is kept and the exit code is 2.",
    rows=("source", "target"),
    added="output json",
    bad=bad_if("conflicts"),
)


COMMAND = Group(
    "store",
    "Check or copy the store of replies and labels.",
    [_CHECK, _COPY],
    panel="Housekeeping",
    place=2,
)
