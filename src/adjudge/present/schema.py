"""JSON schemas of everything that adjudge writes, from the classes that read it."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import getdoc
from typing import Any

from adjudge.errors import ArgumentError
from adjudge.present.kinds import KINDS
from adjudge.present.result import COMMAND, DIGEST, ResultWithDigest
from adjudge.records import Grade, Item, Judgment, Label, Pair, Score

#: The class of each kind of rows in files, a row each.
ROWS: Mapping[str, type] = {
    "pairs": Pair,
    "items": Item,
    "judgments": Judgment,
    "scores": Score,
    "grades": Grade,
    "labels": Label,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_kinds() -> tuple[str, ...]:
    """Everything that has a schema: the kinds of rows, then the kinds of results."""
    return (*ROWS, *KINDS)


def schema(kind: str) -> dict[str, Any]:
    """The JSON schema of a result's file, or of one row.

    It has the fields and their types. Rules between fields (ends of intervals in order, lists of
    one length, the digest) are checked by adjudge when it reads a file.

    >>> sorted(schema("labels")["required"])
    ['id', 'label']
    >>> schema("policy")["properties"]["kind"]
    {'const': 'policy'}

    Args:
        kind: Kind of a result, such as policy or estimate, or of rows, such as judgments.
    """
    if kind in ROWS:
        return _row_schema(kind)
    if kind not in KINDS:
        remedy = "choose one of " + ", ".join(schema_kinds())
        raise ArgumentError("kind", kind, remedy)
    result = KINDS.load(kind)
    made = _schema_of(result)
    also: dict[str, Any] = {"kind": {"const": kind}, COMMAND: {"type": ["string", "null"]}}
    if DIGEST not in made["properties"]:
        also[DIGEST] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
    required = ["kind", *made.get("required", [])]
    if issubclass(result, ResultWithDigest):
        required.append(DIGEST)
    return {**made, "properties": {**also, **made["properties"]}, "required": required}


def _row_schema(kind: str) -> dict[str, Any]:
    made = _schema_of(ROWS[kind])
    # Columns that adjudge does not use are columns of the row, not a field of it.
    made["properties"].pop("extra", None)
    made["additionalProperties"] = True
    return made


def _schema_of(cls: type) -> dict[str, Any]:
    from pydantic import TypeAdapter

    made = TypeAdapter(cls).json_schema()
    for part in (made, *made.get("$defs", {}).values()):
        _shorten(part)
    return {
        "$schema": _DIALECT,
        "title": cls.__name__,
        "description": _first_paragraph(cls),
        **made,
    }


def _shorten(part: dict[str, Any]) -> None:
    """Leave out what repeats names, and examples of Python."""
    part.pop("title", None)
    part.pop("description", None)
    for field in part.get("properties", {}).values():
        field.pop("title", None)


def _first_paragraph(cls: type) -> str:
    return (getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
