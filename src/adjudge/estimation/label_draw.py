"""The rows to label for a plan: drawn at random, or by verdict with their probability."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import numpy as np
import polars as pl

from adjudge.data.columns import make_room
from adjudge.data.grades import load_grades, prepare_grades
from adjudge.data.names import add_ids, shorten
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.mean_plan import MeanPlan
from adjudge.estimation.plan import RatePlan
from adjudge.validation import Seed, generator, one_of

#: How the labels of a plan are drawn.
DRAWS = ("random", "verdict")
#: Rows sampled in addition to the expected number, because a class can occur less often.
_SPARE = 1.2


def rows_to_label(
    data: TableLike | None,
    plan: RatePlan | MeanPlan,
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
        rounded = not isinstance(plan, MeanPlan)
        table = load_grades(source.rows, judge_column, human_column, rounded=rounded)
        # Rows get ids before a column is added, so that the labels match the same file later.
        frame = add_ids(table.frame, table.name)
        rows = prepare_grades(
            replace(table, frame=frame, kind="grades"),
            labels=source.labels,
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            needs_labels=False,
            alike_ids=source.alike_ids,
            scores=isinstance(plan, MeanPlan),
        )
    if not plan.can_draw(draw):
        raise ArgumentError("plan", "infeasible", "first plan for a width that can be reached")
    if rows.scale == "classes":
        remedy = "name the class that counts as 1: --positive NAME (positive=)"
        problem = f"has the classes {shorten(rows.names, 5)}"
        raise DataError(rows.name, problem, column=judge_column, remedy=remedy)
    frame = rows.frame
    says = rows.judge
    unlabelled = np.isnan(rows.human)
    labelled = [int((says[~unlabelled] == value).sum()) for value in (0, 1)]
    left = np.flatnonzero(unlabelled & ~np.isnan(says))
    at_random = plan.needed("random")
    if draw == "verdict" and isinstance(plan, RatePlan):
        totals = (plan.verdict_m0 or 0, plan.verdict_m1 or 0)
        missing = [max(total - size, 0) for total, size in zip(totals, labelled, strict=True)]
        pools = [(left[says[left] == value], size) for value, size in enumerate(missing)]
    elif at_random is not None:
        pools = [(left, max(at_random - int((~unlabelled).sum()), 0))]
    else:
        draws = plan.expected_draws if isinstance(plan, RatePlan) else None
        needed = plan.labels if draws is None else draws
        pools = [(left, math.ceil(_SPARE * (needed or 0)))]
    if not any(size for _, size in pools):
        return frame.clear()
    if left.size == 0:
        raise ArgumentError("table", "no unlabelled rows", "give rows that are not labelled yet")
    stream = generator(seed)
    drawn = [(stream.permutation(pool)[:size], len(pool)) for pool, size in pools]
    chosen = np.concatenate([rows for rows, _ in drawn])
    shares = [len(rows) / max(size, 1) for rows, size in drawn]
    chance = np.repeat(shares, [len(rows) for rows, _ in drawn])
    if draw == "verdict":
        order = stream.permutation(len(chosen))
        chosen = chosen[order]
        chance = chance[order]
    return make_room(frame[chosen], ["sampled_by", "sampling_probability"]).with_columns(
        sampled_by=pl.lit("random" if draw == "random" else "plan"),
        sampling_probability=pl.Series(chance),
    )
