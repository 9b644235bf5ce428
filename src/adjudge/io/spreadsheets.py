r"""Cells that a spreadsheet would run as a formula, made harmless in CSV and restored on reading.

A text that starts with = + - @ (with or without spaces before) or with a tab or line end gets a
mark before it: an apostrophe, as usual, and a word joiner (U+2060), which people do not type. So
the mark is recognised even after a spreadsheet has saved the file, and an apostrophe at the start
of a text stays. Numbers are not formulas and stay unchanged.
"""

from __future__ import annotations

import re

import polars as pl

MARK = "'\u2060"
_RUN = r"(?:[ \t\r\n]*[=+\-@＝＋－＠]|[\t\r\n])"
_NUMBER = r"^[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"
#: A text that already looks marked gets one more mark, so that it is restored exactly. Patterns for
#: polars and for Python: in Python a line end can follow "$".
_TO_MARK = rf"^(?:{MARK})*{_RUN}"
_TO_RESTORE = rf"^(?:{MARK})+{_RUN}"
#: Most cells need no change, which their first character shows.
_FIRST = frozenset(" \t\r\n=+-@＝＋－＠'")
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def neutralise(text: str) -> str:
    r"""The text as a cell that no spreadsheet runs.

    >>> [neutralise(text).replace("\u2060", "|") for text in ("=1+1", "-1.5", "- so", "'-' is")]
    ["'|=1+1", '-1.5', "'|- so", "'-' is"]
    """
    if text[:1] not in _FIRST:
        return text
    number = re.search(_NUMBER, text) and not text.endswith("\n")
    return MARK + text if not number and re.search(_TO_MARK, text) else text


def restore(text: str) -> str:
    """The original text before `neutralise`.

    >>> restore(neutralise("@SUM(A1)")), restore("'=quoted by a person'")
    ('@SUM(A1)', "'=quoted by a person'")
    """
    return text.removeprefix(MARK) if re.search(_TO_RESTORE, text) else text


def neutralise_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """All texts of a frame, and its column names, as cells that no spreadsheet runs."""
    safe = []
    for column in frame:
        if column.dtype in _TEXT:
            column = column.cast(pl.String)
            marked = column.str.contains(_TO_MARK) & ~column.str.contains(_NUMBER)
            column = _where(marked, pl.lit(MARK) + column, column)
        safe.append(column.alias(neutralise(column.name)))
    return pl.DataFrame(safe)


def restore_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The original texts before `neutralise_frame`, in text columns."""
    return frame.with_columns(
        _where(column.str.contains(_TO_RESTORE), column.str.slice(len(MARK)), column)
        for column in frame
        if column.dtype == pl.String
    )


def _where(flags: pl.Series, then: pl.Series | pl.Expr, otherwise: pl.Series) -> pl.Series:
    chosen = pl.when(flags).then(then).otherwise(otherwise)
    return pl.select(chosen).to_series().alias(otherwise.name)
