"""From judgments and labels to rows that can calibrate: score, error, group. Nothing silent."""

from __future__ import annotations

from collections import Counter

import polars as pl

from adjudge._validation import one_of
from adjudge.errors import ArgumentError, DataError
from adjudge.io import join_labels, open_judgments, open_labels
from adjudge.io.tables import TableLike, as_text
from adjudge.records import MEASURED

TIES = ("drop", "error")


def judged(
    judgments: TableLike,
    dropped: Counter[str],
    *,
    judge: str | None = None,
    protocol: str | None = None,
) -> pl.DataFrame:
    """Checked judgments, native or as published, of one judge or protocol where asked."""
    opened = open_judgments(judgments)
    dropped.update(opened.dropped)
    frame = opened.frame
    for column, wanted in (("judge", judge), ("protocol", protocol)):
        if wanted is None:
            continue
        known = frame.get_column(column).unique().sort().to_list()
        if wanted not in known:
            raise ArgumentError(column, wanted, "the judgments have " + ", ".join(known))
        frame = frame.filter(pl.col(column) == wanted)
    return frame


def labelled(
    frame: pl.DataFrame, labels: TableLike | None, *, ties: str, dropped: Counter[str], name: str
) -> pl.DataFrame:
    """Measured rows with a human label, and their `error`; the others counted in `dropped`.

    An error is a verdict that is not the label. A row without a verdict (p_a = 0.5) is an error;
    a human tie is left out or an error, as `ties` says. Labels that were sampled by doubt never
    calibrate: they stand for the pairs a judge found hard, not for the pairs it will meet. Where
    every other label says that it was drawn otherwise they are left out and counted; where some
    do not say, the whole file is refused.
    """
    one_of(ties, TIES, "ties")
    if labels is not None:
        opened = open_labels(labels)
        joined = join_labels(frame, opened.frame)
        frame = joined.frame
        for why, rows in (
            *opened.dropped.items(),
            ("raters without a majority", joined.split),
            ("label whose id no row has", joined.unused),
            ("label in the judgments, replaced by the one in the labels file", joined.replaced),
        ):
            if rows:
                dropped[why] += rows
    if "label" not in frame.columns:
        raise DataError(
            name,
            "has no human labels",
            column="label",
            remedy="add a label column (A, B or tie), or give a labels file with --labels",
        )
    if "sampled_by" in frame.columns:
        frame = _without_doubt(frame, dropped, name)
    frame = without(frame, pl.col("label").is_null(), "no label", dropped)
    frame = measured(frame, dropped)
    if ties == "drop":
        frame = without(frame, pl.col("label") == "tie", "human tie", dropped)
    if frame.height == 0:
        told = ", ".join(f"{n} {why}" for why, n in dropped.items()) or "no rows at all"
        raise DataError(
            name, f"no labelled verdict is left ({told})", remedy="label some pairs first"
        )
    right = pl.col("verdict").eq_missing(pl.col("label"))
    # Sorted, so that everything random depends on the seed and not on the order of the file.
    return frame.with_columns(error=(~right).cast(pl.Int64)).sort("judge", "protocol", "id")


def _without_doubt(frame: pl.DataFrame, dropped: Counter[str], name: str) -> pl.DataFrame:
    has_label = pl.col("label").is_not_null()
    by_doubt = has_label & (pl.col("sampled_by") == "doubt").fill_null(False)
    doubted = frame.filter(by_doubt)
    if doubted.height == 0:
        return frame
    others = frame.filter(has_label & ~by_doubt)
    if others.height == 0 or others.get_column("sampled_by").null_count():
        raise DataError(
            name,
            f"{doubted.height} labels were sampled by doubt (id {doubted['id'][0]!r} first)",
            column="sampled_by",
            remedy="calibrate on labels drawn at random, each marked sampled_by random or plan",
        )
    return without(frame, by_doubt, "label sampled by doubt", dropped)


def measured(frame: pl.DataFrame, dropped: Counter[str]) -> pl.DataFrame:
    """Rows that carry a number; the others counted by status."""
    for status in frame.get_column("status").unique().sort().to_list():
        if status not in MEASURED:
            frame = without(frame, pl.col("status") == status, f"status {status}", dropped)
    return frame


def with_column(frame: pl.DataFrame, column: str, option: str) -> pl.DataFrame:
    """The frame with `column` as text, or an error that names the columns there are."""
    if column not in frame.columns:
        raise ArgumentError(option, column, "choose a column: " + ", ".join(frame.columns))
    return frame.with_columns(as_text(frame.get_column(column)))


def cluster_column(frame: pl.DataFrame, cluster: str | None) -> str | None:
    """The column whose repeats are not independent: the one named, or prompt_id if it repeats."""
    if cluster is None or cluster == "none":
        return None
    if cluster != "auto":
        with_column(frame, cluster, "cluster")
        return cluster
    if "prompt_id" not in frame.columns:
        return None
    known = frame.filter(pl.col("prompt_id").is_not_null())
    keys = ["judge", "protocol", "prompt_id"]
    return "prompt_id" if known.select(keys).is_duplicated().any() else None


def without(frame: pl.DataFrame, out: pl.Expr, why: str, dropped: Counter[str]) -> pl.DataFrame:
    """The frame without the rows of `out`, which are counted under their reason."""
    kept = frame.filter(~out.fill_null(False))
    if frame.height > kept.height:
        dropped[why] += frame.height - kept.height
    return kept
