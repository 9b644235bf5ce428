"""Pairs and items: two responses to one prompt, or one; as a frame, or streamed in bounded memory.

A stream has the checks of a frame, row by row, and is read from the start as often as needed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar, Unpack

import polars as pl

from adjudge.data.columns import (
    EMPTY_ANSWERS,
    ID,
    Column,
    Layout,
    absent_column,
    each,
    read_column_words,
    say_empty,
    settle_others,
    write_nested,
    write_spoken,
)
from adjudge.data.conversion import Conversion, read_public
from adjudge.data.files import Handle
from adjudge.data.formats import NATIVE, Context, kinds_of, refuse_public
from adjudge.data.json_files import Record
from adjudge.data.names import (
    PAIR,
    IdMaker,
    bare_name,
    hashed_columns,
    is_missing,
    only_spellings,
    quote,
    remark_names,
    remark_unread,
    several_fit,
    spellings_beside,
)
from adjudge.data.parts import READABLE
from adjudge.data.rows import LABELS
from adjudge.data.source import Reading, in_memory, remark_format
from adjudge.data.steps.labels import unmatched_ids
from adjudge.data.steps.repeats import SeenIds, say_alike
from adjudge.data.tables import (
    TableLike,
    choose_format,
    in_use,
    iter_rows,
    labels_as_of,
    sniff,
    source_name,
)
from adjudge.data.turns import JUDGED_AS, UNITS, Units, split_all
from adjudge.errors import DataError
from adjudge.records import Item, Pair

PAIR_COLUMNS = Layout(
    "pairs",
    ID,
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
    ID,
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
    named = _name_columns(rows, _ColumnNames(layout, name, reading.get("columns") or {}))
    return check_rows(named, layout, name, {str(word): ours for word, ours in words.items()})


def check_rows(
    rows: Iterable[Record], layout: Layout, name: str, labels_as: Mapping[str, str]
) -> Iterator[CheckedRow]:
    """Rows with our names, of the file `name`, checked one by one; without an id they get one.

    A missing required value, an unknown choice and a repeated id are refused.
    """
    parts = [(column.name, column, column.can_say_nothing) for column in layout.columns]
    readers = [_WordReader(column, labels_as, name) for column in layout.columns if column.words]
    maker = IdMaker()
    content: list[str] = []
    empty = Counter[str]()
    with SeenIds(name, layout.kind.removesuffix("s")) as seen:
        for row, record in enumerate(rows, start=1):
            if row == 1:
                content = [] if "id" in record else hashed_columns(layout.required)
            known: dict[str, Any] = {}
            for ours, column, optional in parts:
                given = ours in record
                value = record.pop(ours, None)
                # Most values are text that is taken as it is.
                if value is not None and (
                    optional or type(value) is not str or value.startswith(READABLE)
                ):
                    value = _text(value, row, column, name)
                if value is None and given and ours in EMPTY_ANSWERS and column.required:
                    value = ""
                    empty[ours] += 1
                if value is None and column.required and (ours != "id" or not content):
                    remedy = "fill it in every row"
                    raise DataError(name, "is empty", row=row, column=ours, remedy=remedy)
                known[ours] = value
            for words in readers:
                word = known[words.name]
                if word is not None and word not in words.taken_as_is:
                    known[words.name] = words.read(word, known, row)
            if known["id"] is None:
                known["id"] = maker.make([known[text] for text in content])
            seen.add(known["id"], row)
            settle_others(record, row, name)
            yield known, record
        for column_name, number in empty.items():
            say_empty(column_name, number, name)
        if not content:
            say_alike(seen.count_alike(), name)
    if content:
        maker.remark(name, content)


def _name_columns(rows: Iterable[Record], names: _ColumnNames) -> Iterator[Record]:
    """Rows with our column names."""
    for record in rows:
        if not record.keys() <= names.here.keys():
            names.add(record)
        if names.changes:
            names.rename(record)
        yield record
    names.refuse_absent()


class _ColumnNames:
    """Which columns of a stream are used as ours, as `Layout.load` decides for a frame.

    `theirs` are the names that the caller gives: each must be in a row. A replaced value is kept as
    `*_given`. A later line of JSON can have a new column.
    """

    def __init__(self, layout: Layout, source: str, theirs: Mapping[str, str]) -> None:
        #: The columns of all rows so far.
        self.here: dict[str, None] = {}
        self._layout = layout
        self._source = source
        self._theirs = theirs
        #: The declared columns that are here under another name.
        self._taken: dict[str, str] = {}
        #: Other columns of ours that are here in another spelling, which stays too.
        self._copies: dict[str, str] = {}
        self._renames: list[tuple[str, str]] = []
        #: Spellings beside our exact name that have its value in all rows so far.
        self._beside: dict[str, str] = {}
        self._unread: set[str] = set()

    def add(self, record: Record) -> None:
        """Decide about the columns of a row that were in no row before."""
        first = not self.here
        self.here.update(dict.fromkeys(record))
        here = list(self.here)
        if first and not self._theirs:
            refuse_public(record, self._layout.kind, self._source)
        self._refuse_late(here)
        taken = self._layout.match(here, self._source, given=self._theirs)
        copies = {
            ours: their
            for ours, their in only_spellings(here).items()
            if ours not in self._layout.names and ours not in self._theirs
        }
        new = {
            ours: their
            for ours, their in {**copies, **taken}.items()
            if ours not in self._taken and ours not in self._copies
        }
        self._taken.update(taken)
        self._copies.update(copies)
        renames = {**self._theirs, **self._taken}.items()
        self._renames = [(o, t) for o, t in renames if o != t and t in self.here]
        self._beside = {
            spelling: ours
            for ours, spellings in spellings_beside(here).items()
            for spelling in spellings
            if spelling not in self._unread and ours not in self._theirs
        }
        if first:
            required = self._layout.required
            needed = [their for ours, their in self._theirs.items() if ours in required]
            _refuse_absent(needed, self.here, self._source)
            self._layout.require(list(record), self._source, {**self._theirs, **self._taken})
        stated = {ours: new[ours] for ours in new if self._layout.names_copy(ours)}
        remark_names(self._source, stated)

    @property
    def changes(self) -> bool:
        """Whether a row can have a column of ours under another name, or a second spelling."""
        return bool(self._renames or self._copies or self._beside)

    def _refuse_late(self, here: Collection[str]) -> None:
        """Refuse our exact name in a row after rows in which another column was used as it."""
        for ours, their in {**self._taken, **self._copies}.items():
            if ours in here:
                raise several_fit([ours, their], ours, self._source)

    def rename(self, record: Record) -> None:
        """Give the columns of a row our names."""
        for spelling, ours in list(self._beside.items()):
            if record.get(spelling) != record.get(ours):
                remark_unread(self._source, ours, [spelling])
                self._unread.add(spelling)
                del self._beside[spelling]
        for ours, their in self._copies.items():
            if their in record:
                record[ours] = record[their]
        for ours, their in self._renames:
            if ours in record:
                replaced = record.pop(ours)
                if bare_name(ours) != bare_name(their):
                    record[f"{ours}_given"] = replaced
            if their in record:
                record[ours] = record.pop(their)

    def refuse_absent(self) -> None:
        """Refuse a column that the caller named and no row has."""
        _refuse_absent(self._theirs.values(), self.here, self._source)


def _refuse_absent(named: Iterable[str], here: Collection[str], source: str) -> None:
    """Refuse a column that the caller named and no row has."""
    for their in named:
        if their not in here:
            raise absent_column(their, list(here), source)


#: How many words of a column a stream remembers.
_MOST_WORDS = 4096


class _WordReader:
    """Reads the words of one column, row by row, by the rule for a column of a frame."""

    def __init__(self, column: Column, labels_as: Mapping[str, str], source: str) -> None:
        self.name = column.name
        #: The words that mean themselves, unless the caller says what they mean.
        self.taken_as_is = () if labels_as else column.choices or ()
        self._source = source

        @lru_cache(_MOST_WORDS)
        def meaning(word: str, models: tuple[str | None, str | None] | None) -> str | None:
            named = None
            if models is not None:
                first, second = (pl.Series([name], dtype=pl.String) for name in models)
                named = first, second
            values = pl.Series(column.name, [word])
            meanings = read_column_words(values, column, source, named, labels_as)
            choice: str | None = meanings[0]
            return choice

        self._meaning = meaning

    def read(self, word: str, known: Mapping[str, Any], row: int) -> str | None:
        """The choice that a row's word means, None for a missing value; others are refused."""
        models = known.get("model_a"), known.get("model_b")
        try:
            # Models are looked up only by a word that is the name of one.
            return self._meaning(word, models if word.strip() in models else None)
        except DataError as error:
            problem, remedy = error.problem, error.remedy
            raise DataError(
                self._source, problem, row=row, column=error.column, remedy=remedy
            ) from None


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
    return write_spoken(value, row, column, name) if column.spoken else str(value)


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
            remark_format(self._format, self.kind, self.name, self.notes)

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


def join_pairs(
    frame: pl.DataFrame,
    source: TableLike,
    columns: Collection[str],
    read: Callable[[TableLike], pl.DataFrame] = read_pairs,
) -> pl.DataFrame:
    """Rows with those of the columns of their pairs that they lack; other pairs are refused.

    With `read_items` as `read`, these are single answers. If the rows are turns or steps, so are
    the texts.
    """
    units = frame.get_column(JUDGED_AS, default=pl.Series([])).drop_nulls().unique().to_list()
    with in_use(source) as source:
        format = sniff(source)
        published = format not in NATIVE and "pairs" in kinds_of(format)
        if len(units) == 1 and units[0] in UNITS:
            opened = open_pairs(source) if read is read_pairs else open_items(source)
            pairs = _texts_of(split_all(opened, Units(units[0]), opened.name))
        else:
            pairs = read_public(source, kind="pairs").frame if published else read(source)
    if not pairs["id"].is_in(frame["id"].implode()).any():
        raise unmatched_ids(pairs["id"], frame["id"], source_name(source), "pairs")
    new = [name for name in columns if name in pairs.columns and name not in frame.columns]
    return frame.join(pairs.select("id", *new), on="id", how="left", maintain_order="left")


def _texts_of(subjects: Iterable[Pair | Item]) -> pl.DataFrame:
    names = ("id", "prompt", "response", "response_a", "response_b", "model_a", "model_b")
    rows = [{n: getattr(s, n) for n in names if hasattr(s, n)} | {**s.extra} for s in subjects]
    return pl.DataFrame(rows, infer_schema_length=None)


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
