"""Langfuse scores: those of evaluators (EVAL) and of people (ANNOTATION).

Written from the classes of Langfuse's SDK, and not yet tested on a file of its server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.phoenix import merge
from adjudge.data.logs.values import Opinion, name_in

_BY: Mapping[str, Literal["judge", "person"]] = {"EVAL": "judge", "ANNOTATION": "person"}
#: The object of a score, the narrowest first; as the API and as the SDK write it.
_SUBJECTS = ("observationId", "observation_id", "traceId", "trace_id", "sessionId", "session_id")


def opinions(row: Row) -> Iterator[Record | UnusableRow]:
    """One opinion per score; for a categorical score its word counts."""
    source = row.text("source")
    if source not in _BY:
        # Any program can send a score through the API: it is not known if it was a judge.
        raise UnusableRow(f"a score from {source}: not known whether of a judge or a person")
    subject = next((row.get(c) for c in _SUBJECTS if row.get(c)), None)
    if subject is None:
        raise row.error("is missing", "traceId", "export scores of traces or observations")
    by = _BY[source]
    yield {
        "opinion": Opinion(
            id=str(subject),
            metric=row.text("name"),
            by=by,
            # An evaluator has a name; a person has an id.
            who=None if by == "judge" else name_in(_either(row, "authorUserId", "author_user_id")),
            value=_value(row),
            at=str(_either(row, "createdAt", "created_at", "timestamp") or ""),
        )
    }


def _value(row: Row) -> Any:
    if _either(row, "dataType", "data_type") == "CATEGORICAL":
        return _either(row, "stringValue", "string_value", "value")
    return row.get("value")


def _either(row: Row, *columns: str) -> Any:
    return next((row.get(column) for column in columns if row.get(column) is not None), None)


LANGFUSE = Format(
    name="langfuse",
    title="Langfuse scores",
    source="Langfuse SDK, scores",
    signature=signature("name value source", "dataType data_type", "traceId trace_id sessionId"),
    gives={"grades": opinions},
    merge={"grades": merge},
    log=True,
    ids=("id", *_SUBJECTS),
    notes=(
        "untried: written from the classes of Langfuse's SDK, not tested on its files",
        "a trace has no texts here: join them by id, the trace's or the observation's",
    ),
)
