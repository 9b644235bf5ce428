"""The columns of a kind of rows, declared once and checked in bulk."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import polars as pl

from adjudge.errors import DataError
from adjudge.io.conversations import NotTextError, from_text, is_conversation, render_conversation
from adjudge.io.formats import looks_like, other_format, refuse_public, wrong_format
from adjudge.io.refusals import refuse_duplicates, refuse_values, shorten
from adjudge.io.tables import Table, TableLike, as_text, read_table, source_name

#: The name of a judge, protocol or criterion that the file does not name.
UNNAMED = "unnamed"
_ADD = "add it or name the one that holds it"
#: Columns that analyses add to rows while they work, and no others: a user may have `__index__`.
_WORKING = frozenset(
    f"__{name}"
    for name in (
        *("by", "chance", "cluster", "error", "key", "label", "labels", "member", "raters", "row"),
        *("sampled_by", "sampling_probability", "strata", "verdict"),
        *("labelled_by", "started_from"),
        *("cut", "cut_share", "cut_judge", "cut_protocol", "cut_fingerprint"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What one column must hold. `filled`: no row may leave it empty."""

    name: str
    type: Literal["text", "number", "whole", "numbers"] = "text"
    required: bool = False
    filled: bool = False
    choices: tuple[str, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    #: Names under which other people publish the same thing; taken only where ours is absent.
    also: tuple[str, ...] = ()
    #: A list of chat messages is written as a conversation.
    spoken: bool = False

    @property
    def choice_remedy(self) -> str:
        """As in "use A, B or tie"."""
        *others, last = self.choices or ("",)
        return "use " + (", ".join(others) + " or " if others else "") + last

    @property
    def range_remedy(self) -> str:
        """As in "give numbers in [0, 1]"."""
        if math.isfinite(self.high):
            return f"give numbers in [{self.low:g}, {self.high:g}]"
        return f"give numbers of {self.low:g} or more"


class Layout:
    """A kind of rows by its columns, which come first in every frame of that kind."""

    def __init__(self, kind: str, *columns: Column) -> None:
        self.kind = kind
        self.columns = columns
        self.names = [column.name for column in columns]
        self.required = [column.name for column in columns if column.required]

    def read(self, source: TableLike, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The table with our column names, each declared column of its type and in its range."""
        return self.check(self.load(source, columns), source_name(source))

    def read_by_id(
        self, source: TableLike, columns: Mapping[str, str] | None = None
    ) -> pl.DataFrame:
        """As `read`, and no id comes twice."""
        frame = self.read(source, columns)
        remedy = f"give every {self.kind.removesuffix('s')} its own id"
        refuse_duplicates(frame, ["id"], source=source_name(source), remedy=remedy)
        return frame

    def load(self, source: TableLike, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The table with our column names, unchecked; `columns` maps ours to the file's.

        A public data set is refused, with its name, unless the caller says which column is which.
        """
        name = source_name(source)
        theirs = dict(columns or {})
        texts = [column for column in self.columns if column.type == "text"]
        kept = {known for column in texts for known in (column.name, *column.also)}
        frame = read_table(source, text=kept | {theirs[ours] for ours in theirs if ours in kept})
        converted = isinstance(source, Table) and source.kind == self.kind
        if not theirs and not converted:
            refuse_public(frame.columns, self.kind, name)
        for column in self.columns:
            aliases = [other for other in column.also if other in frame.columns]
            if aliases and column.name not in {*frame.columns, *theirs}:
                theirs[column.name] = aliases[0]
        return rename_columns(refuse_working(frame, name), theirs, name)

    def check(self, frame: pl.DataFrame, source: str, more: Sequence[Column] = ()) -> pl.DataFrame:
        """The frame with every declared column of its type and in its range, declared ones first.

        `more` are columns that this file alone has.
        """
        if not set(self.required) <= set(frame.columns):
            other = other_format(frame.columns, self.kind, self.required, self.names)
            if other is not None:
                raise wrong_format(other, self.kind, source)
        return self.sort(check_columns(frame, (*self.columns, *more), source))

    def sort(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the declared columns first, in their order."""
        first = [name for name in self.names if name in frame.columns]
        return frame.select(*first, pl.exclude(first))

    def missing(self, frame: pl.DataFrame, column: str, source: str, remedy: str) -> DataError:
        """A column is not there: perhaps because the file is of another kind altogether."""
        other = looks_like(frame.columns)
        if other is not None and other.name != self.kind:
            return wrong_format(other, self.kind, source)
        return _missing(frame, column, source, remedy)


def check_columns(frame: pl.DataFrame, columns: Sequence[Column], source: str) -> pl.DataFrame:
    """The frame with each of these columns, where it is there, of its type and in its range."""
    for column in columns:
        if column.required and column.name not in frame.columns:
            raise _missing(frame, column.name, source, _ADD)
    return frame.with_columns(
        _check_column(frame.get_column(column.name), column, source)
        for column in columns
        if column.name in frame.columns
    )


def rename_columns(frame: pl.DataFrame, theirs: Mapping[str, str], source: str) -> pl.DataFrame:
    """The frame with the file's columns under our names; what was there moves to `*_given`."""
    for ours, their in theirs.items():
        if their == ours:
            continue
        if their not in frame.columns:
            here = "columns here: " + shorten(frame.columns)
            raise DataError(source, "is not there", column=their, remedy=here)
        if ours in frame.columns:
            frame = frame.rename({ours: f"{ours}_given"})
        frame = frame.rename({their: ours})
    return frame


def refuse_working(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The frame, unless one of its columns is called like one that analyses work with."""
    for name in frame.columns:
        if name in _WORKING:
            problem, remedy = "is a name that adjudge works with", "rename the column"
            raise DataError(source, problem, column=name, remedy=remedy)
    return frame


def input_name(name: str, taken: Collection[str]) -> str:
    """How a user's column is called from now on where a verb writes one of that name.

    >>> input_name("verdict", ["id", "verdict"]), input_name("verdict", ["input_verdict"])
    ('input_verdict', 'input_input_verdict')
    """
    free = f"input_{name}"
    while free in taken:
        free = f"input_{free}"
    return free


def make_room(frame: pl.DataFrame, ours: Sequence[str]) -> pl.DataFrame:
    """The frame without a column called like `ours`: the user's keeps its values as input_NAME."""
    for name in ours:
        if name in frame.columns:
            frame = frame.rename({name: input_name(name, frame.columns)})
    return frame


def add_unnamed(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The frame with those of the columns that it lacks, each row `unnamed`."""
    absent = [column for column in columns if column not in frame.columns]
    return frame.with_columns(pl.lit(UNNAMED).alias(column) for column in absent)


def _missing(frame: pl.DataFrame, column: str, source: str, remedy: str) -> DataError:
    here = f"{remedy} (columns here: {shorten(frame.columns)})"
    return DataError(source, "is missing", column=column, remedy=here)


def _check_column(values: pl.Series, column: Column, source: str) -> pl.Series:
    if column.type == "text":
        values = _check_text(values, column, source)
    elif column.type == "numbers":
        values = _check_lists(values, column, source)
    else:
        values = _check_numbers(values, column, source)
    refuse = partial(refuse_values, values, source=source)
    if column.filled and values.null_count():
        refuse(values.is_null(), "is empty", remedy="fill it in every row")
    if column.choices is not None:
        unknown = ~values.is_in(column.choices).fill_null(True)
        refuse(unknown, "{} is not known", remedy=column.choice_remedy)
    return values


def _check_text(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested():
        written = [
            None if value is None else write_nested(value, row, column, source)
            for row, value in enumerate(values.to_list(), start=1)
        ]
        return pl.Series(values.name, written, dtype=pl.String)
    if values.dtype.is_float():
        wrong = ~values.is_finite().fill_null(True)
        remedy = "leave it empty where it is missing"
        refuse_values(values, wrong, "{} is no text", source=source, remedy=remedy)
    texts = as_text(values)
    if column.spoken and texts.str.starts_with("[{").any():
        return texts.map_elements(from_text, return_dtype=pl.String)
    return texts


def write_nested(value: Any, row: int, column: Column, source: str) -> str:
    """A list of chat messages as a conversation, in the columns that can hold one."""
    problem, remedy = "holds a list or an object", "write it as text"
    if column.spoken:
        remedy += ', or as messages: [{"role": "user", "content": "..."}]'
        if is_conversation(value):
            try:
                return render_conversation(value)
            except NotTextError as error:
                problem, remedy = str(error), "give text: a judge is shown words alone"
    raise DataError(source, problem, row=row, column=column.name, remedy=remedy)


def _check_numbers(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal():
        raise DataError(
            source, "holds no numbers", row=1, column=column.name, remedy="give numbers"
        )
    if values.dtype == pl.String:
        trimmed = values.str.strip_chars()
        numbers = trimmed.cast(pl.Float64, strict=False)
        wrong = (trimmed != "").fill_null(False) & numbers.is_null()
        refuse_values(values, wrong, "{} is not a number", source=source, remedy="give numbers")
    else:
        numbers = values.cast(pl.Float64)
    refuse = partial(refuse_values, numbers, source=source)
    wrong = ~numbers.is_finite().fill_null(True)
    refuse(wrong, "{} is not a finite number", remedy="leave it empty where nothing was measured")
    outside = ~numbers.is_between(column.low, column.high).fill_null(True)
    refuse(outside, "{} is out of range", remedy=column.range_remedy)
    if column.type == "whole":
        # Beyond 2^53 no number in a file is sure to be a whole one, or counts anything.
        broken = ((numbers != numbers.round()) | (numbers.abs() > 2.0**53)).fill_null(False)
        refuse(broken, "{} is not a whole number", remedy="give whole numbers")
        return numbers.cast(pl.Int64)
    return numbers


def _check_lists(values: pl.Series, column: Column, source: str) -> pl.Series:
    """A list of numbers per row; CSV carries it as text such as [0.1, 0.9]."""
    if values.dtype == pl.String:
        values = _decode_lists(values, source)
    if values.dtype == pl.Null:
        return values.cast(pl.List(pl.Float64))
    if not isinstance(values.dtype, (pl.List, pl.Array)):
        raise DataError(source, "holds no lists", row=1, column=column.name, remedy="give lists")
    try:
        lists = values.cast(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        problem = "holds lists of something else than numbers"
        raise DataError(source, problem, column=column.name) from None
    flat = lists.explode()
    fine = (flat.is_finite() & flat.is_between(column.low, column.high)).fill_null(True)
    if flat.is_null().sum() > lists.is_null().sum() or not fine.all():
        refuse = partial(refuse_values, lists, source=source)
        inner = pl.element()
        inside = inner.is_between(column.low, column.high)
        good = inner.is_not_null() & inner.is_finite() & inside
        bad = ~lists.list.eval(good).list.all().fill_null(True)
        refuse(bad, "{} holds a bad value", remedy=column.range_remedy)
        empty = (lists.list.len() == 0).fill_null(False)
        refuse(empty, "{} is an empty list", remedy="leave it empty instead")
    return lists


def _decode_lists(values: pl.Series, source: str) -> pl.Series:
    try:
        return values.str.json_decode(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        bad = pl.Series([_is_no_list(value) for value in values])
        problem = "{} is not a list of numbers"
        refuse_values(values, bad, problem, source=source, remedy="write [0.1, 0.9]")
        raise DataError(source, "holds no lists of numbers", column=values.name) from None


def _is_no_list(value: str | None) -> bool:
    if value is None:
        return False
    try:
        items: Any = json.loads(value)
    except (ValueError, RecursionError):
        return True
    return not isinstance(items, list) or any(
        isinstance(item, bool) or not isinstance(item, (int, float)) for item in items
    )
