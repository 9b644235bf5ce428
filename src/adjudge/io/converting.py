"""Convert a log of another tool into adjudge's rows: the call behind `adjudge convert`."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from adjudge.errors import DataError
from adjudge.io.conversion import read_public, sniff
from adjudge.io.formats import NATIVE, Kind, load_format
from adjudge.io.tables import Table, TableLike, read_object, source_name
from adjudge.records import MEASURED
from adjudge.results.reading import LogSummary, MetricRows

#: The columns of human labels, by kind of rows.
_LABELS = {"grades": "human", "items": "human", "battles": "winner"}


@dataclass(frozen=True, kw_only=True)
class LogRows:
    """The rows of a log, and notes about them."""

    rows: pl.DataFrame = field(repr=False)
    summary: LogSummary


def convert_log(
    source: TableLike, *, kind: Kind | None = None, format: str | None = None, seed: int = 0
) -> LogRows:
    """The rows in a log of another tool; public data sets are converted too.

    `kind` chooses the result if a log holds several things. `format` names the tool if it cannot be
    detected from content. `seed` as in `read_public`.

    >>> traces = [{"trace_id": "t", "request": "2+2?", "response": "4", "assessments": [
    ...     {"assessment_name": "right", "feedback": {"value": True},
    ...      "source": {"source_type": "LLM_JUDGE", "source_id": "gpt"}}]}]
    >>> made = convert_log(traces)
    >>> made.summary.format, made.rows.select("id", "metric", "p_pass", "human").row(0)
    ('mlflow', ('t', 'right', 1.0, None))
    """
    source = read_object(source)
    native = NATIVE.get(sniff(source) or "") if format is None else None
    if native is not None:
        problem = f"is {native.title}: it does not need conversion"
        raise DataError(source_name(source), problem, remedy=native.remedy)
    table = read_public(source, format, kind=kind, seed=seed)
    return LogRows(rows=table.frame, summary=_summarise(table))


def _summarise(table: Table) -> LogSummary:
    frame, kind = table.frame, table.kind or ""
    name = table.format or ""
    statuses = frame["status"].value_counts(sort=True) if "status" in frame.columns else None
    return LogSummary(
        source=table.name,
        format=name,
        title=load_format(name).title,
        rows_kind=kind,
        rows=frame.height,
        prompts=frame["prompt_id"].n_unique() if "prompt_id" in frame.columns else None,
        statuses={} if statuses is None else dict(statuses.rows()),
        metrics=_metrics(frame, _LABELS.get(kind, "label")),
        dropped=dict(table.dropped),
        notes=table.notes,
    )


def _metrics(frame: pl.DataFrame, label: str) -> tuple[MetricRows, ...]:
    """Rows by metric and judge, in the order of the file."""
    absent = [c for c in ("status", "started_from", label) if c not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.String).alias(c) for c in absent)
    judge = "judge_name" if "judge_name" in frame.columns else "judge"
    keys = [c for c in ("metric", judge) if c in frame.columns]
    labelled = pl.col(label).is_not_null()
    counts = [
        pl.len().alias("rows"),
        pl.col("status").is_in(list(MEASURED)).sum().alias("measured"),
        labelled.sum().alias("labels"),
        (labelled & (pl.col("started_from") == "judge")).sum().alias("from_judge"),
    ]
    if not keys:
        keys, frame = ["metric"], frame.with_columns(metric=pl.lit(None, pl.String))
    rows = frame.group_by(keys, maintain_order=True).agg(counts)
    return tuple(
        MetricRows(
            metric=row.get("metric"),
            judge=row.get(judge),
            rows=row["rows"],
            measured=row["measured"],
            labels=row["labels"],
            from_judge=row["from_judge"],
        )
        for row in rows.to_dicts()
    )
