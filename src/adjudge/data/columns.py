"""A kind of rows, defined by its columns: matched by their usual names, their values checked."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import polars as pl

from adjudge.data.conversations import from_text, from_value
from adjudge.data.formats import looks_like, other_format, refuse_public, wrong_format
from adjudge.data.names import (
    GIVE_IDS,
    LOG,
    OURS,
    TEXTS,
    Vocabulary,
    add_ids,
    are_copies,
    bare_name,
    columns_here,
    drop_gaps,
    drop_missing,
    first_of,
    has_order_verdicts,
    match_columns,
    point_decimals,
    read_choices,
    refuse_values,
    remark_names,
    shorten,
    spellings_beside,
)
from adjudge.data.parts import READABLE, has_images, settle, write_json
from adjudge.data.steps.repeats import refuse_duplicates, remark_alike
from adjudge.data.steps.status import ERROR_COLUMNS, mark_failures, status_by_flag
from adjudge.data.tables import Table, TableLike, as_text, labels_as_of, read_table, source_name
from adjudge.errors import DataError
from adjudge.images import ImageError, NotTextError
from adjudge.present.text import count
from adjudge.records import ROW_STATUSES

_LARGEST = sys.float_info.max
#: A text that can be messages or parts.
_READABLE = "^(" + "|".join(map(re.escape, READABLE)) + ")"
#: What a list or an object with an image has, in the usual shapes of messages.
_IMAGE_INSIDE = 'data:image/|"(image|image_url|input_image)"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The requirements of a column. `filled`: it must not be empty in any row."""

    name: str
    type: Literal["text", "number", "whole", "numbers"] = "text"
    required: bool = False
    filled: bool = False
    choices: tuple[str, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    #: The words that people use for the choices.
    words: Vocabulary | None = None
    #: A list of chat messages is written as a conversation.
    spoken: bool = False
    #: The judge's answer, or a part of it: a row that failed has none.
    answer: bool = False

    @property
    def can_say_nothing(self) -> bool:
        """Whether N/A and the like are missing values: not in a judged text, nor in an id."""
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


def each(*names: str, **requirements: Any) -> list[Column]:
    """A column of each name, all with the same requirements."""
    return [Column(name=name, **requirements) for name in names]


#: The name of a judge, protocol or criterion if the file has none.
UNNAMED = "unnamed"
#: Working columns of the analyses, and no others: a user can have `__index__`.
_WORKING = frozenset(
    f"__{name}"
    for name in (
        *("by", "chance", "cluster", "error", "key", "label", "labels", "member", "raters", "row"),
        *("sampled_by", "sampling_probability", "strata", "verdict"),
        *("labelled_by", "started_from", "comment"),
        *("cut", "cut_share", "cut_judge", "cut_protocol", "cut_fingerprint"),
    )
)


#: Columns of every kind of rows that state how a row or its label was made.
STATED = ("status", "served_model", "labelled_by", "started_from", "sampled_by")
#: The texts of a row, if they are not its main content.
TEXT_COLUMNS = each(*TEXTS, spoken=True)
#: What an answer is judged with; of any type, and text if it has images.
MATERIAL = ("context", "reference")
ID = Column(name="id", required=True, filled=True)
REPEAT = Column(name="repeat", type="whole", low=0)
STATUS = Column(name="status", choices=ROW_STATUSES)
#: What is known of a judge's reply besides its answer.
REPLY_COLUMNS = (
    Column(name="answer_mass", type="number", low=0, high=1),
    *each("judge_fingerprint", "server"),
)
#: What a call took, and what it was about.
CALL_COLUMNS = (
    Column(name="tokens", type="whole", low=0),
    Column(name="cost", type="number", low=0),
    *each("detail", "prompt_id"),
)


class Layout:
    """A kind of rows, defined by its columns, which come first in every frame of that kind."""

    def __init__(
        self,
        kind: str,
        *columns: Column,
        one_of: Sequence[str] = (),
        unlike: Sequence[str] = (),
        apart: Sequence[str] = (),
        answers: Sequence[str] = (),
        texts_needed: bool = False,
        usual: str | None = None,
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.names = [column.name for column in columns]
        self.required = [column.name for column in columns if column.required]
        #: One of these shows what the rows are; a file of another kind can lack all of them.
        self.one_of = one_of
        #: Kinds of rows in which columns of the same names mean something else.
        self.unlike = unlike
        #: Columns that distinguish rows with equal texts, if ids have to be made.
        self.apart = apart
        #: The judge's answers: its declared ones, and others that a file can have.
        self.answers = [*(column.name for column in columns if column.answer), *answers]
        #: Whether ids are made of texts alone: such rows are useful only with other files.
        self.texts_needed = texts_needed
        #: Columns that options can name: all, or the text columns of pairs, items and labels.
        long = texts_needed or any(column.spoken and column.required for column in columns)
        groups = [c.name for c in columns if c.type == "text" and not (c.choices or c.required)]
        self._stays = {*groups} - {"id"} if long else {*self.names}
        #: The kind whose usual names are used, if several layouts are of one kind.
        self.usual = usual or kind

    def read(self, source: TableLike, *, as_is: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The table with our column names; declared columns are checked for type and range."""
        frame = self.load(source, as_is=as_is)
        return self.check(frame, source_name(source), labels_as=labels_as_of(source))

    def read_by_id(self, source: TableLike) -> pl.DataFrame:
        """As `read`, and repeated ids are refused; ids that are merely alike are named."""
        frame = self.read(source)
        name = source_name(source)
        remedy = f"give every {self.kind.removesuffix('s')} its own id"
        refuse_duplicates(frame, ["id"], source=name, remedy=remedy)
        remark_alike(frame["id"], name)
        return frame

    def load(self, source: TableLike, *, as_is: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The table with our column names, unchecked.

        If ours are absent, their usual names are used, and a message states it. `as_is` are columns
        that the caller uses by the file's names; they keep these names. A public data set is
        refused, with its name.
        """
        name = source_name(source)
        converted = isinstance(source, Table) and source.kind == self.kind
        taken: dict[str, str] = {}

        def texts(here: Sequence[str]) -> set[str]:
            if not converted:
                refuse_public(here, self.kind, name)
                taken.update(self.match(here, name, given=as_is))
                self.require(here, name, {**taken, **(as_is or {})})
            return typed("text")

        def typed(*types: str) -> set[str]:
            return {taken.get(c.name, c.name) for c in self.columns if c.type in types}

        def numbers(_: Sequence[str]) -> set[str]:
            return typed("number", "whole") - typed("text")

        frame = read_table(source, text=texts, numbers=numbers)
        if working := next((column for column in frame.columns if column in _WORKING), None):
            problem, remedy = "is a name that adjudge uses internally", "rename the column"
            raise DataError(name, problem, column=working, remedy=remedy)
        remark_names(name, {**self._respelled(frame), **taken})
        # Options such as --by use the file's column names: these columns stay too.
        copies = {ours: their for ours, their in taken.items() if ours in self._stays}
        frame = frame.with_columns(pl.col(their).alias(ours) for ours, their in copies.items())
        renames = {ours: their for ours, their in taken.items() if ours not in copies}
        frame = rename_columns(frame, renames, name)
        return _settle_images(frame, [c.name for c in self.columns if not c.spoken], name)

    def _respelled(self, frame: pl.DataFrame) -> dict[str, str]:
        """Our columns that were copied from another spelling of their name."""
        return {
            ours: spellings[0]
            for ours, spellings in spellings_beside(frame.columns).items()
            if self.names_copy(ours) and are_copies(frame[spellings[0]], frame[ours])
        }

    def names_copy(self, ours: str) -> bool:
        """Whether a message says that another spelling of this name is read: it means something."""
        return ours in self.names or ours in STATED

    def match(
        self, here: Sequence[str], source: str, *, given: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Which of a file's columns are used as which of ours."""
        # Texts that only identify a row, or are only measured, do not cause a refusal.
        unneeded = [column.name for column in self.columns if column.spoken and not column.required]
        # In judgments judge_label is the verdict, next to judge_label_rev that of the first order.
        orders = self.kind == "judgments" and has_order_verdicts(here)
        usual = "tournaments" if orders else self.usual
        return match_columns(
            here, self.names, kind=usual, source=source, given=given, unneeded=unneeded
        )

    def check(
        self,
        frame: pl.DataFrame,
        source: str,
        more: Sequence[Column] = (),
        *,
        answers: Sequence[str] = (),
        labels_as: Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """The frame, declared columns first and checked for type and range.

        `more` are additional columns of this file, `answers` columns that the caller named as the
        judge's. Rows without an id get one.
        """
        frame = mark_failures(frame, source, [*self.answers, *answers], labels_as=labels_as)
        frame = check_columns(frame, (*self.columns, *more), source, labels_as=labels_as)
        if "id" in self.required and "id" not in frame.columns:
            frame = add_ids(frame, source, self.apart)
            again = first_of(frame["id"]).drop_nulls()
            if self.texts_needed and len(again):
                problem = f"{len(again):,} rows have the texts of another row"
                raise DataError(source, problem, column="id", remedy=GIVE_IDS)
        return self.sort(frame)

    def require(self, here: Sequence[str], source: str, named: Collection[str] = ()) -> None:
        """Refuse a file without the columns that every row needs; the error names all of them.

        `named` are our columns that are here under another name.
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
            option = "labels-column" if self.kind == "labels" else "column"
            raise missing_columns(here, absent, source, option=option)

    def sort(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the declared columns first, in their order."""
        first = [name for name in self.names if name in frame.columns]
        return frame.select(*first, pl.exclude(first))

    def missing(self, frame: pl.DataFrame, column: str, source: str, remedy: str) -> DataError:
        """The error for a missing column, also if the file is of another kind."""
        other = looks_like(frame.columns)
        if other is not None and other.name != self.kind:
            return wrong_format(other, self.kind, source)
        here = f"{remedy} (columns here: {shorten(columns_here(frame.columns))})"
        return DataError(source, "is missing", column=column, remedy=here)


def check_columns(
    frame: pl.DataFrame,
    columns: Sequence[Column],
    source: str,
    *,
    labels_as: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The frame with each of these columns, if present, checked for type and range.

    `labels_as` gives the meaning of words that are not among the usual ones.
    """
    absent = [c.name for c in columns if c.required and c.name not in (*frame.columns, "id")]
    if absent:
        raise missing_columns(frame.columns, absent, source)
    frame = frame.with_columns(
        check_column(frame.get_column(column.name), column, source)
        for column in columns
        if column.name in frame.columns
    )
    models = None
    if {"model_a", "model_b"} <= set(frame.columns):
        models = as_text(frame["model_a"]), as_text(frame["model_b"])
    return frame.with_columns(
        read_column_words(frame[column.name], column, source, models, labels_as or {})
        for column in columns
        if column.words is not None and column.name in frame.columns
    )


def read_column_words(
    values: pl.Series,
    column: Column,
    source: str,
    models: tuple[pl.Series, pl.Series] | None,
    labels_as: Mapping[str, str],
) -> pl.Series:
    """The values as the column's choices; `models` are the names next to them."""
    choices = column.choices or ()
    if column.words is None or not (labels_as or _any_unknown(values, choices)):
        return values
    remedy = column.choice_remedy
    return read_choices(
        values, column.words, choices, labels_as, models, source=source, remedy=remedy
    )


def missing_columns(
    here: Sequence[str],
    absent: Sequence[str],
    source: str,
    *,
    option: str = "column",
    instead: str = "",
) -> DataError:
    """The error for missing columns, with the columns that the file has."""
    flags = " ".join(f"--{option} {name}=NAME" for name in absent)
    flags += f" ({option.replace('-', '_')}s=)"
    remedy = f"name yours: {flags}{instead}; columns here: {shorten(columns_here(here))}"
    if len(absent) == 1:
        return DataError(source, "is missing", column=absent[0], remedy=remedy)
    return DataError(source, "has no columns " + ", ".join(absent), remedy=remedy)


def absent_column(named: str, here: Sequence[str], source: str) -> DataError:
    """The error for a column that the caller named and the file does not have."""
    remedy = "columns here: " + shorten(columns_here(here))
    return DataError(source, "is not in the file", column=named, remedy=remedy)


def refuse_absent(files: Sequence[tuple[Sequence[str], Sequence[str], str]]) -> None:
    """Refuse the columns that the caller named and a file lacks: names, columns there, file."""
    if len(files) == 1 and len(files[0][0]) == 1:
        (((named,), here, source),) = files
        raise absent_column(named, here, source)
    lists = [f"columns of {source}: {shorten(columns_here(here))}" for _, here, source in files]
    others = [f"{source} has no {', '.join(names)}" for names, _, source in files[1:]]
    if files:
        names, _, source = files[0]
        problem = "; ".join([f"has no {', '.join(names)}", *others])
        raise DataError(source, problem, remedy="; ".join(lists))


def rename_columns(frame: pl.DataFrame, theirs: Mapping[str, str], source: str) -> pl.DataFrame:
    """The frame with the file's columns under our names; a replaced one becomes `*_given`.

    All names are those of the file, also where two columns exchange theirs.
    """
    theirs = {ours: their for ours, their in theirs.items() if their != ours}
    if absent := [their for their in theirs.values() if their not in frame.columns]:
        raise absent_column(absent[0], frame.columns, source)
    replaced = [ours for ours in theirs if ours in frame.columns and ours not in theirs.values()]
    same = [ours for ours in replaced if bare_name(ours) == bare_name(theirs[ours])]
    given = {ours: f"{ours}_given" for ours in replaced if ours not in same}
    frame = frame.drop(same).rename({**given, **{their: ours for ours, their in theirs.items()}})
    if bare_name(theirs.get("status", "")) in ERROR_COLUMNS:
        flags = status_by_flag(frame["status"], theirs["status"])
        frame = frame.with_columns(flags.alias("status"))
    return frame


def rename_table(table: Table, theirs: Mapping[str, str]) -> Table:
    """The table with its columns under our names, as `rename_columns`.

    Other spellings of a column that gets another name go: they would be read in its place.
    """
    frame = table.frame
    named = {name: bare_name(name) for name in theirs.values() if name in frame.columns}
    spelled = [
        column
        for column in frame.columns
        if column not in named
        for name, bare in named.items()
        if bare == bare_name(column) and (name in OURS or are_copies(frame[name], frame[column]))
    ]
    frame = rename_columns(frame.drop(spelled), theirs, table.name)
    fields = table.fields
    fields = None if fields is None else rename_columns(fields.drop(spelled), theirs, table.name)
    return replace(table, frame=frame, fields=fields)


def input_name(name: str, taken: Collection[str]) -> str:
    """The new name of a user's column if a verb writes a column with its name.

    >>> input_name("verdict", ["id", "verdict"]), input_name("verdict", ["input_verdict"])
    ('input_verdict', 'input_input_verdict')
    """
    free = f"input_{name}"
    while free in taken:
        free = f"input_{free}"
    return free


def make_room(frame: pl.DataFrame, ours: Sequence[str]) -> pl.DataFrame:
    """The frame without columns named like `ours`; the user's columns become input_NAME."""
    for name in ours:
        if name in frame.columns:
            frame = frame.rename({name: input_name(name, frame.columns)})
    return frame


#: What a system wrote can be nothing: an empty answer is an answer.
EMPTY_ANSWERS = ("response", "response_a", "response_b")


def say_empty(column: str, number: int, source: str) -> None:
    """Log in one line how many answers of a column are empty, if there are any."""
    if number:
        rows = count(number, "row has", "rows have")
        LOG.warning("%s: %s no %s: read as an empty answer", source, rows, column)


def check_column(values: pl.Series, column: Column, source: str) -> pl.Series:
    """The values, checked for type and range; `check_columns` reads words."""
    if column.type == "text":
        values = _check_text(values, column, source)
    elif column.type == "numbers":
        values = _check_lists(values, column, source)
    else:
        values = _check_numbers(values, column, source)
    refuse = partial(refuse_values, values, source=source)
    if column.filled and values.null_count():
        if column.name in EMPTY_ANSWERS:
            say_empty(column.name, values.null_count(), source)
            return values.fill_null("")
        refuse(values.is_null(), "is empty", remedy="fill it in every row")
    if column.choices and column.words is None and _any_unknown(values, column.choices):
        values = drop_missing(values.str.strip_chars().str.to_lowercase())
        unknown = ~values.is_in(list(column.choices)).fill_null(True)
        refuse(unknown, "{} is not known", remedy=column.choice_remedy)
    return values


def _any_unknown(values: pl.Series, choices: Sequence[str]) -> bool:
    """Whether a value is not among the choices."""
    # Most columns have only the first two choices: this is faster than a lookup per value.
    left = len(values) - values.null_count()
    for choice in choices:
        if left == 0:
            break
        left -= int((values == choice).sum())
    return left > 0


def _check_text(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested():
        written = [
            None if value is None else write_nested(value, row, column, source)
            for row, value in enumerate(values.to_list(), start=1)
        ]
        return pl.Series(values.name, written, dtype=pl.String)
    if values.dtype.is_float():
        wrong = values.is_infinite().fill_null(False)
        remedy = "leave it empty if it is missing"
        refuse_values(values, wrong, "{} is not text", source=source, remedy=remedy)
    texts = as_text(values)
    if column.can_say_nothing and column.choices is None and values.dtype == pl.String:
        texts = drop_missing(texts)
    if column.spoken and texts.str.contains(_READABLE).any():
        written = [
            None if value is None else write_spoken(value, row, column, source)
            for row, value in enumerate(texts, start=1)
        ]
        return pl.Series(texts.name, written, dtype=pl.String)
    return texts


def write_nested(value: Any, row: int, column: Column, source: str) -> str:
    """A list of chat messages or parts as text, in the columns that can hold one."""
    remedy = "write it as text"
    if column.spoken:
        remedy += ', or as messages: [{"role": "user", "content": "..."}]'
        if (written := write_spoken(value, row, column, source)) is not None:
            return written
    problem = "contains a list or an object"
    raise DataError(source, problem, row=row, column=column.name, remedy=remedy)


def settle_others(row: dict[str, Any], number: int, source: str) -> None:
    """Write the other columns of a row as text if they have images, so that no table has bytes.

    The context and the reference are judged with the answer: their images must be there.
    """
    for name, value in row.items():
        begins = READABLE if name in MATERIAL else READABLE[-1]
        if isinstance(value, str):
            if not value.startswith(begins):
                continue
        elif not isinstance(value, list | dict):
            continue
        try:
            written = _spoken(value) or write_json(value)
            if has_images(written):
                row[name] = settle(written, source) if name in MATERIAL else written
        except ImageError as error:
            raise _not_shown(error, number, name, source) from None
        except NotTextError:
            continue


def _settle_images(frame: pl.DataFrame, without: Collection[str], source: str) -> pl.DataFrame:
    """`settle_others` for a frame, but for columns that are no texts."""
    for name in frame.columns:
        if name in without or not _can_have_images(frame[name]):
            continue
        rows = [{name: value} for value in frame[name].to_list()]
        for number, row in enumerate(rows, start=1):
            settle_others(row, number, source)
        written = [row[name] for row in rows]
        if any(isinstance(value, str) and has_images(value) for value in written):
            texts = [
                json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
                for value in written
            ]
            frame = frame.with_columns(pl.Series(name, texts, dtype=pl.String))
    return frame


def _can_have_images(values: pl.Series) -> bool:
    """Whether a column has to be read value by value to find images; few have to."""
    if values.dtype == pl.String and values.name in MATERIAL:
        return bool(values.str.contains(_READABLE).any())
    if values.dtype == pl.String:
        return bool(values.str.starts_with(READABLE[-1]).any())
    if not isinstance(values.dtype, pl.List | pl.Struct):
        return False
    written = values.alias("").to_frame().to_struct().struct.json_encode()
    return bool(written.str.contains(_IMAGE_INSIDE).any())


def write_spoken(value: Any, row: int, column: Column, source: str) -> str | None:
    """A text, messages or parts as text, with its images settled; None for any other value."""
    try:
        written = _spoken(value)
        return None if written is None else settle(written, source)
    except NotTextError as error:
        raise _not_shown(error, row, column.name, source) from None


def _spoken(value: Any) -> str | None:
    return from_text(value) if isinstance(value, str) else from_value(value)


def _not_shown(error: NotTextError, row: int, column: str, source: str) -> DataError:
    return DataError(source, str(error), row=row, column=column, remedy=error.remedy)


def _check_numbers(values: pl.Series, column: Column, source: str) -> pl.Series:
    if values.dtype.is_nested() or values.dtype.is_temporal():
        raise DataError(source, "has no numbers", row=1, column=column.name, remedy="give numbers")
    if values.dtype == pl.String:
        trimmed = drop_gaps(values)
        numbers = point_decimals(trimmed).cast(pl.Float64, strict=False)
        wrong = trimmed.is_not_null() & numbers.is_null()
        refuse_values(values, wrong, "{} is not a number", source=source, remedy="give numbers")
    else:
        numbers = values.cast(pl.Float64)
        numbers = numbers.fill_nan(None) if numbers.is_nan().any() else numbers
    refuse = partial(refuse_values, numbers, source=source)
    # Within the largest floats there is neither infinity nor NaN: most columns need this pass only.
    if not numbers.is_between(max(column.low, -_LARGEST), min(column.high, _LARGEST)).all():
        wrong = ~numbers.is_finite()
        refuse(wrong, "{} is not a finite number", remedy="leave it empty if nothing was measured")
        outside = ~numbers.is_between(column.low, column.high)
        refuse(outside, "{} is out of range", remedy=column.range_remedy)
    if column.type == "whole":
        # Above 2^53 a float is not exact, and such a number is not a count.
        broken = ((numbers != numbers.round()) | (numbers.abs() > 2.0**53)).fill_null(False)
        refuse(broken, "{} is not a whole number", remedy="give whole numbers")
        return numbers.cast(pl.Int64)
    return numbers


def _check_lists(values: pl.Series, column: Column, source: str) -> pl.Series:
    """A list of numbers per row; in CSV it is text such as [0.1, 0.9]."""
    if values.dtype == pl.String:
        try:
            values = drop_gaps(values).str.json_decode(pl.List(pl.Float64))
        except pl.exceptions.PolarsError:
            bad = pl.Series([_is_no_list(value) for value in values])
            problem = "{} is not a list of numbers"
            refuse_values(values, bad, problem, source=source, remedy="write [0.1, 0.9]")
            raise DataError(source, "has no lists of numbers", column=values.name) from None
    if values.dtype == pl.Null:
        return values.cast(pl.List(pl.Float64))
    if not isinstance(values.dtype, (pl.List, pl.Array)):
        raise DataError(source, "has no lists", row=1, column=column.name, remedy="give lists")
    try:
        lists = values.cast(pl.List(pl.Float64))
    except pl.exceptions.PolarsError:
        problem = "has lists with values other than numbers"
        raise DataError(source, problem, column=column.name) from None
    number = pl.element()
    good = number.is_finite() & number.is_between(column.low, column.high)
    bad = ~lists.list.eval(good.fill_null(False)).list.all().fill_null(True)
    refuse = partial(refuse_values, lists, source=source)
    refuse(bad, "{} contains a bad value", remedy=column.range_remedy)
    refuse(lists.list.len() == 0, "{} is an empty list", remedy="leave it empty instead")
    return lists


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
