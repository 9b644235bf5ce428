"""promptfoo results, JSON and JSON lines: every test's assertions, one row per model-graded one.

A person's rating (thumb) overwrites `success`, `score` and `gradingResult.pass`, so none of them is
read. The judge's verdict is in the component of a model-graded assertion, the person's in that of
type `human`. A failed grader has pass false and score 0; `graderError`, or its reason, shows that
it failed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
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
    label_of,
    list_in,
    object_in,
    plain_columns,
    read_share,
)

#: Assertions that a model grades; with "not-" before them too.
_MODEL_GRADED = columns(
    "llm-rubric model-graded-closedqa model-graded-factuality factuality g-eval answer-relevance "
    "context-faithfulness context-recall context-relevance conversation-relevance search-rubric "
    "agent-rubric trajectory:goal-success pi webhook"
)
#: Also model-graded, but about several answers together: not a grade of one answer.
_COMPARISONS = ("select-best", "max-score")
#: Reasons of a failed grader in versions that do not write `graderError`.
_FAILED = re.compile(
    r"^(Could not extract JSON|No output|Grading API error|API error|Error:|Invalid .* verdict)"
)


def grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per output and model-graded assertion."""
    # The reasons of a failed test: none, an assertion, an error before any was checked.
    error = object_in(row.record.get("response")).get("error")
    if row.record.get("failureReason") == 2 or error:
        raise UnusableRow("an output that failed")
    grading = row.record.get("gradingResult")
    if not isinstance(grading, Mapping):
        raise UnusableRow("an output without a grade")
    components = list(_components(grading))
    people = [c for c in components if _type(c) == "human"]
    judged = [c for c in components if _type(c).removeprefix("not-") in _MODEL_GRADED]
    for component in components:
        if component not in people and component not in judged:
            compares = _type(component) in _COMPARISONS
            why = "compares answers and grades none" if compares else "not graded by a model"
            yield UnusableRow(f"assertion {_type(component)}: {why}")
    answer = _answer(row)
    label: Record = {}
    if people:
        # A thumb is about the complete output: a label of the metric if there is only one.
        share = read_share(people[-1].get("pass"))
        label = label_of(share) if len(judged) == 1 else {"human_overall": share}
    names: Counter[str] = Counter()
    for component in judged:
        assertion = object_in(component.get("assertion"))
        metric = str(assertion.get("metric") or _type(component))
        names[metric] += 1
        if names[metric] > 1:
            metric = f"{metric} {names[metric]}"
        try:
            yield {
                **answer,
                **identify(metric, _grader(assertion, row)),
                **_judged(component, assertion),
                **label,
            }
        except UnusableRow as reason:
            yield reason


def _components(grading: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The graded assertions, including those inside sets of assertions."""
    for component in list_in(grading.get("componentResults")):
        inner = object_in(component)
        if list_in(inner.get("componentResults")):
            yield from _components(inner)
        elif inner:
            yield inner


def _type(component: Mapping[str, Any]) -> str:
    return str(object_in(component.get("assertion")).get("type") or "unnamed")


def _judged(component: Mapping[str, Any], assertion: Mapping[str, Any]) -> Record:
    reason = str(component.get("reason") or "")
    failed = object_in(component.get("metadata")).get("graderError") is True
    passed, score = component.get("pass"), component.get("score")
    if failed or (not passed and not score and _FAILED.match(reason)):
        return failure(reason or "the grader failed")
    if not isinstance(passed, bool):
        return failure("the assertion neither passed nor failed")
    return decided(passed, score, assertion.get("threshold"))


def _grader(assertion: Mapping[str, Any], row: Row) -> str:
    options = object_in(object_in(row.record.get("testCase")).get("options"))
    provider = assertion.get("provider") or options.get("provider")
    provider = object_in(provider).get("id", provider)
    return str(provider) if isinstance(provider, str) else "promptfoo's grader"


def _answer(row: Row) -> Record:
    test, given = object_in(row.record.get("testCase")), row.record.get("vars")
    provider = object_in(row.record.get("provider"))
    prompt = object_in(row.record.get("prompt"))
    output = object_in(row.record.get("response")).get("output")
    own = ("template", "test")
    return {
        "id": str(row.record.get("id") or f"row-{row.number}"),
        "prompt_id": hash_of(given or test.get("vars") or row.record.get("testIdx")),
        "model": provider.get("label") or provider.get("id"),
        "prompt": as_written(prompt.get("raw")),
        "response": as_written(output),
        "template": prompt.get("label"),
        "test": row.record.get("testIdx"),
        **plain_columns(given, test.get("metadata"), taken=(*COLUMNS, *own)),
    }


PROMPTFOO = Format(
    name="promptfoo",
    title="promptfoo results",
    signature=signature("gradingResult testCase"),
    gives={"grades": grades, "items": partial(graded_items, grades)},
    log=True,
    envelopes=(Envelope(marks=frozenset({"evalId", "results"}), path=("results", "results")),),
    notes=(
        "labels are people's thumbs: people saw the judge's grade and chose the outputs",
        "outputs of one test share a prompt_id",
    ),
)
