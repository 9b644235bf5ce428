"""Convert public data sets and logs of other tools into adjudge's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.battles import read_battles
from adjudge.io.formats import (
    FORMATS,
    NATIVE,
    Format,
    Kind,
    NativeFormat,
    kinds_of,
    load_format,
    looks_like,
    looks_usual,
    wrong_format,
)
from adjudge.io.items import read_items
from adjudge.io.json_files import Record, column_series, records_frame
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import once_per_rater, read_labels
from adjudge.io.names import LOG
from adjudge.io.pairs import LABELS, read_pairs
from adjudge.io.published import Context, Row, UnusableRow
from adjudge.io.runners.grades import read_log_grades
from adjudge.io.scores import read_human_scores
from adjudge.io.tables import (
    Table,
    TableLike,
    first_row,
    is_json,
    iter_rows,
    quick_rows,
    read_object,
    read_table,
    source_name,
)
from adjudge.validation import count


def _read_labels(table: Table) -> pl.DataFrame:
    """Checked labels of pairs; pass and fail labels stay 1 and 0, as rates need them."""
    labels = set(table.frame["label"].drop_nulls().unique())
    return read_labels(table) if labels <= set(LABELS) else once_per_rater(table.frame, table.name)


_READERS: dict[Kind, Callable[[Table], pl.DataFrame]] = {
    "pairs": read_pairs,
    "battles": read_battles,
    "judgments": read_judgments,
    "grades": read_log_grades,
    "items": read_items,
    "labels": _read_labels,
    "human_scores": read_human_scores,
}


def sniff(source: TableLike, columns: Mapping[str, str] | None = None) -> str | None:
    """The name of the format that the first row looks like, native or not, or None.

    `columns` maps our column names to the file's.

    >>> sniff([{"input": "Say hi.", "output_1": "hi", "output_2": "bye", "label": 1}])
    'llmbar'
    """
    format = looks_usual(renamed(first_row(source) or (), columns))
    return None if format is None else format.name


def renamed(here: Iterable[str], columns: Mapping[str, str] | None) -> list[str]:
    """The columns of a file after the caller's renaming."""
    ours = {their: name for name, their in (columns or {}).items()}
    return [ours.get(name, name) for name in here]


def read_public(
    source: TableLike,
    format: str | None = None,
    *,
    kind: Kind | None = None,
    seed: int = 0,
    baseline: str | None = None,
    reader: Callable[[Table], pl.DataFrame] | None = None,
) -> Table:
    """A public data set or a log as adjudge's rows; without `format` it is detected.

    `kind` chooses the result if several are possible (pairs before battles). `reader` replaces the
    usual check. `seed` decides on which side RewardBench's chosen response is; `baseline` names
    Arena-Hard's. Columns that are not used are kept.

    >>> rows = read_public([{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 1}])
    >>> rows.format, rows.kind, rows.frame["label"].to_list()
    ('llmbar', 'pairs', ['A'])
    """
    source = read_object(source)
    chosen = choose_format(source, format)
    if chosen is None:
        looks = looks_like(first_row(source) or ())
        problem = f"looks like {'no public data set' if looks is None else looks.title}"
        remedy = "name it with --format: " + ", ".join(sorted(FORMATS))
        raise DataError(source_name(source), problem, remedy=remedy)
    name = source_name(source)
    wanted = chosen.kind_by(first_row(source) or {}) if kind is None else kind
    run = Conversion(chosen, wanted, Context(source=name, seed=seed, baseline=baseline))
    kept, rows = _split_columns(source, run)
    converted = list(run.convert(rows))
    if not converted:
        reasons = ", ".join(f"{n} {reason}" for reason, n in run.dropped.items())
        raise DataError(name, f"no row can be used ({reasons or 'it has none'})")
    frame = records_frame([record for _, record in converted], name)
    if run.keeps:
        at = [number - 1 for number, _ in converted]
        new = [column.gather(at) for column in kept if column.name not in frame.columns]
        frame = frame.hstack(new)
    return Table(
        frame=(reader or _READERS[wanted])(Table(frame=frame, name=name, kind=wanted)),
        name=name,
        kind=wanted,
        format=chosen.name,
        dropped=dict(run.dropped),
        notes=chosen.notes,
    )


class Conversion:
    """One pass over public rows; afterwards `dropped` counts what could not be used."""

    def __init__(self, format: Format, kind: Kind, context: Context) -> None:
        if kind not in format.gives:
            can = " or ".join(format.gives)
            raise ArgumentError("kind", kind, f"{format.name} can be read as {can}")
        count(context.seed, "seed")
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

    def stream(self, source: TableLike) -> Iterator[Record]:
        """The converted rows one by one, each with the columns of its row that are kept."""
        kept: Record = {}

        def rows() -> Iterator[Record]:
            nonlocal kept
            for record in iter_rows(source):
                if self.keeps:
                    kept = {key: value for key, value in record.items() if key not in self.used}
                yield record

        for _, record in self.convert(rows()):
            yield {**kept, **record}

    def _usable(self, made: Iterable[Record | UnusableRow]) -> Iterator[Record]:
        for one in made:
            if isinstance(one, UnusableRow):
                self.dropped[str(one)] += 1
            else:
                yield one

    def _convert_each(self, rows: Iterable[Record]) -> Iterator[tuple[int, Record]]:
        converter = self.format.gives[self.kind]
        for number, record in enumerate(rows, start=1):
            if self.hidden:
                record = {key: record[key] for key in record if key not in self.hidden}
            try:
                for made in self._usable(converter(Row(record, number, self.context))):
                    if self.kind == "battles" and made["model_a"] == made["model_b"]:
                        raise UnusableRow("a model was compared with itself")
                    yield number, made
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


def choose_format(
    source: TableLike,
    format: str | None,
    kind: str | None = None,
    *,
    named: Mapping[str, str] | None = None,
) -> Format | None:
    """The format to convert `source` from, by name or as detected; None if it is native.

    A format is refused if the first row does not match it, or if it has no rows of that `kind`.
    `named` maps our column names to the file's.
    """
    columns = renamed(first_row(source) or (), named)
    looks = looks_like(columns)
    chosen = looks if isinstance(looks, Format) else None
    if format is not None:
        if format == kind:
            return None
        if format not in FORMATS and kind is not None:
            able = sorted(name for name in FORMATS if kind in kinds_of(name))
            raise ArgumentError("format", format, "choose one of " + ", ".join([kind, *able]))
        chosen = load_format(format)
        if columns and not chosen.signature.fits(columns):
            raise _misfit(chosen, looks, columns, source_name(source))
    if chosen is not None and kind is not None and kind not in chosen.gives:
        remedy = "it gives " + " or ".join(chosen.gives)
        if (first := next(iter(chosen.gives))) in NATIVE:
            remedy += f": {NATIVE[first].remedy}"
        raise DataError(source_name(source), f"{chosen.name} has no {kind}", remedy=remedy)
    if chosen is not None and format is None and not chosen.log:
        LOG.warning("%s: read as %s", source_name(source), chosen.title)
    return chosen


def _misfit(
    format: Format, looks: Format | NativeFormat | None, columns: Collection[str], source: str
) -> DataError:
    if looks is not None:
        return wrong_format(looks, format.name, source)
    needs = sorted(format.signature.needs)
    absent = next((name for name in needs if name not in columns), None)
    remedy = "its columns are " + ", ".join(needs)
    return DataError(source, f"is not {format.title}", column=absent, remedy=remedy)
