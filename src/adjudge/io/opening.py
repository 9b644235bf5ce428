"""Open each kind of rows: native files directly, all other formats converted.

Each function takes a path, an in-memory frame or a `Table` that was read before, which is not read
again. `format` is the value of --format; without it the format is detected from the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar, cast

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.battles import read_battles
from adjudge.io.columns import absent_column, rename_columns
from adjudge.io.conversion import Conversion, choose_format, read_public, sniff
from adjudge.io.formats import NATIVE, Format, Kind, kinds_of, looks_like
from adjudge.io.grades import are_grades, names_sides, read_grades
from adjudge.io.items import iter_items
from adjudge.io.json_files import Record
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import read_labels
from adjudge.io.names import LOG
from adjudge.io.objects import is_table
from adjudge.io.pairs import iter_pairs, read_pairs
from adjudge.io.published import Context
from adjudge.io.scores import read_scores
from adjudge.io.tables import (
    NamedRows,
    ObjectRows,
    Table,
    TableLike,
    first_row,
    is_json,
    iter_rows,
    parse_table,
    read_object,
    source_name,
)
from adjudge.present.text import count
from adjudge.records import About, Item, Pair

S = TypeVar("S")
T = TypeVar("T", Pair, Item)


class Stream(Generic[T]):
    """Pairs or items of a file of any length; every iteration reads it from the start."""

    def __init__(
        self,
        source: TableLike,
        kind: Literal["pairs", "items"],
        format: str | None,
        seed: int,
        read: Callable[[TableLike, Mapping[str, str] | None], Iterator[T]],
        columns: Mapping[str, str] | None = None,
        labels_as: Mapping[str, str] | None = None,
    ) -> None:
        self.name = source_name(source)
        self._columns = columns
        self.kind = kind
        #: Rows that the last complete iteration dropped, by reason.
        self.dropped: dict[str, int] = {}
        self._source = _in_memory(source)
        self._format = choose_format(self._source, format, kind, named=columns)
        self._context = Context(source=self.name, seed=seed)
        self._read: Callable[[TableLike, Mapping[str, str] | None], Iterator[T]] = read
        if self._format is not None:
            if labels_as:
                problem = f"is read as {self._format.title}, whose labels get our words"
                raise DataError(self.name, problem, remedy="leave out --labels-as (labels_as=)")
            _remark(self._format, kind, self.name)

    @property
    def format(self) -> str:
        """The format it is read with; for a native file its kind."""
        return self.kind if self._format is None else self._format.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about a converted data set."""
        return () if self._format is None else self._format.notes

    def __iter__(self) -> Iterator[T]:
        if self._format is None:
            yield from self._read(self._source, self._columns)
            return
        run = Conversion(self._format, self.kind, self._context)
        rows = _name_rows(iter_rows(self._source), self._columns or {}, self.name)
        named = NamedRows(self.name, rows)
        yield from self._read(NamedRows(self.name, run.stream(named)), None)
        self.dropped = dict(run.dropped)

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, kind={self.kind!r}, format={self.format!r})"


class ColumnNames:
    """The caller's column names, for the files of one call; made by `name_columns`."""

    def __init__(
        self, columns: Mapping[str, str] | None, labels_as: Mapping[str, str] | None
    ) -> None:
        self._columns = dict(columns or {})
        self._labels_as = {str(word): ours for word, ours in (labels_as or {}).items()}
        self._unused = dict(self._columns)
        self._seen: list[Table] = []
        self._logs: list[DataError] = []

    def __call__(self, source: S) -> S | Table:
        """The file with its columns under our names; without names, the source unchanged.

        A JSON log is also unchanged: its kind is not known here, and its rows get our names later.
        """
        if source is None or not (self._columns or self._labels_as):
            return source
        rows = read_object(cast(TableLike, source))
        if is_json(rows):
            log = _log_format(first_row(rows) or ())
            if log is not None:
                self._logs.append(self._not_for_logs(str(source), log))
                return source
        if not (isinstance(source, (str, Path, Table, list, tuple)) or is_table(source)):
            what = "columns" if self._columns else "labels_as"
            given = self._columns or self._labels_as
            raise ArgumentError(what, given, "give it to the call that prepared these rows")
        table = parse_table(rows)
        here = {ours: their for ours, their in self._columns.items() if their in table.frame}
        for ours in here:
            self._unused.pop(ours, None)
        self._seen.append(table)
        fields = table.fields
        return replace(
            table,
            frame=rename_columns(table.frame, here, table.name),
            fields=None if fields is None else rename_columns(fields, here, table.name),
            labels_as={**table.labels_as, **self._labels_as},
        )

    def finish(self) -> None:
        """Refuse a column name that none of the files has, and names if all files are logs."""
        if self._logs and not self._seen:
            raise self._logs[0]
        for their in self._unused.values():
            table = self._seen[0] if self._seen else None
            if table is None:
                raise ArgumentError("columns", their, "give a table that has it")
            raise absent_column(their, table.frame.columns, table.name)

    def _not_for_logs(self, source: str, log: Format) -> DataError:
        names = {"--column (columns=)": self._columns, "--labels-as (labels_as=)": self._labels_as}
        remedy = "leave out " + " and ".join(option for option, given in names.items() if given)
        return DataError(
            source,
            f"is read as {log.title}, whose rows already have our names and words",
            remedy=remedy,
        )


@contextmanager
def name_columns(
    columns: Mapping[str, str] | None, labels_as: Mapping[str, str] | None = None
) -> Iterator[ColumnNames]:
    """Name the columns of all files of a call; each of them must be in one of the files.

    `columns` maps our names to the file's, `labels_as` words in label columns to ours.

    >>> with name_columns({"label": "vote"}, {"0": "A"}) as name:
    ...     table = name({"vote": [0]})
    >>> table.frame.columns, table.labels_as
    (['label'], {'0': 'A'})
    """
    names = ColumnNames(columns, labels_as)
    yield names
    names.finish()


def open_table(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Table:
    """The rows of a file of any kind, unchecked; `format` is what they look like.

    A log of another tool is converted to its main kind of rows, which `kind` names. This is for
    callers that must see the columns before they choose a kind: the Table then goes to the reader
    of that kind, and the file is parsed once. `columns` maps our names to the file's, `labels_as`
    words in its label columns to ours.

    >>> table = open_table({"id": ["x"], "p_a": [0.9]})
    >>> table.format, open_judgments(table).frame["verdict"].to_list()
    ('judgments', ['A'])
    """
    with name_columns(columns, labels_as) as name:
        source = read_object(name(source))
    if is_json(source):
        # Rows of a log are nested: they are converted one by one, never as columns.
        log = _log(source, first_row(source) or {})
        if log is not None:
            return log
    table = parse_table(source)
    if table.format is not None:
        return table
    log = _log(table, first_row(table) or {})
    if log is not None:
        return log
    format = looks_like(table.frame.columns)
    return replace(table, format=None if format is None else format.name)


def _log(source: TableLike, first: Record) -> Table | None:
    """A log of another tool as its main kind of rows; None if it is not a log."""
    format = _log_format(first)
    return None if format is None else _convert(source, format, kind=format.kind_by(first))


def _log_format(columns: Collection[str]) -> Format | None:
    """The tool whose log has these columns."""
    format = looks_like(columns)
    return format if isinstance(format, Format) and format.log else None


def _convert(
    source: TableLike,
    format: Format,
    *,
    kind: Kind,
    baseline: str | None = None,
    reader: Callable[[Table], pl.DataFrame] | None = None,
) -> Table:
    table = read_public(source, format.name, kind=kind, baseline=baseline, reader=reader)
    nouns = kind.replace("_", " ")
    _remark(format, count(table.frame.height, nouns.removesuffix("s"), nouns), table.name)
    return table


def _remark(format: Format, rows: str, source: str) -> None:
    """Log which format was detected, and its notes."""
    if format.log:
        LOG.warning("%s: %s, read as %s", source, format.title, rows)
        for note in format.notes:
            LOG.warning("note: %s", note)


def open_values(source: TableLike) -> Table:
    """Labels of any kind by id, unchecked: the labels of a log, any other file unchanged."""
    source = read_object(source)
    format = _log_format(first_row(source) or ())
    if format is not None and "labels" in format.gives:
        return _convert(source, format, kind="labels", reader=lambda table: table.frame)
    return open_table(source)


def open_pairs(
    source: TableLike,
    format: str | None = None,
    *,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Stream[Pair]:
    """Pairs from a native file or a public data set, streamed.

    `seed` decides on which side a chosen response is; `columns` and `labels_as` as in `open_table`.

    >>> rows = [{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 2}]
    >>> [(pair.id, pair.label) for pair in open_pairs(rows)]
    [('llmbar-1', 'B')]
    """

    def read(rows: TableLike, named: Mapping[str, str] | None) -> Iterator[Pair]:
        return iter_pairs(rows, columns=named, labels_as=labels_as)

    return Stream(source, "pairs", format, seed, read, columns, labels_as)


def open_items(
    source: TableLike,
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Stream[Item]:
    """Items from a native file or a public data set, streamed."""

    def read(rows: TableLike, named: Mapping[str, str] | None) -> Iterator[Item]:
        return iter_items(rows, columns=named, labels_as=labels_as)

    return Stream(source, "items", format, 0, read, columns, labels_as)


def open_battles(
    source: TableLike,
    format: str | None = None,
    *,
    baseline: str | None = None,
    votes_required: bool = True,
    columns: Mapping[str, str] | None = None,
) -> Table:
    """Battles from a native file or a public data set; `baseline` names Arena-Hard's.

    `votes_required=False` also takes a native file without human votes: see `read_battles`.
    """
    read = partial(read_battles, votes_required=votes_required)
    return _open(source, "battles", format, read, columns, baseline=baseline)


def open_judgments(
    source: TableLike, format: str | None = None, *, columns: Mapping[str, str] | None = None
) -> Table:
    """Judgments from a native file, AlpacaEval annotations or the Trust or Escalate release."""
    return _open(source, "judgments", format, read_judgments, columns)


def load_pairs(source: TableLike) -> pl.DataFrame:
    """Pairs as a frame, from a native file or a public data set."""
    format = sniff(source)
    published = format not in NATIVE and "pairs" in kinds_of(format)
    return read_public(source, kind="pairs").frame if published else read_pairs(source)


def open_verdicts(source: TableLike) -> tuple[Table, About]:
    """Judgments of pairs or grades of single answers, and which of them the file has."""
    table = open_table(source)
    if table.kind != "judgments" and are_grades(table.frame.columns) and not names_sides(table):
        return replace(table, frame=read_grades(table), kind="grades", fields=None), "grades"
    return open_judgments(table), "pairs"


def open_labels(
    source: TableLike,
    format: str | None = None,
    *,
    about: About | Literal["scores"] = "pairs",
    columns: Mapping[str, str] | None = None,
) -> Table:
    """Labels from a native file or the MT-Bench human judgments; `about` as in `read_labels`."""
    return _open(source, "labels", format, partial(read_labels, about=about), columns)


def open_scores(
    source: TableLike, format: str | None = None, *, columns: Mapping[str, str] | None = None
) -> Table:
    """A judge's scores and human scores, from a native file."""
    return _open(source, "scores", format, read_scores, columns)


def _open(
    source: TableLike,
    kind: Literal["battles", "judgments", "labels", "scores"],
    format: str | None,
    read: Callable[[TableLike], pl.DataFrame],
    columns: Mapping[str, str] | None,
    *,
    baseline: str | None = None,
) -> Table:
    with name_columns(columns) as name:
        source = name(source)
    source = _in_memory(source)
    if isinstance(source, Table) and source.kind == kind:
        return source
    chosen = choose_format(source, format, kind)
    if chosen is None:
        return Table(frame=read(source), name=source_name(source), kind=kind, format=kind)
    return _convert(source, chosen, kind=cast(Kind, kind), baseline=baseline, reader=read)


def _name_rows(rows: Iterator[Record], columns: Mapping[str, str], source: str) -> Iterator[Record]:
    """The rows with our names for the columns that the caller named; each must be in a row."""
    here: dict[str, None] = {}
    for record in rows:
        if columns:
            here.update(dict.fromkeys(record))
        for ours, their in columns.items():
            if their in record:
                record[ours] = record.pop(their)
        yield record
    for their in columns.values():
        if their not in here:
            raise absent_column(their, list(here), source)


def _in_memory(source: TableLike) -> TableLike:
    """The path, or the rows of a source that is in memory or one JSON object: converted once."""
    held = read_object(source)
    return held if isinstance(held, (str, Path, ObjectRows)) else parse_table(held)
