"""What the answers of battles look like: how two differ in style, and one answer to every prompt.

Style is length, headers, lists, bold text, or a column of numbers. The difference

    x = (a - b) / (a + b)

is 1 if only the first answer has any, 1/3 if it has twice as much, 0 if both have none. A model
that wins with one answer to every prompt can mislead judges and people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.columns import check_columns, each
from adjudge.data.names import columns_as_text, columns_here
from adjudge.data.parts import IMAGES_BEGIN, parts_of
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.present.result import Count, Proportion
from adjudge.present.text import percent
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


# --- one answer to every prompt ---

#: What identifies an answer, best first: its text, a hash of it, its length.
_KNOWN_BY = {"response": "text", "answer_hash": "text", "length": "length"}
#: The fewest prompts, and the smallest share with the same answer, that count as a pattern.
_FEWEST_PROMPTS = 20
_MOST = 0.9


@dataclass(frozen=True, kw_only=True)
class SameAnswer:
    """A model that wins with one answer, given to `same` of `prompts` prompts.

    `known_by` is how the answers were compared: by their "text", or only by their "length".
    """

    model: str
    known_by: str
    same: Count
    prompts: Count
    win_share: Proportion


def describe_same_answer(answer: SameAnswer) -> str:
    """The warning for readers of a ranking that the model wins."""
    what = "the same text" if answer.known_by == "text" else "a text of the same length"
    return (
        f"{answer.model} wins {percent(answer.win_share)} with {what} for {answer.same:,} of "
        f"{answer.prompts:,} prompts: read its answers before you trust its rank"
    )


def same_answers(frame: pl.DataFrame, wins: ArrayLike) -> tuple[SameAnswer, ...]:
    """Models that win more than half with one answer to (nearly) every prompt.

    `wins` has the winner of each row: 1 for model_a, 0 for model_b, one half for a tie, NaN for
    none. If the rows have no texts, hashes (answer_hash_a) or lengths, no model is reported.

    >>> rows = pl.DataFrame({"model_a": ["null"] * 20, "model_b": ["other"] * 20,
    ...     "response_a": ["pick me"] * 20, "response_b": [str(k) for k in range(20)]})
    >>> [answer.model for answer in same_answers(rows, [1] * 20)]
    ['null']
    """
    wins_of_a = np.asarray(wins, dtype=np.float64)
    wins_of = {"a": wins_of_a, "b": 1 - wins_of_a}
    column = next(
        (c for c in _KNOWN_BY if {f"{c}_a", f"{c}_b", "model_a", "model_b"} <= set(frame.columns)),
        None,
    )
    if column is None:
        return ()
    prompts = next((c for c in ("prompt_id", "prompt", "id") if c in frame.columns), None)
    every = pl.Series(range(frame.height))
    prompt = every if prompts is None else columns_as_text(frame, [prompts]).to_series()
    sides = []
    for side, won in wins_of.items():
        model = as_text(frame[f"model_{side}"])
        answer = as_text(frame[f"{column}_{side}"])
        sides.append(pl.DataFrame({"model": model, "answer": answer, "prompt": prompt, "won": won}))
    answers = pl.concat(sides).drop_nulls(["model", "answer"])
    # Few models can have one answer to most prompts, and to count its prompts takes longest.
    models = answers.group_by("model", maintain_order=True).agg(
        prompts=pl.col("prompt").n_unique(),
        win_share=pl.col("won").drop_nans().mean(),
        rows=pl.col("answer").unique_counts().max(),
    )
    most = _MOST * pl.col("prompts")
    likely = models.filter(
        pl.col("prompts") >= _FEWEST_PROMPTS, pl.col("rows") >= most, pl.col("win_share") > 0.5
    )
    per_answer = (
        answers.join(likely, on="model", how="semi")
        .group_by("model", "answer")
        .agg(same=pl.col("prompt").n_unique())
    )
    repeats = per_answer.group_by("model").agg(pl.col("same").max())
    odd = likely.join(repeats, on="model", maintain_order="left").filter(pl.col("same") >= most)
    rows = odd.select("model", "same", "prompts", "win_share").to_dicts()
    return tuple(SameAnswer(known_by=_KNOWN_BY[column], **row) for row in rows)
