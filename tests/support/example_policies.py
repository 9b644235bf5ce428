"""Policies of every form that calibrate writes today, each with new rows that it is for."""

from __future__ import annotations

from functools import cache

import polars as pl

from adjudge.policy.result import Policy
from adjudge.selection import Cascade, Jury, Learned, calibrate, plan_labels
from adjudge.simulate.pairs import cascade_judges

New = pl.DataFrame


def _rows(n: int, seed: int) -> pl.DataFrame:
    number = pl.int_range(pl.len())
    return pl.DataFrame(cascade_judges(n, seed=seed)).with_columns(
        judge_fingerprint=pl.col("judge"),
        topic=pl.when(number % 3 == 0).then(pl.lit("code")).otherwise(pl.lit("prose")),
        length_a=10 + number % 7,
        length_b=9 + number % 5,
    )


def _grades(rows: pl.DataFrame) -> pl.DataFrame:
    graded = rows.select(
        "id", "judge", "topic", p_pass="p_a", human=(pl.col("label") == "A").cast(pl.Int64)
    )
    return graded.filter(pl.col("judge") == "strong").drop("judge")


@cache
def example_policies() -> dict[str, tuple[Policy, New]]:
    """Learned doubts and juries, categories, a cascade, cuts of the surest, grades."""
    old, new = _rows(160, seed=1), _rows(12, seed=2)
    one = old.filter(pl.col("judge") == "strong")
    surest = plan_labels(one.drop("label"), surest=0.6, n=80, seed=3).to_frame()
    labels = surest.join(one.select("id", "label"), on="id", maintain_order="left")
    bare, fresh = old.drop("label"), new.drop("label")
    alone = fresh.filter(pl.col("judge") == "strong")
    return {
        "learned": (calibrate(one, alpha=0.2, doubt=Learned(category="topic")), alone),
        "jury": (calibrate(old, alpha=0.2, doubt=Jury("mean")), fresh),
        "learned jury": (
            calibrate(old, alpha=0.2, doubt=Learned(category="topic", jury=Jury())),
            fresh,
        ),
        "cascade": (
            calibrate(
                old, alpha=0.2, doubt=Cascade("cheap,strong", costs=[1, 9], category="topic")
            ),
            fresh,
        ),
        "surest": (calibrate(one.drop("label"), labels=labels, alpha=0.2, guarantee="pac"), alone),
        "jury below a cut": (calibrate(bare, labels=labels, alpha=0.2, doubt=Jury("mean")), fresh),
        "grades": (calibrate(_grades(old), alpha=0.3, by="topic"), _grades(new).drop("human")),
    }
