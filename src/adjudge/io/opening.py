"""One door for each kind of rows: native files as they are, all other formats converted.

Each takes a path, an in-memory frame or a `Table` that was read before, which is not read again.
`format` is what --format of the commands takes; without it the file is recognised by its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.battles import read_battles
from adjudge.io.conversion import Conversion, read_public, sniff
from adjudge.io.formats import FORMATS, NATIVE, kinds_of, load_format, looks_like
from adjudge.io.items import iter_items
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import read_labels
from adjudge.io.pairs import iter_pairs
from adjudge.io.scores import read_scores
from adjudge.io.tables import NamedRows, Table, TableLike, parse_table, source_name
from adjudge.records import Item, Pair

T = TypeVar("T", Pair, Item)
Native = Literal["pairs", "battles", "judgments", "items", "labels", "scores"]


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
        self.source = in_memory(source)
        self.name = source_name(source)
        self.kind = kind
        self.format = choose_format(self.source, kind, format)
        self.seed = seed
        #: What the last complete iteration dropped, by reason.
        self.dropped: dict[str, int] = {}
        self.notes = () if self.format == kind else load_format(self.format).notes
        self._read: Callable[[TableLike], Iterator[T]] = read

    def __iter__(self) -> Iterator[T]:
        if self.format == self.kind:
            yield from self._read(self.source)
            return
        run = Conversion.prepare(self.source, self.format, kind=self.kind, seed=self.seed)
        yield from self._read(NamedRows(self.name, run.stream(self.source)))
        self.dropped = dict(run.dropped)

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, kind={self.kind!r}, format={self.format!r})"


def open_table(source: TableLike) -> Table:
    """The rows of a file of any kind, unchecked; `format` says what they look like.

    For whoever must see the columns before a kind is chosen: the Table then goes to the door or
    the reader of that kind, and the file is parsed once.

    >>> table = open_table({"id": ["x"], "p_a": [0.9]})
    >>> table.format, open_judgments(table).frame["verdict"].to_list()
    ('judgments', ['A'])
    """
    table = parse_table(source)
    if table.format is not None:
        return table
    format = looks_like(table.frame.columns)
    return replace(table, format=None if format is None else format.name)


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


def open_labels(source: TableLike, format: str | None = None) -> Table:
    """Labels from a native file or the MT-Bench human judgments."""
    return _open(source, "labels", format, read_labels)


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
    source = in_memory(source)
    if isinstance(source, Table) and source.kind == kind:
        return source
    chosen = choose_format(source, kind, format)
    if chosen == kind or kind == "scores":
        return Table(frame=read(source), name=source_name(source), kind=kind, format=kind)
    return read_public(source, chosen, kind=kind, baseline=baseline)


def in_memory(source: TableLike) -> TableLike:
    """The path, or the Table that an in-memory source makes, so that it is converted once."""
    return source if isinstance(source, (str, Path)) else parse_table(source)


def choose_format(source: TableLike, kind: Native, format: str | None) -> str:
    """The format to read `source` with, or an error that says what it can be read as."""
    chosen = sniff(source) if format is None else format
    if chosen is not None and chosen in FORMATS and chosen not in NATIVE:
        if kind in kinds_of(chosen):
            return chosen
        gives = " or ".join(load_format(chosen).gives)
        raise DataError(source_name(source), f"{chosen} has no {kind}", remedy=f"it gives {gives}")
    if format is not None and format != kind:
        able = sorted(name for name in FORMATS if kind in kinds_of(name))
        raise ArgumentError("format", format, "choose one of " + ", ".join([kind, *able]))
    # Another native kind: the native reader says so, or reads what it can (labels from pairs).
    return kind
