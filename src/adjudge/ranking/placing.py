"""Placing: a new model's Elo on people's scale from judged battles against anchors alone.

The same steps as calibration took: the target with the kept temperature, theta with the anchors
held fixed, a standard error from that model's battles, and the conformal quantile of the anchors'
left-out residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from adjudge._bradley_terry import fit_against_anchors, to_elo
from adjudge._validation import FloatArray, Seed, count, exact_level, generator
from adjudge.errors import DataError, PolicyMismatchError
from adjudge.io.tables import TableLike
from adjudge.ranking.anchors import read_anchors
from adjudge.ranking.conformal import EloQuantile, elo_quantile
from adjudge.ranking.counts import Battles
from adjudge.ranking.evaluation import verdicts_of
from adjudge.ranking.frames import battles_from_frame, load_battles
from adjudge.ranking.leave_one_out import anchored_standard_error
from adjudge.ranking.rank_ranges import ranks
from adjudge.ranking.soft_elo import smoothed_targets, soft_targets
from adjudge.results.ranking import Anchors, Leaderboard, ModelRow

#: A Kolmogorov-Smirnov distance of |s| above this, beyond what chance makes, is remarked on.
_FAR = 0.2
#: Chance stays below this over sqrt(n) in 95 of 100 samples (Kolmogorov's distribution).
_CHANCE = 1.36
#: Battles below which the resampled standard error is itself a guess.
_FEW_BATTLES = 30


def place(
    battles: TableLike,
    anchors: str | Path | Anchors | Mapping[str, Any],
    *,
    alpha: float = 0.1,
    format: str | None = None,
    baseline: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    replicates: int | None = None,
    rng: Seed = 0,
) -> Leaderboard:
    """Put new models on people's scale, with conformal intervals (Eq. 4).

    Each new model is placed by itself, by its battles against anchors; battles between new models
    or between anchors are dropped and counted. The interval covers the new model's Elo on the human
    leaderboard with probability at least 1 - `alpha` if the new model is exchangeable with the
    anchors. Refuses battles judged by another judge than the anchors'.

    The scale SE comes from the new model's battles, but counts no more of them than the median
    anchor had: residuals hold the judge's own liking, which more battles do not average away, and
    Eq. 4 as it stands would let them shrink the interval all the same (anchors of 200 battles, new
    models of 1,000: 90 % intervals held 57 % of the time). A model that won or lost everything
    gets no interval: every resample is a clean sweep too.
    """
    kept = read_anchors(anchors)
    level = exact_level(alpha)
    draw = generator(rng)
    replicates = kept.replicates if replicates is None else count(replicates, "replicates", least=2)
    frame, unread = load_battles(battles, format, baseline=baseline)
    warnings = _same_judge(frame, kept)
    found, source = battles_from_frame(frame, verdict=verdict, score=score)
    if source != kept.score_source:
        raise PolicyMismatchError(
            f"scores here are {source or 'missing'}, the anchors were made from "
            f"{kept.score_source}; give the same columns",
            differs=("score_source",),
        )
    warnings += _drift(found, kept)
    quantile = _quantile(kept, level)
    if quantile.quantile is None:
        warnings.append(
            f"intervals are unbounded: {quantile.n} anchors with a residual, "
            f"{quantile.models_needed} needed at alpha = {float(level):g}; {quantile.n} allow "
            f"alpha from {math.ceil(1000 / (quantile.n + 1)) / 1000:g}"
        )
    strength = {row.model: row.theta for row in kept.models}
    anchor_names = tuple(strength)
    theta = np.array([strength[name] for name in anchor_names])
    position = {name: k for k, name in enumerate(anchor_names)}
    code = np.array([position.get(name, -1) for name in found.names], dtype=np.int64)
    a_known, b_known = code[found.a] >= 0, code[found.b] >= 0
    dropped = {**unread, **found.dropped}
    _drop(dropped, "both models are anchors", int((a_known & b_known).sum()))
    _drop(dropped, "neither model is an anchor", int((~a_known & ~b_known).sum()))
    target = _target(found, kept)
    usable = (a_known != b_known) & np.isfinite(target)
    _drop(dropped, "no judge score", int(((a_known != b_known) & ~np.isfinite(target)).sum()))
    if not usable.any():
        raise DataError(
            "battles",
            "no judged battle of a new model against an anchor",
            remedy="judge new models against the anchors' models, under the same names",
        )
    typical = float(np.median([row.n_battles for row in kept.models]))
    rows: list[ModelRow] = []
    for new in np.unique(np.where(a_known, found.b, found.a)[usable]):
        mine = usable & ((found.a == new) | (found.b == new))
        as_a = found.a[mine] == new
        opponent = code[np.where(as_a, found.b[mine], found.a[mine])]
        y = np.where(as_a, target[mine], 1 - target[mine])
        met = np.bincount(opponent, minlength=len(theta)).astype(np.float64)
        estimate = float(to_elo(fit_against_anchors(met, np.asarray(y.sum()), theta, l2=kept.l2)))
        se = anchored_standard_error(
            opponent, y, theta, l2=kept.l2, replicates=replicates, draw=draw
        ) * math.sqrt(max(1.0, len(y) / typical))
        swept = bool(np.all(y == 1) or np.all(y == 0))
        low, high = (None, None) if swept else quantile.interval(estimate, se)
        warnings += _remarks(found.names[new], estimate, y, to_elo(theta), typical)
        rows.append(
            ModelRow(
                model=found.names[new],
                elo=estimate,
                low=low,
                high=high,
                se=se,
                n_battles=len(y),
                rank=0,
                unbounded=low is None,
                origin="new",
            )
        )
    return Leaderboard(
        method=kept.method,
        beta=kept.beta,
        beta_se=kept.beta_se,
        l2=kept.l2,
        models=_placed(rows, kept),
        components=((*anchor_names, *(row.model for row in rows)),),
        warnings=tuple(warnings),
        dropped=dropped,
        n_battles=int(usable.sum()),
        outcome=f"judge, {kept.score_source}, on people's scale",
        interval="conformal",
        confidence_level=1 - float(level),
        replicates=replicates,
        seed=rng if isinstance(rng, int) else None,
        smoothing=kept.smoothing,
        judge_fingerprint=kept.judge_fingerprint,
        assumptions=(
            "new models, their battles and prompts are like the anchors': of such models "
            f"{100 * (1 - float(level)):g} % have people's Elo inside, which promises nothing for "
            "one of them or for a new kind of model",
            "people's Elo is what their votes on these same battles would give",
        ),
    )


def _placed(rows: list[ModelRow], kept: Anchors) -> tuple[ModelRow, ...]:
    """New models among the anchors' own Elo of people, each ranked with its rank range."""
    known = [row for row in kept.models if row.human_elo is not None]
    listed = [
        ModelRow(
            model=row.model,
            elo=row.human_elo,
            low=None,
            high=None,
            se=None,
            n_battles=0,
            rank=0,
            origin="anchor",
        )
        for row in known
    ] + rows
    elo = np.array([row.elo for row in listed], dtype=np.float64)
    human = np.array([row.human_elo for row in known], dtype=np.float64)
    finished = []
    for row, rank in zip(listed, ranks(elo), strict=True):
        best = worst = None
        if row.origin == "new" and row.low is not None and row.high is not None:
            low, high = row.low, row.high
            # An unbounded rival may stand anywhere.
            rivals = [other for other in rows if other is not row]
            surely = sum(other.low is not None and other.low > high for other in rivals)
            perhaps = sum(other.high is None or other.high >= low for other in rivals)
            best = 1 + int((human > high).sum()) + surely
            worst = 1 + int((human >= low).sum()) + perhaps
        finished.append(replace(row, rank=int(rank), rank_low=best, rank_high=worst))
    return tuple(sorted(finished, key=lambda row: (row.rank, row.model)))


def _target(found: Battles, kept: Anchors) -> FloatArray:
    if kept.method == "soft-elo" and kept.beta is not None and found.score is not None:
        return soft_targets(found.score, kept.beta)
    judged = verdicts_of(found)
    if kept.method == "smoothed" and kept.smoothing is not None:
        return smoothed_targets(judged, kept.smoothing)
    return judged


def _quantile(kept: Anchors, level: Fraction) -> EloQuantile:
    usable = [row for row in kept.models if row.residual is not None and row.se is not None]
    return elo_quantile(
        [row.residual for row in usable if row.residual is not None],
        [row.se for row in usable if row.se is not None],
        alpha=level,
    )


def _same_judge(frame: pl.DataFrame, kept: Anchors) -> list[str]:
    """Refuse another judge; warn where nobody can tell."""
    for part, ours in (("judge_fingerprint", kept.judge_fingerprint), ("judge", kept.judge)):
        theirs = frame[part].drop_nulls().unique().to_list() if part in frame.columns else []
        if ours is not None and theirs:
            if [str(value) for value in theirs] != [ours]:
                raise PolicyMismatchError(
                    f"battles judged by {', '.join(map(str, theirs[:3]))}, anchors by {ours}: make "
                    "anchors for this judge",
                    differs=(part,),
                )
            return [] if part == "judge_fingerprint" else ["judges compared by name alone"]
    return ["nothing says which judge scored these battles: it must be the anchors' judge"]


def _drift(found: Battles, kept: Anchors) -> list[str]:
    if found.score is None or len(kept.score_quantiles) < 2:
        return []
    here = np.abs(found.score[np.isfinite(found.score)])
    if len(here) < _FEW_BATTLES:
        return []
    distance = float(stats.ks_2samp(here, np.array(kept.score_quantiles)).statistic)
    if distance <= _FAR + _CHANCE / math.sqrt(len(here)):
        return []
    return [
        f"score differences here are unlike the anchors' (median |s| {np.median(here):.2f}, was "
        f"{kept.score_quantiles[len(kept.score_quantiles) // 2]:.2f}): check judge and prompts"
    ]


def _remarks(
    name: str, elo: float, target: FloatArray, anchors: FloatArray, typical: float
) -> list[str]:
    """What to know about one placed model before acting on its interval."""
    found = []
    n = len(target)
    if np.all(target == 1) or np.all(target == 0):
        what = "won" if target[0] else "lost"
        found.append(
            f"{name} {what} all {n:,} battles: its Elo is set by the penalty and has no interval; "
            f"judge it against {'stronger' if target[0] else 'weaker'} models"
        )
    elif not anchors.min() <= elo <= anchors.max():
        side = "above" if elo > anchors.max() else "below"
        found.append(
            f"{name} stands {side} every anchor ({anchors.min():.0f} to {anchors.max():.0f}): no "
            "residual was measured there, the interval is extrapolated"
        )
    if n < _FEW_BATTLES:
        found.append(f"{name}: only {n} battles, the width of its interval is rough")
    if n > 2 * typical:
        found.append(
            f"{name}: {n:,} battles where the anchors had {typical:,.0f}: its interval is kept as "
            f"wide as {typical:,.0f} would make it, for the anchors cannot say how near the judge "
            "comes to people with more"
        )
    return found


def _drop(dropped: dict[str, int], reason: str, times: int) -> None:
    if times:
        dropped[reason] = dropped.get(reason, 0) + times
