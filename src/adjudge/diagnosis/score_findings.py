"""What a diagnosis of scores says in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adjudge.diagnosis._score_rows import ScoreRows
from adjudge.results.diagnosis import PooledWidth, ScoreSetGroup, named


def assumptions(weigh: str, target: str) -> tuple[str, ...]:
    """The promise and its conditions, one sentence each."""
    whom = "the rounded mean of the raters (halves up)" if target == "mean" else "a rater at random"
    promise = (
        f"a set contains {whom} with probability at least 1 - alpha for a random row of a new "
        "document like these, on average over documents; not for each document, and not for one "
        "criterion inside a quantile shared by several"
        if weigh == "documents"
        else "row-wise calibration as in the paper: its promise needs rows that are exchangeable, "
        "which rows of one document are not"
    )
    return (
        promise,
        "with a constant quantile the width depends on the judge's score alone and changes only "
        "where an end of the scale cuts the set: within one criterion it says little about a row",
    )


def findings(
    judges: Sequence[ScoreRows],
    groups: Sequence[ScoreSetGroup],
    pooled: Sequence[PooledWidth],
    documents: int,
    scale: tuple[int, int],
    level: Fraction,
) -> list[str]:
    """One sentence each about judges that do not judge, sets that say nothing, and the width."""
    told = [sentence for rows in judges for sentence in _judge(rows)]
    told += _too_few(documents, sorted({Fraction(str(g.alpha)) for g in groups}))
    told += _summary(groups, float(level), scale)
    told += _widths(pooled, float(level))
    return told


def _judge(rows: ScoreRows) -> list[str]:
    who = named(rows.judge, None) if rows.judge != "unnamed" else "the judge"
    if np.ptp(rows.score) == 0:
        return [
            f"{who} gives {rows.score[0]:g} to all {len(rows.score):,} rows: its score does not "
            "depend on what it reads, and its sets only describe how people score"
        ]
    told = []
    for criterion in rows.criteria:
        own = rows.criterion == criterion
        if np.ptp(rows.score[own]) == 0 and len(rows.criteria) > 1:
            told.append(
                f"{who} gives {rows.score[own][0]:g} to every row of {criterion}: "
                "it does not look at it"
            )
    if (rows.error == 0).all():
        told.append(
            f"{who} equals the human score on all {len(rows.score):,} rows: check that it did not "
            "see the labels, or that the labels were not made by it"
        )
    return told


def _too_few(documents: int, levels: Sequence[Fraction]) -> list[str]:
    """Half of the documents calibrate; D of them reach 1 - alpha only if D >= (1 - alpha)/alpha."""
    half = documents // 2
    short = [level for level in levels if half < math.ceil((1 - level) / level)]
    return [
        f"alpha {float(level):g} needs {math.ceil((1 - level) / level)} labelled documents to "
        f"calibrate and a split leaves {half}: every set is the whole scale there"
        for level in short
    ]


def _summary(groups: Sequence[ScoreSetGroup], alpha: float, scale: tuple[int, int]) -> list[str]:
    whole = scale[1] - scale[0] + 1
    best = "per-criterion" if any(g.method == "per-criterion" for g in groups) else "constant"
    told = []
    for group in groups:
        if group.alpha != alpha or group.method != best:
            continue
        advice = (
            "hand it to people"
            if group.human > 0.5
            else "mostly to be trusted"
            if group.trust > 0.5
            else "worth a look"
        )
        told.append(
            f"{named(group.judge, group.criterion)}: sets of {group.mean_size:.2f} of {whole} "
            f"scores cover {100 * group.coverage:.1f} % at alpha {alpha:g}: {advice}"
        )
    return told


def _widths(pooled: Sequence[PooledWidth], alpha: float) -> list[str]:
    told = []
    for entry in pooled:
        if entry.alpha != alpha:
            continue
        over = "does not vary" if entry.pooled is None else f"{entry.pooled:+.2f}"
        inside = "nothing: it does not vary" if entry.within is None else f"{entry.within:+.2f}"
        told.append(
            f"width against error, {entry.method}: Spearman {over} over all rows, "
            f"{inside} within one judge and criterion"
        )
    return told
