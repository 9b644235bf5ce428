"""Cascades over frames: combine what several judges say about a row into one verdict and doubt.

Calibrate, select, serve and the runner's stop rule all use this code, so that a row is decided in
use exactly as in calibration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.judgments import ERROR, IS_ERROR
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import CascadeRule, LearningShare
from adjudge.records import MEASURED, About
from adjudge.selection.doubts.evidence import (
    ORDER_GAP,
    Evidence,
    LearnedMargin,
    check_context,
    doubt_of,
    gap_between,
    learn,
    sum_in_order,
    take_rows,
    with_context,
    with_learned,
)
from adjudge.selection.doubts.jury import MEMBER, OF_JUDGES, name_members
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.ridge import FOLDS
from adjudge.validation import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class StageEvidence:
    """The answers of a cascade's judges about some rows, cheap to strong.

    `whole` has a column of p for each judge, NaN if it failed or was not asked. `gaps` has the
    order gaps, also one column per judge; None if rows do not have both orders.
    """

    whole: Evidence
    ties: BoolArray
    gaps: FloatArray | None = None

    @property
    def stages(self) -> int:
        """How many judges there are."""
        return int(self.whole.p.shape[1])

    @property
    def measured(self) -> BoolArray:
        """Which judge has a score for which row."""
        return ~np.isnan(self.whole.p)

    def of(self, judges: Sequence[int]) -> StageEvidence:
        """Only these judges, in this order."""
        at = list(judges)
        names = tuple(self.whole.judges[j] for j in at)
        return StageEvidence(
            whole=replace(self.whole, judges=names, p=self.whole.p[:, at]),
            ties=self.ties[:, at],
            gaps=None if self.gaps is None else self.gaps[:, at],
        )

    def take(self, rows: BoolArray) -> StageEvidence:
        """Only these rows."""
        gaps = None if self.gaps is None else self.gaps[rows]
        whole = take_rows(self.whole, rows)
        return StageEvidence(whole=whole, ties=self.ties[rows], gaps=gaps)

    def upto(self, stage: int) -> Evidence:
        """The evidence available once this stage (from 0) has answered."""
        so_far = self.of(range(stage + 1))
        if so_far.gaps is None:
            return so_far.whole
        spoke = ~np.isnan(so_far.gaps)
        total = sum_in_order(list(np.where(spoke, so_far.gaps, 0.0).T))
        return replace(so_far.whole, order_gap=total / np.maximum(spoke.sum(axis=1), 1))


def stage_doubts(
    doubts: Sequence[LearnedMargin], evidence: StageEvidence
) -> tuple[FloatArray, FloatArray]:
    """Margin and u of every row at every stage; 0 and infinity if a judge has no verdict."""
    margins = np.column_stack([margin.margins(evidence.upto(j)) for j, margin in enumerate(doubts)])
    return with_failures(margins, evidence)


def with_failures(margins: FloatArray, evidence: StageEvidence) -> tuple[FloatArray, FloatArray]:
    """The margins and their doubts; 0 and infinity if a judge failed or returned a tie."""
    mute = ~evidence.measured | evidence.ties
    return np.where(mute, 0.0, margins), np.where(mute, np.inf, doubt_of(margins))


def stop_at(doubts: FloatArray, tau: float) -> IntArray:
    """The stage of every row: the first with a doubt of at most tau, else the last.

    >>> stop_at(np.array([[0.05, 0.01], [0.3, 0.2], [np.inf, 0.04]]), 0.1).tolist()
    [0, 1, 1]
    """
    sure = doubts <= tau
    return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), doubts.shape[1] - 1))


def fit_stages(
    evidence: StageEvidence, prefers_a: IntArray, *, units: IntArray, seed: int
) -> tuple[tuple[LearnedMargin, ...], FloatArray]:
    """A ridge for each stage, fitted on its scored rows, and margins held out.

    Those are the margins of the rows by ridges that were fitted without their fold of `units`.

    >>> rng = np.random.default_rng(0)
    >>> people = rng.integers(0, 2, 200)
    >>> odds = (2 * people - 1)[:, None] * [0.5, 2.0] + rng.normal(size=(200, 2))
    >>> p = 1 / (1 + np.exp(-odds))
    >>> seen = StageEvidence(whole=Evidence(judges=("x", "y"), p=p), ties=np.zeros_like(p) > 0)
    >>> margins, _ = fit_stages(seen, people, units=np.arange(200), seed=0)
    >>> (stop_at(stage_doubts(margins, seen)[1], 0.1) == 0).mean() < 0.5
    np.True_
    """
    rows = len(prefers_a)
    groups = int(units.max()) + 1
    fold = (np.random.default_rng(seed).permutation(groups) % FOLDS)[units]
    fitted, held_out = [], np.zeros((rows, evidence.stages))
    for stage in range(evidence.stages):
        so_far, measured = evidence.upto(stage), evidence.measured[:, stage]
        learns = measured & np.vstack(
            [np.ones(rows, dtype=np.bool_), *(fold != left for left in range(FOLDS))]
        )
        names, fit = learn(so_far, prefers_a, learns, units=units, seed=seed)
        whole, *others = (
            LearnedMargin(names, so_far.categories, scales, weights, float(penalty))
            for scales, weights, penalty in zip(*fit, strict=True)
        )
        fitted.append(whole)
        for left, margin in enumerate(others):
            held_out[:, stage] = np.where(fold == left, margin.margins(so_far), held_out[:, stage])
    return tuple(fitted), held_out


#: The value in the judge and protocol columns of a cascade's rows.
CASCADE = "cascade"
#: The column with the judge at which a row ended.
STAGE = "stage"
NOT_ASKED = "needs a judge that was not asked"
OTHER_JUDGE = "of a judge that is not a stage of the cascade"
#: A judge and its protocol.
Member = tuple[str, str | None]
_ROW = "__row"


@dataclass(frozen=True)
class StageRows:
    """One row per id; `stages` has the rows of each stage as frames in the same order."""

    frame: pl.DataFrame
    stages: tuple[pl.DataFrame, ...]
    asked: BoolArray
    evidence: StageEvidence


@dataclass(frozen=True)
class CascadeRows:
    """The rows as a cascade decides them: only rows that have reached a decision.

    In `rows`, verdict and uncertainty are the cascade's. `judged` has the same rows with the values
    of the judge at which each ended. `stage` is that judge's position, `failed` marks the judges
    that were asked and gave no score, `incomplete` are the rows that need a judge not yet asked.
    """

    rows: pl.DataFrame
    judged: pl.DataFrame
    stage: IntArray
    failed: BoolArray
    incomplete: pl.DataFrame


def find_stages(cascade: str | Sequence[str], frame: pl.DataFrame) -> tuple[Member, ...]:
    """The named judges of the frame, cheap to strong, separated by commas or in a list.

    A judge is named as in the file, or by its model alone ("gpt-4.1" for "openai:gpt-4.1"). Names
    can contain commas.

    >>> rows = pl.DataFrame({"judge": ["x:a,b", "x:c"], "protocol": ["preference"] * 2})
    >>> find_stages("a,b,c", rows)
    (('x:a,b', 'preference'), ('x:c', 'preference'))
    """
    named = name_members(frame).select(MEMBER, "judge", "protocol").unique().sort(MEMBER)
    members: dict[str, Member] = {}
    for member, judge, protocol in named.iter_rows():
        members[member.partition(":")[2]] = (judge, protocol)
    members |= {member: (judge, protocol) for member, judge, protocol in named.iter_rows()}
    there = ", ".join(named[MEMBER].to_list())
    left = list(cascade.split(",")) if isinstance(cascade, str) else list(cascade)
    stages: list[Member] = []
    while left:
        ends = range(len(left), 0, -1) if isinstance(cascade, str) else [1]
        texts = {end: ",".join(left[:end]).strip() for end in ends}
        end = next((end for end, text in texts.items() if text and text in members), None)
        if end is None:
            raise ArgumentError("cascade", left[0], f"the judgments have {there}")
        stages.append(members[texts[end]])
        left = left[end:]
    if len(stages) < 2 or len(set(stages)) < len(stages):
        raise ArgumentError(
            "cascade", cascade, f"name two judges or more, each once, cheap to strong: {there}"
        )
    return tuple(stages)


def lay_out(frame: pl.DataFrame, stages: Sequence[Member]) -> StageRows:
    """One row per id, in the order of the frame, with the rows of each stage next to it."""
    judged = [frame.filter(_is_by(stage)).unique("id", maintain_order=True) for stage in stages]
    several = pl.concat(judged, how="diagonal_relaxed")
    shared = [name for name in several.columns if name not in OF_JUDGES and name != "id"]
    table = several.group_by("id", maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in shared
    )
    by_stage = tuple(
        table.select("id").join(
            judge_rows.select("id", *(name for name in judge_rows.columns if name in OF_JUDGES)),
            on="id",
            how="left",
            maintain_order="left",
        )
        for judge_rows in judged
    )
    p, forward, reverse = (
        _across(by_stage, pl.col(name).cast(pl.Float64).fill_null(np.nan))
        for name in ("p_a", "p_fwd", "p_rev")
    )
    p = np.where(_across(by_stage, pl.col("status").is_in(list(MEASURED))), p, np.nan)
    gaps = gap_between(forward, reverse)
    complete = not (np.isnan(gaps) & ~np.isnan(p)).any()
    return StageRows(
        frame=table,
        stages=by_stage,
        asked=_across(by_stage, pl.col("status").is_not_null()),
        evidence=StageEvidence(
            whole=Evidence(judges=stage_names(stages), p=p),
            ties=_across(by_stage, pl.col("verdict") == "tie"),
            gaps=np.where(np.isnan(p), np.nan, gaps) if complete else None,
        ),
    )


def _across(stages: Sequence[pl.DataFrame], cell: pl.Expr) -> NDArray[Any]:
    """A column for each stage; what is unknown of a condition is false."""
    columns = [stage_rows.select(cell).to_series() for stage_rows in stages]
    return np.column_stack([c.fill_null(False) if c.dtype == pl.Boolean else c for c in columns])


def run_cascade(rule: CascadeRule, frame: pl.DataFrame, *, about: About = "pairs") -> CascadeRows:
    """Apply the cascade to the judges' rows (of every status); rows of other judges are ignored."""
    check_context(frame, lengths=rule.lengths, category=rule.category, who="the cascade")
    laid = lay_out(frame, members_of(rule))
    needs_gaps = any(ORDER_GAP in stage.columns for stage in rule.stages)
    if needs_gaps and laid.evidence.gaps is None:
        raise ArgumentError("judgments", "p_fwd, p_rev", "the cascade needs both orders")
    learned = [
        LearnedMargin(
            columns=stage.columns,
            categories=rule.categories,
            scales=np.asarray(stage.scales),
            weights=np.asarray(stage.weights),
            penalty=stage.penalty,
        )
        for stage in rule.stages
    ]
    whole = with_context(
        laid.evidence.whole, laid.frame, lengths=rule.lengths, category=rule.category
    )
    margins, doubts = stage_doubts(learned, replace(laid.evidence, whole=whole))
    stage = stop_at(doubts, rule.tau)
    way = np.arange(len(rule.stages)) <= stage[:, None]
    complete = (laid.asked | ~way).all(axis=1)
    judged = _at_stage(laid, stage).with_columns(
        pl.lit(CASCADE).alias("judge"),
        pl.lit(CASCADE).alias("protocol"),
        pl.lit(None, pl.String).alias("judge_fingerprint"),
        *_spent(laid, way),
    )
    here = np.arange(len(stage)), stage
    doubt = np.where(np.isinf(doubts[here]), INFINITE_DOUBT, doubts[here])
    rows = with_learned(judged, margins[here], doubt, about=about)
    if "label" in rows.columns:
        rows = rows.with_columns(IS_ERROR.alias(ERROR))
    decided = pl.Series(complete)
    return CascadeRows(
        rows=rows.filter(decided),
        judged=judged.filter(decided),
        stage=stage[complete],
        failed=(way & laid.asked & ~laid.evidence.measured)[complete],
        incomplete=judged.filter(~decided),
    )


def stage_names(stages: Sequence[Member]) -> tuple[str, ...]:
    """The judges' names, with the protocol if one judge was asked by several protocols.

    >>> stage_names([("x", "likelihood"), ("x", "preference"), ("y", "preference")])
    ('x (likelihood)', 'x (preference)', 'y')
    """
    judges = [judge for judge, _ in stages]
    return tuple(
        f"{judge} ({protocol})" if judges.count(judge) > 1 else judge for judge, protocol in stages
    )


def members_of(rule: CascadeRule) -> tuple[Member, ...]:
    """The judge and protocol of every stage."""
    return tuple((stage.judge, stage.protocol) for stage in rule.stages)


def of_stages(stages: Sequence[Member]) -> pl.Expr:
    """Whether a row is of one of these judges."""
    return pl.any_horizontal(*(_is_by(stage) for stage in stages))


def in_learning_share(frame: pl.DataFrame, learning: LearningShare) -> BoolArray:
    """Rows that the cascade can learn from: by the hash of their cluster, or else of their id.

    >>> rows = pl.DataFrame({"id": [str(n) for n in range(1000)]})
    >>> bool(300 == in_learning_share(rows, LearningShare(column="id", share=0.3, seed=2)).sum())
    False
    """
    if learning.column not in frame.columns:
        raise ArgumentError(
            "judgments", learning.column, "the cascade's learning share is a hash of this column"
        )
    # One cluster for all rows of an id: the rows of some judges can lack it.
    table = frame.select("id", cluster=as_text(frame.get_column(learning.column)))
    cluster = pl.col("cluster").drop_nulls().first().over("id")
    key = pl.coalesce("cluster " + cluster, "row " + pl.col("id").cast(pl.String))
    digests = (
        hashlib.sha256(f"cascade {learning.seed} {name}".encode()).digest()
        for name in table.select(key).to_series()
    )
    below = [int.from_bytes(digest[:8], "big") / 2**64 < learning.share for digest in digests]
    return np.array(below, dtype=np.bool_)


def _is_by(stage: Member) -> pl.Expr:
    judge, protocol = stage
    return (pl.col("judge") == judge) & pl.col("protocol").eq_missing(pl.lit(protocol, pl.String))


def _at_stage(laid: StageRows, stage: IntArray) -> pl.DataFrame:
    """The rows with the columns and the name of the judge at which each ended."""
    ends = [
        stage_rows.with_row_index(_ROW)
        .filter(pl.Series(stage == at))
        .with_columns(pl.col("judge").alias(STAGE))
        for at, stage_rows in enumerate(laid.stages)
    ]
    ended = pl.concat(ends, how="diagonal_relaxed").sort(_ROW).drop(_ROW, "id")
    frame = laid.frame.drop(STAGE, strict=False)
    return frame.hstack(ended.drop([c for c in ended.columns if c in frame.columns]))


def _spent(laid: StageRows, way: BoolArray) -> list[pl.Series]:
    """Tokens and cost of every row, summed over the judges that were asked; null if unknown."""
    spent = []
    for column in ("tokens", "cost"):
        if all(column in stage_rows.columns for stage_rows in laid.stages):
            amount = pl.col(column).cast(pl.Float64, strict=False).fill_null(np.nan)
            each = _across(laid.stages, amount)
            total = pl.Series(column, np.where(way, each, 0.0).sum(axis=1), nan_to_null=True)
            spent.append(total.cast(pl.Int64) if column == "tokens" else total)
    return spent
