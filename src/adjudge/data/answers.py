"""Models that win with one answer to every prompt: judges and people can be misled by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.names import columns_as_text
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
