"""The leaderboard of each kind of method: Elo scales, bare orders, votes with a judge."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from adjudge.errors import ArgumentError, DataError
from adjudge.ranking.bootstrap import Mapper, map_here, resampled_wins
from adjudge.ranking.bradley_terry import bradley_terry, structure
from adjudge.ranking.counts import battles_per_model, target_battles, wins_table
from adjudge.ranking.leaderboard import (
    Spread,
    component_names,
    component_ranges,
    elo_spread,
    enough_clusters,
    model_rows,
    normal_draws,
)
from adjudge.ranking.mfas import least_reversals, order_strengths
from adjudge.ranking.orders import copeland, online_elo, schulze, win_rate
from adjudge.ranking.prediction_powered import prediction_powered
from adjudge.ranking.targets import Target
from adjudge.results.ranking import ModelRow
from adjudge.rows.battles import Battles
from adjudge.rows.dropped import merge_dropped
from adjudge.statistics.bradley_terry import DEFAULT_L2, to_elo
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import FloatArray, IntArray

ELO_METHODS = ("soft-elo", "hard-elo", "smoothed", "bt")
#: With fewer prompts, intervals by prompt are rough.
_FEW_PROMPTS = 20


@dataclass(frozen=True)
class Request:
    """The checked options of `rank`."""

    method: str
    l2: float
    interval: str
    level: float
    replicates: int
    time_limit: float
    mapper: Mapper = map_here


@dataclass(frozen=True, kw_only=True)
class Order:
    """The part of a leaderboard that depends on the method; same fields as the leaderboard."""

    models: tuple[ModelRow, ...] = ()
    components: tuple[tuple[str, ...], ...] = ()
    interval: str = "none"
    replicates: int | None = None
    l2: float | None = None
    n_battles: int = 0
    clusters: int | None = None
    proven: bool | None = None
    gap: float | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def order_by_target(
    battles: Battles, target: Target, request: Request, rng: np.random.Generator
) -> Order:
    """Elo, or a bare order, from the battles with a target."""
    if target.values is None:
        return Order(l2=request.l2 if request.method in ELO_METHODS else None)
    used, y = target_battles(battles, target.values)
    if not len(used):
        raise DataError("battles", f"no battle has an outcome ({target.outcome})")
    if request.method in ELO_METHODS:
        return _elo_order(battles, used, y, target, request, rng)
    return _plain_order(battles, used, y, request, rng)


def _elo_order(
    battles: Battles,
    used: Battles,
    y: FloatArray,
    target: Target,
    request: Request,
    rng: np.random.Generator,
) -> Order:
    """Bradley-Terry on the targets, with intervals and rank ranges."""
    wins = wins_table(used.a, used.b, y, used.n_models)
    fit = bradley_terry(wins, names=used.names, l2=request.l2)
    spread = elo_spread(
        fit,
        used.a,
        used.b,
        y,
        interval=request.interval,
        confidence_level=request.level,
        replicates=request.replicates,
        seed=rng,
        clusters=used.prompts,
        mapper=request.mapper,
    )
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    warnings = [
        *_few_prompts(used, request.interval),
        *fit.structure.warnings,
        *_not_ranked(n_battles),
    ]
    assumptions = []
    if request.interval != "none":
        independent = "battles of different prompts" if used.prompts is not None else "battles"
        assumptions.append(f"{independent} are independent draws")
        if target.beta:
            assumptions.append("the interval treats the temperature as fixed")
    if target.of_people:
        assumptions.append("the voters are the people whom the leaderboard is for")
    return Order(
        models=model_rows(
            used.names, fit.theta, n_battles, fit.structure.component, elo=fit.elo, spread=spread
        ),
        components=component_names(used.names, fit.structure.component, n_battles),
        interval=request.interval,
        replicates=request.replicates if request.interval == "bootstrap" else None,
        l2=request.l2,
        n_battles=len(used),
        clusters=_prompts(used),
        dropped=merge_dropped({"no outcome": len(battles) - len(used)}),
        warnings=tuple(warnings),
        assumptions=tuple(assumptions),
    )


def _plain_order(
    battles: Battles, used: Battles, y: FloatArray, request: Request, rng: np.random.Generator
) -> Order:
    """Win rate, Copeland, Schulze, exact order or online Elo."""
    wins = wins_table(used.a, used.b, y, used.n_models)
    shape = structure(wins, used.names)
    component = shape.component
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    warnings = [*shape.apart, *_not_ranked(n_battles)]
    elo = score = spread = replicates = proven = gap = None
    if request.method == "win-rate":
        strength = score = np.nan_to_num(win_rate(wins), nan=0.0)
        if request.interval != "none":
            replicates = request.replicates
            spread = _rate_spread(used, y, request, rng)
            warnings += _few_prompts(used, request.interval)
        warnings.append("win rates depend on which opponents a model met")
    elif request.method in ("copeland", "schulze"):
        strength = score = copeland(wins) if request.method == "copeland" else schulze(wins)
    elif request.method == "mfas":
        exact = least_reversals(wins, time_limit=request.time_limit)
        strength = order_strengths(exact)
        proven, gap = exact.proven, exact.gap
        if not proven:
            warnings.append(f"order not proven optimal: gap {100 * gap:.2f} % of all wins")
    else:
        online = online_elo(used.a, used.b, y, used.n_models, seed=rng)
        strength = elo = online.elo
        component = np.zeros(used.n_models, dtype=np.int64)
        spread = Spread(se=online.order_sd)
        warnings.append("online Elo depends on the order of the battles; bt does not")
        if online.order_sd is not None:
            warnings.append(
                f"shuffling battles changes a rating by {float(np.median(online.order_sd)):.0f} "
                "Elo (median standard deviation, given as se)"
            )
    return Order(
        models=model_rows(
            used.names, strength, n_battles, component, elo=elo, score=score, spread=spread
        ),
        components=component_names(used.names, component, n_battles),
        interval="none" if replicates is None else "bootstrap",
        replicates=replicates,
        n_battles=len(used),
        clusters=_prompts(used),
        proven=proven,
        gap=gap,
        dropped=merge_dropped({"no outcome": len(battles) - len(used)}),
        warnings=tuple(warnings),
    )


def _rate_spread(
    used: Battles, y: FloatArray, request: Request, rng: np.random.Generator
) -> Spread:
    drawn = resampled_wins(
        used.a,
        used.b,
        y,
        used.n_models,
        replicates=request.replicates,
        seed=rng,
        clusters=used.prompts,
    )
    rates = np.stack([np.nan_to_num(win_rate(table), nan=0.5) for table in drawn])
    tail = (1 - request.level) / 2
    low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
    return Spread(se=rates.std(axis=0, ddof=1), low=low, high=high)


def _prompts(used: Battles) -> int | None:
    return None if used.prompts is None else len(np.unique(used.prompts))


def _not_ranked(n_battles: IntArray) -> list[str]:
    unseen = int((n_battles == 0).sum())
    return [f"{unseen} models have no battle with an outcome and are not ranked"] if unseen else []


def _few_prompts(used: Battles, interval: str) -> list[str]:
    prompts = _prompts(used)
    if prompts is None or prompts >= _FEW_PROMPTS or interval == "none":
        return []
    return [f"only {prompts} prompts: intervals by prompt are rough below about {_FEW_PROMPTS}"]


def order_with_judge(
    battles: Battles, request: Request, rng: np.random.Generator
) -> tuple[Target, Order]:
    """Votes on a random sample of the battles, the judge on all: prediction-powered."""
    if battles.verdict is None or battles.human is None:
        raise ArgumentError(
            "method", "prediction-powered", "give votes on some battles and verdicts on all"
        )
    l2 = request.l2 or DEFAULT_L2
    fit = prediction_powered(battles, battles.human, battles.verdict, l2=l2)
    judged, _ = target_battles(battles, battles.verdict)
    voted, y = target_battles(judged, np.asarray(judged.human))
    n_battles = battles_per_model(judged.a, judged.b, judged.n_models)
    votes = battles_per_model(voted.a, voted.b, voted.n_models)
    shape = structure(wins_table(voted.a, voted.b, y, voted.n_models), battles.names)
    warnings = [*_few_prompts(judged, "sandwich"), *shape.warnings]
    # With ten expected votes, zero votes happen by chance less than once in 20,000 models.
    expected = n_battles * (len(voted) / len(judged))
    without = [battles.names[k] for k in np.flatnonzero((votes == 0) & (expected >= 10))]
    if without:
        warnings.append(
            f"votes are not a random sample of the battles: {len(without)} models have none "
            f"although ten or more are expected ({', '.join(without[:3])}); the intervals need a "
            "random sample"
        )
    unseen = (votes == 0) & (n_battles > 0)
    if unseen.any():
        # Without a vote a model has no link to people's scale, and its variance would be 0.
        n_battles = np.where(unseen, 0, n_battles)
        warnings.append(f"{int(unseen.sum())} models have no vote and are not ranked")
    best = worst = None
    if enough_clusters(_prompts(judged) or len(judged), battles.n_models):
        best, worst = component_ranges(
            fit.theta,
            normal_draws(fit.theta, fit.covariance, request.replicates, rng),
            shape.component,
            confidence_level=request.level,
        )
    elo = to_elo(fit.theta)
    reach = normal_quantile(request.level) * fit.se
    spread = Spread(se=fit.se, low=elo - reach, high=elo + reach, rank_low=best, rank_high=worst)
    outcome = f"{fit.n_labelled:,} votes, judge used with weight {fit.weight:.2f}"
    return Target(None, outcome, of_people=True), Order(
        models=model_rows(battles.names, elo, n_battles, shape.component, elo=elo, spread=spread),
        components=component_names(battles.names, shape.component, n_battles),
        interval="sandwich",
        l2=l2,
        n_battles=len(judged),
        clusters=_prompts(judged),
        dropped=merge_dropped({"no verdict": len(battles) - len(judged)}),
        warnings=tuple(warnings),
        assumptions=(
            "the battles with votes are a random sample of all battles",
            "many voted battles per model; the interval is a normal approximation",
        ),
    )
