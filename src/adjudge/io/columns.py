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
from adjudge.io.made_ids import TEXTS, add_ids
from adjudge.io.names import match_columns, remark_names
from adjudge.io.refusals import refuse_duplicates, refuse_values, shorten
from adjudge.io.tables import Table, TableLike, as_text, labels_as_of, read_table, source_name
from adjudge.io.words import (
    MISSING,
    Vocabulary,
    drop_missing,
    point_decimals,
    read_words,
    refuse_words,
)

#: The name of a judge, protocol or criterion that the file does not name.
UNNAMED = "unnamed"
#: Columns that analyses add to rows while they work, and no others: a user may have `__index__`.
_WORKING = frozenset(
    f"__{name}"
    for name in (
        *("by", "chance", "cluster", "error", "key", "label", "labels", "member", "raters", "row"),
        *("sampled_by", "sampling_probability", "strata", "verdict"),
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
    #: How people write the choices.
    words: Vocabulary | None = None
    #: A list of chat messages is written as a conversation.
    spoken: bool = False

    @property
    def can_say_nothing(self) -> bool:
        """Whether N/A and the like are gaps: not in a text that is judged, nor in an id."""
        return not self.spoken and self.name != "id"

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


#: The texts that a row is about, where they are not what the rows are for.
TEXT_COLUMNS = [Column(name=text, spoken=True) for text in TEXTS]


class Layout:
    """A kind of rows by its columns, which come first in every frame of that kind."""

    def __init__(
        self,
        kind: str,
        *columns: Column,
        one_of: Sequence[str] = (),
        unlike: Sequence[str] = (),
        apart: Sequence[str] = (),
        texts_needed: bool = False,
        usual: str | None = None,
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.names = [column.name for column in columns]
        self.required = [column.name for column in columns if column.required]
        #: One of these says what the rows are for; a file of another kind can lack all of them.
        self.one_of = one_of
        #: Kinds of rows in which columns of the same names mean something else.
        self.unlike = unlike
        #: Columns that tell apart rows about one thing, where ids have to be made.
        self.apart = apart
        #: Whether ids are made of texts alone: such rows are of use only next to others.
        self.texts_needed = texts_needed
        #: Whose usual names are known, where several layouts are of one kind.
        self.usual = usual or kind

    def read(self, source: TableLike, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The table with our column names, each declared column of its type and in its range."""
        frame = self.load(source, columns)
        return self.check(frame, source_name(source), labels_as=labels_as_of(source))

    def read_by_id(
        self, source: TableLike, columns: Mapping[str, str] | None = None
    ) -> pl.DataFrame:
        """As `read`, and no id comes twice."""
        frame = self.read(source, columns)
        remedy = f"give every {self.kind.removesuffix('s')} its own id"
        refuse_duplicates(frame, ["id"], source=source_name(source), remedy=remedy)
        return frame

    def load(
        self,
        source: TableLike,
        columns: Mapping[str, str] | None = None,
        *,
        as_is: Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """The table with our column names, unchecked; `columns` maps ours to the file's.

        Where ours are absent their usual names are taken, and a remark says so. `as_is` are columns
        that the caller knows under the file's names, and that keep them. A public data set is
        refused, with its name, unless the caller says which column is which.
        """
        name = source_name(source)
        theirs = dict(columns or {})
        converted = isinstance(source, Table) and source.kind == self.kind
        taken: dict[str, str] = {}

        def texts(here: Sequence[str]) -> set[str]:
            if not theirs and not converted:
                refuse_public(here, self.kind, name)
            if not converted:
                taken.update(self.match(here, name, given={**theirs, **(as_is or {})}))
                self.require(here, name, {**theirs, **taken, **(as_is or {})})
            known = {**theirs, **taken}
            return {known.get(c.name, c.name) for c in self.columns if c.type == "text"}

        frame = refuse_working(read_table(source, text=texts), name)
        remark_names(name, taken)
        return rename_columns(frame, {**theirs, **taken}, name)

    def match(
        self, here: Sequence[str], source: str, *, given: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Which of a file's columns are taken for which of ours."""
        # Texts that only name a row, or are only measured, are not worth a refusal.
        unneeded = [column.name for column in self.columns if column.spoken and not column.required]
        return match_columns(
            here, self.names, kind=self.usual, source=source, given=given, unneeded=unneeded
        )

    def check(
        self,
        frame: pl.DataFrame,
        source: str,
        more: Sequence[Column] = (),
        *,
        labels_as: Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """The frame with every declared column of its type and in its range, declared ones first.

        `more` are columns that this file alone has. Rows without an id get one.
        """
        frame = check_columns(frame, (*self.columns, *more), source, labels_as=labels_as)
        if "id" in self.required:
            frame = add_ids(frame, source, self.apart)
        return self.sort(frame)

    def require(self, here: Sequence[str], source: str, named: Collection[str] = ()) -> None:
        """Refuse columns without those that every row needs, all of them named at once.

        `named` are ours that are here under another name.
        """
        known = {*here, *named}
        absent = [name for name in self.required if name not in known and name != "id"]
        if self.texts_needed and not {"id", *TEXTS} & known:
            absent.insert(0, "id")
        other = other_format(here, self.kind, self.required, self.names)
        strange = bool(self.one_of) and not known.intersection(self.one_of)
        unlike = other is not None and other.name in self.unlike
        if other is not None and (absent or strange or (unlike and not {*self.one_of} & {*named})):
            lacking = absent or self.one_of[:1]
            raise wrong_format(other, self.kind, source, lacking, here if lacking else ())
        if absent:
            raise missing_columns(here, absent, source)

    def sort(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the declared columns first, in their order."""
        first = [name for name in self.names if name in frame.columns]
        return frame.select(*first, pl.exclude(first))

    def missing(self, frame: pl.DataFrame, column: str, source: str, remedy: str) -> DataError:
        """A column is not there: perhaps because the file is of another kind altogether."""
        other = looks_like(frame.columns)
        if other is not None and other.name != self.kind:
            return wrong_format(other, self.kind, source)
        here = f"{remedy} (columns here: {shorten(frame.columns)})"
        return DataError(source, "is missing", column=column, remedy=here)


def check_columns(
    frame: pl.DataFrame,
    columns: Sequence[Column],
    source: str,
    *,
    labels_as: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The frame with each of these columns, where it is there, of its type and in its range.

    `labels_as` says what words mean that are not among the usual ones.
    """
    absent = [c.name for c in columns if c.required and c.name not in (*frame.columns, "id")]
    if absent:
        raise missing_columns(frame.columns, absent, source)
    frame = frame.with_columns(
        _check_column(frame.get_column(column.name), column, source)
        for column in columns
        if column.name in frame.columns
    )
    worded = [column for column in columns if column.words and column.name in frame.columns]
    models = None
    if {"model_a", "model_b"} <= set(frame.columns):
        models = as_text(frame["model_a"]), as_text(frame["model_b"])
    return frame.with_columns(
        _check_words(frame.get_column(column.name), column, source, labels_as or {}, models)
        for column in worded
    )


def missing_columns(here: Sequence[str], absent: Sequence[str], source: str) -> DataError:
    """Columns are not there, all of them, with what the file has instead."""
    remedy = f"name yours: --column {absent[0]}=NAME (columns=); columns here: {shorten(here)}"
    if len(absent) == 1:
        return DataError(source, "is missing", column=absent[0], remedy=remedy)
    return DataError(source, "has no columns " + ", ".join(absent), remedy=remedy)


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
    if column.choices is not None and column.words is None and _unknown(values, column).any():
        values = drop_missing(values)
        refuse(_unknown(values, column), "{} is not known", remedy=column.choice_remedy)
    return values


def _unknown(values: pl.Series, column: Column) -> pl.Series:
    return ~values.is_in(list(column.choices or ())).fill_null(True)


def _check_words(
    values: pl.Series,
    column: Column,
    source: str,
    labels_as: Mapping[str, str],
    models: tuple[pl.Series, pl.Series] | None,
) -> pl.Series:
    """The words of a column as its choices."""
    if column.words is None or not (labels_as or _unknown(values, column).any()):
        return values
    values = read_words(values, column.words, labels_as, models)
    choices = column.choices or ()
    refuse_words(values, column.words, choices, source=source, remedy=column.choice_remedy)
    return values


def _check_text(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested():
        written = [
            None if value is None else write_nested(value, row, column, source)
            for row, value in enumerate(values.to_list(), start=1)
        ]
        return pl.Series(values.name, written, dtype=pl.String)
    if values.dtype.is_float():
        wrong = values.is_infinite().fill_null(False)
        remedy = "leave it empty where it is missing"
        refuse_values(values, wrong, "{} is no text", source=source, remedy=remedy)
    texts = as_text(values)
    if column.can_say_nothing and column.choices is None and values.dtype == pl.String:
        texts = drop_missing(texts)
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
        gaps = trimmed.str.to_lowercase().is_in(["", *MISSING])
        trimmed = pl.select(pl.when(~gaps).then(trimmed)).to_series().alias(values.name)
        numbers = point_decimals(trimmed).cast(pl.Float64, strict=False)
        wrong = trimmed.is_not_null() & numbers.is_null()
        refuse_values(values, wrong, "{} is not a number", source=source, remedy="give numbers")
    else:
        numbers = values.cast(pl.Float64).fill_nan(None)
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
