"""Plan: how much coverage one more label buys, from the labels there are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl

from adjudge._validation import BoolArray, IntArray, count, exact_level, one_of, open_unit
from adjudge.errors import ArgumentError
from adjudge.io import join_labels, open_labels
from adjudge.io.tables import TableLike, source_name
from adjudge.results.evaluation import PlanPoint, SelectionPlan
from adjudge.selection.clusters import one_row_per_cluster
from adjudge.selection.fdr import fdr_select
from adjudge.selection.groups import Entry, entries
from adjudge.selection.pac import pac_threshold
from adjudge.selection.rows import cluster_column, judged, labelled
from adjudge.selection.scope import scope_threshold
from adjudge.selection.words import GUARANTEES

_SMALLEST = 25
_FEWEST_LABELS = 20
#: How far beyond the labels there are the plan dares to look.
_BEYOND = 4


def plan_selection(
    judgments: TableLike,
    *,
    alpha: float | Fraction = 0.1,
    labels: TableLike | None = None,
    guarantee: str = "scope",
    delta: float | Fraction = 0.1,
    ties: str = "drop",
    judge: str | None = None,
    protocol: str | None = None,
    cluster: str | None = "auto",
    gain: float = 0.02,
    repeats: int = 200,
    seed: int = 0,
) -> SelectionPlan:
    """Expected coverage against the number of calibration labels, by subsampling your own.

    For n = 25, 50, 100, ... : draw n labelled rows, calibrate, and see what share of the other
    rows is accepted, `repeats` times. Beyond half of the labels rows are drawn with replacement
    and tested on all of them; those points are marked `extrapolated` and lean to the hopeful
    side. `recommended` is the first n from which one more doubling buys less than `gain` coverage
    in every later step.

    >>> from adjudge.simulate.selective import two_order_judge
    >>> plan = plan_selection(two_order_judge(400, seed=1), alpha=0.2, repeats=20)
    >>> [point.n for point in plan.points]
    [25, 50, 100, 200, 400, 800, 1600]
    """
    level, failure = exact_level(alpha), exact_level(delta, "delta")
    one_of(guarantee, GUARANTEES, "guarantee")
    least_gain = open_unit(gain, "gain")
    count(repeats, "repeats", least=2)
    dropped: Counter[str] = Counter()
    frame = judged(judgments, dropped, judge=judge, protocol=protocol)
    frame = labelled(frame, labels, ties=ties, dropped=dropped, name=source_name(judgments))
    column = cluster_column(frame, cluster)
    made = entries(frame, by=None, cluster=column, weights=None, seed=seed)
    if len(made) > 1:
        names = sorted({f"{entry.judge} ({entry.protocol})" for entry in made})
        raise ArgumentError("judge", None, "choose one of " + ", ".join(names))
    entry = made[0]
    if column is not None:
        dropped[f"same {column} as a row kept"] += frame.height - len(entry)
    if len(entry) < _FEWEST_LABELS:
        raise ArgumentError(
            "judgments", len(entry), f"label {_FEWEST_LABELS} pairs or more to plan from"
        )
    rng = np.random.default_rng(seed)
    points, n = [], _SMALLEST
    while n <= _BEYOND * len(entry):
        points.append(_point(entry, n, guarantee, level, failure, repeats, rng))
        n *= 2
    return SelectionPlan(
        guarantee=guarantee,
        alpha=float(level),
        delta=float(failure) if guarantee == "pac" else None,
        judge=entry.judge,
        gain=least_gain,
        n_labelled=len(entry),
        n_repeats=repeats,
        seed=seed,
        recommended=_recommended(points, least_gain),
        points=tuple(points),
        assumptions=(
            "the labels there are were drawn at random from the pairs to be judged",
            "extrapolated points take these labels for the whole truth and lean to the hopeful "
            "side",
        ),
        dropped=dict(dropped),
    )


def ids_to_label(
    judgments: TableLike,
    n: int,
    *,
    labels: TableLike | None = None,
    cluster: str | None = "auto",
    seed: int = 0,
) -> pl.DataFrame:
    """`n` ids drawn at random from the pairs without a label, one per cluster: id, sampled_by.

    >>> frame = pl.DataFrame({"id": ["x", "y"], "p_a": [0.9, 0.2], "label": ["A", None]})
    >>> ids_to_label(frame, 1).rows()
    [('y', 'random')]
    """
    count(n, "n", least=1)
    frame = judged(judgments, Counter())
    if labels is not None:
        frame = join_labels(frame, open_labels(labels).frame).frame
    column = cluster_column(frame, cluster)
    if "label" not in frame.columns:
        frame = frame.with_columns(label=pl.lit(None, pl.String))
    done = frame.filter(pl.col("label").is_not_null())
    left = frame.filter(pl.col("label").is_null()).unique("id").sort("id")
    if column is not None:
        left = left.filter(~pl.col(column).is_in(done[column].drop_nulls().to_list()))
        left = left[one_row_per_cluster(left[column].to_list(), rng=seed).tolist()]
    if left.height < n:
        raise ArgumentError("n", n, f"only {left.height} unlabelled pairs are left to draw from")
    pick = np.random.default_rng(seed).permutation(left.height)[:n]
    chosen = left[sorted(pick.tolist())].select("id")
    return chosen.with_columns(sampled_by=pl.lit("random"))


def _point(
    entry: Entry,
    n: int,
    guarantee: str,
    alpha: Fraction,
    delta: Fraction,
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
        accepted = _accept(entry, own, new, guarantee, alpha, delta) & entry.has_verdict[new]
        wrong, kept = int(entry.errors[new][accepted].sum()), int(accepted.sum())
        coverage[i] = kept / len(new)
        risk[i] = wrong / kept if kept else 0.0
        feasible += kept > 0
        above += wrong * alpha.denominator > kept * alpha.numerator
    return PlanPoint(
        n=n,
        coverage=float(coverage.mean()),
        coverage_sd=float(coverage.std(ddof=1)),
        risk=float(risk.mean()),
        share_above=above / repeats,
        share_feasible=feasible / repeats,
        extrapolated=beyond,
    )


def _accept(
    entry: Entry, own: IntArray, new: IntArray, guarantee: str, alpha: Fraction, delta: Fraction
) -> BoolArray:
    s, e = entry.scores, entry.errors
    if guarantee == "fdr":
        return fdr_select(s[own], e[own], s[new], alpha=alpha).accepted
    if guarantee == "scope":
        return scope_threshold(s[own], e[own], alpha=alpha).accept(s[new])
    return pac_threshold(s[own], e[own], alpha=alpha, delta=delta).accept(s[new])


def _recommended(points: list[PlanPoint], gain: float) -> int | None:
    """The first n after which no further doubling shown buys `gain`; None if the last one does.

    Where even the last point accepts next to nothing there is nothing to recommend.
    """
    best = None
    for now, later in zip(points[-2::-1], points[:0:-1], strict=True):
        if later.coverage - now.coverage >= gain:
            break
        best = now.n
    return best if points and points[-1].coverage >= gain else None
