"""Several judges of the same battles as one judge: the battles that all of them scored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from adjudge.errors import DataError
from adjudge.io.refusals import refuse_duplicates
from adjudge.io.tables import as_text
from adjudge.present.text import count
from adjudge.rows.dropped import Rows, merge_dropped
from adjudge.rows.identity import identities
from adjudge.rows.outcomes import JudgeScores, judge_scores


def gather_jury(
    rows: Rows,
    *,
    verdict: str | None = None,
    score: str | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> tuple[Rows, JudgeScores]:
    """The battles that every judge of the file scored, once each, and the judges' answers.

    Rows of one battle have the same `id`. The jury's side is that of most of its members. Its score
    is the mean of theirs, each divided by that judge's mean |s|. This is a simple scale, which
    `soft-elo` replaces by temperatures fitted to votes.
    """
    frame = rows.frame
    for column in ("id", "judge"):
        if column not in frame.columns or frame[column].null_count():
            remedy = "give every row its battle's id and its judge's name"
            raise DataError("battles", "is missing", column=column, remedy=remedy)
    frame = frame.with_columns(as_text(frame["judge"]), as_text(frame["id"]))
    judges = frame["judge"].unique().sort().to_list()
    if len(judges) < 2:
        problem, remedy = "a jury needs two judges or more", "add rows of another judge"
        raise DataError("battles", problem, column="judge", remedy=remedy)
    remedy = "give one row per battle and judge"
    refuse_duplicates(frame, ("id", "judge"), source="battles", remedy=remedy)
    whole = frame.filter(pl.len().over("id") == len(judges))
    parts = [whole.filter(pl.col("judge") == judge).sort("id") for judge in judges]
    said = [
        judge_scores(part, verdict=verdict, score=score, exclude=None, labels_as=labels_as)
        for part in parts
    ]
    if any(one.score is None for one in said):
        raise DataError("battles", "has no scores", remedy="give judge scores or verdicts")
    panel = np.column_stack([np.asarray(one.score) for one in said])
    sides = np.column_stack([np.asarray(one.verdict) for one in said])
    scored = np.isfinite(panel).all(axis=1)
    sizes = np.abs(panel[scored]).mean(axis=0) if scored.any() else np.ones(len(judges))
    incomplete = frame["id"].n_unique() - int(scored.sum())
    lost = {"not scored by every judge of the jury": incomplete}
    return Rows(parts[0].filter(scored), merge_dropped(rows.dropped, lost)), JudgeScores(
        score=(panel[scored] / np.where(sizes > 0, sizes, 1.0)).mean(axis=1),
        verdict=np.sign(np.sign(sides[scored] - 0.5).sum(axis=1)) / 2 + 0.5,
        source=f"jury of {count(len(judges), 'judge')}",
        warnings=tuple(dict.fromkeys(text for one in said for text in one.warnings)),
        panel=panel[scored],
        identities=tuple(identities(part)[0] for part in parts),
    )
