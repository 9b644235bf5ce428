"""Answers graded by metrics, one row per answer and metric: DeepEval, lm-eval, Ragas, promptfoo."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from adjudge.data.conversations import from_text
from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.opinions import Opinion, cost_of, grades_of_row, log_of_answers, reason_of
from adjudge.data.logs.values import (
    COLUMNS,
    abstention,
    as_written,
    decided,
    failure,
    hash_of,
    identify,
    is_missing,
    label_of,
    list_in,
    name_in,
    object_in,
    plain_columns,
    read_share,
    scored,
)
from adjudge.data.turns import prompt_and_response
from adjudge.records import ABSTAINED

# DeepEval test runs: `test_run.json` and `.latest_test_run.json`. Conversations are in a list of
# their own, with turns in place of an input and an output. A failed metric has `error`, no score,
# and success false. Our metric (`adjudge.integrations.deepeval`) states an abstention in its
# reason, whatever its score. `verboseLogs` are not read: a failed case has those of the one before.


def deepeval_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per test case and metric."""
    metrics = list_in(row.record.get("metricsData"))
    prompt_id, prompt, output = _case_texts(row)
    more = row.record.get("metadata") or row.record.get("additionalMetadata")
    key = str(row.record.get("name") or f"case-{row.number}")
    answer = {
        "prompt_id": prompt_id,
        "prompt": as_written(prompt),
        "response": as_written(output),
        "reference": as_written(row.any_of("expectedOutput", "expectedOutcome")),
        **plain_columns(more, taken=COLUMNS),
    }
    yield from grades_of_row(row, _deepeval_opinions(key, metrics, answer, row), object_in(more))


def _case_texts(row: Row) -> tuple[str, Any, Any]:
    """What repeats of a test case share, its prompt and its answer.

    The answer to a conversation begins with the first turn that is not the user's.
    """
    turns = [object_in(turn) for turn in list_in(row.record.get("turns"))]
    if not turns:
        asked = row.record.get("input")
        return hash_of(asked), asked, row.record.get("actualOutput")
    asked = [turn.get("content") for turn in turns if turn.get("role") == "user"]
    whole = as_written(turns) or ""
    texts = prompt_and_response(whole) or (row.record.get("scenario"), whole)
    return hash_of(asked), *texts


def _deepeval_opinions(
    key: str, metrics: list[Any], answer: Record, row: Row
) -> Iterator[Opinion | UnusableRow]:
    for data in metrics:
        if not isinstance(data, Mapping) or not data.get("name"):
            raise row.error("has a metric without a name", "metricsData", "export the run again")
        score, passed = data.get("score"), data.get("success")
        if data.get("skipped"):
            yield UnusableRow("a metric that was skipped")
            continue
        abstained = _abstained(data)
        if data.get("error"):
            judged = failure(data["error"])
        elif abstained is not None:
            judged = abstained
        elif is_missing(score) or not isinstance(passed, bool):
            judged = failure("the metric gave no score")
        else:
            judged = decided(passed, score, data.get("threshold"))
        call = {**reason_of(data.get("reason")), **cost_of(data.get("evaluationCost"))}
        yield Opinion(
            id=key,
            metric=str(data["name"]),
            by="judge",
            who=name_in(data.get("evaluationModel")),
            value=score,
            grade=judged,
            call=call,
            columns=answer,
        )


def _abstained(data: Mapping[str, Any]) -> Record | None:
    """The status of a case on which our metric abstained, also where that counts as a pass."""
    is_ours = " under policy " in str(data.get("evaluationModel"))
    return abstention(data.get("reason")) if is_ours else None


_CONVERSATIONS = ("conversationalTestCases",)
DEEPEVAL = log_of_answers(
    name="deepeval",
    title="a DeepEval test run",
    signature=signature("metricsData", "input turns"),
    grades=deepeval_grades,
    ids=("name",),
    envelopes=(
        Envelope(marks=columns("testCases"), path=("testCases",), more=_CONVERSATIONS),
        Envelope(
            marks=columns("testRunData"),
            path=("testRunData", "testCases"),
            more=_CONVERSATIONS,
        ),
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
        "model": _lm_eval_model(row.context.source),
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
    """The first request's text: by name since 0.4.3, in a list before.

    With a chat template it is a list of one text, which is the messages as JSON.
    """
    if isinstance(arguments, list):
        first = arguments[0] if arguments else None
    else:
        first = object_in(object_in(arguments).get("gen_args_0")).get("arg_0")
    if isinstance(first, list) and first and isinstance(first[0], str):
        first = first[0]
    return from_text(first) if isinstance(first, str) else as_written(first)


@lru_cache(maxsize=8)
def _lm_eval_model(source: str) -> str | None:
    """The model that was evaluated, by the results that lm-eval writes next to its samples."""
    samples = Path(source)
    run = samples.name.removesuffix(".gz").removesuffix(".jsonl").rpartition("_")[2]
    results = samples.with_name(f"results_{run}.json")
    try:
        named = json.loads(results.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return name_in(object_in(named).get("model_name"))


LM_EVAL = log_of_answers(
    name="lm-eval",
    title="lm-eval samples",
    signature=signature("doc_id doc target resps filtered_resps"),
    grades=lm_eval_grades,
    ids=("doc_id",),
    envelopes=(
        Envelope(
            marks=columns("results group_subtasks"),
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
    prompt = as_written(row.record.get("user_input"))
    response = as_written(row.record.get("response"))
    sample_id = row.get("id")
    human = row.record.get("human")
    label = None if is_missing(human) else read_share(human)
    answer = {
        "id": hash_of([prompt, response]) if sample_id is None else str(sample_id),
        "prompt_id": hash_of(prompt),
        "prompt": prompt,
        "response": response,
        "reference": as_written(row.record.get("reference")),
        **label_of(label, row.get("rater")),
    }
    values = {k: v for k, v in row.record.items() if k not in _OTHERS}
    yield {"answer": answer, "values": values}


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


# promptfoo results, JSON and JSON lines: every test's assertions, one row per model-graded one. A
# person's rating (thumb) overwrites `success`, `score` and `gradingResult.pass`, so none of them is
# read. The judge's verdict is in the component of a model-graded assertion, the person's in that of
# type `human`. A failed grader has pass false and score 0; `graderError`, or its reason, shows that
# it failed. Our webhook states an abstention in its reason, or by the HTTP status 409.

#: Assertions that a model grades; with "not-" before them too.
_MODEL_GRADED = columns(
    "llm-rubric model-graded-closedqa model-graded-factuality factuality g-eval answer-relevance "
    "context-faithfulness context-recall context-relevance conversation-relevance search-rubric "
    "agent-rubric trajectory:goal-success pi webhook"
)
#: Also model-graded, but about several answers together: not a grade of one answer.
_COMPARISONS = ("select-best", "max-score")
#: Reasons of a failed grader in versions that do not write `graderError`.
_FAILED_ASSERTION = re.compile(
    r"^(Could not extract JSON|No output|Grading API error|API error|Error:|Invalid .* verdict)"
)
_WEBHOOK_ERROR = "Webhook error: "
#: The address of our webhook, and what promptfoo writes if it answers that it abstained.
_OUR_WEBHOOK = "/v1/promptfoo"
_ABSTENTION_AS_ERROR = f"{_WEBHOOK_ERROR}Webhook response status: 409"


def promptfoo_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per output and model-graded assertion."""
    # The reasons of a failed test: none, an assertion, an error before any was checked.
    error = object_in(row.record.get("response")).get("error")
    if row.record.get("failureReason") == 2 or error:
        raise UnusableRow("an output that failed")
    grading = row.record.get("gradingResult")
    if not isinstance(grading, Mapping):
        raise UnusableRow("an output without a grade")
    components = list(_assertions(grading))
    people = [c for c in components if _assertion_type(c) == "human"]
    judged = [c for c in components if _assertion_type(c).removeprefix("not-") in _MODEL_GRADED]
    for component in components:
        if component not in people and component not in judged:
            compares = _assertion_type(component) in _COMPARISONS
            why = "compares answers and grades none" if compares else "not graded by a model"
            yield UnusableRow(f"assertion {_assertion_type(component)}: {why}")
    answer, values = _promptfoo_answer(row)
    opinion = partial(Opinion, id=answer.pop("id"), columns=answer)
    opinions: list[Opinion | UnusableRow] = []
    names: Counter[str] = Counter()
    for component in judged:
        assertion = object_in(component.get("assertion"))
        metric = str(assertion.get("metric") or _assertion_type(component))
        names[metric] += 1
        if names[metric] > 1:
            metric = f"{metric} {names[metric]}"
        grader = _assertion_grader(assertion, row)
        try:
            grade = _judged_assertion(component, assertion)
        except UnusableRow as reason:
            opinions.append(reason)
            continue
        opinions.append(opinion(metric=metric, by="judge", who=grader, value=None, grade=grade))
    # A thumb is about the complete output: a label of the metric if there is only one.
    for thumb in people[-1:]:
        if len(judged) == 1:
            passed = thumb.get("pass")
            opinions.append(opinion(metric=metric, by="person", value=passed, is_edit=True))
        else:
            answer["human_overall"] = read_share(thumb.get("pass"))
    if opinions or len(people) == len(components):
        yield from grades_of_row(row, opinions, values)


def _assertions(grading: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The graded assertions, including those inside sets of assertions."""
    for component in list_in(grading.get("componentResults")):
        inner = object_in(component)
        if list_in(inner.get("componentResults")):
            yield from _assertions(inner)
        elif inner:
            yield inner


def _assertion_type(component: Mapping[str, Any]) -> str:
    return str(object_in(component.get("assertion")).get("type") or "unnamed")


def _judged_assertion(component: Mapping[str, Any], assertion: Mapping[str, Any]) -> Record:
    reason = str(component.get("reason") or "")
    answered = _webhook_answer(component, assertion)
    if answered is not None:
        return answered
    failed = object_in(component.get("metadata")).get("graderError") is True
    passed, score = component.get("pass"), component.get("score")
    if failed or (not passed and not score and _FAILED_ASSERTION.match(reason)):
        return failure(reason or "the grader failed")
    if not isinstance(passed, bool):
        return failure("the assertion neither passed nor failed")
    return {**decided(passed, score, assertion.get("threshold")), **reason_of(reason)}


def _webhook_answer(component: Mapping[str, Any], assertion: Mapping[str, Any]) -> Record | None:
    """The status of an output for which a webhook gave no grade; None for other assertions."""
    if _assertion_type(component).removeprefix("not-") != "webhook":
        return None
    reason = str(component.get("reason"))
    if reason == _ABSTENTION_AS_ERROR and _OUR_WEBHOOK in str(assertion.get("value")):
        return {"status": ABSTAINED, "detail": reason}
    if reason.startswith(_WEBHOOK_ERROR):
        return {"status": "error", "detail": reason}
    return abstention(reason)


def _assertion_grader(assertion: Mapping[str, Any], row: Row) -> str:
    options = object_in(object_in(row.record.get("testCase")).get("options"))
    provider = assertion.get("provider") or options.get("provider")
    provider = object_in(provider).get("id", provider)
    return str(provider) if isinstance(provider, str) else "promptfoo's grader"


def _promptfoo_answer(row: Row) -> tuple[Record, Record]:
    """The columns about the output, and the values of its test."""
    test = object_in(row.record.get("testCase"))
    variables = object_in(row.record.get("vars"))
    more = object_in(test.get("metadata"))
    number = row.record.get("testIdx")
    provider = object_in(row.record.get("provider"))
    prompt = object_in(row.record.get("prompt"))
    output = object_in(row.record.get("response")).get("output")
    answer = {
        "id": str(row.record.get("id") or f"row-{row.number}"),
        "prompt_id": hash_of(variables or test.get("vars") or number),
        "model": provider.get("label") or provider.get("id"),
        "prompt": as_written(prompt.get("raw")),
        "response": as_written(output),
        "template": prompt.get("label"),
        "test": number,
        **plain_columns(variables, more, taken=(*COLUMNS, "template", "test")),
    }
    return answer, {**variables, **more}


PROMPTFOO = log_of_answers(
    name="promptfoo",
    title="promptfoo results",
    signature=signature("gradingResult testCase"),
    grades=promptfoo_grades,
    envelopes=(
        Envelope(marks=columns("evalId results"), path=("results", "results"), keeps=("version",)),
    ),
    version=("3", lambda output: output.get("version")),
    notes=(
        "labels are people's thumbs: people saw the judge's grade and chose the outputs",
        "outputs of one test share a prompt_id",
    ),
)
