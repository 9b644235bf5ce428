"""What the three verbs of `adjudge diagnose` share: columns, families, thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, remark
from adjudge.errors import ArgumentError

DocColumnOption = Annotated[
    str | None, typer.Option("--doc-column", help="Your name for the column doc_id.")
]
FailAboveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-above", help="VALUE or NAME=VALUE. Exit with code 2 if a group is above it."
    ),
]
FamiliesOption = Annotated[
    Path | None,
    typer.Option(help='JSON object {"model name": "family"} for names that do not show it.'),
]


def read_families(path: Path | None) -> dict[str, str] | None:
    """The family of each model named in a JSON file."""
    if path is None:
        return None
    from adjudge.data.writing import read_json

    given = read_json(path)
    if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
        raise ArgumentError("--families", str(path), 'write {"model name": "family"}')
    return {str(model): family for model, family in given.items()}


def thresholds(
    given: Sequence[str] | None, *, known: Sequence[str], default: str
) -> dict[str, float]:
    """Thresholds by name. A number without a name is the threshold of `default`."""
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
    """Print each group above a threshold. Exit with code 2 if there is one."""
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
