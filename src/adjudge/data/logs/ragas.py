"""Ragas results (`EvaluationResult.to_pandas`) as a table: a column of numbers per metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.values import (
    COLUMNS,
    as_written,
    failure,
    hash_of,
    identify,
    is_missing,
    label_of,
    plain_columns,
    read_share,
    scored,
)

#: The other columns of a row.
_TEXTS = ("user_input", "response", "reference")
_OTHERS = columns(
    "retrieved_contexts reference_contexts multi_responses rubrics persona_name query_style "
    "query_length synthesizer_name reference_tool_calls id human rater"
) | set(_TEXTS)


def samples(row: Row) -> Iterator[Record]:
    """The row with its texts and label; the metrics are known only from all rows together."""
    prompt, response = (as_written(row.record.get(c)) for c in ("user_input", "response"))
    given = row.get("id")
    human = row.record.get("human")
    yield {
        "answer": {
            "id": hash_of([prompt, response]) if given is None else str(given),
            "prompt_id": hash_of(prompt),
            "prompt": prompt,
            "response": response,
            "reference": as_written(row.record.get("reference")),
            **label_of(None if is_missing(human) else read_share(human), row.get("rater")),
        },
        "values": {k: v for k, v in row.record.items() if k not in _OTHERS},
    }


def merge(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """One row per sample and metric; a metric is a column with only numbers."""
    rows = list(records)
    names = dict.fromkeys(name for row in rows for name in row["values"])
    metrics = [name for name in names if _is_metric([row["values"].get(name) for row in rows])]
    if not metrics:
        yield UnusableRow("a sample without a metric")
    for row in rows:
        others = {k: v for k, v in row["values"].items() if k not in metrics}
        answer = {**row["answer"], **plain_columns(others, taken=COLUMNS)}
        for metric in metrics:
            value = row["values"].get(metric)
            try:
                judged = (
                    failure("the metric gave no number") if is_missing(value) else scored(value)
                )
            except UnusableRow:
                yield UnusableRow(f"metric {metric}: no number from 0 to 1")
                continue
            yield {**answer, **identify(metric, None), **judged}


def items(row: Row) -> Iterator[Record]:
    """The answers that were graded, to be judged again."""
    yield from (record["answer"] for record in samples(row))


def _is_metric(values: list[Any]) -> bool:
    known = [value for value in values if not is_missing(value)]
    return bool(known) and all(_is_number(value) for value in known)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


RAGAS = Format(
    name="ragas",
    title="a Ragas result table",
    source="ragas 0.4.3, EvaluationResult.to_pandas",
    signature=signature("user_input response", without="judge p_pass p_a verdict"),
    gives={"grades": samples, "items": items},
    merge={"grades": merge},
    log=True,
    notes=(
        "Ragas has no human labels: add a column human, or give --labels by id",
        "samples with the same user_input share a prompt_id",
    ),
)
