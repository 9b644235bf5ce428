"""Results of experiments: a system's answers to a data set, each with scores of several evaluators.

LangSmith, openevals, pydantic-evals, Opik, Braintrust, autoevals. Most write a score under the name
of its evaluator and not whether a judge, a program or a person gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from adjudge.data.formats import Format, Row, Signature, UnusableRow, columns, signature
from adjudge.data.json_files import Envelope, Record
from adjudge.data.logs.opinions import (
    By,
    Opinion,
    as_record,
    grades_of_row,
    log_of_answers,
    log_of_opinions,
    merge,
    reason_of,
)
from adjudge.data.logs.values import (
    COLUMNS,
    hash_of,
    is_missing,
    list_in,
    name_in,
    object_in,
    only_text,
    plain_columns,
)


def _texts(prompt: Any, response: Any, reference: Any) -> Record:
    texts = {"prompt": prompt, "response": response, "reference": reference}
    return {name: only_text(value) for name, value in texts.items()}


def _opinion(
    key: str, name: object, result: Mapping[str, Any], answer: Record, by: By = "unsaid"
) -> Opinion:
    """A result as LangSmith and openevals write it: score, value, comment, and if it failed."""
    score, value, comment = map(result.get, ("score", "value", "comment"))
    failed = object_in(result.get("extra")).get("error") is True or bool(result.get("error"))
    why = (result.get("error") or comment or "the evaluator failed") if failed else None
    return Opinion(
        id=key,
        metric=str(name or "unnamed"),
        by=by,
        value=value if is_missing(score) else score,
        at=str(result.get("created_at") or ""),
        error=why,
        call={} if failed else reason_of(comment),
        columns=answer,
    )


# LangSmith feedback (`list_feedback`): every score with its source. `app` is a person who used the
# page, `auto_eval` an online evaluator, `api` any program. A failed evaluator has no score and an
# error in `extra`.

_FEEDBACK: Mapping[str, By] = {"model": "judge", "auto_eval": "judge", "app": "person"}


def langsmith_feedback(row: Row) -> Iterator[Record]:
    """One opinion per feedback."""
    source = object_in(row.record.get("feedback_source"))
    by = _FEEDBACK.get(str(source.get("type")), "unnamed")
    opinion = _opinion(row.text("run_id"), row.get("key"), row.record, {}, by)
    who = name_in(source.get("user_name") or source.get("user_id")) if by == "person" else None
    yield as_record(replace(opinion, who=who), row)


LANGSMITH_FEEDBACK = log_of_opinions(
    name="langsmith-feedback",
    title="LangSmith feedback",
    signature=signature("key score run_id feedback_source"),
    opinions=langsmith_feedback,
    notes=("a run has no texts here: join them by the run's id",),
)


# LangSmith experiments: the results of `evaluate`, and their table from `to_pandas`.


def langsmith_results(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per run and evaluator; runs of one example share a prompt_id."""
    run, example = object_in(row.record.get("run")), object_in(row.record.get("example"))
    if run.get("error"):
        raise UnusableRow("a run that failed")
    asked = example.get("inputs") or run.get("inputs")
    question = example.get("id") or run.get("reference_example_id")
    answer = {
        "prompt_id": str(question),
        "model": run.get("session_name"),
        **_texts(asked, run.get("outputs"), example.get("outputs")),
        **plain_columns(example.get("metadata"), taken=COLUMNS),
    }
    results = list_in(object_in(row.record.get("evaluation_results")).get("results"))
    key = str(run.get("id") or f"run-{row.number}")
    opinions = [_opinion(key, r.get("key"), r, answer) for r in map(object_in, results)]
    yield from grades_of_row(row, opinions, object_in(example.get("metadata")))


LANGSMITH = log_of_answers(
    name="langsmith",
    title="LangSmith results",
    signature=signature("run example evaluation_results"),
    grades=langsmith_results,
    ids=("run",),
    notes=("repetitions of one example share a prompt_id",),
)


def langsmith_table(row: Row) -> Iterator[Record | UnusableRow]:
    """As `langsmith_results`, from a column `feedback.NAME` for each evaluator."""

    def fields(prefix: str) -> Record | None:
        here = {k.removeprefix(prefix): v for k, v in row.record.items() if k.startswith(prefix)}
        return here or None

    scores = fields("feedback.") or {}
    results = [{"key": name, "score": row.get(f"feedback.{name}")} for name in scores]
    question = {"id": row.text("example_id"), "inputs": fields("inputs.")}
    record = {
        "run": {"id": row.text("id"), "error": row.get("error"), "outputs": fields("outputs.")},
        "example": {**question, "outputs": fields("reference.")},
        "evaluation_results": {"results": results},
    }
    yield from langsmith_results(replace(row, record=record))


LANGSMITH_TABLE = log_of_answers(
    name="langsmith-table",
    title="a table of LangSmith results",
    signature=signature("example_id execution_time id"),
    grades=langsmith_table,
    notes=("repetitions of one example share a prompt_id", "an empty cell is a failed evaluator"),
)


# openevals and autoevals: what one evaluator returns, without the answer. They are judges or
# programs. An id is there only if the user added it. openevals raises if its judge fails.


def bare_results(row: Row) -> Iterator[Record]:
    """One opinion per result."""
    key = row.get("id")
    metadata = object_in(row.record.get("metadata"))
    result = {"comment": metadata.get("rationale"), **row.record}
    name = row.any_of("key", "name")
    if name is None:
        raise UnusableRow("a judge that failed, whose metric is not known")
    at = f"result-{row.number}" if key is None else str(key)
    yield as_record(_opinion(at, name, result, {}, "judge"), row)


OPENEVALS = log_of_opinions(
    name="openevals",
    title="openevals results",
    signature=Signature(
        columns("key score"), within=columns("key score comment metadata id error")
    ),
    opinions=bare_results,
    ids=(),
    notes=("results have no texts here: join them by an id that you add",),
)
AUTOEVALS = replace(
    OPENEVALS,
    name="autoevals",
    title="autoevals scores",
    signature=Signature(
        columns("name score metadata"), within=columns("name score metadata id error")
    ),
)


# pydantic-evals: reports as JSON. An assertion is true or false, a score a number, a label a word.
# A failed evaluator is only in `evaluator_failures`, by its class and without its metric.

_KINDS = ("assertions", "scores", "labels")


def pydantic_grades(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per case, repeat and evaluation of a judge."""
    if "error_message" in row.record:
        raise UnusableRow("a case that failed")
    name = row.text("name")
    answer = {
        "prompt_id": str(row.get("source_case_name") or name),
        **_texts(*map(row.record.get, ("inputs", "output", "expected_output"))),
        **plain_columns(row.record.get("metadata"), taken=COLUMNS),
    }
    opinion = partial(Opinion, id=name, columns=answer)
    opinions = []
    for kind in _KINDS:
        for metric, entry in _entries(row.record.get(kind)):
            by, who = _evaluator(entry)
            call = reason_of(entry.get("reason"))
            value = entry.get("value")
            opinions.append(opinion(metric=metric, by=by, who=who, value=value, call=call))
    for failed in map(object_in, list_in(row.record.get("evaluator_failures"))):
        by, who = _evaluator(failed)
        error = failed.get("error_message") or "the evaluator failed"
        opinions += [
            opinion(metric=metric, by=by, who=who, value=None, error=error)
            for metric in _promised(failed)
        ]
    yield from grades_of_row(row, opinions, object_in(row.record.get("metadata")))


def _entries(results: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The evaluations of one kind by name."""
    for name, entry in object_in(results).items():
        yield str(name), object_in(entry)


def _evaluator(entry: Mapping[str, Any]) -> tuple[By, str | None]:
    """Whether a judge gave it, and which model; other classes can be anybody's."""
    source = object_in(entry.get("source"))
    if source.get("name") != "LLMJudge":
        return "unnamed", None
    return "judge", name_in(object_in(source.get("arguments")).get("model"))


def _promised(failed: Mapping[str, Any]) -> list[str]:
    """The metrics that a failed evaluator would have given, by its settings."""
    settings = object_in(object_in(failed.get("source")).get("arguments"))
    outputs = [object_in(settings.get(kind)) for kind in ("assertion", "score")]
    names = [str(out["evaluation_name"]) for out in outputs if out.get("evaluation_name")]
    return names or [str(failed.get("name") or "unnamed")]


PYDANTIC_EVALS = log_of_answers(
    name="pydantic-evals",
    title="a pydantic-evals report",
    signature=signature("inputs assertions scores labels evaluator_failures"),
    grades=pydantic_grades,
    ids=("name",),
    envelopes=(
        Envelope(
            marks=columns("cases report_evaluator_failures"),
            path=("cases",),
            more=("failures",),
        ),
    ),
    notes=("repeats of one case share a prompt_id",),
)


# Opik, `evaluate`: a failed metric has scoring_failed, and the value 0.


def opik_results(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per case, trial and metric."""
    case = object_in(row.record.get("test_case"))
    item = object_in(case.get("dataset_item_content"))
    question = {k: v for k, v in item.items() if k not in ("id", "case", "reference")}
    answer = {
        "prompt_id": str(case.get("dataset_item_id") or hash_of(item)),
        **_texts(question, case.get("task_output"), item.get("reference")),
    }
    key = str(case.get("trace_id") or f"result-{row.number}")
    results = [object_in(result) for result in list_in(row.record.get("score_results"))]
    seconds = row.record.get("scoring_time")
    # The time of all metrics together.
    took = {"latency_s": seconds} if len(results) == 1 and isinstance(seconds, float) else {}
    opinions = []
    for result in results:
        failed = result.get("scoring_failed") is True
        comment = result.get("reason")
        score = {"score": result.get("value"), "comment": comment, "extra": {"error": failed}}
        opinion = _opinion(key, result.get("name"), score, answer, "judge")
        opinions.append(replace(opinion, call={**opinion.call, **took}))
    yield from grades_of_row(row, opinions, item)


OPIK_RESULTS = log_of_answers(
    name="opik-results",
    title="Opik results",
    signature=signature("test_case score_results"),
    grades=opik_results,
    ids=("test_case",),
    envelopes=(Envelope(marks=columns("test_results"), path=("test_results",)),),
    notes=("trials of one item share a prompt_id",),
)


# Braintrust, the result of `Eval`: scores by name. A failed scorer is missing there, and named in
# the metadata. Equal inputs are repeats.


def braintrust_results(row: Row) -> Iterator[Record | UnusableRow]:
    """One row per case and score."""
    if row.get("error") is not None:
        raise UnusableRow("a case that failed")
    metadata = object_in(row.record.get("metadata"))
    asked = row.record.get("input")
    answer = {
        "prompt_id": hash_of(asked),
        **_texts(asked, row.record.get("output"), row.record.get("expected")),
        **plain_columns(metadata, taken=COLUMNS),
    }
    failures = object_in(metadata.get("scorer_errors"))
    scores = object_in(row.record.get("scores"))
    results = {
        **{name: {"score": value} for name, value in scores.items()},
        **{name: {"error": error} for name, error in failures.items()},
    }
    key = str(row.get("id") or f"{hash_of([asked, row.record.get('output')])}-{row.number}")
    opinions = [_opinion(key, name, result, answer) for name, result in results.items()]
    yield from grades_of_row(row, opinions, metadata)


BRAINTRUST = log_of_answers(
    name="braintrust",
    title="Braintrust results",
    signature=signature("input output scores", "expected origin classifications"),
    grades=braintrust_results,
    envelopes=(Envelope(marks=columns("summary results"), path=("results",)),),
    notes=("cases with the same input share a prompt_id",),
)


# Weave calls: what a scorer and people said is feedback on the call of the answer. A scorer that
# fails makes the call around it fail, and leaves no feedback. A thumb is about the whole answer.

_SCORER, _ANNOTATION = "wandb.runnable.", "wandb.annotation."


def weave_calls(row: Row) -> Iterator[Record | UnusableRow]:
    """The opinions on one call, and which calls failed around theirs."""
    summary = object_in(object_in(row.record.get("summary")).get("weave"))
    if row.record.get("exception") and row.record.get("parent_id"):
        yield {"failed": row.text("id"), "why": str(row.record["exception"])}
    feedback = [object_in(entry) for entry in list_in(summary.get("feedback"))]
    if not feedback:
        return
    key, inputs = row.text("id"), object_in(row.record.get("inputs"))
    answer = {
        "prompt_id": hash_of({k: str(v) for k, v in inputs.items() if k not in ("self", "model")}),
        "response": only_text(row.record.get("output")),
    }
    yield {"call": key, "around": name_in(row.record.get("parent_id")), "answer": answer}
    for entry in feedback:
        kind, payload = str(entry.get("feedback_type")), object_in(entry.get("payload"))
        if kind.startswith(_SCORER):
            for opinion in _scorers(key, kind.removeprefix(_SCORER), payload, answer):
                yield as_record(opinion, row)
        elif kind.startswith(_ANNOTATION):
            opinion = Opinion(
                id=key,
                metric=kind.removeprefix(_ANNOTATION),
                by="person",
                who=name_in(entry.get("creator")),
                value=payload.get("value"),
            )
            yield as_record(opinion, row)
        else:
            yield UnusableRow("a reaction: not about one metric")


def _scorers(key: str, name: str, payload: Mapping[str, Any], answer: Record) -> Iterator[Opinion]:
    """The values of a scorer: one, or an object of several beside its reason."""
    output = payload.get("output")
    values = output if isinstance(output, Mapping) else {"": output}
    scores = {k: v for k, v in values.items() if isinstance(v, (bool, int, float))}
    reason = reason_of(values.get("reason"))
    for score, value in scores.items():
        metric = name if len(scores) == 1 else f"{name}.{score}"
        yield Opinion(id=key, metric=metric, by="judge", value=value, call=reason, columns=answer)


def merge_calls(records: Iterable[Record]) -> Iterator[Record | UnusableRow]:
    """The opinions, with a failure of the only scorer where the call around an answer failed."""
    rows = list(records)
    opinions = [row["opinion"] for row in rows if "opinion" in row]
    judged = {opinion.id for opinion in opinions if opinion.by == "judge"}
    metrics = {opinion.metric for opinion in opinions if opinion.by == "judge"}
    failures = {row["failed"]: row["why"] for row in rows if "failed" in row}
    for row in rows:
        why = failures.get(row.get("around"))
        if why is None or row["call"] in judged:
            continue
        if len(metrics) != 1:
            yield UnusableRow("an answer whose scorer failed, not known which")
            continue
        failed = Opinion(
            id=row["call"],
            metric=min(metrics),
            by="judge",
            value=None,
            error=why,
            columns=row["answer"],
        )
        opinions.append(failed)
    yield from merge({"opinion": opinion} for opinion in opinions)


WEAVE = Format(
    name="weave",
    title="Weave calls",
    signature=signature("op_name inputs summary trace_id"),
    gives={"grades": weave_calls},
    merge={"grades": merge_calls},
    log=True,
    notes=(
        "scores are of scorers: a program's or a judge's",
        "trials of one example share a prompt_id",
    ),
)
