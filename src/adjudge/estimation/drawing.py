"""Which rows to label next, drawn honestly: the list carries how each row came onto it."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge._validation import BoolArray, FloatArray, Seed, count, generator, one_of
from adjudge.errors import ArgumentError
from adjudge.estimation.inputs import tidy

DRAWS = ("random", "verdict")


def draw_rows(
    frame: pl.DataFrame,
    size: int,
    *,
    draw: str = "random",
    verdict_sizes: tuple[int, int] | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    rng: Seed = 0,
) -> pl.DataFrame:
    """Unlabelled rows to label next, in random order, with `sampled_by` and `sampling_probability`.

    `random`: `size` rows of the unlabelled ones, all equally likely; sampled_by = random. Label
    from the top and stop whenever both classes have their number. `verdict`: so many rows of
    verdict 0 and of verdict 1 (`verdict_sizes`), at random within each; sampled_by = plan, and the
    probability is what `conditional` and the weighted correction need.

    >>> rows = pl.DataFrame({"id": list("abcd"), "judge": [1, 1, 0, 0], "human": [None] * 4})
    >>> drawn = draw_rows(rows, 2, draw="verdict", verdict_sizes=(2, 1))
    >>> sorted(drawn["sampling_probability"].to_list()), drawn["sampled_by"].unique().to_list()
    ([0.5, 1.0, 1.0], ['plan'])
    """
    one_of(draw, DRAWS, "draw")
    count(size, "size", least=1)
    stream = generator(rng)
    if "id" not in frame.columns:
        frame = frame.with_columns(id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    verdict, unlabelled = verdicts_and_gaps(frame, judge_column, human_column, positive)
    open_rows = np.flatnonzero(unlabelled & ~np.isnan(verdict))
    if open_rows.size == 0:
        raise ArgumentError("frame", "no unlabelled rows", "give rows that are not labelled yet")
    if draw == "random":
        chosen = stream.permutation(open_rows)[:size]
        chance = np.full(len(chosen), min(size, open_rows.size) / open_rows.size)
        how = "random"
    else:
        if verdict_sizes is None:
            raise ArgumentError("verdict_sizes", None, "give the labels per verdict")
        parts, chances = [], []
        for value, wanted in enumerate(verdict_sizes):
            pool = open_rows[verdict[open_rows] == value]
            taken = stream.permutation(pool)[:wanted]
            parts.append(taken)
            chances.append(np.full(len(taken), len(taken) / len(pool) if len(pool) else 1.0))
        chosen, chance = np.concatenate(parts), np.concatenate(chances)
        order = stream.permutation(len(chosen))
        chosen, chance, how = chosen[order], chance[order], "plan"
    return frame[chosen].with_columns(
        sampled_by=pl.lit(how), sampling_probability=pl.Series(chance)
    )


def verdicts_and_gaps(
    frame: pl.DataFrame, judge_column: str, human_column: str, positive: str | None = None
) -> tuple[FloatArray, BoolArray]:
    """The verdicts as numbers (NaN where there is none), and which rows have no human label."""
    verdict, human = (tidy(frame.get_column(c), "rows", c) for c in (judge_column, human_column))
    number = verdict if positive is None else (verdict == positive).cast(pl.Int64)
    return number.cast(pl.Float64).to_numpy(), human.is_null().to_numpy()
