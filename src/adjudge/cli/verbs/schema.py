"""`adjudge schema`: the JSON schema of a result or of rows."""

from __future__ import annotations

import json
from typing import Any

from adjudge.cli.output import echo
from adjudge.cli.verb import Values, Verb


def _run(arguments: Values, _: Values) -> Any:
    from adjudge.present.schema import schema

    echo(json.dumps(schema(arguments["kind"]), indent=2))
    return False


COMMAND = Verb(
    "schema",
    "adjudge.present.schema:schema",
    "Print the JSON schema of a kind of result or rows.",
    "schema estimate > estimate.schema.json",
    "A kind that does not exist lists all kinds.",
    rows=("kind",),
    added="",
    run=_run,
    panel="Housekeeping",
    place=3,
)
