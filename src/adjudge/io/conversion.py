"""Published data sets and logs of other tools, turned into adjudge's own rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from adjudge._validation import count
from adjudge.errors import ArgumentError, DataError
from adjudge.io.battles import read_battles
from adjudge.io.formats import FORMATS, Format, Kind, load_format, looks_like, wrong_format
from adjudge.io.items import read_items
from adjudge.io.json_files import Record, column_series, records_frame
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import read_labels
from adjudge.io.pairs import read_pairs
from adjudge.io.published import Context, Row, UnusableRow
from adjudge.io.scores import read_human_scores
from adjudge.io.tables import (
    Table,
    TableLike,
    first_row,
    is_json,
    iter_rows,
    quick_rows,
    read_table,
    source_name,
)

_READERS: dict[Kind, Callable[[Table], pl.DataFrame]] = {
    "pairs": read_pairs,
    "battles": read_battles,
    "judgments": read_judgments,
    "items": read_items,
    "labels": read_labels,
    "human_scores": read_human_scores,
}


def sniff(source: TableLike) -> str | None:
    """The name of the format that the first row looks like, native or not, or None.

    >>> sniff([{"input": "Say hi.", "output_1": "hi", "output_2": "bye", "label": 1}])
    'llmbar'
    """
    format = looks_like(first_row(source) or ())
    return None if format is None else format.name


def read_public(
    source: TableLike,
    format: str | None = None,
    *,
    kind: Kind | None = None,
    seed: int = 0,
    baseline: str | None = None,
) -> Table:
    """A public data set as adjudge's own rows; without `format` it is recognised by its columns.

    `kind` chooses what it becomes where it can become several things (pairs before battles).
    `seed` decides on which side RewardBench's chosen response is; `baseline` names Arena-Hard's.
    Columns that are not used are kept.

    >>> rows = read_public([{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 1}])
    >>> rows.format, rows.kind, rows.frame["label"].to_list()
    ('llmbar', 'pairs', ['A'])
    """
    run = Conversion.prepare(source, format, kind=kind, seed=seed, baseline=baseline)
    name = run.context.source
    kept, rows = _split_columns(source, run)
    converted = list(run.convert(rows))
    if not converted:
        reasons = ", ".join(f"{n} {reason}" for reason, n in run.dropped.items())
        raise DataError(name, f"no row can be used ({reasons or 'it has none'})")
    frame = records_frame([record for _, record in converted], name)
    if not run.merges:
        at = [number - 1 for number, _ in converted]
        new = [column.gather(at) for column in kept if column.name not in frame.columns]
        frame = frame.hstack(new)
    return Table(
        frame=_READERS[run.kind](Table(frame=frame, name=name, kind=run.kind)),
        name=name,
        kind=run.kind,
        format=run.format.name,
        dropped=dict(run.dropped),
        notes=run.format.notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """One pass over published rows; when it is through, `dropped` says what could not be used."""

    format: Format
    kind: Kind
    context: Context
    dropped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def prepare(
        cls,
        source: TableLike,
        format: str | None,
        *,
        kind: Kind | None,
        seed: int = 0,
        baseline: str | None = None,
    ) -> Conversion:
        """A conversion of that source, whose first row must be of the format."""
        chosen = _choose_format(source, format)
        wanted: Kind = kind if kind is not None else next(iter(chosen.gives))
        if wanted not in chosen.gives:
            can = " or ".join(chosen.gives)
            raise ArgumentError("kind", wanted, f"{chosen.name} can be read as {can}")
        context = Context(source=source_name(source), seed=count(seed, "seed"), baseline=baseline)
        return cls(format=chosen, kind=wanted, context=context)

    @property
    def merges(self) -> bool:
        """Whether several rows become one: then no column can be kept as it is."""
        return self.kind == "pairs" and self.format.merge is not None

    def convert(self, rows: Iterable[Record]) -> Iterator[tuple[int, Record]]:
        """What the rows become, each with the number of the row it was made of."""
        each = self._convert_each(rows)
        if self.kind == "pairs" and self.format.merge is not None:
            return enumerate(self.format.merge(record for _, record in each), start=1)
        return each

    def stream(self, source: TableLike) -> Iterator[Record]:
        """The converted rows one by one, each with the columns of its row that are kept."""
        gone = self.format.used | self.format.texts
        kept: Record = {}

        def rows() -> Iterator[Record]:
            nonlocal kept
            for record in iter_rows(source):
                kept = {key: value for key, value in record.items() if key not in gone}
                yield record

        for _, record in self.convert(rows()):
            yield record if self.merges else {**kept, **record}

    def _convert_each(self, rows: Iterable[Record]) -> Iterator[tuple[int, Record]]:
        converter = self.format.gives[self.kind]
        for number, values in enumerate(rows, start=1):
            try:
                for record in converter(Row(values, number, self.context)):
                    if isinstance(record, UnusableRow):
                        self.dropped[str(record)] += 1
                    elif self.kind == "battles" and record["model_a"] == record["model_b"]:
                        raise UnusableRow("a model met itself")
                    else:
                        yield number, record
            except UnusableRow as reason:
                self.dropped[str(reason)] += 1


def _split_columns(source: TableLike, run: Conversion) -> tuple[list[pl.Series], Iterable[Record]]:
    """The columns that stay as they are, and the rows of those that are turned into others."""
    gone = run.format.used | run.format.texts
    if isinstance(source, (str, Path)) and is_json(source):
        # Nested JSON is read into rows in a third of the time it takes to read it into columns.
        rows = list(iter_rows(source))
        names = dict.fromkeys(name for row in rows for name in row if name not in gone)
        where = run.context.source
        return [column_series(n, [row.get(n) for row in rows], where) for n in names], rows
    unread = frozenset() if run.kind in ("pairs", "items") else run.format.texts
    frame = read_table(source, text=gone, without=unread)
    chosen = frame.select(name for name in frame.columns if name in gone - unread)
    return [frame[name] for name in frame.columns if name not in gone], quick_rows(chosen)


def _choose_format(source: TableLike, name: str | None) -> Format:
    """The format that was named, or that the first row looks like; the first row must fit it."""
    where, columns = source_name(source), first_row(source) or {}
    looks = looks_like(columns)
    if name is None:
        if not isinstance(looks, Format):
            problem = "looks like no public data set"
            problem = problem if looks is None else f"looks like native {looks.name}"
            remedy = "name it with --format: " + ", ".join(sorted(FORMATS))
            raise DataError(where, problem, remedy=remedy)
        return looks
    format = load_format(name)
    if not columns or format.signature.fits(columns):
        return format
    if looks is not None:
        raise wrong_format(looks, name, where)
    absent = sorted(format.signature.needs - set(columns))
    raise DataError(
        where,
        f"is not {format.title}",
        column=absent[0] if absent else None,
        remedy="its columns are " + ", ".join(sorted(format.signature.needs)),
    )
