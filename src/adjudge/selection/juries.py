"""Several judges' rows of the same pairs turned into the rows of one jury."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from adjudge._stats import cluster_codes
from adjudge._validation import BoolArray, open_unit
from adjudge.errors import ArgumentError
from adjudge.selection.jury import Jury, combine
from adjudge.uncertainty import preference_entropy

#: What stands in the judge column of a jury's rows.
JURY = "jury"
_FEWEST_TRAINING = 10


@dataclass(frozen=True)
class Seated:
    """A jury and its labelled rows; `alone` has the same pairs as each member judged them."""

    jury: Jury
    judges: tuple[str, ...]
    fingerprints: tuple[str, ...]
    rows: pl.DataFrame
    alone: Mapping[str, pl.DataFrame]
    n_training: int


def seat_jury(
    frame: pl.DataFrame,
    method: str,
    train_share: float,
    *,
    cluster: str | None,
    seed: int,
    dropped: Counter[str],
) -> Seated:
    """A jury of every judge in the labelled frame.

    A logistic jury learns from a random `train_share` of the pairs (of the clusters, where there
    are any), which then calibrate nothing. Pairs that not every judge measured are left out.
    """
    frame = name_members(frame)
    table, judges = _side_by_side(frame, dropped)
    if len(judges) < 2:
        raise ArgumentError("jury", method, f"needs two judges or more; there is {judges[0]} alone")
    p = table.select(judges).to_numpy()
    train = np.zeros(len(p), dtype=np.bool_)
    n_training = 0
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
        dropped["label used to weigh the jury"] += int(train.sum())
        jury = combine(method, p[used], label_a)
    else:
        jury = combine(method, p)
    kept = table.filter(pl.Series(~train))
    rows = jury_rows(kept, jury, judges)
    right = pl.col("verdict").eq_missing(pl.col("label"))
    alone = {
        name: frame.filter((pl.col("member") == name) & pl.col("id").is_in(kept["id"].to_list()))
        for name in judges
    }
    prints = frame.get_column("judge_fingerprint").drop_nulls().unique().to_list()
    return Seated(
        jury=jury,
        judges=tuple(judges),
        fingerprints=tuple(sorted(prints)),
        rows=rows.with_columns(error=(~right).cast(pl.Int64)),
        alone=alone,
        n_training=n_training,
    )


def _random_part(keys: list[object], part: float, seed: int) -> BoolArray:
    """Marks all rows of a random share of the distinct keys."""
    codes, groups = cluster_codes(keys)
    marked = np.zeros(groups, dtype=np.bool_)
    marked[np.random.default_rng(seed).permutation(groups)[: round(part * groups)]] = True
    return np.asarray(marked[codes])


def unseated_rows(
    frame: pl.DataFrame, jury: Jury, judges: tuple[str, ...], dropped: Counter[str]
) -> pl.DataFrame:
    """New rows of the members turned into rows of a jury that was calibrated before."""
    frame = name_members(frame)
    there = set(frame.get_column("member").unique().to_list())
    missing = [name for name in judges if name not in there]
    if missing:
        raise ArgumentError(
            "judgments", ", ".join(sorted(there)), "also needs " + ", ".join(missing)
        )
    frame = frame.filter(pl.col("member").is_in(list(judges)))
    table, _ = _side_by_side(frame, dropped)
    return jury_rows(table, jury, list(judges))


def name_members(frame: pl.DataFrame) -> pl.DataFrame:
    """`member`: the judge's name, with its protocol where the file has several protocols."""
    several = frame.get_column("protocol").n_unique() > 1
    name = pl.format("{} ({})", "judge", "protocol") if several else pl.col("judge")
    return frame.with_columns(member=name)


def jury_rows(table: pl.DataFrame, jury: Jury, judges: list[str]) -> pl.DataFrame:
    """The jury's own judgments, in the columns that every other judge has."""
    p = jury.predict(table.select(judges).to_numpy())
    above, below = pl.col("p_a") > 0.5, pl.col("p_a") < 0.5
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
        .with_columns(verdict=pl.when(above).then(pl.lit("A")).when(below).then(pl.lit("B")))
    )


def _side_by_side(frame: pl.DataFrame, dropped: Counter[str]) -> tuple[pl.DataFrame, list[str]]:
    """One row per pair with a column of p_a per judge, and the pair's other columns."""
    judges = frame.get_column("member").unique().sort().to_list()
    own = {
        "judge", "protocol", "status", "p_fwd", "p_rev", "p_a", "uncertainty", "verdict",
        "judge_fingerprint", "tokens", "cost", "detail", "member", "error",
    }  # fmt: skip
    shared = [column for column in frame.columns if column not in own]
    pairs = frame.group_by("id", maintain_order=True).agg(
        pl.col(column).first() for column in shared if column != "id"
    )
    wide = frame.pivot(on="member", index="id", values="p_a").select("id", *judges)
    clash = set(judges) & set(pairs.columns)
    if clash:
        raise ArgumentError("jury", sorted(clash)[0], "a judge is named like a column: rename it")
    table = pairs.join(wide, on="id", how="left", maintain_order="left")
    complete = table.drop_nulls(judges)
    if complete.height < table.height:
        dropped["not measured by every judge of the jury"] += table.height - complete.height
    if complete.height == 0:
        raise ArgumentError("jury", ", ".join(judges), "no pair was measured by all of them")
    return complete.sort("id"), judges
