"""Convert public data sets and logs of other tools into adjudge's rows."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import Any, ClassVar

import polars as pl

from adjudge.data.formats import (
    ASK_WHO,
    GIVE_SCORES,
    NATIVE,
    OUTSIDE,
    UNMATCHED,
    UNSAID,
    Context,
    Format,
    Kind,
    Row,
    UnusableRow,
    load_format,
    looks_like,
)
from adjudge.data.json_files import Record, column_series, records_frame
from adjudge.data.rows import add_absent
from adjudge.data.tables import (
    Table,
    TableLike,
    choose_format,
    first_row,
    in_use,
    is_json,
    iter_rows,
    quick_rows,
    read_table,
    sniff,
    source_name,
)
from adjudge.errors import ArgumentError, DataError
from adjudge.present.blocks import Block, Headline, notes_of, table_of
from adjudge.present.result import Check, Count, Result, at_most, frozen
from adjudge.present.text import DASH, count, left_out, number
from adjudge.records import MEASURED
from adjudge.validation import count as check_count

#: What checks the converted rows of each kind. The kinds open their files through this module.
_READERS: Mapping[Kind, str] = {
    "pairs": "adjudge.data.pairs:read_pairs",
    "battles": "adjudge.data.battles:read_battles",
    "judgments": "adjudge.data.judgments:read_judgments",
    "grades": "adjudge.data.logs.values:read_log_grades",
    "items": "adjudge.data.pairs:read_items",
    "labels": "adjudge.data.labels:read_log_labels",
    "human_scores": "adjudge.data.scores:read_human_scores",
}


def read_public(
    source: TableLike,
    format: str | None = None,
    *,
    kind: Kind | None = None,
    seed: int = 0,
    baseline: str | None = None,
    human_metrics: Mapping[str, str] | None = None,
    reader: Callable[[Table], pl.DataFrame] | None = None,
) -> Table:
    """A public data set or a log as adjudge's rows; without `format` it is detected.

    `kind` chooses the result if several are possible (pairs before battles). `reader` replaces the
    usual check. `seed` decides on which side RewardBench's chosen response is; `baseline` names
    Arena-Hard's, `human_metrics` what people scored in a log (see `Reading`). Columns that are not
    used are kept.

    >>> rows = read_public([{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 1}])
    >>> rows.format, rows.kind, rows.frame["label"].to_list()
    ('llmbar', 'pairs', ['A'])
    """
    name = source_name(source)
    with in_use(source) as source:
        chosen = choose_format(source, format)
        first = first_row(source) or {}
        if chosen is None:
            looks = looks_like(first)
            problem = f"looks like {'no known log or data set' if looks is None else looks.title}"
            remedy = f"adjudge start {shlex.quote(name)} shows what its rows can be read as"
            raise DataError(name, problem, remedy=remedy)
        wanted = chosen.kind_by(first) if kind is None else kind
        context = Context(name, seed=seed, baseline=baseline, human_metrics=human_metrics)
        run = Conversion(chosen, wanted, context)
        kept, rows = _split_columns(source, run)
        converted = list(run.convert(rows))
    if absent := sorted({*(human_metrics or {})} - context.metrics):
        here = ", ".join(sorted(context.metrics)) or "none that people can have given"
        raise ArgumentError("human_metrics", absent[0], f"the metrics of {name} are {here}")
    if not converted:
        unsaid = [reason.removesuffix(f": {UNSAID}") for reason in run.dropped if UNSAID in reason]
        if unsaid:
            raise DataError(name, f"{UNSAID}: {', '.join(unsaid)}", remedy=ASK_WHO)
        reasons = ", ".join(f"{n} {reason}" for reason, n in run.dropped.items())
        problem = f"looks like {chosen.title}; no row can be used ({reasons or 'it has none'})"
        raise DataError(name, problem, remedy=GIVE_SCORES if OUTSIDE in run.dropped else None)
    frame = records_frame([record for _, record in converted], name)
    if run.keeps:
        at = [number - 1 for number, _ in converted]
        new = [column.gather(at) for column in kept if column.name not in frame.columns]
        frame = frame.hstack(new)
    unmatched = any(UNMATCHED in reason for reason in run.dropped)
    unlabelled = all(record.get("human") is None for _, record in converted)
    asking = any(UNSAID in reason for reason in run.dropped) or (unmatched and unlabelled)
    ask = (ASK_WHO,) if asking else ()
    notes = (*chosen.notes, *ask)
    table = Table(frame=frame, name=name, kind=wanted, format=chosen.name, notes=notes)
    checked = (reader or resolve_name(_READERS[wanted]))(table)
    return replace(table, frame=checked, dropped=dict(run.dropped))


class Conversion:
    """One pass over public rows; afterwards `dropped` counts what could not be used."""

    def __init__(self, format: Format, kind: Kind, context: Context) -> None:
        if kind not in format.gives:
            can = " or ".join(format.gives)
            raise ArgumentError("kind", kind, f"{format.name} can be read as {can}")
        check_count(context.seed, "seed")
        self.format = format
        self.kind = kind
        self.context = context
        self.dropped: Counter[str] = Counter()
        self.merge = format.merge.get(kind)
        #: Columns that are converted into others.
        self.used = format.used | format.texts
        #: If several rows become one, no column can be kept unchanged. Of a log only the columns
        #: that its converter makes are kept: its rows are nested and long.
        self.keeps = self.merge is None and not format.log
        #: Columns that the converter does not use and that are not read.
        self.hidden = frozenset() if kind in ("pairs", "items") else format.texts

    def convert(self, rows: Iterable[Record]) -> Iterator[tuple[int, Record]]:
        """The converted rows, each with the number of its source row."""
        each = self._convert_each(rows)
        if self.merge is None:
            return each
        return enumerate(self._usable(self.merge(record for _, record in each)), start=1)

    def stream(self, rows: Iterable[Record]) -> Iterator[Record]:
        """The converted rows one by one, each with the columns of its row that are kept."""
        kept: Record = {}

        def noted() -> Iterator[Record]:
            nonlocal kept
            for record in rows:
                if self.keeps:
                    kept = {key: value for key, value in record.items() if key not in self.used}
                yield record

        for _, record in self.convert(noted()):
            yield {**kept, **record}

    def _usable(self, made: Iterable[Record | UnusableRow]) -> Iterator[Record]:
        for row in made:
            if isinstance(row, UnusableRow):
                self.dropped[str(row)] += 1
            else:
                yield row

    def _convert_each(self, rows: Iterable[Record]) -> Iterator[tuple[int, Record]]:
        converter = self.format.gives[self.kind]
        seen: set[bytes] = set()
        for row, record in enumerate(rows, start=1):
            if self.format.log and self.format.has_id(record):
                text = json.dumps(record, sort_keys=True, default=str)
                digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
                if digest in seen:
                    self.dropped["the same row again"] += 1
                    continue
                seen.add(digest)
            if self.hidden:
                record = {key: record[key] for key in record if key not in self.hidden}
            try:
                for made in self._usable(converter(Row(record, row, self.context))):
                    if self.kind == "battles" and made["model_a"] == made["model_b"]:
                        raise UnusableRow("a model was compared with itself")
                    yield row, made
            except UnusableRow as reason:
                self.dropped[str(reason)] += 1


def _split_columns(source: TableLike, run: Conversion) -> tuple[list[pl.Series], Iterable[Record]]:
    """The columns that stay unchanged, and the rows of the columns to convert."""
    if run.format.log:
        return [], iter_rows(source)
    if is_json(source):
        # Nested JSON is read into rows three times as fast as into columns.
        rows = list(iter_rows(source))
        names = dict.fromkeys(name for row in rows for name in row if name not in run.used)
        where = run.context.source
        return [column_series(n, [row.get(n) for row in rows], where) for n in names], rows
    frame = read_table(source, text=run.used, without=run.hidden).drop(run.hidden, strict=False)
    return [frame[name] for name in frame.columns if name not in run.used], quick_rows(frame)


#: The columns of human labels, by kind of rows.
_LABELS = {"grades": "human", "items": "human", "battles": "winner"}


@dataclass(frozen=True, kw_only=True)
class LogRows:
    """The rows of a log, and notes about them."""

    rows: pl.DataFrame = field(repr=False)
    summary: LogSummary


def convert_log(
    source: TableLike,
    *,
    kind: Kind | None = None,
    format: str | None = None,
    seed: int = 0,
    human_metrics: Mapping[str, str] | None = None,
) -> LogRows:
    """The rows in a log of another tool; public data sets are converted too.

    Args:
        source: A log of another tool, such as Inspect, promptfoo, DeepEval, lm-eval, LangSmith,
            Langfuse or OpenTelemetry, or a published data set.
        kind: What to convert if the log holds several things: grades, judgments, labels, items,
            pairs or battles. Default: the log's main content.
        format: Name of a public format, if it cannot be detected from content.
        seed: Seed of everything random. It decides on which side a chosen response is shown.
        human_metrics: Metrics of a log that are people's labels, and of which metric. Such as
            {"human": "correctness"}; an empty name is the only metric of an answer, and {} says
            that no metric is people's.

    >>> traces = [{"trace_id": "t", "request": "2+2?", "response": "4", "assessments": [
    ...     {"assessment_name": "right", "feedback": {"value": True},
    ...      "source": {"source_type": "LLM_JUDGE", "source_id": "gpt"}}]}]
    >>> made = convert_log(traces)
    >>> made.summary.format, made.rows.select("id", "metric", "p_pass", "human").row(0)
    ('mlflow', ('t', 'right', 1.0, None))
    """
    with in_use(source) as source:
        native = NATIVE.get(sniff(source) or "") if format is None else None
        if native is not None:
            problem = f"is {native.title}: it does not need conversion"
            raise DataError(source_name(source), problem, remedy=native.remedy)
        options: dict[str, Any] = {"seed": seed, "human_metrics": human_metrics}
        table = read_public(source, format, kind=kind, **options)
    frame, rows_kind = table.frame, table.kind or ""
    counts = frame["status"].value_counts(sort=True).rows() if "status" in frame.columns else ()
    summary = LogSummary(
        source=table.name,
        format=table.format or "",
        title=load_format(table.format or "").title,
        rows_kind=rows_kind,
        rows=frame.height,
        prompts=frame["prompt_id"].n_unique() if "prompt_id" in frame.columns else None,
        statuses=dict(counts),
        metrics=_metrics(frame, _LABELS.get(rows_kind, "label")),
        dropped=dict(table.dropped),
        notes=table.notes,
    )
    return LogRows(rows=frame, summary=summary)


def _metrics(frame: pl.DataFrame, label: str) -> tuple[MetricRows, ...]:
    """Rows by metric and judge, in the order of the file."""
    judge = "judge_name" if "judge_name" in frame.columns else "judge"
    frame = add_absent(frame, ("metric", judge, "status", "started_from", label))
    labelled = pl.col(label).is_not_null()
    from_judge = labelled & (pl.col("started_from") == "judge")
    groups = frame.group_by("metric", pl.col(judge).alias("__judge"), maintain_order=True)
    rows = groups.agg(
        rows=pl.len(),
        measured=pl.col("status").is_in(list(MEASURED)).sum(),
        labels=labelled.sum(),
        from_judge=from_judge.sum(),
    )
    return tuple(MetricRows(**row) for row in rows.rename({"__judge": "judge"}).to_dicts())


@dataclass(frozen=True, kw_only=True)
class MetricRows:
    """The rows of one metric and judge: how many, with a usable score, with a label.

    `from_judge` of the labels started from the judge's answer and are not used.
    """

    metric: str | None
    judge: str | None
    rows: Count
    measured: Count
    labels: Count
    from_judge: Count = 0

    checks: ClassVar[tuple[Check, ...]] = (
        at_most("measured", "rows"),
        at_most("labels", "rows"),
        at_most("from_judge", "labels"),
    )


@frozen
class LogSummary(Result):
    """The rows in a file of another tool; the rows are returned with it.

    `statuses` counts rows by status, `prompts` their prompts if the log identifies them, `dropped`
    entries that are not a row, by reason.
    """

    kind: ClassVar[str] = "log"
    rows_in: ClassVar[str] = "metrics"

    source: str
    format: str
    title: str
    rows_kind: str
    rows: Count
    prompts: Count | None = None
    statuses: Mapping[str, Count] = field(default_factory=dict)
    metrics: tuple[MetricRows, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def view(self) -> list[Block]:
        """Rows and statuses first, then each metric, then what was left out."""
        statuses = ", ".join(f"{n:,} {status}" for status, n in self.statuses.items())
        about = "" if self.prompts is None else f" about {count(self.prompts, 'prompt')}"
        headline = f"{count(self.rows, self.rows_kind.removesuffix('s'))}{about} from {self.title}"
        columns = {
            "metric": lambda part: part.metric or DASH,
            "judge": lambda part: part.judge or DASH,
            "rows": lambda part: number(part.rows),
        }
        if self.statuses:
            columns["scored"] = lambda part: number(part.measured)
        columns["labels"] = lambda part: number(part.labels)
        if any(part.from_judge for part in self.metrics):
            columns["started from the judge's answer"] = lambda part: number(part.from_judge)
        notes = [*(f"note: {note}" for note in self.notes), *left_out(self.dropped)]
        return [
            Headline(headline + (f": {statuses}" if statuses else "")),
            table_of(self.metrics, columns, text_columns=2),
            *notes_of(notes),
        ]
