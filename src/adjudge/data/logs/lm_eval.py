"""lm-evaluation-harness samples (`samples_*.jsonl`): every metric is a key of the line.

Most metrics are computed by a program, which takes the place of the judge. A document occurs once
per filter; the filter is part of the metric's name, as in lm-eval's tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import (
    COLUMNS,
    as_written,
    failure,
    graded_items,
    identify,
    is_missing,
    list_in,
    object_in,
    plain_columns,
    scored,
)

#: The other keys of a line, in versions that do not list the metrics.
_OTHERS = columns(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash "
    "target_hash task task_name"
)


def grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per document, filter and metric."""
    listed = list_in(row.record.get("metrics")) or [k for k in row.record if k not in _OTHERS]
    if not listed:
        raise UnusableRow("a document without a metric")
    answer = _answer(row)
    filter_name = row.record.get("filter") or "none"
    for name in map(str, listed):
        value = row.record.get(name)
        metric = name if filter_name == "none" else f"{name},{filter_name}"
        try:
            judged = failure("the metric gave no number") if is_missing(value) else scored(value)
        except UnusableRow:
            yield UnusableRow(f"metric {name}: no number from 0 to 1")
            continue
        yield {**answer, **identify(metric, None), **judged}


def _answer(row: Row) -> Record:
    document = row.record.get("doc")
    return {
        "id": row.text("doc_id"),
        "prompt_id": str(row.record.get("doc_hash") or row.text("doc_id")),
        "prompt": _prompt(row.record.get("arguments")),
        "response": _response(row.record.get("filtered_resps")),
        "reference": as_written(row.record.get("target")),
        **plain_columns(document, taken=COLUMNS),
    }


def _prompt(arguments: Any) -> str | None:
    """The first request's text: by name since 0.4.3, in a list before."""
    if isinstance(arguments, list):
        first = arguments[0] if arguments else None
        return as_written(first[0] if isinstance(first, list) and first else first)
    return as_written(object_in(object_in(arguments).get("gen_args_0")).get("arg_0"))


def _response(responses: Any) -> str | None:
    """The generated answer; None for a choice among given answers."""
    first = next(iter(list_in(responses)), None)
    return first if isinstance(first, str) else None


LM_EVAL = Format(
    name="lm-eval",
    title="lm-eval samples",
    source="lm-eval 0.4.13, --log_samples",
    signature=signature("doc_id doc target resps filtered_resps"),
    gives={"grades": grades, "items": partial(graded_items, grades)},
    log=True,
    ids=("doc_id",),
    envelopes=(
        Envelope(
            marks=frozenset({"results", "group_subtasks"}),
            refusal=(
                "is a summary of lm-eval, without rows",
                "give the samples_*.jsonl next to it, which --log_samples writes",
            ),
        ),
    ),
    notes=("lm-eval has no human labels: give them with --labels, by doc_id",),
)
