"""Juries: one probability from several judges of the same pairs, and rows of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from adjudge._stats import cluster_codes
from adjudge._validation import (
    BoolArray,
    FloatArray,
    one_of,
    open_unit,
    positive,
    probabilities,
    zero_one,
)
from adjudge.errors import ArgumentError
from adjudge.io.judgments import verdict_by
from adjudge.rows.judgments import ERROR, IS_ERROR, doubt_ties
from adjudge.uncertainty import preference_entropy

JURIES = ("mean", "logistic")
#: The name in the judge column of a jury's rows.
JURY = "jury"
#: The column of the names of a jury's members.
MEMBER = "__member"
INCOMPLETE = "not measured by every judge of the jury"
_FEWEST_TRAINING = 10
#: Log odds beyond this are cut: a file that keeps six decimals cannot say more.
_MOST_ODDS = math.log(1e6)


@dataclass(frozen=True)
class Jury:
    """Several judges as one. `predict` needs the judges' p in the order of the weights.

        p = sigma(sum_j w_j x_j),    x_j = log(p_j / (1 - p_j))

    with equal weights that sum to 1 (`mean`) or learned ones (`logistic`). There is no intercept,
    so that swapping A and B turns p into 1 - p. Odds and not probabilities are added up, because
    judges are over-confident: where p is 0.99 or 0.9999 for most pairs, a mean of p counts votes
    and no longer tells the surer pairs apart.
    """

    method: str
    weights: FloatArray

    def predict(self, p: ArrayLike) -> FloatArray:
        """The jury's p about response_a; one row per pair, one column per judge."""
        table = _table(p)
        if table.shape[1] != len(self.weights):
            raise ArgumentError(
                "p", table.shape, f"give one column for each of {len(self.weights)} judges"
            )
        return _sigmoid(_odds(table) @ self.weights)


def mean_jury(judges: int) -> Jury:
    """Every judge weighs the same; nothing is learned.

    >>> mean_jury(2).predict([[0.9, 0.5]]).round(3)
    array([0.75])
    """
    return Jury("mean", np.full(judges, 1 / judges))


def calibrate_jury(p: ArrayLike, label_a: ArrayLike, *, l2: float = 10.0) -> Jury:
    """Weights by penalised maximum likelihood: sum_i log loss + l2/2 |w|^2 over all w >= 0.

    A judge may be ignored, never counted against itself: on a few dozen labels a negative weight
    is nearly always noise. The penalty matters little between 1 and 100. The labels used here may
    not calibrate the threshold as well: the jury would look surer on them than it is.

    >>> p = np.array([[0.9, 0.4], [0.2, 0.6], [0.8, 0.3], [0.1, 0.7]])
    >>> calibrate_jury(p, [1, 0, 1, 0], l2=1).weights.round(2)
    array([1., 0.])
    """
    table, y = _odds(_table(p)), zero_one(label_a, "label_a")
    penalty = positive(l2, "l2")
    if len(table) != len(y):
        raise ArgumentError("label_a", len(y), f"give one label for each of {len(table)} pairs")

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        z = table @ w
        value = (np.logaddexp(0, z) - y * z).sum() + penalty / 2 * (w @ w)
        return float(value), table.T @ (_sigmoid(z) - y) + penalty * w

    judges = table.shape[1]
    fit = minimize(
        loss,
        np.full(judges, 1 / judges),
        jac=True,
        bounds=[(0, None)] * judges,
        options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000},
    )
    return Jury("logistic", np.asarray(fit.x, dtype=np.float64))


@dataclass(frozen=True)
class JuryRows:
    """A jury and its labelled rows; `alone` has the same pairs as each member judged them."""

    jury: Jury
    judges: tuple[str, ...]
    fingerprints: tuple[str, ...]
    rows: pl.DataFrame
    alone: Mapping[str, pl.DataFrame]
    n_training: int
    dropped: Mapping[str, int]


def form_jury(
    frame: pl.DataFrame, method: str, train_share: float, *, cluster: str | None, seed: int
) -> JuryRows:
    """A jury of every judge in the labelled frame.

    A logistic jury learns from a random `train_share` of the pairs (of the clusters, where there
    are any), which then calibrate nothing. Pairs that not every judge measured are left out.
    """
    one_of(method, JURIES, "jury")
    frame = name_members(frame)
    table, judges, incomplete = _side_by_side(frame)
    if len(judges) < 2:
        raise ArgumentError("jury", method, f"needs two judges or more; there is {judges[0]} alone")
    train = np.zeros(table.height, dtype=np.bool_)
    jury, n_training = mean_jury(len(judges)), 0
    if method == "logistic":
        keys = table.get_column("id" if cluster is None else cluster).to_list()
        train = _random_part(keys, open_unit(train_share, "jury_share"), seed)
        used = train & (table.get_column("label") != "tie").to_numpy()
        n_training = int(used.sum())
        if n_training < _FEWEST_TRAINING or train.all():
            raise ArgumentError(
                "jury_share",
                train_share,
                f"leaves {n_training} labels to learn from and {int((~train).sum())} to "
                f"calibrate; {_FEWEST_TRAINING} or more are needed to learn",
            )
        label_a = (table.get_column("label") == "A").to_numpy()[used].astype(np.int64)
        jury = calibrate_jury(table.select(judges).to_numpy()[used], label_a)
    kept = table.filter(pl.Series(~train))
    rows = jury_rows(kept, jury, judges)
    alone = {
        name: frame.filter((pl.col(MEMBER) == name) & pl.col("id").is_in(kept["id"].to_list()))
        for name in judges
    }
    prints = frame.get_column("judge_fingerprint").drop_nulls().unique().to_list()
    return JuryRows(
        jury=jury,
        judges=tuple(judges),
        fingerprints=tuple(sorted(prints)),
        rows=doubt_ties(rows).with_columns(IS_ERROR.alias(ERROR)),
        alone=alone,
        n_training=n_training,
        dropped={INCOMPLETE: incomplete, "label used to weigh the jury": int(train.sum())},
    )


def _random_part(keys: list[object], part: float, seed: int) -> BoolArray:
    """Marks all rows of a random share of the distinct keys."""
    codes, groups = cluster_codes(keys)
    marked = np.zeros(groups, dtype=np.bool_)
    marked[np.random.default_rng(seed).permutation(groups)[: round(part * groups)]] = True
    return np.asarray(marked[codes])


def jury_judgments(frame: pl.DataFrame, jury: Jury, judges: tuple[str, ...]) -> pl.DataFrame:
    """New rows of the members turned into rows of a jury that was calibrated before."""
    frame = name_members(frame)
    there = set(frame.get_column(MEMBER).unique().to_list())
    missing = [name for name in judges if name not in there]
    if missing:
        raise ArgumentError(
            "judgments", ", ".join(sorted(there)), "also needs " + ", ".join(missing)
        )
    frame = frame.filter(pl.col(MEMBER).is_in(list(judges)))
    table, _, _ = _side_by_side(frame)
    return jury_rows(table, jury, list(judges))


def name_members(frame: pl.DataFrame) -> pl.DataFrame:
    """`MEMBER`: the judge's name, with its protocol where the file has several protocols."""
    several = frame.get_column("protocol").n_unique() > 1
    name = pl.format("{} ({})", "judge", "protocol") if several else pl.col("judge")
    return frame.with_columns(name.alias(MEMBER))


def jury_rows(table: pl.DataFrame, jury: Jury, judges: list[str]) -> pl.DataFrame:
    """The jury's own judgments, in the columns that every other judge has.

    Its p_tie, where a judge has one, is the mean of the judges', 0 for one that knows no ties.
    """
    p = jury.predict(table.select(judges).to_numpy())
    return (
        table.drop(judges)
        .with_columns(
            judge=pl.lit(JURY),
            protocol=pl.lit(jury.method),
            status=pl.lit("ok"),
            p_a=pl.Series(p, dtype=pl.Float64),
            uncertainty=pl.Series(preference_entropy(p) if len(p) else [], dtype=pl.Float64),
            judge_fingerprint=pl.lit(None, pl.String),
        )
        .with_columns(verdict=verdict_by(table.columns))
    )


def _side_by_side(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str], int]:
    """One row per pair with a column of p_a per judge and the pair's other columns; the judges;
    how many pairs some judge did not measure."""
    judges = frame.get_column(MEMBER).unique().sort().to_list()
    own = {
        "judge", "protocol", "status", "p_fwd", "p_rev", "p_a", "p_tie", "uncertainty", "verdict",
        "answer_mass", "judge_fingerprint", "server", "tokens", "cost", "detail", MEMBER, ERROR,
    }  # fmt: skip
    shared = [column for column in frame.columns if column not in own]
    ties = [pl.col("p_tie").fill_null(0.0).mean()] if "p_tie" in frame.columns else []
    pairs = frame.group_by("id", maintain_order=True).agg(
        *(pl.col(column).first() for column in shared if column != "id"), *ties
    )
    wide = frame.pivot(on=MEMBER, index="id", values="p_a").select("id", *judges)
    clash = set(judges) & set(pairs.columns)
    if clash:
        raise ArgumentError("jury", sorted(clash)[0], "a judge is named like a column: rename it")
    table = pairs.join(wide, on="id", how="left", maintain_order="left")
    complete = table.drop_nulls(judges)
    if complete.height == 0:
        raise ArgumentError("jury", ", ".join(judges), "no pair was measured by all of them")
    return complete.sort("id"), judges, table.height - complete.height


def _table(p: ArrayLike) -> FloatArray:
    table = np.asarray(p, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ArgumentError("p", table.shape, "give a table: rows are pairs, columns judges")
    probabilities(table.ravel(), "p", allow_empty=True)
    return table


def _odds(table: FloatArray) -> FloatArray:
    # A mirror image for p and 1 - p to the last bit: both sides come from the larger one.
    top = np.maximum(table, 1 - table)
    with np.errstate(divide="ignore"):
        size = np.log(top) - np.log(1 - top)
    return np.asarray(np.where(table > 0.5, 1.0, -1.0) * np.minimum(size, _MOST_ODDS))


def _sigmoid(x: FloatArray) -> FloatArray:
    # sigma(-x) is computed as 1 - sigma(x), so that a swapped pair mirrors exactly.
    top = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x >= 0, top, 1 - top)
