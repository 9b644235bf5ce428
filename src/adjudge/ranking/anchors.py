"""Anchors: the result of calibration for placing models without votes.

`make_anchors` needs battles with judge scores and votes. It keeps the temperature, the anchors'
strengths on the judge's scale, their Elo by people's votes, and every anchor's held-out residual
and standard error. `adjudge.ranking.placing` uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.errors import ArgumentError, DataError
from adjudge.io import read_result
from adjudge.io.tables import TableLike
from adjudge.present.load import from_dict
from adjudge.ranking.counts import battles_per_model, target_battles, wins_table
from adjudge.ranking.leaderboard import float_at
from adjudge.ranking.leave_one_out import (
    DEFAULT_REPLICATES,
    hold_out_each,
    human_reference,
    residuals,
)
from adjudge.ranking.targets import (
    Rule,
    choose_method,
    fixed_rule,
    make_target,
    smoothed_rule,
    smoothed_targets,
    soft_rule,
    verdicts_of,
)
from adjudge.results.ranking import AnchorRow, Anchors
from adjudge.rows.battles import Battles, prepare_battles
from adjudge.rows.dropped import merge_dropped
from adjudge.statistics.bradley_terry import DEFAULT_L2, connected_groups, fit_strengths, to_elo
from adjudge.validation import FloatArray, Seed, count, generator, one_of, positive

METHODS = ("soft-elo", "hard-elo", "smoothed")


def make_anchors(
    battles: TableLike | Battles,
    *,
    method: str = "auto",
    format: str | None = None,
    baseline: str | None = None,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    cluster: str | None = "auto",
    smoothing: float | None = None,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    seed: Seed = 0,
) -> Anchors:
    """Calibrate on models with votes, for placing models without votes. See the module.

    Anchors that were never compared, even through other models, are refused: there is no common
    scale.

    Args:
        battles: Battles with judge scores and votes, as in `rank`.
        method: soft-elo, hard-elo or smoothed; auto picks one of the first two.
        format: Name of a public format, if it cannot be detected from content.
        baseline: Arena-Hard's baseline model, for the format arena-hard.
        human: Column of people's votes.
        verdict: Column of the judge's verdicts (A, B, tie).
        score: Column of score differences, positive for model_a.
        cluster: Column of rows that belong together, such as the prompt. Standard errors resample
            its values, as in `rank`; `place` does the same.
        smoothing: Constant of smoothed, instead of choosing it.
        l2: Penalty l2 |theta|^2.
        replicates: Bootstrap resamples of each standard error.
        columns: Our column names to those of the file.
        labels_as: Meaning of words in columns of winners and verdicts.
        seed: Seed of everything random.
    """
    from adjudge import __version__

    l2 = positive(l2, "l2")
    replicates = count(replicates, "replicates", least=2)
    rng = generator(seed)
    ready = prepare_battles(
        battles,
        format=format,
        baseline=baseline,
        human=human,
        verdict=verdict,
        score=score,
        cluster=cluster,
        columns=columns,
        labels_as=labels_as,
    )
    if ready.human is None:
        raise ArgumentError(
            "battles", "no human votes", "anchors need battles that people voted on"
        )
    if method == "auto":
        method = choose_method(ready)
    one_of(method, METHODS, "method")
    target = make_target(ready, method, smoothing=smoothing)
    if target.values is None:
        raise ArgumentError("method", method, str(target.reason))
    used, y = target_battles(ready, target.values)
    wins = wins_table(used.a, used.b, y, used.n_models)
    _one_scale(wins, used.names)
    theta = fit_strengths(wins, l2=l2)
    held = residuals(
        hold_out_each(
            ready, _rule(ready, method, smoothing), l2=l2, replicates=replicates, seed=rng
        ),
        human_reference(ready, l2=l2),
    )
    human_elo = _human_elo(ready, l2)
    seen = {name: k for k, name in enumerate(held.names)}
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    warnings = list(ready.warnings)
    if target.temperature is not None:
        warnings += target.temperature.warnings
    for reason, times in held.left_out.items():
        warnings.append(f"{times} anchors have no residual: {reason}")
    # Verdicts can exist without scores.
    scores = np.abs(np.asarray(used.score))
    scores = scores[np.isfinite(scores)]
    percents = np.linspace(0, 1, 101)
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
                human_elo=float_at(human_elo, k),
                residual=float_at(held.values, seen.get(name)),
                se=float_at(held.se, seen.get(name)),
                n_battles=int(n_battles[k]),
            )
            for k, name in enumerate(used.names)
        ),
        judge=_only(ready.judges, "judge"),
        judge_fingerprint=_only(ready.fingerprints, "judge_fingerprint"),
        score_source=ready.source or "",
        score_quantiles=tuple(np.quantile(scores, percents).tolist()) if len(scores) else (),
        n_battles=len(used),
        warnings=tuple(warnings),
        dropped=merge_dropped(ready.dropped, {"no judge score": len(ready) - len(used)}),
        adjudge_version=__version__,
        cluster=ready.cluster,
    )


def _human_elo(battles: Battles, l2: float) -> FloatArray:
    """People's leaderboard of the anchors; NaN for models outside its largest component."""
    voted, y = target_battles(battles, np.asarray(battles.human))
    wins = wins_table(voted.a, voted.b, y, voted.n_models)
    _, group = connected_groups(wins + wins.T)
    return np.where(
        group == np.bincount(group).argmax(), to_elo(fit_strengths(wins, l2=l2)), np.nan
    )


def _one_scale(wins: FloatArray, names: tuple[str, ...]) -> None:
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
    """Read anchors from a file that `rank --save-anchors` wrote."""
    name = "anchors"
    if isinstance(source, Anchors):
        anchors = source
    elif isinstance(source, Mapping):
        anchors = from_dict(source, Anchors, source=name)
    else:
        name, anchors = str(source), read_result(source, Anchors)
    constant = {"soft-elo": anchors.beta, "hard-elo": 1.0, "smoothed": anchors.smoothing}
    if constant.get(anchors.method) is None or not anchors.models:
        raise DataError(name, "is not a complete anchors file", remedy="make it again")
    return anchors


def _only(values: tuple[str, ...], column: str) -> str | None:
    if len(values) > 1:
        raise DataError(
            "battles",
            f"{len(values)} different values",
            column=column,
            remedy="make anchors for one judge at a time",
        )
    return values[0] if values else None
