"""Deployment: keep what calibration learnt, then place a new model that nobody has voted on.

`make_anchors` needs battles with judge scores and votes. It keeps the temperature, the anchors'
strengths on the judge's scale, and every anchor's left-out residual and standard error.
`place` needs judged battles of new models against anchors only: the target, theta with the anchors
fixed, a standard error from that model's battles, and the conformal quantile of the anchors'
residuals give an Elo on people's scale with an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from adjudge._bradley_terry import DEFAULT_L2, fit_against_anchors, fit_strengths, to_elo
from adjudge._validation import FloatArray, Seed, count, exact_level, generator, one_of, positive
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.io import read_result
from adjudge.ranking.conformal import EloQuantile, elo_quantile
from adjudge.ranking.counts import Battles, target_battles, wins_table
from adjudge.ranking.evaluation import verdicts_of
from adjudge.ranking.frames import battles_from_frame, load_battles
from adjudge.ranking.leave_one_out import (
    DEFAULT_REPLICATES,
    anchored_standard_error,
    hold_out_each,
    human_reference,
    residuals,
)
from adjudge.ranking.rank_ranges import ranks
from adjudge.ranking.soft_elo import (
    Rule,
    fixed_rule,
    smoothed_rule,
    smoothed_targets,
    soft_rule,
    soft_targets,
)
from adjudge.ranking.targets import choose_method, make_target
from adjudge.results.ranking import AnchorRow, Anchors, Leaderboard, ModelRow

METHODS = ("soft-elo", "hard-elo", "smoothed")
#: A Kolmogorov-Smirnov distance of |s| above this is remarked on.
_FAR = 0.2


def make_anchors(
    battles: Any,
    *,
    method: str = "auto",
    fmt: str | None = None,
    baseline: str | None = None,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    smoothing: float | None = None,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    rng: Seed = 0,
) -> Anchors:
    """Calibrate on models with votes, for placing models without. See the module.

    Anchors that were never compared, even at some remove, are refused: there is no one scale.
    """
    from adjudge import __version__

    frame, unread = load_battles(battles, fmt, baseline=baseline)
    l2 = positive(l2, "l2")
    draw = generator(rng)
    found, source = battles_from_frame(frame, human=human, verdict=verdict, score=score)
    if found.human is None:
        raise ArgumentError(
            "battles", "no human votes", "anchors need battles that people voted on"
        )
    if method == "auto":
        method = choose_method(found, source, verdict)
    one_of(method, METHODS, "method")
    target = make_target(found, method, source=source, named=verdict, smoothing=smoothing)
    if target.values is None:
        raise ArgumentError("method", method, str(target.reason))
    used, y = target_battles(found, target.values)
    wins = wins_table(used.a, used.b, y, used.n_models)
    _one_scale(wins, used.names)
    theta = fit_strengths(wins, l2=l2)
    held = residuals(
        hold_out_each(
            found, _rule(found, method, smoothing), l2=l2, replicates=replicates, rng=draw
        ),
        human_reference(found, l2=l2),
    )
    seen = {name: k for k, name in enumerate(held.names)}
    warnings = list(found.warnings)
    if target.temperature is not None:
        warnings += target.temperature.warnings
    for reason, times in held.left_out.items():
        warnings.append(f"{times} anchors have no residual: {reason}")
    scores = np.abs(used.score) if used.score is not None else np.zeros(1)
    return Anchors(
        method=method,
        beta=target.beta,
        beta_se=target.beta_se,
        smoothing=target.smoothing,
        l2=l2,
        replicates=replicates,
        models=tuple(
            AnchorRow(
                model=name,
                theta=float(theta[k]),
                human_elo=_at(held.human, seen.get(name)),
                residual=_at(held.values, seen.get(name)),
                se=_at(held.se, seen.get(name)),
            )
            for k, name in enumerate(used.names)
        ),
        judge=_single(frame, "judge"),
        judge_fingerprint=_single(frame, "judge_fingerprint"),
        score_source=source or "",
        score_quantiles=tuple(float(q) for q in np.quantile(scores, np.linspace(0, 1, 101))),
        n_battles=len(used),
        warnings=tuple(warnings),
        dropped={**unread, **found.dropped},
        adjudge_version=__version__,
    )


def _one_scale(wins: FloatArray, names: tuple[str, ...]) -> None:
    from adjudge._bradley_terry import connected_groups

    groups, group = connected_groups(wins + wins.T)
    if groups > 1:
        small = np.flatnonzero(group != np.bincount(group).argmax())
        raise DataError(
            "battles",
            f"{groups} groups of models never met",
            remedy=f"judge battles between them, or drop those of {names[small[0]]}",
        )


def _rule(battles: Battles, method: str, smoothing: float | None) -> Rule:
    if method == "soft-elo":
        return soft_rule(battles)
    if method == "hard-elo":
        return fixed_rule(method, battles, verdicts_of(battles))
    if smoothing is None:
        return smoothed_rule(battles)
    return fixed_rule(method, battles, smoothed_targets(verdicts_of(battles), smoothing))


def read_anchors(source: str | Path | Anchors | Mapping[str, Any]) -> Anchors:
    """Anchors from a file that `rank --save-anchors` wrote."""
    if isinstance(source, Anchors):
        return source
    name = "anchors" if isinstance(source, Mapping) else str(source)
    loaded = dict(source) if isinstance(source, Mapping) else read_result(source, kind="anchors")
    loaded.pop("kind", None)
    try:
        rows = tuple(AnchorRow(**row) for row in loaded.pop("models"))
        anchors = Anchors(
            models=rows,
            score_quantiles=tuple(loaded.pop("score_quantiles")),
            warnings=tuple(loaded.pop("warnings")),
            **loaded,
        )
    except (KeyError, TypeError) as error:
        raise DataError(
            name, f"is not a complete anchors file ({error})", remedy="make it anew"
        ) from None
    if anchors.method not in METHODS or not anchors.models:
        raise DataError(name, "is not a complete anchors file", remedy="make it anew")
    return anchors


def place(
    battles: Any,
    anchors: str | Path | Anchors | Mapping[str, Any],
    *,
    alpha: float = 0.1,
    fmt: str | None = None,
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
    """
    kept = read_anchors(anchors)
    level = exact_level(alpha)
    draw = generator(rng)
    replicates = kept.replicates if replicates is None else count(replicates, "replicates", least=2)
    frame, unread = load_battles(battles, fmt, baseline=baseline)
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
            f"{quantile.models_needed} needed at alpha = {float(level):g}"
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
        )
        low, high = quantile.interval(estimate, se)
        if len(y) < 30:
            warnings.append(f"{found.names[new]}: only {len(y)} battles, its scale is rough")
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
            "new models are exchangeable with the anchors: same kind of models, same prompts",
            "the interval holds on average over such models, not for each",
            "1500 is the mean of the anchors",
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
            # Among the anchors alone: where its interval would put it.
            best, worst = 1 + int((human > row.high).sum()), 1 + int((human >= row.low).sum())
        finished.append(
            ModelRow(
                **{
                    **{name: getattr(row, name) for name in ModelRow.__dataclass_fields__},
                    "rank": int(rank),
                    "rank_low": best,
                    "rank_high": worst,
                }
            )
        )
    return tuple(sorted(finished, key=lambda row: (row.rank, row.model)))


def _target(found: Battles, kept: Anchors) -> FloatArray:
    if kept.method == "soft-elo" and kept.beta is not None and found.score is not None:
        return soft_targets(found.score, kept.beta)
    judged = verdicts_of(found)
    if kept.method == "smoothed" and kept.smoothing is not None:
        return smoothed_targets(judged, kept.smoothing)
    return judged


def _quantile(kept: Anchors, level: Any) -> EloQuantile:
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
    if len(here) < 30:
        return []
    distance = float(stats.ks_2samp(here, np.array(kept.score_quantiles)).statistic)
    if distance <= _FAR:
        return []
    return [
        f"score differences here are unlike the anchors' (median |s| {np.median(here):.2f}, was "
        f"{kept.score_quantiles[len(kept.score_quantiles) // 2]:.2f}): check judge and prompts"
    ]


def _drop(dropped: dict[str, int], reason: str, times: int) -> None:
    if times:
        dropped[reason] = dropped.get(reason, 0) + times


def _at(values: FloatArray, k: int | None) -> float | None:
    return None if k is None or not np.isfinite(values[k]) else float(values[k])


def _single(frame: pl.DataFrame, column: str) -> str | None:
    if column not in frame.columns:
        return None
    values = frame[column].drop_nulls().unique().to_list()
    if len(values) > 1:
        raise DataError(
            "battles",
            f"{len(values)} different values",
            column=column,
            remedy="make anchors for one judge at a time",
        )
    return str(values[0]) if values else None
