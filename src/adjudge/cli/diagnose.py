"""`adjudge diagnose`: where the judge breaks. One file per question; here is what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, remark
from adjudge.errors import ArgumentError

#: Each names a module `diagnose_<question>` with `register(group)`.
QUESTIONS: tuple[str, ...] = ("transitivity", "scores", "bias")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    group = typer.Typer(
        help="Where the judge breaks: cycles, scores people do not share, biases.",
        no_args_is_help=True,
    )
    for question in QUESTIONS:
        import_module(f"adjudge.cli.diagnose_{question}").register(group)
    app.add_typer(group, name="diagnose")


ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", help="OURS=YOURS: your name of a column. May be given repeatedly."),
]
DocColumnOption = Annotated[
    str | None, typer.Option("--doc-column", help="Your name of the column doc_id.")
]
FailAboveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-above",
        help="VALUE or NAME=VALUE: exit code 2 if a group is above it.",
    ),
]
FamiliesOption = Annotated[
    Path | None,
    typer.Option(help='JSON object {"model name": "family"} for names that do not tell.'),
]


def read_families(path: Path | None) -> dict[str, str] | None:
    """The family of each model named in a JSON file."""
    if path is None:
        return None
    from adjudge.io.results import read_json

    given = read_json(path)
    if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
        raise ArgumentError("--families", str(path), 'write {"model name": "family"}')
    return {str(model): family for model, family in given.items()}


def column_map(given: Sequence[str] | None, **named: str | None) -> dict[str, str] | None:
    """Our column names to the file's, from --column and the options with a name of their own."""
    columns = {ours: theirs for ours, theirs in named.items() if theirs is not None}
    for pair in given or ():
        ours, equals, theirs = pair.partition("=")
        if not (ours and equals and theirs):
            raise ArgumentError("--column", pair, "write OURS=YOURS, like doc_id=question_id")
        columns[ours.strip()] = theirs.strip()
    return columns or None


def thresholds(
    given: Sequence[str] | None, *, known: Sequence[str], default: str
) -> dict[str, float]:
    """Named thresholds; a bare number is about `default`."""
    limits = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        name = name.strip() if equals else default
        if name not in known:
            raise ArgumentError("--fail-above", text, "name one of " + ", ".join(known))
        try:
            limits[name] = float(value)
        except ValueError:
            raise ArgumentError("--fail-above", text, "give a number, like 0.05") from None
    return limits


def enforce(
    limits: Mapping[str, float], groups: Sequence[tuple[str, Mapping[str, float | None]]]
) -> None:
    """Name each group above a threshold, and exit with code 2 if there is one."""
    above = [
        f"{who}: {name} {value:.4g} is above {limit:g}"
        for who, measured in groups
        for name, limit in limits.items()
        if (value := measured[name]) is not None and value > limit
    ]
    for sentence in above:
        remark(sentence)
    if above:
        bad_finding()
