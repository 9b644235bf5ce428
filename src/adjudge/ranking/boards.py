"""Leaderboards by kind of method: Elo scales, bare orders, votes helped by a judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjudge._bradley_terry import DEFAULT_L2, to_elo
from adjudge._stats import normal_quantile
from adjudge._validation import FloatArray, IntArray
from adjudge.errors import ArgumentError
from adjudge.ranking.bootstrap import resampled_wins
from adjudge.ranking.bradley_terry import bradley_terry
from adjudge.ranking.components import structure
from adjudge.ranking.counts import battles_per_model, target_battles, wins_table
from adjudge.ranking.leaderboard import (
    component_names,
    component_ranges,
    elo_rows,
    elo_spread,
    enough_clusters,
    normal_draws,
    score_rows,
)
from adjudge.ranking.mfas import least_reversals
from adjudge.ranking.online_elo import online_elo
from adjudge.ranking.prediction_powered import prediction_powered
from adjudge.ranking.tournaments import copeland, schulze, win_rate
from adjudge.results.ranking import Leaderboard, ModelRow
from adjudge.rows.battles import Battles

ELO_METHODS = ("soft-elo", "hard-elo", "smoothed", "bt")


@dataclass(frozen=True)
class Request:
    """What was asked of `rank`, checked."""

    method: str
    source: str | None
    named: str | None
    beta: float | None
    smoothing: float | None
    l2: float
    interval: str
    level: float
    replicates: int
    time_limit: float
    seed: int | None


def elo_board(
    base: Leaderboard,
    used: Battles,
    y: FloatArray,
    wins: FloatArray,
    request: Request,
    draw: np.random.Generator,
) -> Leaderboard:
    """Bradley-Terry on the targets, with intervals and rank ranges."""
    fit = bradley_terry(wins, names=used.names, l2=request.l2)
    spread = elo_spread(
        fit,
        used.a,
        used.b,
        y,
        interval=request.interval,
        confidence_level=request.level,
        replicates=request.replicates,
        rng=draw,
        clusters=used.prompts,
    )
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    seen = _seen_structure_warnings(fit.structure.warnings, n_battles)
    return replace(
        base,
        models=elo_rows(fit, used.a, used.b, spread),
        components=component_names(used.names, fit.structure.component, n_battles),
        warnings=(*base.warnings, *seen),
        assumptions=(
            "battles"
            + (" of different prompts" if used.prompts is not None else "")
            + " are independent draws",
            *(("the temperature is held fixed in the interval",) if base.beta else ()),
            "the interval speaks of noise in these battles, not of the judge's disagreement with "
            "people"
            if base.outcome != "votes"
            else "the voters are those the board is for",
        ),
    )


def _seen_structure_warnings(warnings: tuple[str, ...], n_battles: IntArray) -> tuple[str, ...]:
    unseen = int((n_battles == 0).sum())
    if not unseen:
        return warnings
    return (*warnings, f"{unseen} models have no battle with an outcome and are not ranked")


def order_board(
    base: Leaderboard,
    used: Battles,
    y: FloatArray,
    wins: FloatArray,
    request: Request,
    draw: np.random.Generator,
) -> Leaderboard:
    """Win rate, Copeland, Schulze, exact order or online Elo."""
    shape = structure(wins, used.names)
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    warnings = [text for text in shape.warnings if "never met" in text]
    low = high = se = None
    extra: dict[str, Any] = {"interval": "none", "replicates": None}
    if request.method == "win-rate":
        score = np.nan_to_num(win_rate(wins), nan=0.0)
        if request.interval != "none":
            drawn = resampled_wins(
                used.a,
                used.b,
                y,
                used.n_models,
                replicates=request.replicates,
                rng=draw,
                clusters=used.prompts,
            )
            rates = np.stack([np.nan_to_num(win_rate(table), nan=0.5) for table in drawn])
            tail = (1 - request.level) / 2
            low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
            se = rates.std(axis=0, ddof=1)
            extra = {"interval": "bootstrap", "replicates": request.replicates}
        warnings.append("win rates depend on whom a model met")
    elif request.method == "copeland":
        score = copeland(wins)
    elif request.method == "schulze":
        score = schulze(wins)
    elif request.method == "mfas":
        found = least_reversals(wins, time_limit=request.time_limit)
        score = np.empty(len(wins))
        score[list(found.order)] = -np.arange(1, len(wins) + 1, dtype=np.float64)
        extra |= {"proven": found.proven, "gap": found.gap}
        if not found.proven:
            warnings.append(f"order not proven optimal: gap {100 * found.gap:.2f} % of all wins")
    else:
        online = online_elo(used.a, used.b, y, used.n_models, rng=draw)
        warnings.append("online Elo depends on the order of the battles; bt does not")
        return _online_board(base, used, online.elo, online.order_sd, n_battles, warnings)
    rows = score_rows(used.names, score, n_battles, shape.component, low=low, high=high, se=se)
    if request.method == "mfas":
        rows = tuple(replace(row, score=None) for row in rows)
    return replace(
        base,
        models=rows,
        components=component_names(used.names, shape.component, n_battles),
        warnings=(*base.warnings, *warnings),
        **extra,
    )


def _online_board(
    base: Leaderboard,
    used: Battles,
    elo: FloatArray,
    order_sd: FloatArray | None,
    n_battles: IntArray,
    warnings: list[str],
) -> Leaderboard:
    if order_sd is not None:
        warnings.append(
            f"shuffling the battles moves a rating by {float(np.median(order_sd)):.0f} Elo (median "
            "standard deviation, given as se)"
        )
    component = np.zeros(used.n_models, dtype=np.int64)
    rows = score_rows(used.names, elo, n_battles, component, se=order_sd)
    return replace(
        base,
        models=tuple(replace(row, elo=row.score, score=None) for row in rows),
        components=component_names(used.names, component, n_battles),
        warnings=(*base.warnings, *warnings),
        interval="none",
        replicates=None,
    )


def _not_random(judged: Battles, n_battles: IntArray) -> tuple[str, ...]:
    """Say so when votes cannot be a random part: a model that should have some has none."""
    has_vote = np.isfinite(np.asarray(judged.human))
    votes = battles_per_model(judged.a[has_vote], judged.b[has_vote], judged.n_models)
    # With ten votes expected, none happens by chance less than once in 20,000 models.
    without = np.flatnonzero((votes == 0) & (n_battles * has_vote.mean() >= 10))
    if not len(without):
        return ()
    shown = ", ".join(judged.names[k] for k in without[:3])
    return (
        f"votes are no random part of the battles: {len(without)} models have none where ten or "
        f"more are expected ({shown}); the intervals need a random part",
    )


def powered_board(battles: Battles, request: Request, draw: np.random.Generator) -> Leaderboard:
    """Votes on a random part of the battles, the judge on all."""
    if battles.verdict is None or battles.human is None:
        raise ArgumentError(
            "method", "prediction-powered", "give votes on some battles and verdicts on all"
        )
    found = prediction_powered(battles, battles.human, battles.verdict, l2=request.l2 or DEFAULT_L2)
    judged = battles.take(np.isfinite(battles.verdict))
    n_battles = battles_per_model(judged.a, judged.b, judged.n_models)
    remarks = _not_random(judged, n_battles)
    voted, votes = target_battles(
        battles, np.where(np.isfinite(battles.verdict), battles.human, np.nan)
    )
    shape = structure(wins_table(voted.a, voted.b, votes, voted.n_models), battles.names)
    unseen = (battles_per_model(voted.a, voted.b, voted.n_models) == 0) & (n_battles > 0)
    if unseen.any():
        # Without one vote nothing ties a model to people's scale, and its variance looks like none.
        n_battles = np.where(unseen, 0, n_battles)
        remarks += (f"{int(unseen.sum())} models have no vote and are not ranked",)
    elo, se = to_elo(found.theta), found.se
    reach = normal_quantile(request.level) * se
    rows: tuple[ModelRow, ...] = score_rows(
        battles.names, elo, n_battles, shape.component, low=elo - reach, high=elo + reach, se=se
    )
    best = worst = None
    prompts = len(judged) if judged.prompts is None else len(np.unique(judged.prompts))
    if enough_clusters(prompts, battles.n_models):
        best, worst = component_ranges(
            found.theta,
            normal_draws(found.theta, found.covariance, request.replicates, draw),
            shape.component,
            confidence_level=request.level,
        )
    at = {name: k for k, name in enumerate(battles.names)}
    dropped = dict(battles.dropped)
    if len(judged) < len(battles):
        dropped["no verdict"] = len(battles) - len(judged)
    return Leaderboard(
        method=request.method,
        beta=None,
        beta_se=None,
        l2=request.l2 or DEFAULT_L2,
        models=tuple(
            replace(
                row,
                elo=row.score,
                score=None,
                rank_low=None if best is None else int(best[at[row.model]]),
                rank_high=None if worst is None else int(worst[at[row.model]]),
            )
            for row in rows
        ),
        components=component_names(battles.names, shape.component, n_battles),
        warnings=(*battles.warnings, *shape.warnings, *remarks),
        dropped=dropped,
        n_battles=len(judged),
        outcome=f"{found.n_labelled:,} votes, judge used with weight {found.weight:.2f}",
        interval="sandwich",
        confidence_level=request.level,
        seed=request.seed,
        assumptions=(
            "the battles with votes are a random part of all battles",
            "many voted battles per model; the interval is a normal approximation",
        ),
    )
