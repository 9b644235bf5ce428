"""Which rows of a table to label next: at random, or by verdict with their probability."""

from __future__ import annotations

import math
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
from adjudge.validation import Seed, generator, one_of

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
    """Unlabelled rows to label for `plan`, in random order; labels in the table count.

    At random: as many as the plan for random labels (conditional) still needs; without one, the
    number expected to fill both classes plus a fifth: label from the top and stop when both are
    full. By verdict: the number that each verdict still needs, at random within it. `sampled_by` is
    random or plan, and `sampling_probability` is what `conditional` and the weighted correction
    need. No rows if the table has enough.

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
    one_of(draw, DRAWS, "draw")
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
    verdict, human = (
        read_words(tidy(frame.get_column(c), "rows", c), AS_SAID, words)
        for c in (judge_column, human_column)
    )
    if positive is None:
        verdict = read_grade_words(verdict)
    else:
        verdict, _ = against_the_rest(verdict, human, positive, "rows", judge_column)
    says, unlabelled = verdict.cast(pl.Float64).to_numpy(), human.is_null().to_numpy()
    labelled = [int((says[~unlabelled] == value).sum()) for value in (0, 1)]
    left = np.flatnonzero(unlabelled & ~np.isnan(says))
    at_random = plan.labels if plan.target_width is None else plan.conditional_labels
    if draw == "verdict":
        totals = (plan.verdict_m0 or 0, plan.verdict_m1 or 0)
        wanted = zip(totals, labelled, strict=True)
        pools = [
            (left[says[left] == value], max(total - size, 0))
            for value, (total, size) in enumerate(wanted)
        ]
    elif at_random is not None:
        pools = [(left, max(at_random - sum(labelled), 0))]
    else:
        needed = plan.labels if plan.expected_draws is None else plan.expected_draws
        pools = [(left, math.ceil(_SPARE * (needed or 0)))]
    if not any(size for _, size in pools):
        return frame.clear()
    if left.size == 0:
        raise ArgumentError("table", "no unlabelled rows", "give rows that are not labelled yet")
    stream = generator(seed)
    drawn = [(stream.permutation(pool)[:size], len(pool)) for pool, size in pools]
    chosen = np.concatenate([rows for rows, _ in drawn])
    chance = np.concatenate([np.full(len(rows), len(rows) / max(n, 1)) for rows, n in drawn])
    if draw == "verdict":
        order = stream.permutation(len(chosen))
        chosen, chance = chosen[order], chance[order]
    return make_room(frame[chosen], ["sampled_by", "sampling_probability"]).with_columns(
        sampled_by=pl.lit("random" if draw == "random" else "plan"),
        sampling_probability=pl.Series(chance),
    )
