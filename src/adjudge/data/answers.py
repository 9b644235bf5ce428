"""Models that win with one answer to every prompt: judges and people can be misled by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.tables import as_text
from adjudge.present.result import Count, Proportion
from adjudge.present.text import percent

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


def describe_same_answer(one: SameAnswer) -> str:
    """The warning for readers of a ranking that the model wins."""
    what = "the same text" if one.known_by == "text" else "a text of the same length"
    return (
        f"{one.model} wins {percent(one.win_share)} with {what} for {one.same:,} of "
        f"{one.prompts:,} prompts: read its answers before you trust its rank"
    )


def same_answers(frame: pl.DataFrame, wins: ArrayLike) -> tuple[SameAnswer, ...]:
    """Models that win more than half with one answer to (nearly) every prompt.

    `wins` has the winner of each row: 1 for model_a, 0 for model_b, one half for a tie, NaN for
    none. If the rows have no texts, hashes (answer_hash_a) or lengths, no model is reported.

    >>> rows = pl.DataFrame({"model_a": ["null"] * 20, "model_b": ["other"] * 20,
    ...     "response_a": ["pick me"] * 20, "response_b": [str(k) for k in range(20)]})
    >>> [one.model for one in same_answers(rows, [1] * 20)]
    ['null']
    """
    for_a = np.asarray(wins, dtype=np.float64)
    column = next(
        (c for c in _KNOWN_BY if {f"{c}_a", f"{c}_b", "model_a", "model_b"} <= set(frame.columns)),
        None,
    )
    if column is None:
        return ()
    prompts = next((c for c in ("prompt_id", "prompt", "id") if c in frame.columns), None)
    prompt = pl.Series(range(frame.height)) if prompts is None else frame[prompts]
    sides = [
        pl.DataFrame(
            {
                "model": as_text(frame[f"model_{side}"]),
                "answer": as_text(frame[f"{column}_{side}"]),
                "prompt": prompt,
                "won": for_a if side == "a" else 1 - for_a,
            }
        ).drop_nulls(["model", "answer"])
        for side in ("a", "b")
    ]
    likely = _find_likely(sides, every_row=prompt.n_unique() == frame.height)
    if likely.is_empty():
        return ()
    answers = pl.concat(side.join(likely, on="model", maintain_order="left") for side in sides)
    answers = answers.with_columns(as_text(answers["prompt"]))
    by_model = answers.group_by("model", maintain_order=True).agg(
        pl.col("prompt").n_unique().alias("prompts"),
        pl.col("won").drop_nans().mean().alias("win_share"),
    )
    repeats = (
        answers.group_by("model", "answer", maintain_order=True)
        .agg(pl.col("prompt").n_unique().alias("same"))
        .group_by("model", maintain_order=True)
        .agg(pl.col("same").max())
    )
    odd = by_model.join(repeats, on="model", maintain_order="left").filter(
        pl.col("prompts") >= _FEWEST_PROMPTS,
        pl.col("same") >= _MOST * pl.col("prompts"),
        pl.col("win_share") > 0.5,
    )
    return tuple(
        SameAnswer(known_by=_KNOWN_BY[column], **row)
        for row in odd.select("model", "same", "prompts", "win_share").to_dicts()
    )


def _find_likely(sides: Sequence[pl.DataFrame], *, every_row: bool) -> pl.DataFrame:
    """The models that can have one answer to most prompts, from counts that are quick to add up.

    Few models do, and to count different prompts takes much longer. `every_row`: each row has its
    own prompt, so that a model has at least half as many prompts as rows.
    """
    won = pl.col("won").drop_nans()
    counts = pl.concat(
        side.group_by("model", "answer").agg(rows=pl.len(), wins=won.sum(), decided=won.count())
        for side in sides
    )
    by_model = (
        counts.group_by("model", "answer")
        .sum()
        .group_by("model")
        .agg(pl.col("rows", "wins", "decided").sum(), most=pl.col("rows").max())
    )
    fewest = _MOST * pl.max_horizontal(pl.lit(_FEWEST_PROMPTS), pl.col("rows") / 2 * every_row)
    # The sums are rounded in another order than the share itself: the margin is for that.
    return by_model.filter(
        pl.col("most") >= fewest, pl.col("wins") > (0.5 - 1e-6) * pl.col("decided")
    ).select("model")
