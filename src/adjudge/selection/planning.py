"""Plan: how much coverage more labels would give, estimated from your labels."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from adjudge.data.judgments import Judgments
from adjudge.data.rows import merge_dropped
from adjudge.data.source import name_columns
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.results.evaluation import PlanPoint, SelectionPlan
from adjudge.selection.groups import Entry, make_entries
from adjudge.selection.guarantees import DEFAULT, find_guarantee
from adjudge.selection.guarantees.base import Guarantee
from adjudge.selection.labelled import read_labelled
from adjudge.selection.split_counts import Levels
from adjudge.validation import count, exact_level, open_unit

_SMALLEST = 25
_FEWEST_LABELS = 20
#: How far the plan extrapolates, as a multiple of the number of labels.
_BEYOND = 4


def plan_selection(
    judgments: TableLike | Judgments,
    *,
    alpha: float | Fraction = 0.1,
    labels: TableLike | None = None,
    guarantee: str = DEFAULT,
    delta: float | Fraction = 0.1,
    ties: str = "drop",
    judge: str | None = None,
    protocol: str | None = None,
    cluster: str | None = "auto",
    gain: float = 0.02,
    repeats: int = 200,
    model_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    seed: int = 0,
) -> SelectionPlan:
    """Expected coverage against the number of calibration labels, by subsampling your labels.

    For n = 25, 50, 100, ... : sample n labelled rows, calibrate, and measure what share of the
    other rows is accepted, `repeats` times. Above half of the labels, rows are sampled with
    replacement and tested on all of them; those points are marked `extrapolated` and are
    optimistic. `recommended` is the first n after which every further doubling adds less than
    `gain` coverage.

    Args:
        judgments: Judgments, some of them labelled. A file or a frame.
        alpha: Error level allowed among accepted verdicts.
        labels: Human labels by id, for rows without a label.
        guarantee: scope: average over calibration sets; fdr: expected share in a batch; pac: this
            threshold, with probability 1 - delta; or one that a package adds.
        delta: How often a guarantee with high probability can fail.
        ties: Human ties: drop, or error (count each as an error).
        judge: Only this judge's rows.
        protocol: Only this protocol's rows.
        cluster: Column of rows that belong together, such as the prompt. One random row per cluster
            calibrates. "auto": prompt_id if it repeats; "none": all rows are independent.
        gain: Smallest gain in coverage that is worth twice the labels.
        repeats: Random draws per point.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        columns: Columns with other names. A mapping of our names to those of the files.
        labels_as: Meaning of words in label and verdict columns, such as {"0": "A", "1": "B"}.
        seed: Seed of everything random.

    >>> from adjudge.simulate.selective import two_order_judge
    >>> plan = plan_selection(two_order_judge(400, seed=1), alpha=0.2, repeats=20)
    >>> [point.n for point in plan.points]
    [25, 50, 100, 200, 400, 800, 1600]
    """
    levels = Levels(exact_level(alpha), exact_level(delta, "delta"))
    chosen = find_guarantee(guarantee)
    least_gain = open_unit(gain, "gain")
    count(repeats, "repeats", least=2)
    with name_columns(columns, labels_as) as name:
        judgments, labels = name(judgments), name(labels)
    table = read_labelled(
        judgments,
        labels,
        judge=judge,
        protocol=protocol,
        ties=ties,
        cluster=cluster,
        model_labels=model_labels,
    )
    entries = make_entries(table.frame, by=None, cluster=table.cluster, weights=None, seed=seed)
    if len(entries) > 1:
        names = sorted({f"{entry.judge} ({entry.protocol})" for entry in entries})
        raise ArgumentError("judge", None, "choose one of " + ", ".join(names))
    entry = entries[0]
    repeated = {f"same {table.cluster} as a row that is used": table.frame.height - len(entry)}
    if len(entry) < _FEWEST_LABELS:
        raise ArgumentError(
            "judgments", len(entry), f"label {_FEWEST_LABELS} rows or more to plan from"
        )
    rng = np.random.default_rng(seed)
    points, n = [], _SMALLEST
    while n <= _BEYOND * len(entry):
        points.append(_point(entry, n, chosen, levels, repeats, rng))
        n *= 2
    return SelectionPlan(
        guarantee=chosen.name,
        alpha=float(levels.alpha),
        delta=float(levels.delta) if chosen.uses_delta else None,
        judge=entry.judge,
        gain=least_gain,
        n_labelled=len(entry),
        repeats=repeats,
        seed=seed,
        recommended=_recommended(points, least_gain),
        points=tuple(points),
        assumptions=(
            "the existing labels were sampled at random from the rows to be judged",
            "extrapolated points treat these labels as the entire population and are optimistic",
            *table.makers,
        ),
        dropped=merge_dropped(table.dropped, repeated),
    )


def _point(
    entry: Entry,
    n: int,
    chosen: Guarantee,
    levels: Levels,
    repeats: int,
    rng: np.random.Generator,
) -> PlanPoint:
    beyond = n > len(entry) // 2
    coverage, risk, feasible, above = np.empty(repeats), np.empty(repeats), 0, 0
    for i in range(repeats):
        if beyond:
            own = rng.integers(0, len(entry), n)
            new = np.arange(len(entry))
        else:
            order = rng.permutation(len(entry))
            own, new = order[:n], order[n:]
        rule, others = chosen.decide(entry.labels.take(own), levels), entry.labels.take(new)
        accepted = chosen.accept(rule, others.scores, levels) & entry.has_verdict[new]
        wrong, kept = int(others.errors[accepted].sum()), int(accepted.sum())
        coverage[i] = kept / len(new)
        risk[i] = wrong / kept if kept else 0.0
        feasible += kept > 0
        above += wrong * levels.alpha.denominator > kept * levels.alpha.numerator
    return PlanPoint(
        n=n,
        coverage=float(coverage.mean()),
        coverage_sd=float(coverage.std(ddof=1)),
        risk=float(risk.mean()),
        share_above=above / repeats,
        share_feasible=feasible / repeats,
        extrapolated=beyond,
    )


def _recommended(points: list[PlanPoint], gain: float) -> int | None:
    """The first n after which no further doubling adds `gain`; None if the last one does.

    If even the last point accepts almost nothing, there is no recommendation.
    """
    best = None
    for now, later in zip(points[-2::-1], points[:0:-1], strict=True):
        if later.coverage - now.coverage >= gain:
            break
        best = now.n
    return best if points and points[-1].coverage >= gain else None
