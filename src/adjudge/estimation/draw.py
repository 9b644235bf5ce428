"""Which rows of a table to label next: at random, or by verdict with their probability."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Unpack

import numpy as np
import polars as pl

from adjudge.data.columns import make_room
from adjudge.data.grades import against_the_rest, load_grades
from adjudge.data.labels import join_values
from adjudge.data.names import AS_SAID, add_ids, read_grade_words, read_words
from adjudge.data.rows import tidy
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike, labels_as_of
from adjudge.errors import ArgumentError
from adjudge.estimation.plan import RatePlan
from adjudge.validation import BoolArray, FloatArray, Seed, count, generator, one_of

DRAWS = ("random", "verdict")
#: Rows sampled in addition to the expected number, because a class can occur less often.
_SPARE = 1.2


def rows_to_label(
    data: TableLike | None,
    plan: RatePlan,
    *,
    draw: str = "random",
    labels: TableLike | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """Rows of the table to label for `plan`, sampled as in `draw_rows`; existing labels count.

    At random: as many as the plan for random labels (conditional) still needs; without one, the
    number expected to fill both classes plus a fifth: label from the top and stop when both are
    full. By verdict: the number that each verdict still needs. No rows if the table has enough.

    Args:
        data: The judged rows to sample from. A path, a frame or a dict of columns.
        plan: The plan, as `plan_rate` returns it.
        draw: How rows are drawn. random: all rows alike. verdict: the plan by verdict, for method
            conditional.
        labels: Human labels by id. A second table; its labels replace those in `data`.
        judge_column: Column of the judge's verdicts.
        human_column: Column of the human labels. It is added, empty, if there is none.
        positive: For labels that are words: the one that counts as 1.
        seed: Seed of everything random. A number or a numpy Generator.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.
    """
    if data is None:
        raise ArgumentError("table", None, "give the judged rows to sample from")
    with Source.of(data, labels=labels, **reading) as source:
        words, name = labels_as_of(source.rows), source.name
        # Rows get ids before a column is added, so that the labels match the same file later.
        frame = add_ids(load_grades(source.rows, judge_column, human_column).frame, name)
        if human_column not in frame.columns:
            frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(human_column))
        if source.labels is not None:
            frame = join_values(frame, source.labels, column=human_column, source=name).frame
    if not plan.feasible:
        raise ArgumentError("plan", "infeasible", "first plan for a width that can be reached")
    verdict, unlabelled = verdicts_and_gaps(frame, judge_column, human_column, positive, words)
    there = [int((verdict[~unlabelled] == value).sum()) for value in (0, 1)]
    sizes = (max((plan.verdict_m0 or 0) - there[0], 0), max((plan.verdict_m1 or 0) - there[1], 0))
    at_random = plan.conditional_labels if plan.target_width is not None else plan.random_m
    total = at_random or plan.labels or 0
    if draw != "random":
        size = sum(sizes)
    elif at_random is not None:
        size = max(at_random - sum(there), 0)
    else:
        needed = total if plan.expected_draws is None else plan.expected_draws
        size = math.ceil(_SPARE * needed)
    if size == 0:
        return frame.clear()
    return draw_rows(
        frame,
        size,
        draw=draw,
        verdict_sizes=sizes,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive,
        labels_as=words,
        seed=seed,
    )


def draw_rows(
    frame: pl.DataFrame,
    size: int,
    *,
    draw: str = "random",
    verdict_sizes: tuple[int, int] | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    labels_as: Mapping[str, str] | None = None,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Unlabelled rows to label next, in random order, with `sampled_by` and `sampling_probability`.

    `random`: `size` of the unlabelled rows, all with equal probability; sampled_by = random. Label
    from the top and stop as soon as both classes have their number. `verdict`: the given numbers of
    rows of verdict 0 and of verdict 1 (`verdict_sizes`), at random within each; sampled_by = plan.
    `conditional` and the weighted correction need this probability.

    Args:
        frame: The judged rows.
        size: How many rows to draw at random.
        draw: How rows are drawn: random or verdict.
        verdict_sizes: How many rows to draw of verdict 0 and of verdict 1.
        judge_column: Column of the judge's verdicts.
        human_column: Column of the human labels.
        positive: For labels that are words: the one that counts as 1.
        labels_as: Meaning of words in label and verdict columns.
        seed: Seed of everything random. A number or a numpy Generator.

    >>> rows = pl.DataFrame({"id": list("abcd"), "judge": [1, 1, 0, 0], "human": [None] * 4})
    >>> drawn = draw_rows(rows, 2, draw="verdict", verdict_sizes=(2, 1))
    >>> sorted(drawn["sampling_probability"].to_list()), drawn["sampled_by"].unique().to_list()
    ([0.5, 1.0, 1.0], ['plan'])
    """
    one_of(draw, DRAWS, "draw")
    count(size, "size", least=1)
    stream = generator(seed)
    frame = add_ids(frame, "the rows")
    verdict, unlabelled = verdicts_and_gaps(frame, judge_column, human_column, positive, labels_as)
    open_rows = np.flatnonzero(unlabelled & ~np.isnan(verdict))
    if open_rows.size == 0:
        raise ArgumentError("frame", "no unlabelled rows", "give rows that are not labelled yet")
    pools = [(open_rows, size)]
    if draw == "verdict":
        if verdict_sizes is None:
            raise ArgumentError("verdict_sizes", None, "give the labels per verdict")
        pools = [
            (open_rows[verdict[open_rows] == value], wanted)
            for value, wanted in enumerate(verdict_sizes)
        ]
    drawn = [(stream.permutation(pool)[:wanted], len(pool)) for pool, wanted in pools]
    chosen = np.concatenate([rows for rows, _ in drawn])
    chance = np.concatenate([np.full(len(rows), len(rows) / max(n, 1)) for rows, n in drawn])
    if draw == "verdict":
        order = stream.permutation(len(chosen))
        chosen, chance = chosen[order], chance[order]
    return make_room(frame[chosen], ["sampled_by", "sampling_probability"]).with_columns(
        sampled_by=pl.lit("random" if draw == "random" else "plan"),
        sampling_probability=pl.Series(chance),
    )


def verdicts_and_gaps(
    frame: pl.DataFrame,
    judge_column: str,
    human_column: str,
    positive: str | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> tuple[FloatArray, BoolArray]:
    """The verdicts as numbers (NaN if missing), and which rows have no human label."""
    verdict, human = (
        read_words(tidy(frame.get_column(c), "rows", c), AS_SAID, labels_as or {})
        for c in (judge_column, human_column)
    )
    if positive is not None:
        verdict, _ = against_the_rest(verdict, human, positive, "rows", judge_column)
    else:
        verdict = read_grade_words(verdict)
    return verdict.cast(pl.Float64).to_numpy(), human.is_null().to_numpy()
