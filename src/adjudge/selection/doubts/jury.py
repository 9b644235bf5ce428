"""Juries: one probability per pair from several judges, with its own rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.derived import verdict_by
from adjudge.data.judgments import ERROR, IS_ERROR, WORDS, doubt_ties
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import JuryReport
from adjudge.records import About
from adjudge.selection.doubts.learned import (
    MOST_ODDS,
    TAIL,
    Evidence,
    log_odds,
    order_gap,
    sum_in_order,
)
from adjudge.statistics.entropy import preference_entropy
from adjudge.validation import FloatArray, one_of, probabilities

JURIES = ("mean", "learned")
#: The value in the judge column of a jury's rows.
JURY = "jury"
#: The column with the names of a jury's members.
MEMBER = "__member"
INCOMPLETE = "not scored by every judge of the jury"
_GAP = "__gap"
#: Columns about one judge's row; all others are about the pair.
OF_JUDGES = frozenset({
    "judge", "protocol", "status", "p_fwd", "p_rev", "p_a", "p_tie", "uncertainty", "verdict",
    "answer_mass", "judge_fingerprint", "server", "tokens", "cost", "detail", MEMBER, ERROR,
})  # fmt: skip


@dataclass(frozen=True)
class Jury:
    """Several judges as one. `predict` needs the judges' p in the order of the weights.

        p = sigma(sum_j w_j x_j),    x_j = log(p_j / (1 - p_j)), clipped at +-most_odds

    with equal weights that sum to 1 and a slope of `tail` outside the clipping range. Policies of
    earlier versions have learned weights (`logistic`), a wider range and no tail. There is no
    intercept, so that swapping A and B turns p into 1 - p. Log odds are averaged, not
    probabilities, because judges are overconfident: if p is 0.99 for most pairs, a mean of p only
    counts votes and no longer separates the surer pairs. The odds are clipped because one judge
    with p = 0.9999 would outvote all others.
    """

    method: str
    weights: FloatArray
    most_odds: float = MOST_ODDS
    tail: float = TAIL

    def predict(self, p: ArrayLike) -> FloatArray:
        """The jury's p for response_a; one row per pair, one column per judge."""
        table = _table(p)
        if table.shape[1] != len(self.weights):
            raise ArgumentError(
                "p", table.shape, f"give one column for each of {len(self.weights)} judges"
            )
        return _sigmoid(log_odds(table, self.most_odds, self.tail) @ self.weights)


def mean_jury(judges: int, *, method: str = "mean") -> Jury:
    """Every judge has the same weight; nothing is learned.

    Args:
        judges: Number of judges.
        method: Name of the method in the policy.

    >>> mean_jury(2).predict([[0.9, 0.5]]).round(3)
    array([0.75])
    """
    return Jury(method, np.full(judges, 1 / judges))


@dataclass(frozen=True)
class JuryRows:
    """A jury's rows, one per pair that every member scored, and the evidence of each member.

    `rows` and `evidence` have the same order; `alone` has each member's own rows.
    """

    jury: Jury
    judges: tuple[str, ...]
    fingerprints: tuple[str, ...]
    rows: pl.DataFrame
    evidence: Evidence
    alone: Mapping[str, pl.DataFrame]
    incomplete: int


def form_jury(frame: pl.DataFrame, method: str, *, about: About = "pairs") -> JuryRows:
    """A jury of every judge in the labelled frame; errors are the jury's own.

    A `learned` jury has the rows of the mean jury. What is learned is added in `learning`, so the
    verdict without labels is kept.
    """
    if method == "logistic":
        raise ArgumentError("jury", method, "the new name is learned: use --jury learned")
    one_of(method, JURIES, "jury")
    frame = name_members(frame)
    judges = tuple(frame.get_column(MEMBER).unique().sort().to_list())
    if len(judges) < 2:
        raise ArgumentError("jury", method, f"needs two judges or more; there is only {judges[0]}")
    made = _assemble(frame, mean_jury(len(judges), method=method), judges, about)
    return replace(made, rows=doubt_ties(made.rows).with_columns(IS_ERROR.alias(ERROR)))


def jury_judgments(frame: pl.DataFrame, report: JuryReport, about: About = "pairs") -> JuryRows:
    """Turn new rows of the members into rows of a calibrated jury."""
    frame = name_members(frame)
    there = set(frame.get_column(MEMBER).unique().to_list())
    missing = [name for name in report.judges if name not in there]
    if missing:
        raise ArgumentError(
            "judgments", ", ".join(sorted(there)), "also needs " + ", ".join(missing)
        )
    frame = frame.filter(pl.col(MEMBER).is_in(list(report.judges)))
    jury = Jury(report.method, np.asarray(report.weights), report.most_odds, report.tail)
    return _assemble(frame, jury, report.judges, about)


def name_members(frame: pl.DataFrame) -> pl.DataFrame:
    """`MEMBER`: the judge's name, with its protocol if the file has several protocols."""
    several = frame.get_column("protocol").n_unique() > 1
    name = pl.format("{} ({})", "judge", "protocol") if several else pl.col("judge")
    return frame.with_columns(name.alias(MEMBER))


def _assemble(frame: pl.DataFrame, jury: Jury, judges: tuple[str, ...], about: About) -> JuryRows:
    """The jury's p_tie: the mean over its judges, with 0 for a judge without ties."""
    table, incomplete = _side_by_side(frame, list(judges))
    members = table.select(judges).to_numpy()
    p = jury.predict(members)
    rows = (
        table.drop(judges)
        .with_columns(
            judge=pl.lit(JURY),
            protocol=pl.lit(jury.method),
            status=pl.lit("ok"),
            p_a=pl.Series(p, dtype=pl.Float64),
            uncertainty=pl.Series(preference_entropy(p) if len(p) else [], dtype=pl.Float64),
            judge_fingerprint=pl.lit(None, pl.String),
        )
        .with_columns(verdict=verdict_by(table.columns, WORDS[about]))
    )
    gaps = order_gap(frame)
    if gaps is not None:
        wide = frame.with_columns(pl.Series(_GAP, gaps)).pivot(on=MEMBER, index="id", values=_GAP)
        wide = table.select("id").join(wide, on="id", how="left", maintain_order="left")
        gaps = sum_in_order([wide[name].to_numpy() for name in judges]) / len(judges)
    return JuryRows(
        jury=jury,
        judges=judges,
        fingerprints=tuple(frame["judge_fingerprint"].drop_nulls().unique().sort().to_list()),
        rows=rows,
        evidence=Evidence(judges=judges, p=members, order_gap=gaps),
        alone={name: frame.filter(pl.col(MEMBER) == name) for name in judges},
        incomplete=incomplete,
    )


def _side_by_side(frame: pl.DataFrame, judges: list[str]) -> tuple[pl.DataFrame, int]:
    """One row per pair with a column of p_a per judge and the pair's other columns; and the number
    of pairs that some judge did not score."""
    shared = [column for column in frame.columns if column not in OF_JUDGES]
    ties = [pl.col("p_tie").fill_null(0.0).mean()] if "p_tie" in frame.columns else []
    pairs = frame.group_by("id", maintain_order=True).agg(
        *(pl.col(column).first() for column in shared if column != "id"), *ties
    )
    wide = frame.pivot(on=MEMBER, index="id", values="p_a").select("id", *judges)
    clash = set(judges) & set(pairs.columns)
    if clash:
        raise ArgumentError("jury", sorted(clash)[0], "a judge has the name of a column: rename it")
    table = pairs.join(wide, on="id", how="left", maintain_order="left")
    complete = table.drop_nulls(judges)
    if complete.height == 0:
        raise ArgumentError("jury", ", ".join(judges), "no pair was scored by all of them")
    return complete.sort("id"), table.height - complete.height


def _table(p: ArrayLike) -> FloatArray:
    table = np.asarray(p, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ArgumentError("p", table.shape, "give a table: rows are pairs, columns are judges")
    probabilities(table.ravel(), "p", allow_empty=True)
    return table


def _sigmoid(x: FloatArray) -> FloatArray:
    # sigma(-x) is computed as 1 - sigma(x), so that a swapped pair mirrors exactly.
    top = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x >= 0, top, 1 - top)
