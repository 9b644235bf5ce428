"""Phoenix annotations of spans or traces: those of judges (LLM) and of people (HUMAN)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from adjudge.data.formats import Format, Row, UnusableRow, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import Opinion, grades_of, is_missing, name_in, object_in

_BY: Mapping[str, Literal["judge", "person"]] = {"LLM": "judge", "HUMAN": "person"}


def opinions(row: Row) -> Iterator[Record | UnusableRow]:
    """One opinion per annotation; a score is used before a label."""
    kind = row.text("annotator_kind")
    if kind not in _BY:
        raise UnusableRow(f"an annotation by {kind}")
    subject = next((row.get(c) for c in ("span_id", "trace_id", "session_id") if row.get(c)), None)
    if subject is None:
        raise row.error("is missing", "span_id", "export annotations of spans or traces")
    score, label = _result(row, "score"), _result(row, "label")
    yield {
        "opinion": Opinion(
            id=str(subject),
            metric=str(row.get("name") or row.get("annotation_name") or "unnamed"),
            by=_BY[kind],
            who=name_in(row.get("identifier") or row.get("user_id")),
            value=label if is_missing(score) else score,
            at=str(row.get("created_at") or ""),
            error=object_in(row.record.get("metadata")).get("error"),
        )
    }


def merge(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """The annotations of one span under one name as one row per judge."""
    return grades_of(record["opinion"] for record in records)


def _result(row: Row, part: str) -> Any:
    """A part of the result: an object in JSON, columns in a table."""
    return object_in(row.record.get("result")).get(part, row.get(f"result.{part}"))


PHOENIX = Format(
    name="phoenix",
    title="Phoenix annotations",
    source="arize-phoenix, span annotations as JSON and as a table",
    signature=signature("annotator_kind", "name annotation_name", "span_id trace_id session_id"),
    gives={"grades": opinions},
    merge={"grades": merge},
    log=True,
    ids=("id", "span_id", "trace_id", "session_id"),
    envelopes=(Envelope(marks=frozenset({"data"}), path=("data",), without=frozenset({"info"})),),
    notes=("a span has no texts here: join them by the span's id",),
)
