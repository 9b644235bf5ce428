"""Pairs and items: two responses to one prompt, or one; as a frame, or streamed in bounded memory.

A stream has the checks of a frame, row by row, and is read from the start as often as needed.
"""

from __future__ import annotations

import math
import sqlite3
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, Unpack

import polars as pl

from adjudge.data.columns import Column, Layout, absent_column, each, write_nested
from adjudge.data.conversations import from_text
from adjudge.data.conversion import Conversion, choose_format, read_public, sniff
from adjudge.data.files import Handle
from adjudge.data.formats import NATIVE, Context, kinds_of, refuse_public
from adjudge.data.json_files import Record
from adjudge.data.labels import unmatched_ids
from adjudge.data.names import (
    PAIR,
    IdMaker,
    hashed_columns,
    is_missing,
    quote,
    read_word,
    remark_names,
    word_refusal,
)
from adjudge.data.rows import LABELS
from adjudge.data.source import Reading, in_memory, remark_format
from adjudge.data.tables import TableLike, in_use, iter_rows, labels_as_of, source_name
from adjudge.errors import DataError
from adjudge.records import Item, Pair

PAIR_COLUMNS = Layout(
    "pairs",
    Column(name="id", required=True, filled=True),
    *each("prompt", "response_a", "response_b", required=True, filled=True, spoken=True),
    *each("model_a", "model_b"),
    Column(name="label", choices=LABELS, words=PAIR),
    Column(name="prompt_id"),
)


def read_pairs(source: TableLike) -> pl.DataFrame:
    """Pairs as a checked frame: id, prompt, response_a, response_b, then the other columns.

    An empty response is a response (in CSV: written as ""); a missing one is refused. Ids must be
    unique. Without an id column the id of a row is a hash of its texts.

    >>> pairs = {"id": [1], "prompt": ["2+2?"], "response_a": ["4"], "response_b": ["5"]}
    >>> read_pairs(pairs)["id"][0]
    '1'
    """
    return PAIR_COLUMNS.read_by_id(source)


def iter_pairs(source: TableLike, **reading: Unpack[Reading]) -> Iterator[Pair]:
    """Pairs one at a time, in bounded memory for files of any length; same checks as read_pairs."""
    for known, rest in check_native(source, iter_rows(source), PAIR_COLUMNS, **reading):
        yield Pair(**known, extra=rest)


ITEM_COLUMNS = Layout(
    "items",
    Column(name="id", required=True, filled=True),
    *each("prompt", "response", required=True, filled=True, spoken=True),
    *each("doc_id", "model"),
)


def read_items(source: TableLike) -> pl.DataFrame:
    """Items as a checked frame: id, prompt, response, then doc_id, model and the other columns.

    `doc_id` is the same for items about one document; diagnosis treats documents, not rows,
    as exchangeable.

    >>> read_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})["id"][0]
    '1'
    """
    return ITEM_COLUMNS.read_by_id(source)


def iter_items(source: TableLike, **reading: Unpack[Reading]) -> Iterator[Item]:
    """Items one at a time, in bounded memory for files of any length, checked as in read_items.

    >>> next(iter_items({"id": [1], "prompt": ["An article"], "response": ["A summary"]})).id
    '1'
    """
    for known, rest in check_native(source, iter_rows(source), ITEM_COLUMNS, **reading):
        yield Item(**known, extra=rest)


#: The declared columns of a row as text or None, and the rest of the row unchanged.
CheckedRow = tuple[dict[str, Any], Record]


def check_native(
    source: TableLike, rows: Iterable[Record], layout: Layout, **reading: Unpack[Reading]
) -> Iterator[CheckedRow]:
    """The rows of `source`, named as in `Layout.load` and checked."""
    name, words = source_name(source), reading.get("labels_as") or labels_as_of(source)
    named = _name_columns(rows, layout, name, reading.get("columns") or {})
    return check_rows(named, layout, name, {str(word): ours for word, ours in words.items()})


def check_rows(
    rows: Iterable[Record], layout: Layout, name: str, labels_as: Mapping[str, str]
) -> Iterator[CheckedRow]:
    """Rows with our names, of the file `name`, checked one by one; without an id they get one.

    A missing required value, an unknown choice and a repeated id are refused.
    """
    parts = [(column.name, column, column.can_say_nothing) for column in layout.columns]
    chosen = [column for column in layout.columns if column.choices is not None]
    maker = IdMaker()
    content: list[str] = []
    with SeenIds(name, layout.kind.removesuffix("s")) as seen:
        for row, record in enumerate(rows, start=1):
            if row == 1:
                content = [] if "id" in record else hashed_columns(layout.required)
            known: dict[str, Any] = {}
            for ours, column, optional in parts:
                value = record.pop(ours, None)
                # Most values are text that is taken as it is.
                if value is not None and (
                    optional or type(value) is not str or value.startswith("[{")
                ):
                    value = _text(value, row, column, name)
                if value is None and column.required and (ours != "id" or not content):
                    remedy = "fill it in every row"
                    raise DataError(name, "is empty", row=row, column=ours, remedy=remedy)
                known[ours] = value
            for column in chosen:
                _read_words(known, column, labels_as, row, name)
            if known["id"] is None:
                known["id"] = maker.make([known[text] for text in content])
            seen.add(known["id"], row)
            yield known, record
    if content:
        maker.remark(name, content)


def _name_columns(
    rows: Iterable[Record], layout: Layout, source: str, theirs: Mapping[str, str]
) -> Iterator[Record]:
    """Rows with our column names; a later line of JSON can have a new column.

    `theirs` are the names that the caller gives: each must be in a row. A replaced value is kept as
    `*_given`.
    """
    here: dict[str, None] = {}
    taken: dict[str, str] = {}
    renamed = [pair for pair in theirs.items() if pair[0] != pair[1]]
    for record in rows:
        if not record.keys() <= here.keys():
            first = not here
            here.update(dict.fromkeys(record))
            if first and not theirs:
                refuse_public(record, layout.kind, source)
            matched = layout.match(list(here), source, given=theirs)
            new = {ours: their for ours, their in matched.items() if ours not in taken}
            taken.update(new)
            renamed += new.items()
            if first:
                needed = [their for ours, their in theirs.items() if ours in layout.required]
                _refuse_absent(needed, here, source)
                layout.require(list(record), source, {**theirs, **taken})
            remark_names(source, new)
        for ours, their in renamed:
            if their in record:
                if ours in record:
                    record[f"{ours}_given"] = record[ours]
                record[ours] = record.pop(their)
        yield record
    _refuse_absent(theirs.values(), here, source)


def _refuse_absent(named: Iterable[str], here: Collection[str], source: str) -> None:
    """Refuse a column that the caller named and no row has."""
    for their in named:
        if their not in here:
            raise absent_column(their, list(here), source)


def _read_words(
    known: dict[str, Any], column: Column, labels_as: Mapping[str, str], row: int, name: str
) -> None:
    """A word of the row as one of its column's choices; other words are refused."""
    value = known[column.name]
    if column.choices is None or value is None:
        return
    if column.words is not None and (labels_as or value not in column.choices):
        models = known.get("model_a"), known.get("model_b")
        known[column.name] = value = read_word(value, column.words, labels_as, models)
    if value is None or value in column.choices:
        return
    problem, remedy = "{} is not known", column.choice_remedy
    if column.words is not None:
        problem, remedy = word_refusal(value, column.words, remedy, labels_as)
    problem = problem.replace("{}", quote(value))
    raise DataError(name, problem, row=row, column=column.name, remedy=remedy)


def _text(value: Any, row: int, column: Column, name: str) -> str | None:
    if value is None or (column.can_say_nothing and is_missing(value)):
        return None
    if not isinstance(value, str):
        if isinstance(value, (dict, list)):
            return write_nested(value, row, column, name)
        if isinstance(value, float) and math.isnan(value):
            return None
        if isinstance(value, float) and math.isinf(value):
            problem, remedy = f"{quote(value)} is not text", "leave it empty if it is missing"
            raise DataError(name, problem, row=row, column=column.name, remedy=remedy)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        value = str(value).lower() if isinstance(value, bool) else str(value)
    return from_text(value) if column.spoken else str(value)


class SeenIds:
    """Refuses a repeated id, even a hundred million rows later.

    The ids are in a private temporary database on disk, which SQLite deletes when it is closed.
    """

    def __init__(self, name: str, thing: str) -> None:
        self._name = name
        self._thing = thing
        # "" is that private database. A reader can run in another thread.
        self._ids = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID")
        self._ids.execute("BEGIN")
        # Also closed if an iteration that began is never finished.
        self._close = weakref.finalize(self, self._ids.close)

    def __enter__(self) -> SeenIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def add(self, key: str, row: int) -> None:
        """Store one id; refuse it if it was seen before."""
        try:
            self._ids.execute("INSERT INTO seen VALUES (?, ?)", (key, row))
        except sqlite3.IntegrityError:
            before = self._ids.execute("SELECT at FROM seen WHERE id = ?", (key,)).fetchone()[0]
            problem = f"id {quote(key)} is also the id of row {before}"
            remedy = f"give every {self._thing} its own id"
            raise DataError(self._name, problem, row=row, column="id", remedy=remedy) from None


T = TypeVar("T", Pair, Item)


class Stream(Generic[T]):
    """Pairs or items of a file of any length; every iteration reads it from the start."""

    def __init__(
        self,
        source: TableLike,
        record: type[T],
        format: str | None = None,
        *,
        seed: int = 0,
        **reading: Unpack[Reading],
    ) -> None:
        self.name = source_name(source)
        self.kind: Literal["pairs", "items"] = "pairs" if record is Pair else "items"
        self._record: type[T] = record
        self._columns = dict(reading.get("columns") or {})
        self._reading = reading
        #: Rows that the last complete iteration dropped, by reason.
        self.dropped: dict[str, int] = {}
        with in_use(source) as source:
            self._source = in_memory(source)
            self._format = choose_format(self._source, format, self.kind, named=self._columns)
            #: The rows in one JSON object, which was parsed for its first row.
            self._inner = self._source.inner if isinstance(self._source, Handle) else None
        self._context = Context(source=self.name, seed=seed)
        if self._format is not None:
            if reading.get("labels_as"):
                problem = f"is read as {self._format.title}, whose labels get our words"
                raise DataError(self.name, problem, remedy="leave out --labels-as (labels_as=)")
            remark_format(self._format, self.kind, self.name)

    @property
    def format(self) -> str:
        """The format it is read with; for a native file its kind."""
        return self.kind if self._format is None else self._format.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about a converted data set."""
        return () if self._format is None else self._format.notes

    def __iter__(self) -> Iterator[T]:
        source, layout = self._source, PAIR_COLUMNS if self.kind == "pairs" else ITEM_COLUMNS
        if self._inner is not None:
            records: Iterator[Record] = map(dict, self._inner)
        else:
            # Each pass has its own place in the file.
            records = iter_rows(source.path if isinstance(source, Handle) else source)
        if self._format is None:
            rows = check_native(source, records, layout, **self._reading)
        else:
            run = Conversion(self._format, self.kind, self._context)
            converted = run.stream(_rename_public(records, self._columns, self.name))
            rows = check_rows(converted, layout, self.name, {})
        for known, rest in rows:
            yield self._record(**known, extra=rest)
        if self._format is not None:
            self.dropped = dict(run.dropped)

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, kind={self.kind!r}, format={self.format!r})"


def open_pairs(
    source: TableLike, format: str | None = None, *, seed: int = 0, **reading: Unpack[Reading]
) -> Stream[Pair]:
    """Pairs from a native file or a public data set, streamed.

    `seed` decides on which side a chosen response is.

    >>> rows = [{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 2}]
    >>> [(pair.id, pair.label) for pair in open_pairs(rows)]
    [('llmbar-1', 'B')]
    """
    return Stream(source, Pair, format, seed=seed, **reading)


def open_items(
    source: TableLike, format: str | None = None, **reading: Unpack[Reading]
) -> Stream[Item]:
    """Items from a native file or a public data set, streamed."""
    return Stream(source, Item, format, **reading)


def join_pairs(frame: pl.DataFrame, source: TableLike, columns: Collection[str]) -> pl.DataFrame:
    """Rows with those of the columns of their pairs that they lack; other pairs are refused."""
    with in_use(source) as source:
        format = sniff(source)
        published = format not in NATIVE and "pairs" in kinds_of(format)
        pairs = read_public(source, kind="pairs").frame if published else read_pairs(source)
    if not pairs["id"].is_in(frame["id"].implode()).any():
        raise unmatched_ids(pairs["id"], frame["id"], source_name(source), "pairs")
    new = [name for name in columns if name in pairs.columns and name not in frame.columns]
    return frame.join(pairs.select("id", *new), on="id", how="left", maintain_order="left")


def _rename_public(
    rows: Iterator[Record], columns: Mapping[str, str], source: str
) -> Iterator[Record]:
    """The rows with our names for the columns that the caller named; each must be in a row."""
    here: dict[str, None] = {}
    for record in rows:
        if columns:
            here.update(dict.fromkeys(record))
        for ours, their in columns.items():
            if their in record:
                record[ours] = record.pop(their)
        yield record
    _refuse_absent(columns.values(), here, source)
