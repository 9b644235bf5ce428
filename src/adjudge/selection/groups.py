"""Groups: which rows share a promise, and which groups are too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from adjudge.data.judgments import ERROR, HAS_VERDICT
from adjudge.data.rows import one_row_per_cluster, partition
from adjudge.selection.guarantees.base import Labels
from adjudge.selection.thresholds import ScoreOrder, order_by_lot
from adjudge.validation import BoolArray, one_of

SMALL_GROUPS = ("refuse", "pool")
#: The name of small groups that were pooled on request.
POOLED = "(small groups)"
#: The columns of every entry.
ENTRY_COLUMNS = ("judge", "protocol", "judge_fingerprint", "uncertainty", "verdict", ERROR)


@dataclass(frozen=True)
class Entry:
    """The calibration rows of one judge (and group), one row per cluster."""

    judge: str
    protocol: str
    group: str | None
    fingerprints: tuple[str, ...]
    labels: Labels
    has_verdict: BoolArray
    seed: int
    members: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def order(self) -> ScoreOrder:
        """The rows by score; ties in a random order that ignores the errors."""
        return order_by_lot(self.labels.scores, self.seed)

    @cached_property
    def in_order(self) -> Labels:
        """The labels in that order."""
        return self.labels.sort(self.order)


def make_entries(
    frame: pl.DataFrame,
    *,
    by: str | None,
    cluster: str | None,
    weights: str | None,
    seed: int,
) -> list[Entry]:
    """Labelled rows split by judge, protocol and group; one row per repeated prompt."""
    keys = ["judge", "protocol"] + ([] if by is None else [by])
    entries = []
    needed = {*ENTRY_COLUMNS, by, cluster, weights}
    for rows in partition(frame.select(c for c in frame.columns if c in needed), keys):
        key = rows.select(keys).row(0)
        if cluster is not None:
            kept = one_row_per_cluster(rows.get_column(cluster).to_list(), seed=seed)
            rows = rows[kept.tolist()]
        prints = rows.get_column("judge_fingerprint").drop_nulls().unique().sort().to_list()
        entries.append(
            Entry(
                judge=str(key[0]),
                protocol=str(key[1]),
                group=None if by is None else str(key[2]),
                fingerprints=tuple(prints),
                labels=Labels(
                    rows.get_column("uncertainty").cast(pl.Float64).to_numpy(),
                    rows.get_column(ERROR).to_numpy(),
                    None if weights is None else rows.get_column(weights).to_numpy(),
                ),
                has_verdict=rows.select(HAS_VERDICT).to_series().to_numpy(),
                seed=seed,
            )
        )
    return entries


def pool_small(entries: Sequence[Entry], least: int, *, small_groups: str) -> list[Entry]:
    """The entries; if requested, groups with fewer than `least` labels are pooled per judge."""
    one_of(small_groups, SMALL_GROUPS, "small_groups")
    if small_groups == "refuse":
        return list(entries)
    kept = [entry for entry in entries if entry.group is None or len(entry) >= least]
    small = [entry for entry in entries if entry.group is not None and len(entry) < least]
    return kept + [_pool(own) for own in by_judge(small)]


def by_judge(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The entries of each judge and protocol, which always have separate rules."""
    keys = dict.fromkeys((entry.judge, entry.protocol) for entry in entries)
    return [[entry for entry in entries if (entry.judge, entry.protocol) == key] for key in keys]


def _pool(own: Sequence[Entry]) -> Entry:
    return Entry(
        judge=own[0].judge,
        protocol=own[0].protocol,
        group=POOLED,
        fingerprints=tuple(sorted({name for entry in own for name in entry.fingerprints})),
        labels=Labels.join([entry.labels for entry in own]),
        has_verdict=np.concatenate([entry.has_verdict for entry in own]),
        seed=own[0].seed,
        members=tuple(entry.group or "" for entry in own),
    )
