"""Placing: a new model's Elo on people's scale, only from judged battles against anchors.

The steps are those of calibration: the target with the kept temperature, theta with fixed anchors,
a standard error from that model's battles, and the conformal quantile of the anchors' held-out
residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.errors import DataError, PolicyMismatchError
from adjudge.io.tables import TableLike
from adjudge.ranking.anchors import read_anchors
from adjudge.ranking.conformal import EloQuantile, elo_quantile
from adjudge.ranking.leaderboard import ranks
from adjudge.ranking.leave_one_out import anchored_standard_error
from adjudge.ranking.targets import smoothed_targets, soft_targets, verdicts_of
from adjudge.results.ranking import Anchors, Leaderboard, ModelRow
from adjudge.rows.battles import Battles, prepare_battles
from adjudge.rows.drift import drift_from_quantiles
from adjudge.rows.dropped import merge_dropped
from adjudge.rows.families import family_of
from adjudge.rows.identity import Identity, match_judge
from adjudge.statistics.bradley_terry import fit_against_anchors, to_elo
from adjudge.validation import FloatArray, Seed, count, exact_level, generator, one_of

#: The anchors whose residuals give the quantile.
QUANTILES = ("pooled", "family")
#: With fewer battles the resampled standard error is itself uncertain.
_FEW_BATTLES = 30


def place(
    battles: TableLike | Battles,
    anchors: str | Path | Anchors | Mapping[str, Any],
    *,
    alpha: float = 0.1,
    quantile: str = "pooled",
    families: Mapping[str, str] | None = None,
    format: str | None = None,
    baseline: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    replicates: int | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    seed: Seed = 0,
) -> Leaderboard:
    """Place new models on people's scale, with conformal intervals (Eq. 4).

    Each new model is placed separately, by its battles against anchors; battles between new models
    or between anchors are dropped and counted. The interval covers the new model's Elo on the human
    leaderboard with probability at least 1 - `alpha` if the new model is exchangeable with the
    anchors. Battles of another judge than the anchors' are refused.

    The scale SE comes from the new model's battles, but counts no more of them than the median
    anchor had. Residuals include the judge's own preferences, which do not average out with more
    battles; Eq. 4 as published would still shrink the interval (anchors of 200 battles, new
    models of 1,000: 90 % intervals covered 57 %). A model that won or lost everything gets no
    interval: every resample has only wins, or only losses, too.

    Args:
        battles: Judged battles of new models against the anchors' models, as in `rank`.
        anchors: File that `rank --save-anchors` wrote, or the result of `make_anchors`.
        alpha: Error level of conformal intervals.
        quantile: pooled, or family (only models of the same maker). The promise of family is about
            models of that maker, and with too few of them there is no interval.
        families: Makers of models whose names do not show it.
        format: Name of a public format, if it cannot be detected from content.
        baseline: Arena-Hard's baseline model, for the format arena-hard.
        verdict: Column of the judge's verdicts (A, B, tie).
        score: Column of score differences, positive for model_a.
        replicates: Bootstrap resamples of each standard error. By default as many as the anchors
            had.
        columns: Our column names to those of the file.
        labels_as: Meaning of words in columns of winners and verdicts.
        seed: Seed of everything random.
    """
    kept = read_anchors(anchors)
    level = exact_level(alpha)
    rng = generator(seed)
    replicates = kept.replicates if replicates is None else count(replicates, "replicates", least=2)
    one_of(quantile, QUANTILES, "quantile")
    ready = prepare_battles(
        battles,
        format=format,
        baseline=baseline,
        verdict=verdict,
        score=score,
        cluster=None if isinstance(battles, Battles) else kept.cluster,
        columns=columns,
        labels_as=labels_as,
    )
    warnings = [*ready.warnings, *_same_judge(ready, kept)]
    if kept.cluster is not None and ready.prompts is None:
        warnings.append(f"errors of the anchors are by {kept.cluster}, which does not repeat here")
    if ready.source != kept.score_source:
        raise PolicyMismatchError(
            f"scores here are {ready.source or 'missing'}, but the anchors were made from "
            f"{kept.score_source}; give the same columns",
            differs=("score_source",),
        )
    warnings += _drift(ready, kept)
    pooled = _quantile(kept, level)
    if pooled.quantile is None:
        warnings.append(
            f"intervals are unbounded: {pooled.n} anchors with a residual, "
            f"{pooled.models_needed} needed at alpha = {float(level):g}; {pooled.n} allow "
            f"alpha from {math.ceil(1000 / (pooled.n + 1)) / 1000:g}"
        )
    theta = np.array([row.theta for row in kept.models])
    position = {row.model: k for k, row in enumerate(kept.models)}
    code = np.array([position.get(name, -1) for name in ready.names], dtype=np.int64)
    a_known, b_known = code[ready.a] >= 0, code[ready.b] >= 0
    target = _target(ready, kept)
    mixed = a_known != b_known
    usable = mixed & np.isfinite(target)
    lost = {
        "both models are anchors": int((a_known & b_known).sum()),
        "neither model is an anchor": int((~a_known & ~b_known).sum()),
        "no judge score": int((mixed & ~usable).sum()),
    }
    if not usable.any():
        raise DataError(
            "battles",
            "no judged battle of a new model against an anchor",
            remedy="judge new models against the anchors' models, under the same names",
        )
    prompts = None if kept.cluster is None else ready.prompts
    typical = float(np.median([row.n_battles for row in kept.models]))
    rows: list[ModelRow] = []
    for new in np.unique(np.where(a_known, ready.b, ready.a)[usable]):
        mine = usable & ((ready.a == new) | (ready.b == new))
        as_a = ready.a[mine] == new
        opponent = code[np.where(as_a, ready.b[mine], ready.a[mine])]
        y = np.where(as_a, target[mine], 1 - target[mine])
        met = np.bincount(opponent, minlength=len(theta)).astype(np.float64)
        estimate = float(to_elo(fit_against_anchors(met, np.asarray(y.sum()), theta, l2=kept.l2)))
        se = anchored_standard_error(
            opponent,
            y,
            theta,
            l2=kept.l2,
            replicates=replicates,
            rng=rng,
            prompts=None if prompts is None else prompts[mine],
        ) * math.sqrt(max(1.0, len(y) / typical))
        swept = bool(np.all(y == 1) or np.all(y == 0))
        own = pooled
        if quantile == "family":
            own, refusal = _family_quantile(ready.names[new], kept, level, families)
            warnings += refusal
        low, high = (None, None) if swept else own.interval(estimate, se)
        warnings += _remarks(ready.names[new], estimate, y, to_elo(theta), typical)
        rows.append(
            ModelRow(
                model=ready.names[new],
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
        components=((*position, *(row.model for row in rows)),),
        warnings=tuple(warnings),
        dropped=merge_dropped(ready.dropped, lost),
        n_battles=int(usable.sum()),
        outcome=f"judge, {kept.score_source}, on people's scale",
        covers_judge_error=True,
        interval="conformal",
        confidence_level=1 - float(level),
        replicates=replicates,
        seed=seed if isinstance(seed, int) else None,
        smoothing=kept.smoothing,
        judge_fingerprint=kept.judge_fingerprint,
        assumptions=(
            "new models, their battles and prompts are like the anchors': of such models "
            f"{100 * (1 - float(level)):g} % have people's Elo inside, which is not a promise "
            "about one of them or about a new kind of model",
            "people's Elo is the one that their votes on these same battles would give",
        ),
    )


def _placed(rows: list[ModelRow], kept: Anchors) -> tuple[ModelRow, ...]:
    """New models among the anchors' Elo by people, each ranked with its rank range."""
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
            # An unbounded rival can have any rank.
            rivals = [other for other in rows if other is not row]
            surely = sum(other.low is not None and other.low > high for other in rivals)
            perhaps = sum(other.high is None or other.high >= low for other in rivals)
            best = 1 + int((human > high).sum()) + surely
            worst = 1 + int((human >= low).sum()) + perhaps
        finished.append(replace(row, rank=int(rank), rank_low=best, rank_high=worst))
    return tuple(sorted(finished, key=lambda row: (row.rank, row.model)))


def _target(battles: Battles, kept: Anchors) -> FloatArray:
    if kept.method == "soft-elo" and kept.beta is not None and battles.score is not None:
        return soft_targets(battles.score, kept.beta)
    judged = verdicts_of(battles)
    if kept.method == "smoothed" and kept.smoothing is not None:
        return smoothed_targets(judged, kept.smoothing)
    return judged


def _family_quantile(
    model: str, kept: Anchors, level: Fraction, families: Mapping[str, str] | None
) -> tuple[EloQuantile, list[str]]:
    """The quantile of the anchors of this model's maker; unbounded, with a note, if too few."""
    maker = family_of(model, families)
    own = [row for row in kept.models if maker and family_of(row.model, families) == maker]
    quantile = _quantile(replace(kept, models=tuple(own)), level)
    if quantile.quantile is not None:
        return quantile, []
    if maker is None:
        return quantile, [f"{model}: its family is unknown, no interval; name it in --families"]
    return quantile, [
        f"{model}: {quantile.n} anchors of {maker}, but a separate quantile needs "
        f"{quantile.models_needed}: no interval; use --quantile pooled"
    ]


def _quantile(kept: Anchors, level: Fraction) -> EloQuantile:
    usable = [
        (row.residual, row.se)
        for row in kept.models
        if row.residual is not None and row.se is not None
    ]
    return elo_quantile([r for r, _ in usable], [se for _, se in usable], alpha=level)


def _same_judge(battles: Battles, kept: Anchors) -> list[str]:
    """Refuse another judge; note if only names, or nothing, could be compared."""
    known = [Identity(judge=kept.judge, fingerprint=kept.judge_fingerprint)]
    matches = [
        match_judge(known, given, made="the anchors file", remedy="make anchors for this judge")
        for given in battles.identities
    ]
    return list(dict.fromkeys(match.remark for match in matches if match.remark is not None))


def _drift(battles: Battles, kept: Anchors) -> list[str]:
    if battles.score is None or not kept.score_quantiles:
        return []
    here = np.abs(battles.score[np.isfinite(battles.score)])
    if not drift_from_quantiles(kept.score_quantiles, here).flagged:
        return []
    return [
        f"score differences here differ from the anchors' (median |s| {np.median(here):.2f}, was "
        f"{kept.score_quantiles[len(kept.score_quantiles) // 2]:.2f}): check judge and prompts"
    ]


def _remarks(
    name: str, elo: float, target: FloatArray, anchors: FloatArray, typical: float
) -> list[str]:
    """Warnings about the interval of one placed model."""
    remarks = []
    n = len(target)
    if np.all(target == 1) or np.all(target == 0):
        what = "won" if target[0] else "lost"
        remarks.append(
            f"{name} {what} all {n:,} battles: the penalty determines its Elo, no interval; "
            f"judge it against {'stronger' if target[0] else 'weaker'} models"
        )
    elif not anchors.min() <= elo <= anchors.max():
        side = "above" if elo > anchors.max() else "below"
        remarks.append(
            f"{name} is {side} every anchor ({anchors.min():.0f} to {anchors.max():.0f}): no "
            "residual was measured there, so the interval is extrapolated"
        )
    if n < _FEW_BATTLES:
        remarks.append(f"{name}: only {n} battles, so the width of its interval is rough")
    if n > 2 * typical:
        remarks.append(
            f"{name}: {n:,} battles, but the anchors had {typical:,.0f}: its interval is as wide "
            f"as with {typical:,.0f}, because the anchors do not show how close the judge comes "
            "to people with more"
        )
    return remarks
