"""Battles prepared once for `rank`, `make_anchors` and `place`: read, coded, the judge named."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from adjudge.errors import ArgumentError
from adjudge.io.tables import TableLike
from adjudge.ranking.counts import Battles
from adjudge.ranking.frames import battles_from_frame, default_cluster, load_battles


def prepare_battles(
    battles: TableLike | Battles,
    *,
    format: str | None = None,
    baseline: str | None = None,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    cluster: str | None = "auto",
    by: str | None = None,
    against: str | None = None,
) -> Battles:
    """Read and code battles once; several analyses can then use the same object.

    Options as in `rank`, which takes the result in place of a file. Battles that are prepared
    already come back as they are, and their columns cannot be named again.

    >>> battles = prepare_battles({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    >>> battles.names, battles.human.tolist(), battles.source
    (('x', 'y'), [0.5], None)
    """
    if isinstance(battles, Battles):
        resampled = None if cluster == "auto" else cluster
        for option, value in (
            *(("format", format), ("baseline", baseline), ("human", human), ("verdict", verdict)),
            *(("score", score), ("cluster", resampled), ("by", by), ("against", against)),
        ):
            if value is not None:
                raise ArgumentError(option, value, "give it to prepare_battles")
        return battles
    frame, unread = load_battles(battles, format, baseline=baseline)
    coded, source = battles_from_frame(
        frame,
        human=human,
        verdict=verdict,
        score=score,
        other=None if against == "votes" else against,
        cluster=default_cluster(frame) if cluster == "auto" else cluster,
        group=by,
    )
    if against == "votes" and coded.human is None:
        raise ArgumentError("against", against, "give votes in the file, or a column of outcomes")
    return replace(
        coded,
        other=coded.human if against == "votes" else coded.other,
        source=source,
        named=verdict,
        judges=_values(frame, "judge"),
        fingerprints=_values(frame, "judge_fingerprint"),
        dropped={**unread, **coded.dropped},
    )


def _values(frame: pl.DataFrame, column: str) -> tuple[str, ...]:
    if column not in frame.columns:
        return ()
    return tuple(map(str, frame[column].drop_nulls().unique(maintain_order=True)))
