"""Judges or prompts on the same labelled rows: which agrees with people, without winner's curse.

The best of K judges looks better on the labels it was picked by than on new ones. The accuracy that
is reported for it is that of winners on rows that did not pick them (out-of-bag bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Unpack

import numpy as np
import polars as pl

from adjudge.data.judgments import Judgments, prepare_judgments
from adjudge.data.names import shorten
from adjudge.data.rows import Rows, cluster_column, code_clusters, code_column, merge_dropped
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike
from adjudge.errors import DataError
from adjudge.estimation.comparison import Difference, p_text, with_ends
from adjudge.estimation.systems import file_names
from adjudge.present.blocks import Block, Fact, Facts, Figure, Headline, explain, notes_of, table_of
from adjudge.present.figure import ForestRow, forest_figure
from adjudge.present.result import (
    Check,
    Correlation,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.present.text import clip, count, left_out, level, number, percent
from adjudge.records import MEASURED, HasInterval, Interval
from adjudge.statistics.differences import (
    FEWEST,
    all_gaps,
    holm,
    p_values,
    possibly_best,
)
from adjudge.statistics.numbers import bootstrap_weights, student_quantile
from adjudge.validation import FloatArray, Seed, generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_REPLICATES = 200
_NAMED = 6
_ASSUMED = (
    "labelled rows are a random sample of those the judges are for, and independent by question",
    "the interval of the best is measured, not proven",
)


# --- the result ---


@dataclass(frozen=True, kw_only=True)
class JudgeScore(HasInterval):
    """A judge's accuracy, how far it is behind the best, and if it can be the best.

    `interval` is for a judge that was chosen before these labels were seen.
    """

    judge: str
    accuracy: Proportion
    interval: Interval | None
    behind: Difference | None = None
    adjusted: Proportion | None = None
    can_be_best: bool
    cost: NotNegative | None = None


@frozen
class JudgeComparison(Result):
    """Judges on the same labelled rows; `reported` is the accuracy of the best, corrected.

    `accuracy` is that of the best on the labels it was picked by, `reported` that of winners on
    rows that did not pick them. `effective` is how many independent judges these are worth.
    """

    kind: ClassVar[str] = "comparison_judges"
    rows_in: ClassVar[str] = "judges"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("judges"),)

    best: str
    accuracy: Proportion
    reported: Proportion
    interval: Interval
    confidence_level: Level
    n: Count
    questions: Count
    judges: tuple[JudgeScore, ...]
    correlation: Correlation | None
    effective: Positive | None
    assumptions: tuple[str, ...]
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    @property
    def no_number(self) -> bool:
        """There is always a number: too few rows are refused."""
        return False

    def view(self) -> list[Block]:
        return view_judges(self)


# --- the rows ---


def read_judges(
    data: TableLike, other: TableLike | None, labels: TableLike | None, **reading: Unpack[Reading]
) -> Judgments:
    """Judgments or grades of several judges on the same labelled rows, of one file or of two."""
    with Source(data, labels=labels, others={"other": other}, **reading) as source:
        given = prepare_judgments(source.rows, labels=source.labels)
        if other is None:
            return given
        second = prepare_judgments(source.other("other"), labels=source.labels)
    frames, names = [given.frame, second.frame], [given.name, second.name]
    if set(frames[0]["judge"].unique()) & set(frames[1]["judge"].unique()):
        # Two prompts of one judge: the files' names say which is which.
        runs = zip(frames, file_names(names), strict=True)
        frames = [frame.with_columns(judge=pl.lit(name)) for frame, name in runs]
    return Judgments(
        frame=pl.concat(frames, how="diagonal_relaxed"),
        name=f"{given.name} and {second.name}",
        dropped=merge_dropped(given.dropped, second.dropped),
        about=given.about,
    )


# --- the numbers ---


def compare_judges(
    rows: Judgments, *, cluster: str | None, confidence_level: float, seed: Seed
) -> JudgeComparison:
    """The accuracy of each judge on the rows that all of them answered, and of the best of them."""
    if "label" not in rows.frame.columns:
        remedy = "judges are compared by people's labels: add label (human), or give --labels FILE"
        raise DataError(rows.name, "has no labels", column="label", remedy=remedy)
    usable = (
        Rows(rows.frame, rows.dropped)
        .without(pl.col("label").is_null(), "no label")
        .without(pl.col("label") == "tie", "human tie")
        .without(~pl.col("status").is_in(list(MEASURED)), "no usable verdict")
    )
    frame = usable.frame.with_columns(
        right=(pl.col("verdict") == pl.col("label")).fill_null(False).cast(pl.Float64)
    )
    columns, names = code_column(frame["judge"])
    if len(names) < 2:
        remedy = "give rows of two or more judges, or two files"
        raise DataError(rows.name, f"has {shorten(names) or 'no judge'} alone", remedy=remedy)
    at = code_clusters(frame["id"])
    right = np.full((int(at.max(initial=-1)) + 1, len(names)), np.nan)
    right[at, columns] = frame["right"].to_numpy()
    complete = ~np.isnan(right).any(axis=1)
    n = int(complete.sum())
    dropped = merge_dropped(usable.dropped, {"row that not all judges answered": len(right) - n})
    if n < FEWEST:
        remedy = f"label {FEWEST} rows or more that all judges answered"
        raise DataError(rows.name, f"{count(n, 'labelled row')} of all judges", remedy=remedy)
    column = cluster_column(frame, "auto" if cluster is None else cluster, within=["judge"])
    first = frame.with_columns(row=pl.Series(at)).unique("row", keep="first").sort("row")
    keys = first["id"] if column is None else first[column]
    codes = code_clusters(keys.filter(pl.Series(complete)))
    sums = [np.bincount(codes, weights=column) for column in right[complete].T]
    scores = np.stack(sums, axis=1) / np.bincount(codes)[:, None]
    if len(scores) < FEWEST:
        remedy = f"label rows of {FEWEST} questions or more"
        raise DataError(rows.name, f"{count(len(scores), 'labelled question')}", remedy=remedy)
    costs = dict[str, float]()
    if "cost" in frame.columns:
        costs = dict(frame.group_by("judge").agg(pl.col("cost").cast(pl.Float64).mean()).rows())
    rng, means = generator(seed), scores.mean(axis=0)
    gaps = all_gaps(scores, zero_one=bool(np.isin(scores, (0.0, 1.0)).all()))
    keep = possibly_best(
        gaps, (scores - means) / len(scores), rng, confidence_level=confidence_level
    )
    best = best_of(scores, rng, confidence_level=confidence_level)
    others = [k for k in range(len(names)) if k != best.winner]
    rest = best.winner, others
    values = holm(p_values(gaps.statistic[rest], gaps.freedom[rest])).tolist()
    adjusted = dict(zip(others, values, strict=True))
    behind = {k: Difference.of(gaps.of(best.winner, k), confidence_level, 1.0) for k in others}
    judges = [
        JudgeScore(
            judge=names[k],
            accuracy=float(means[k]),
            interval=_around(float(means[k]), float(means[k]), scores[:, k], confidence_level),
            behind=behind.get(k),
            adjusted=adjusted.get(k),
            can_be_best=bool(keep[k]),
            cost=costs.get(names[k]),
        )
        for k in np.argsort(-means, kind="stable").tolist()
    ]
    correlation = error_correlation(scores)
    return JudgeComparison(
        best=names[best.winner],
        accuracy=float(means[best.winner]),
        reported=best.reported,
        interval=best.interval,
        confidence_level=confidence_level,
        n=n,
        questions=len(scores),
        judges=tuple(judges),
        correlation=correlation,
        effective=effective_number(len(names), correlation),
        assumptions=_ASSUMED,
        dropped=dropped,
        seed=seed if isinstance(seed, int) else None,
    )


class Best(NamedTuple):
    """The winner, and its accuracy corrected for having been picked."""

    winner: int
    reported: float
    interval: Interval


def best_of(
    scores: FloatArray, rng: np.random.Generator, *, confidence_level: float = 0.95
) -> Best:
    """The best column of a table (questions, judges), ties by lot, without the winner's curse.

    Each of 200 bootstraps by question picks its own winner; E is the mean accuracy of these winners
    on the questions outside of their bootstrap. The interval is [E - t s, Y_w + t s]: Y_w is the
    winner's accuracy on all labels, s its standard error with two 1s and two 0s added, t with n - 1
    degrees of freedom.

    >>> rng = np.random.default_rng(0)
    >>> best = best_of((rng.random((100, 15)) < 0.7).astype(float), rng)
    >>> 0.65 < best.reported < 0.75
    True
    """
    n, judges = scores.shape
    means = scores.mean(axis=0)
    winner = int(np.argmax(means + 1e-9 * rng.random(judges)))
    weights = bootstrap_weights(n, _REPLICATES, rng)
    picked = np.argmax(weights @ scores / n + 1e-9 * rng.random((_REPLICATES, judges)), axis=1)
    outside = (weights == 0).astype(np.float64)
    sizes = outside.sum(axis=1)
    tested = (outside @ scores)[np.arange(_REPLICATES), picked]
    reported = float((tested[sizes > 0] / sizes[sizes > 0]).mean())
    top = max(float(means[winner]), reported)
    return Best(winner, reported, _around(reported, top, scores[:, winner], confidence_level))


def _around(low: float, high: float, scores: FloatArray, confidence_level: float) -> Interval:
    padded = np.concatenate([scores, [0.0, 0.0, 1.0, 1.0]])
    error = float(padded.std(ddof=1)) / math.sqrt(len(padded))
    reach = student_quantile(confidence_level, len(scores) - 1) * error
    return Interval(max(low - reach, 0.0), min(high + reach, 1.0), level=confidence_level)


def error_correlation(scores: FloatArray) -> float | None:
    """The mean correlation of two judges' errors; None if fewer than two judges vary."""
    varying = scores[:, scores.std(axis=0) > 0]
    size = varying.shape[1]
    if size < 2:
        return None
    matrix = np.corrcoef(varying.T)
    return float((matrix.sum() - size) / (size * (size - 1)))


def effective_number(judges: int, correlation: float | None) -> float | None:
    """K/(1 + (K - 1) r): how many independent judges K correlated ones are worth.

    >>> round(effective_number(5, 0.5), 2), effective_number(3, 0.0)
    (1.67, 3.0)
    """
    if correlation is None:
        return None
    return judges / (1 + (judges - 1) * max(correlation, 0.0))


# --- the view ---


def view_judges(result: JudgeComparison) -> list[Block]:
    """The best, corrected for being picked; then every judge, its cost and how far behind it is."""
    low, high = result.interval.low, result.interval.high
    size = len(result.judges)
    possible = [judge.judge for judge in result.judges if judge.can_be_best]
    more = len(possible) - _NAMED
    names = ", ".join(possible[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    headline = Headline(
        f"{result.best} is right on {percent(result.reported)} of rows, {percent(low)} to "
        f"{percent(high)}: the best of {size}",
        f"{len(possible)} of {size} judges can be best: {names}",
    )
    facts = [
        Fact("corrected", percent(result.reported), "on rows that did not pick the winner"),
        Fact("as picked", percent(result.accuracy), "on the labels it was picked by"),
    ]
    if result.effective is not None:
        worth = f"{count(size, 'judge')}, errors correlated {number(result.correlation, 2)}"
        facts.append(Fact("independent judges", number(result.effective, 1), worth))
    costs = any(judge.cost is not None for judge in result.judges)
    table = table_of(
        result.judges,
        {
            "judge": lambda judge: clip(judge.judge),
            "right": lambda judge: percent(judge.accuracy),
            "behind the best": lambda judge: (
                "" if judge.behind is None else with_ends(judge.behind, "verdicts")
            ),
            "p, Holm": lambda judge: p_text(judge.adjusted),
            "can be best": lambda judge: "yes" if judge.can_be_best else "",
            **({"cost a row": lambda judge: number(judge.cost, 5)} if costs else {}),
        },
        caption=f"{count(result.n, 'labelled row')}, paired; {level(result.confidence_level)} "
        "intervals",
        optional=("p, Holm",),
    )
    return [
        headline,
        Facts(facts),
        table,
        *notes_of(left_out(result.dropped)),
        *explain(result.assumptions),
        Figure(
            "judges",
            partial(judges_figure, result),
            "Accuracy of each judge; the ring is the best one's, corrected for being picked.",
        ),
    ]


def judges_figure(result: JudgeComparison) -> Drawing:
    """The accuracy of each judge with its interval, and a ring for the corrected one."""
    corrected = {result.best: result.reported}
    rows = [
        ForestRow(clip(j.judge), j.accuracy, j.interval, corrected.get(j.judge))
        for j in result.judges
    ]
    title = f"{clip(result.best)}: {percent(result.reported)} right, corrected for being picked"
    axis = f"right, %, with {level(result.confidence_level)} intervals"
    return forest_figure(rows, title=title, axis=axis, dot="on all labels", ring="corrected")
