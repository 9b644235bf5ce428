"""`adjudge start`: which commands answer what, for a file."""

from __future__ import annotations

from adjudge.cli.verb import Verb

COMMAND = Verb(
    "start",
    "adjudge.cli.start:start",
    "List the commands that answer questions about your file.",
    "start results.csv",
    "Tries every kind of rows and shows how the columns were recognised.",
    added="explain json",
    panel="Begin",
    place=1,
)
