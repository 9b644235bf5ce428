"""Answers graded by metrics, one row per answer and metric: DeepEval, lm-eval, Ragas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.values import (
    COLUMNS,
    as_written,
    decided,
    failure,
    graded_items,
    hash_of,
    identify,
    is_missing,
    label_of,
    list_in,
    object_in,
    plain_columns,
    read_share,
    scored,
)

# DeepEval test runs: `test_run.json` and `.latest_test_run.json`. A failed metric has `error`, no
# score, and success false. `verboseLogs` are not read: a failed case has those of the case before.


def deepeval_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per test case and metric."""
    metrics = list_in(row.record.get("metricsData"))
    if not metrics:
        raise UnusableRow("a test case without a metric")
    given = row.record.get("input")
    more = row.record.get("metadata") or row.record.get("additionalMetadata")
    answer = {
        "id": str(row.record.get("name") or f"case-{row.number}"),
        "prompt_id": hash_of(given),
        "prompt": as_written(given),
        "response": as_written(row.record.get("actualOutput")),
        "reference": as_written(row.record.get("expectedOutput")),
        **plain_columns(more, taken=COLUMNS),
    }
    for data in metrics:
        if not isinstance(data, Mapping) or not data.get("name"):
            raise row.error("has a metric without a name", "metricsData", "export the run again")
        score, passed = data.get("score"), data.get("success")
        if data.get("skipped"):
            yield UnusableRow("a metric that was skipped")
            continue
        if data.get("error"):
            judged = failure(data["error"])
        elif is_missing(score) or not isinstance(passed, bool):
            judged = failure("the metric gave no score")
        else:
            judged = decided(passed, score, data.get("threshold"))
        yield {**answer, **identify(str(data["name"]), data.get("evaluationModel")), **judged}


DEEPEVAL = Format(
    name="deepeval",
    title="a DeepEval test run",
    signature=signature("metricsData input"),
    gives={"grades": deepeval_grades, "items": partial(graded_items, deepeval_grades)},
    log=True,
    ids=("name",),
    envelopes=(
        Envelope(marks=frozenset({"testCases"}), path=("testCases",)),
        Envelope(marks=frozenset({"testRunData"}), path=("testRunData", "testCases")),
    ),
    notes=("DeepEval has no human labels: give them with --labels, by the case's name",),
)


def _computed(answer: Record, name: str, value: Any, metric: str) -> Record | UnusableRow:
    """The grade of a metric that a program computed, which takes the place of the judge."""
    try:
        judged = failure("the metric gave no number") if is_missing(value) else scored(value)
    except UnusableRow:
        return UnusableRow(f"metric {name}: no number from 0 to 1")
    return {**answer, **identify(metric, None), **judged}


# lm-evaluation-harness samples (`samples_*.jsonl`): every metric is a key of the line. A document
# occurs once per filter; the filter is part of the metric's name, as in lm-eval's tables.

#: The other keys of a line, in versions that do not list the metrics.
_NO_METRICS = columns(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash "
    "target_hash task task_name"
)


def lm_eval_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per document, filter and metric."""
    listed = list_in(row.record.get("metrics")) or [k for k in row.record if k not in _NO_METRICS]
    if not listed:
        raise UnusableRow("a document without a metric")
    response = next(iter(list_in(row.record.get("filtered_resps"))), None)
    answer = {
        "id": row.text("doc_id"),
        "prompt_id": str(row.record.get("doc_hash") or row.text("doc_id")),
        "prompt": _prompt(row.record.get("arguments")),
        # A choice among given answers is not a text.
        "response": response if isinstance(response, str) else None,
        "reference": as_written(row.record.get("target")),
        **plain_columns(row.record.get("doc"), taken=COLUMNS),
    }
    filter_name = row.record.get("filter") or "none"
    for name in map(str, listed):
        metric = name if filter_name == "none" else f"{name},{filter_name}"
        yield _computed(answer, name, row.record.get(name), metric)


def _prompt(arguments: Any) -> str | None:
    """The first request's text: by name since 0.4.3, in a list before."""
    if isinstance(arguments, list):
        first = arguments[0] if arguments else None
        return as_written(first[0] if isinstance(first, list) and first else first)
    return as_written(object_in(object_in(arguments).get("gen_args_0")).get("arg_0"))


LM_EVAL = Format(
    name="lm-eval",
    title="lm-eval samples",
    signature=signature("doc_id doc target resps filtered_resps"),
    gives={"grades": lm_eval_grades, "items": partial(graded_items, lm_eval_grades)},
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


# Ragas results (`EvaluationResult.to_pandas`) as a table: a column of numbers per metric.

#: The columns of a row that are no metric.
_OTHERS = columns(
    "user_input response reference retrieved_contexts reference_contexts multi_responses rubrics "
    "persona_name query_style query_length synthesizer_name reference_tool_calls id human rater"
)


def ragas_samples(row: Row) -> Iterator[Record]:
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


def merge_samples(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """One row per sample and metric; a metric is a column with only numbers."""
    rows = list(records)
    names = dict.fromkeys(name for row in rows for name in row["values"])
    metrics = [name for name in names if _are_numbers(row["values"].get(name) for row in rows)]
    if not metrics:
        yield UnusableRow("a sample without a metric")
    for row in rows:
        others = {k: v for k, v in row["values"].items() if k not in metrics}
        answer = {**row["answer"], **plain_columns(others, taken=COLUMNS)}
        for metric in metrics:
            yield _computed(answer, metric, row["values"].get(metric), metric)


def ragas_items(row: Row) -> Iterator[Record]:
    """The answers that were graded, to be judged again."""
    yield from (record["answer"] for record in ragas_samples(row))


def _are_numbers(values: Iterable[Any]) -> bool:
    """Whether there are values, and all of them are numbers."""
    try:
        return bool([float(value) for value in values if not is_missing(value)])
    except (TypeError, ValueError):
        return False


RAGAS = Format(
    name="ragas",
    title="a Ragas result table",
    signature=signature("user_input response", without="judge p_pass p_a verdict"),
    gives={"grades": ragas_samples, "items": ragas_items},
    merge={"grades": merge_samples},
    log=True,
    notes=(
        "Ragas has no human labels: add a column human, or give --labels by id",
        "samples with the same user_input share a prompt_id",
    ),
)
