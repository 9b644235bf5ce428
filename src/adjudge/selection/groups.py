"""Groups: which rows are promised something together, and which groups are too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from adjudge._validation import BoolArray, FloatArray, IntArray, one_of
from adjudge.rows.clusters import one_row_per_cluster

SMALL_GROUPS = ("refuse", "pool")
#: The name of small groups that were pooled on request.
POOLED = "(small groups)"


@dataclass(frozen=True)
class Entry:
    """The calibration rows of one judge (and group), one row per cluster."""

    judge: str
    protocol: str
    group: str | None
    fingerprints: tuple[str, ...]
    ids: tuple[str, ...]
    scores: FloatArray
    errors: IntArray
    has_verdict: BoolArray
    weights: FloatArray | None
    members: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)


def entries(
    frame: pl.DataFrame,
    *,
    by: str | None,
    cluster: str | None,
    weights: str | None,
    seed: int,
) -> list[Entry]:
    """Labelled rows split by judge, protocol and group; of repeated prompts one row each."""
    keys = ["judge", "protocol"] + ([] if by is None else [by])
    made = []
    for key, rows in frame.partition_by(keys, as_dict=True, maintain_order=True).items():
        if cluster is not None:
            kept = one_row_per_cluster(rows.get_column(cluster).to_list(), seed=seed)
            rows = rows[kept.tolist()]
        prints = rows.get_column("judge_fingerprint").drop_nulls().unique().sort().to_list()
        made.append(
            Entry(
                judge=str(key[0]),
                protocol=str(key[1]),
                group=None if by is None else str(key[2]),
                fingerprints=tuple(prints),
                ids=tuple(rows.get_column("id").to_list()),
                scores=rows.get_column("uncertainty").to_numpy().astype(np.float64),
                errors=rows.get_column("error").to_numpy().astype(np.int64),
                has_verdict=rows.get_column("verdict").is_not_null().to_numpy(),
                weights=None
                if weights is None
                else rows.get_column(weights).to_numpy().astype(np.float64),
            )
        )
    return made


def pool_small(made: Sequence[Entry], least: int, *, small_groups: str) -> list[Entry]:
    """The entries, with groups below `least` labels pooled per judge where asked."""
    one_of(small_groups, SMALL_GROUPS, "small_groups")
    if small_groups == "refuse":
        return list(made)
    kept = [entry for entry in made if entry.group is None or len(entry) >= least]
    small = [entry for entry in made if entry.group is not None and len(entry) < least]
    for judge, protocol in dict.fromkeys((entry.judge, entry.protocol) for entry in small):
        own = [entry for entry in small if (entry.judge, entry.protocol) == (judge, protocol)]
        kept.append(_pool(own))
    return kept


def _pool(own: Sequence[Entry]) -> Entry:
    weighted = [entry.weights for entry in own if entry.weights is not None]
    return Entry(
        judge=own[0].judge,
        protocol=own[0].protocol,
        group=POOLED,
        fingerprints=tuple(sorted({name for entry in own for name in entry.fingerprints})),
        ids=tuple(name for entry in own for name in entry.ids),
        scores=np.concatenate([entry.scores for entry in own]),
        errors=np.concatenate([entry.errors for entry in own]),
        has_verdict=np.concatenate([entry.has_verdict for entry in own]),
        weights=np.concatenate(weighted) if weighted else None,
        members=tuple(entry.group or "" for entry in own),
    )
