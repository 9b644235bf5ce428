"""How two answers differ in style: length, headers, lists, bold text, or a column of numbers.

    x = (a - b) / (a + b)

is 1 if only the first answer has any, 1/3 if it has twice as much, 0 if both have none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from adjudge.data.columns import check_columns, each
from adjudge.data.names import columns_here
from adjudge.data.parts import IMAGES_BEGIN, parts_of
from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray

#: Lines within a block of code are no headers or lists.
_CODE = r"(?s)```.*?(?:```|\z)"
#: What is counted in a text.
_COUNTED = {
    "headers": r"(?m)^ {0,3}#{1,6}[ \t]+\S",
    "lists": r"(?m)^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S",
    "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
}
FROM_TEXTS = ("length", *_COUNTED)


def style_columns(control: Sequence[str]) -> list[str]:
    """The columns of a file that these features can be in."""
    return [name for feature in control for name in (feature, f"{feature}_a", f"{feature}_b")]


def style_differences(
    frame: pl.DataFrame, control: Sequence[str], source: str
) -> tuple[FloatArray, tuple[str, ...]]:
    """A column of differences for each feature, NaN where unknown, and the kind of each.

    Of "times", the difference is x of two numbers that are not negative, from the texts or from
    the columns NAME_a and NAME_b. Of "more", it is the column NAME itself: a minus b.

    >>> rows = pl.DataFrame({"response_a": ["# A\\n- b"], "response_b": ["b"], "tone": [2.0]})
    >>> differences, kinds = style_differences(rows, ["headers", "lists", "tone"], "rows")
    >>> differences.tolist(), kinds
    ([[1.0, 1.0, 2.0]], ('times', 'times', 'more'))
    """
    values = np.full((frame.height, len(control)), np.nan)
    kinds = []
    for k, name in enumerate(control):
        sides = [f"{name}_{side}" for side in "ab"]
        texts = [f"response_{side}" for side in "ab"]
        if name in FROM_TEXTS and {*texts} <= {*frame.columns}:
            a, b = (_measure(frame[text], name) for text in texts)
        elif {*sides} <= {*frame.columns}:
            read = check_columns(frame.select(sides), each(*sides, type="number", low=0), source)
            a, b = (_numbers(read[side]) for side in sides)
        elif name in frame.columns:
            column = each(name, type="number")
            values[:, k] = _numbers(check_columns(frame.select(name), column, source)[name])
            kinds.append("more")
            continue
        else:
            here = ", ".join(columns_here(frame.columns))
            give = "response_a and response_b, or " if name in FROM_TEXTS else ""
            remedy = f"give {give}{name}_a and {name}_b, or choose a column of numbers: {here}"
            raise ArgumentError("control", name, remedy)
        total = a + b
        values[:, k] = np.divide(a - b, total, out=0 * total, where=total > 0)
        kinds.append("times")
    return values, tuple(kinds)


def length_differences(frame: pl.DataFrame, source: str) -> FloatArray | None:
    """The difference in length of each row; None if the rows have neither texts nor lengths."""
    both = ({"response_a", "response_b"}, {"length_a", "length_b"})
    if not any(names <= {*frame.columns} for names in both):
        return None
    differences = style_differences(frame, ["length"], source)[0][:, 0]
    return differences if np.isfinite(differences).any() else None


def lengths(texts: pl.Series) -> pl.Series:
    """The number of characters of each text; an image has none."""
    return words_alone(texts).str.len_chars()


def words_alone(texts: pl.Series) -> pl.Series:
    """Texts without their images."""
    if not texts.str.starts_with(IMAGES_BEGIN).any():
        return texts

    def words(text: str) -> str:
        return "".join(part for part in parts_of(text) if isinstance(part, str))

    return texts.map_elements(words, return_dtype=pl.String)


def _measure(texts: pl.Series, name: str) -> FloatArray:
    texts = words_alone(texts)
    if name == "length":
        return _numbers(texts.str.len_chars())
    # One pass finds the few texts with code, which take longest.
    plain = (
        texts.str.replace_all(_CODE, "") if texts.str.contains("```", literal=True).any() else texts
    )
    return _numbers(plain.str.count_matches(_COUNTED[name]))


def _numbers(values: pl.Series) -> FloatArray:
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()
