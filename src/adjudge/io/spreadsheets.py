r"""Cells that a spreadsheet would run as a formula, made harmless in CSV and restored on reading.

A text that starts with = + - @ (spaces before them or not) or with a tab or line end gets a mark
before it: an apostrophe, as is the custom, and a word joiner (U+2060), which nobody types. So the
mark is known again even after a spreadsheet has saved the file, and an apostrophe that a text
itself starts with stays. Numbers are no formulas and stay as they are.
"""

from __future__ import annotations

import re

import polars as pl

MARK = "'\u2060"
_RUN = r"(?:[ \t\r\n]*[=+\-@＝＋－＠]|[\t\r\n])"
_NUMBER = r"^[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"
#: A text that looks marked already gets one more mark, so that it comes back as it was. Patterns
#: for polars and for Python: of "$" in Python only, a line end may follow.
_TO_MARK = rf"^(?:{MARK})*{_RUN}"
_TO_RESTORE = rf"^(?:{MARK})+{_RUN}"
#: Most cells show by their first character that nothing has to be done.
_FIRST = frozenset(" \t\r\n=+-@＝＋－＠'")
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def neutralise(text: str) -> str:
    r"""The text as a cell that nothing runs.

    >>> [neutralise(text).replace("\u2060", "|") for text in ("=1+1", "-1.5", "- so", "'-' is")]
    ["'|=1+1", '-1.5', "'|- so", "'-' is"]
    """
    if text[:1] not in _FIRST:
        return text
    number = re.search(_NUMBER, text) and not text.endswith("\n")
    return MARK + text if not number and re.search(_TO_MARK, text) else text


def restore(text: str) -> str:
    """The text that `neutralise` was given.

    >>> restore(neutralise("@SUM(A1)")), restore("'=quoted by a person'")
    ('@SUM(A1)', "'=quoted by a person'")
    """
    return text.removeprefix(MARK) if re.search(_TO_RESTORE, text) else text


def neutralise_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """All texts of a frame, and the names of its columns, as cells that nothing runs."""
    safe = []
    for column in frame:
        if column.dtype in _TEXT:
            column = column.cast(pl.String)
            marked = column.str.contains(_TO_MARK) & ~column.str.contains(_NUMBER)
            column = _where(marked, pl.lit(MARK) + column, column)
        safe.append(column.alias(neutralise(column.name)))
    return pl.DataFrame(safe)


def restore_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts that `neutralise_frame` was given, out of columns of text."""
    return frame.with_columns(
        _where(column.str.contains(_TO_RESTORE), column.str.slice(len(MARK)), column)
        for column in frame
    )


def _where(flags: pl.Series, then: pl.Series | pl.Expr, otherwise: pl.Series) -> pl.Series:
    chosen = pl.when(flags).then(then).otherwise(otherwise)
    return pl.select(chosen).to_series().alias(otherwise.name)
