"""Verdicts, doubt, decisions and corrected rates as files that other tools take.

`otlp`: evaluation events of the GenAI conventions, a line of OTLP JSON for each thousand.
`langfuse`: a body of its endpoint for scores in each line; a score has one value, so doubt and
acceptance are scores of their own. `csv`: a row for each verdict. Nothing is sent. What a tool has
no place for is under names that begin with adjudge; our readers read the same numbers by them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.atomic import replacing
from adjudge.data.conversion import LogSummary, MetricRows
from adjudge.data.files import open_regular
from adjudge.data.formats import UnusableRow
from adjudge.data.judgments import open_verdicts
from adjudge.data.logs.telemetry import ABOUT, EVENT, JUDGE, LABEL, NAME, PROMPT, SCORE, WHY
from adjudge.data.rows import add_absent, truth_column
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike, source_name
from adjudge.data.writing import check_output, read_with_fields, write_rows
from adjudge.errors import ArgumentError, DataError
from adjudge.records import MEASURED
from adjudge.validation import one_of

_AT_ONCE = 1000
_TRACE = re.compile(r"[0-9a-f]{32}")
_SPAN = re.compile(r"[0-9a-f]{16}")
#: One score for one verdict: the id of a score follows from what it is about.
_SCORE_IDS = uuid.UUID("6b1d9f0e-6d0c-5a52-9d0f-6f0a5c3e7a11")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What is said of one answer, pair or group of answers (`about` a rate)."""

    about: str
    id: str
    name: str
    trace: str | None = None
    prompt_id: str | None = None
    judge: str | None = None
    value: float | None = None
    label: str | None = None
    why: str | None = None
    error: str | None = None
    uncertainty: float | None = None
    accepted: bool | None = None
    low: float | None = None
    high: float | None = None


def export_scores(
    source: TableLike,
    *,
    to: str,
    output: str | Path,
    trace: str | None = None,
    columns: Mapping[str, str] | None = None,
    human_metrics: Mapping[str, str] | None = None,
) -> LogSummary:
    """Write verdicts, or the rates of an estimate, as a file that another tool takes.

    Args:
        source: Grades, judgments or decisions of select; or a result of estimate.
        to: otlp, langfuse or csv.
        output: The file.
        trace: Column with the trace's id. The id of a row is then its span's or observation's.
            Without it the id is the trace's; in OTLP, by its form, or the response's.
        columns: Column names of your file, by ours.
        human_metrics: As in `convert_log`.
    """
    write = _WRITERS[one_of(to, tuple(_WRITERS), "to")]
    if to == "csv":
        check_output(output)
    name = source_name(source)
    groups = _rates(source)
    dropped: Counter[str] = Counter()
    if groups is None:
        reading: Reading = {"columns": columns, "human_metrics": human_metrics}
        with Source.of(source, **reading) as opened:
            evaluations = list(_of_rows(opened, trace, dropped))
    else:
        evaluations = groups
    written = write(evaluations, Path(output), dropped)
    if not written:
        reasons = ", ".join(f"{n} {reason}" for reason, n in dropped.items())
        raise DataError(name, f"has nothing that can be written ({reasons or 'it has no rows'})")
    judges = Counter((one.name, one.judge) for one in evaluations)
    scored = Counter((one.name, one.judge) for one in evaluations if one.error is None)
    return LogSummary(
        source=name,
        format=to,
        title=name,
        rows_kind="scores",
        rows=written,
        statuses=dict(Counter(one.error or "ok" for one in evaluations)),
        metrics=tuple(
            MetricRows(metric=metric, judge=judge, rows=n, measured=scored[metric, judge], labels=0)
            for (metric, judge), n in judges.items()
        ),
        dropped=dict(dropped),
        notes=(f"written to {output} for {to}; nothing was sent",),
    )


def _rates(source: TableLike) -> list[Evaluation] | None:
    """The corrected rates of a result of estimate; None if the source is a table."""
    if not isinstance(source, (str, Path)) or Path(source).suffix != ".json":
        return None
    with open_regular(source) as file:
        if not re.match(rb'\s*\{\s*"kind"', file.read(200)):
            return None
    result, values = read_with_fields(source)
    groups = values.get("groups") or values.get("means") or [values]
    if "estimate" not in groups[0]:
        remedy = "give rows, or what adjudge estimate wrote with -o"
        raise DataError(source, f"is a {result.kind} without a corrected rate", remedy=remedy)
    return [_rate(group, values.get("method") or "ppi++") for group in groups]


def _rate(values: Mapping[str, Any], method: str) -> Evaluation:
    interval = values.get("interval") or {}
    estimate = values["estimate"]
    return Evaluation(
        about="rate",
        id=str(values.get("group") or ""),
        name="corrected rate",
        judge=None,
        value=estimate,
        why=f"method {method}; {100 * interval['level']:g} % interval" if interval else method,
        error=None if estimate is not None else "no_estimate",
        low=interval.get("low"),
        high=interval.get("high"),
    )


def _of_rows(source: Source, trace: str | None, dropped: Counter[str]) -> Iterator[Evaluation]:
    """One evaluation for each verdict; rows that are not read are counted in `dropped`."""
    table, about = open_verdicts(source.rows, doubt_needed=False)
    dropped.update(table.dropped)
    frame = table.frame
    if trace is not None and trace not in frame.columns:
        raise ArgumentError("trace", trace, f"columns here: {', '.join(frame.columns)}")
    has_decisions = "accepted" in frame.columns
    if has_decisions:
        remedy = "give the rows that adjudge select wrote with -o"
        frame = frame.with_columns(truth_column(frame, "accepted", table.name, remedy=remedy))
    # In decisions the column reason is why a verdict was not accepted.
    why = "input_reason" if has_decisions else "reason"
    needed = ["metric", "prompt_id", "detail", why, "accepted"]
    frame = add_absent(frame, [name for name in needed if name not in frame.columns])
    number = "p_pass" if about == "grades" else "p_a"
    certain = pl.col("verdict").replace_strict({"pass": 1.0, "fail": 0.0}, default=None)
    frame = frame.with_columns(pl.col(number).fill_null(certain))
    for row in frame.iter_rows(named=True):
        ok = row["status"] in MEASURED
        within = None if trace is None else _text(row[trace])
        yield Evaluation(
            about="answer" if about == "grades" else "pair",
            id=str(row["id"]),
            name=_text(row["metric"]) or str(row["protocol"]),
            trace=within,
            prompt_id=None if within == _text(row["prompt_id"]) else _text(row["prompt_id"]),
            judge=str(row["judge"]),
            value=row[number] if ok else None,
            label=row["verdict"] if ok else None,
            why=_text(row[why] if ok else row["detail"]),
            error=None if ok else row["status"],
            uncertainty=row["uncertainty"] if ok else None,
            accepted=row["accepted"],
        )


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _write_lines(lines: Iterable[Any], output: Path) -> None:
    with replacing(output) as partial, partial.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")


def _otlp(rows: Sequence[Evaluation], output: Path, dropped: Counter[str]) -> int:
    def lines() -> Iterator[Any]:
        service = [{"key": "service.name", "value": {"stringValue": "adjudge"}}]
        for at in range(0, len(rows), _AT_ONCE):
            records = [_event(row) for row in rows[at : at + _AT_ONCE]]
            scope = {"scope": {"name": "adjudge"}, "logRecords": records}
            yield {"resourceLogs": [{"resource": {"attributes": service}, "scopeLogs": [scope]}]}

    _write_lines(lines(), output)
    return len(rows)


def _event(row: Evaluation) -> dict[str, Any]:
    """One evaluation as a log record; ids of spans and traces are recognised by their form."""
    place: dict[str, Any] = {}
    if _TRACE.fullmatch(row.trace or row.id):
        place["traceId"] = row.trace or row.id
    if _SPAN.fullmatch(row.id):
        place["spanId"] = row.id
    by_form = row.id in place.values()
    # A trace whose id is not of OpenTelemetry's form still says which answers belong together.
    prompt_id = row.prompt_id or (None if "traceId" in place else row.trace)
    values = {
        NAME: row.name,
        SCORE: row.value,
        LABEL: row.label,
        WHY: row.why,
        "error.type": row.error,
        "gen_ai.response.id": None if by_form or row.about == "rate" else row.id,
        ABOUT: row.about,
        JUDGE: row.judge,
        PROMPT: prompt_id,
        "adjudge.uncertainty": row.uncertainty,
        "adjudge.accepted": row.accepted,
        "adjudge.group": row.id or None if row.about == "rate" else None,
        "adjudge.interval.low": row.low,
        "adjudge.interval.high": row.high,
    }
    attributes = [
        {"key": key, "value": _typed(value)} for key, value in values.items() if value is not None
    ]
    return {"severityNumber": 9, "attributes": attributes, **place, "eventName": EVENT}


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _langfuse(rows: Sequence[Evaluation], output: Path, dropped: Counter[str]) -> int:
    scores: list[Any] = []
    for row in rows:
        try:
            scores += _scores(row)
        except UnusableRow as reason:
            dropped[str(reason)] += 1
    if scores:
        _write_lines(scores, output)
    return len(scores)


def _scores(row: Evaluation) -> Iterator[dict[str, Any]]:
    """The scores of one evaluation: its verdict, its doubt, and whether it was accepted."""
    if row.error is not None:
        raise UnusableRow(f"no score: {row.error}")
    if row.about == "rate" and not row.id:
        raise UnusableRow("a rate of no dataset run: estimate it --by the column with the run's id")
    if row.about == "rate":
        place = {"datasetRunId": row.id}
    elif row.trace is None:
        place = {"traceId": row.id}
    else:
        place = {"traceId": row.trace, "observationId": row.id}
    texts = {"judge": row.judge, "prompt_id": row.prompt_id, "low": row.low, "high": row.high}
    named = {key: value for key, value in texts.items() if value is not None}
    # A pair has no number of its own there: its verdict is a word.
    verdict = row.label if row.about == "pair" else row.value
    if verdict is None and row.about != "rate":
        raise UnusableRow("no verdict")
    accepted = None if row.accepted is None else float(row.accepted)
    for what, suffix, kind, value in (
        (row.about, "", "CATEGORICAL" if row.about == "pair" else "NUMERIC", verdict),
        ("doubt", ".doubt", "NUMERIC", row.uncertainty),
        ("acceptance", ".accepted", "BOOLEAN", accepted),
    ):
        if value is not None:
            name = row.name + suffix
            key = json.dumps([place, name, row.judge])
            yield {
                "id": str(uuid.uuid5(_SCORE_IDS, key)),
                **place,
                "name": name,
                "value": value,
                "dataType": kind,
                "source": "API",
                **({"comment": row.why} if row.why and what == row.about else {}),
                "metadata": {"adjudge": what, **named},
            }


#: What a table has of an evaluation.
_IN_CSV = (
    *("id", "trace", "name", "judge", "value", "label", "why", "error"),
    *("uncertainty", "accepted", "low", "high"),
)


def _csv(rows: Sequence[Evaluation], output: Path, dropped: Counter[str]) -> int:
    frame = pl.DataFrame({name: [getattr(row, name) for row in rows] for name in _IN_CSV})
    filled = frame.select(c for c in frame.columns if frame[c].null_count() < len(rows))
    write_rows(filled.rename({"trace": "trace_id", "why": "explanation"}, strict=False), output)
    return len(rows)


_WRITERS = {"otlp": _otlp, "langfuse": _langfuse, "csv": _csv}
