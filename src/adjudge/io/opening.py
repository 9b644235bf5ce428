"""One door for each kind of rows: native files as they are, public data sets converted.

`--from` of the commands ends here. Without it the file is looked at: a native one is read as it
is, a public one is recognised by its columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Generic, Literal, TypeVar

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.battles import read_battles
from adjudge.io.items import iter_items
from adjudge.io.judgments import read_judgments
from adjudge.io.labels import read_labels
from adjudge.io.pairs import iter_pairs
from adjudge.io.public import PUBLIC_FORMATS, Opened, iter_public, read_public, sniff
from adjudge.io.public._convert import Kind
from adjudge.io.scores import read_scores
from adjudge.io.tables import NamedRows, TableLike, source_name
from adjudge.records import Item, Pair

T = TypeVar("T", Pair, Item)


class Stream(Generic[T]):
    """Pairs or items of a file of any length, native or public; iterate as often as you like."""

    def __init__(
        self,
        source: TableLike,
        kind: Literal["pairs", "items"],
        fmt: str,
        seed: int,
        read: Callable[[TableLike], Iterator[T]],
    ) -> None:
        self.source = source
        self.name = source_name(source)
        self.kind = kind
        self.format = fmt
        self.seed = seed
        #: What the last complete iteration left out, by reason.
        self.dropped: dict[str, int] = {}
        self.notes = PUBLIC_FORMATS[fmt].notes if fmt in PUBLIC_FORMATS else ()
        self._read: Callable[[TableLike], Iterator[T]] = read

    def __iter__(self) -> Iterator[T]:
        if self.format == self.kind:
            yield from self._read(self.source)
            return
        dropped: Counter[str] = Counter()
        rows = iter_public(
            self.source, self.format, kind=self.kind, seed=self.seed, dropped=dropped
        )
        yield from self._read(NamedRows(self.name, rows))
        self.dropped = dict(dropped)

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, kind={self.kind!r}, format={self.format!r})"


def open_pairs(source: TableLike, fmt: str | None = None, *, seed: int = 0) -> Stream[Pair]:
    """Pairs from a native file or a public data set, streamed.

    `fmt` is what --from takes; None looks at the file. `seed` decides where RewardBench's chosen
    response stands.

    >>> rows = [{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 2}]
    >>> [(pair.id, pair.label) for pair in open_pairs(rows)]
    [('llmbar-1', 'B')]
    """
    return Stream(source, "pairs", _format(source, "pairs", fmt), seed, iter_pairs)


def open_items(source: TableLike, fmt: str | None = None) -> Stream[Item]:
    """Items from a native file or a public data set, streamed."""
    return Stream(source, "items", _format(source, "items", fmt), 0, iter_items)


def open_battles(
    source: TableLike, fmt: str | None = None, *, baseline: str | None = None
) -> Opened:
    """Battles from a native file or a public data set; `baseline` names Arena-Hard's."""
    return _open(source, "battles", fmt, read_battles, baseline=baseline)


def open_judgments(source: TableLike, fmt: str | None = None) -> Opened:
    """Judgments from a native file, AlpacaEval annotations or the Trust or Escalate release."""
    return _open(source, "judgments", fmt, read_judgments)


def open_labels(source: TableLike, fmt: str | None = None) -> Opened:
    """Labels from a native file or the MT-Bench human judgments."""
    return _open(source, "labels", fmt, read_labels)


def open_scores(source: TableLike, fmt: str | None = None) -> Opened:
    """A judge's scores with people's beside them, from a native file."""
    return _open(source, "scores", fmt, read_scores)


def _open(
    source: TableLike,
    kind: Literal["battles", "judgments", "labels", "scores"],
    fmt: str | None,
    read: Callable[[TableLike], pl.DataFrame],
    *,
    baseline: str | None = None,
) -> Opened:
    found = _format(source, kind, fmt)
    if found == kind or kind == "scores":
        return Opened(frame=read(source), format=kind, kind=kind)
    return read_public(source, found, kind=kind, baseline=baseline)


def _format(source: TableLike, kind: Kind | Literal["scores"], fmt: str | None) -> str:
    """The format to read `source` with, or an error that says what it can be read as."""
    found = sniff(source) if fmt is None else fmt
    if found == kind or found is None:
        return kind
    if found in PUBLIC_FORMATS:
        gives = PUBLIC_FORMATS[found].gives
        if kind not in gives:
            can = " or ".join(gives)
            raise DataError(
                source_name(source), f"{found} holds no {kind}", remedy=f"it gives {can}"
            )
        return found
    if fmt is not None:
        able = [name for name, known in PUBLIC_FORMATS.items() if kind in known.gives]
        raise ArgumentError("from", fmt, "choose one of " + ", ".join([kind, *able]))
    # Another native kind: the native reader says so, or reads what it can (labels from pairs).
    return kind
