"""One door for each kind of rows: native files as they are, all other formats converted.

Each takes a path, an in-memory frame or a `Table` that was read before, which is not read again.
`format` is what --format of the commands takes; without it the file is recognised by its columns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar, cast

import polars as pl

from adjudge.io.battles import read_battles
from adjudge.io.conversion import Conversion, choose_format, read_public
from adjudge.io.formats import Format, Kind, looks_like
from adjudge.io.grades import are_grades, read_grades
from adjudge.io.items import iter_items
from adjudge.io.json_files import Record
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import read_labels
from adjudge.io.pairs import iter_pairs
from adjudge.io.published import Context
from adjudge.io.scores import read_scores
from adjudge.io.tables import (
    NamedRows,
    Table,
    TableLike,
    first_row,
    is_json,
    parse_table,
    source_name,
)
from adjudge.records import About, Item, Pair

T = TypeVar("T", Pair, Item)
#: Where every remark of a reader goes: the commands print them, a notebook shows them.
_LOG = logging.getLogger("adjudge.io")


class Stream(Generic[T]):
    """Pairs or items of a file of any length; every iteration reads it from the start."""

    def __init__(
        self,
        source: TableLike,
        kind: Literal["pairs", "items"],
        format: str | None,
        seed: int,
        read: Callable[[TableLike], Iterator[T]],
    ) -> None:
        self.name = source_name(source)
        self.kind = kind
        #: What the last complete iteration dropped, by reason.
        self.dropped: dict[str, int] = {}
        self._source = _in_memory(source)
        self._format = choose_format(self._source, format, kind)
        self._context = Context(source=self.name, seed=seed)
        self._read: Callable[[TableLike], Iterator[T]] = read
        if self._format is not None:
            _remark(self._format, kind, self.name)

    @property
    def format(self) -> str:
        """The format it is read with; of a native file its kind."""
        return self.kind if self._format is None else self._format.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a converted data set should know."""
        return () if self._format is None else self._format.notes

    def __iter__(self) -> Iterator[T]:
        if self._format is None:
            yield from self._read(self._source)
            return
        run = Conversion(self._format, self.kind, self._context)
        yield from self._read(NamedRows(self.name, run.stream(self._source)))
        self.dropped = dict(run.dropped)

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, kind={self.kind!r}, format={self.format!r})"


def open_table(source: TableLike) -> Table:
    """The rows of a file of any kind, unchecked; `format` says what they look like.

    A log of another tool is converted to the rows it holds most of all, which `kind` names. For
    whoever must see the columns before a kind is chosen: the Table then goes to the door or
    the reader of that kind, and the file is parsed once.

    >>> table = open_table({"id": ["x"], "p_a": [0.9]})
    >>> table.format, open_judgments(table).frame["verdict"].to_list()
    ('judgments', ['A'])
    """
    if isinstance(source, (str, Path)) and is_json(source):
        # Rows of a log are nested: they are converted one by one and never made into columns.
        log = _log(source, first_row(source) or {})
        if log is not None:
            return log
    table = parse_table(source)
    if table.format is not None:
        return table
    format = looks_like(table.frame.columns)
    if isinstance(format, Format) and format.log:
        return _log(table, first_row(table) or {}) or table
    return replace(table, format=None if format is None else format.name)


def _log(source: TableLike, first: Record) -> Table | None:
    """A log of another tool as the rows it is most of all; None where it is no log."""
    format = looks_like(first)
    if not isinstance(format, Format) or not format.log:
        return None
    return _convert(source, format, kind=format.kind_by(first))


def _convert(
    source: TableLike,
    format: Format,
    *,
    kind: Kind,
    baseline: str | None = None,
    reader: Callable[[Table], pl.DataFrame] | None = None,
) -> Table:
    table = read_public(source, format.name, kind=kind, baseline=baseline, reader=reader)
    _remark(format, f"{table.frame.height:,} {kind}", table.name)
    return table


def _remark(format: Format, rows: str, source: str) -> None:
    """Say what a log was taken for, and what its reader should know."""
    if format.log:
        _LOG.warning("%s: %s, read as %s", source, format.title, rows)
        for note in format.notes:
            _LOG.warning("note: %s", note)


def open_values(source: TableLike) -> Table:
    """Labels of any sort by id, unchecked: the labels of a log, any other file as it is."""
    format = looks_like(first_row(source) or ())
    if isinstance(format, Format) and format.log and "labels" in format.gives:
        return _convert(source, format, kind="labels", reader=lambda table: table.frame)
    return open_table(source)


def open_pairs(source: TableLike, format: str | None = None, *, seed: int = 0) -> Stream[Pair]:
    """Pairs from a native file or a public data set, streamed.

    `seed` decides on which side RewardBench's chosen response is.

    >>> rows = [{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 2}]
    >>> [(pair.id, pair.label) for pair in open_pairs(rows)]
    [('llmbar-1', 'B')]
    """
    return Stream(source, "pairs", format, seed, iter_pairs)


def open_items(source: TableLike, format: str | None = None) -> Stream[Item]:
    """Items from a native file or a public data set, streamed."""
    return Stream(source, "items", format, 0, iter_items)


def open_battles(
    source: TableLike,
    format: str | None = None,
    *,
    baseline: str | None = None,
    votes_required: bool = True,
) -> Table:
    """Battles from a native file or a public data set; `baseline` names Arena-Hard's.

    `votes_required=False` takes a native file without people's votes too: see `read_battles`.
    """
    read = partial(read_battles, votes_required=votes_required)
    return _open(source, "battles", format, read, baseline=baseline)


def open_judgments(source: TableLike, format: str | None = None) -> Table:
    """Judgments from a native file, AlpacaEval annotations or the Trust or Escalate release."""
    return _open(source, "judgments", format, read_judgments)


def open_verdicts(source: TableLike) -> tuple[Table, About]:
    """Judgments of pairs or grades of single answers, whichever the file holds, and which."""
    table = open_table(source)
    if table.kind != "judgments" and are_grades(table.frame.columns):
        return replace(table, frame=read_grades(table), kind="grades", fields=None), "grades"
    return open_judgments(table), "pairs"


def open_labels(
    source: TableLike,
    format: str | None = None,
    *,
    about: About | Literal["scores"] = "pairs",
) -> Table:
    """Labels from a native file or the MT-Bench human judgments; `about` as in `read_labels`."""
    return _open(source, "labels", format, partial(read_labels, about=about))


def open_scores(source: TableLike, format: str | None = None) -> Table:
    """A judge's scores and people's, from a native file."""
    return _open(source, "scores", format, read_scores)


def _open(
    source: TableLike,
    kind: Literal["battles", "judgments", "labels", "scores"],
    format: str | None,
    read: Callable[[TableLike], pl.DataFrame],
    *,
    baseline: str | None = None,
) -> Table:
    source = _in_memory(source)
    if isinstance(source, Table) and source.kind == kind:
        return source
    chosen = choose_format(source, format, kind)
    if chosen is None:
        return Table(frame=read(source), name=source_name(source), kind=kind, format=kind)
    return _convert(source, chosen, kind=cast(Kind, kind), baseline=baseline, reader=read)


def _in_memory(source: TableLike) -> TableLike:
    """The path, or the Table that an in-memory source makes, so that it is converted once."""
    return source if isinstance(source, (str, Path)) else parse_table(source)
