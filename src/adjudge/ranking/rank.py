"""The front door: battles in, leaderboard out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge._bradley_terry import DEFAULT_L2, to_elo
from adjudge._stats import normal_quantile
from adjudge._validation import FloatArray, Seed, count, generator, non_negative, one_of, open_unit
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking.agreement import cohen_kappa
from adjudge.ranking.bootstrap import resampled_wins
from adjudge.ranking.bradley_terry import bradley_terry
from adjudge.ranking.components import structure
from adjudge.ranking.counts import Battles, battles_per_model, target_battles, wins_table
from adjudge.ranking.evaluation import evaluate_methods, group_temperatures
from adjudge.ranking.frames import battles_from_frame, default_cluster, load_battles
from adjudge.ranking.leaderboard import (
    INTERVALS,
    component_names,
    elo_rows,
    elo_spread,
    score_rows,
)
from adjudge.ranking.mfas import least_reversals
from adjudge.ranking.online_elo import online_elo
from adjudge.ranking.prediction_powered import prediction_powered
from adjudge.ranking.targets import choose_method, make_target
from adjudge.ranking.tournaments import copeland, schulze, win_rate
from adjudge.results.ranking import Leaderboard, ModelRow

METHODS = (
    "soft-elo",
    "hard-elo",
    "smoothed",
    "bt",
    "prediction-powered",
    "win-rate",
    "copeland",
    "schulze",
    "mfas",
    "online-elo",
)
_ELO = ("soft-elo", "hard-elo", "smoothed", "bt")


def rank(
    battles: Any,
    *,
    method: str = "auto",
    fmt: str | None = None,
    baseline: str | None = None,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    beta: float | None = None,
    smoothing: float | None = None,
    l2: float = DEFAULT_L2,
    interval: str = "bootstrap",
    confidence_level: float = 0.95,
    replicates: int = 500,
    cluster: str | None = "auto",
    group: str | None = None,
    evaluate: bool = False,
    alpha: float = 0.1,
    splits: int = 5,
    time_limit: float = 10.0,
    rng: Seed = 0,
) -> Leaderboard:
    """Rank models by their battles.

    `battles` is a path or a frame (polars, pandas) in the battles format, or a public data set
    that io knows (`fmt`, `baseline`: as `adjudge.io.open_battles`). `method`:

    * `soft-elo` Bradley-Terry on sigma(beta s), beta fitted to people's votes (or given);
    * `hard-elo` on the judge's verdicts; `smoothed` on verdicts pulled to `smoothing` (chosen by
      maximum likelihood when left out);
    * `bt` and the orders `win-rate`, `copeland`, `schulze`, `mfas`, `online-elo`: on the column
      `verdict` if named, else on people's votes, else on the judge's verdicts;
    * `prediction-powered`: judge verdicts everywhere, votes on a random part;
    * `auto`: soft-elo with scores and votes, else hard-elo with verdicts, else bt.

    `human`, `verdict`, `score` name columns. `cluster` names the column whose rows are resampled
    together ("auto": prompt_id where it repeats; None: battles alone). Intervals speak of the noise
    of these battles; how far a judge's leaderboard is from people's is what `evaluate` measures.

    >>> rank({"model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"],
    ...       "winner": ["model_a", "tie", "tie"]}, interval="none").models[0].model
    'x'
    """
    frame, unread = load_battles(battles, fmt, baseline=baseline)
    if method != "auto":
        one_of(method, METHODS, "method")
    one_of(interval, INTERVALS, "interval")
    non_negative(l2, "l2")
    level = open_unit(confidence_level, "confidence_level")
    count(replicates, "replicates", least=2)
    column = default_cluster(frame) if cluster == "auto" else cluster
    found, source = battles_from_frame(
        frame, human=human, verdict=verdict, score=score, cluster=column, group=group
    )
    if not len(found):
        raise DataError("battles", "has no battle left", remedy="give battles of two models")
    if method == "auto":
        method = choose_method(found, source, verdict)
    request = _Request(
        method=method,
        source=source,
        named=verdict,
        beta=beta,
        smoothing=smoothing,
        l2=float(l2),
        interval=interval,
        level=level,
        replicates=replicates,
        time_limit=time_limit,
        seed=rng if isinstance(rng, int) else None,
    )
    draw = generator(rng)
    board = _ranked(found, request, draw)
    board = replace(
        board,
        kappa=_kappa(found),
        dropped={**unread, **board.dropped},
        judge_fingerprint=single_value(frame, "judge_fingerprint"),
    )
    if group is not None:
        rows, advice = group_temperatures(found, board.temperature)
        board = replace(board, groups=rows, pooling=advice)
    if evaluate:
        board = evaluate_methods(board, found, l2=float(l2), alpha=alpha, splits=splits, rng=draw)
    return board


@dataclass(frozen=True)
class _Request:
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


def _ranked(battles: Battles, request: _Request, draw: np.random.Generator) -> Leaderboard:
    if request.method == "prediction-powered":
        return _powered(battles, request)
    target = make_target(
        battles,
        request.method,
        source=request.source,
        named=request.named,
        beta=request.beta,
        smoothing=request.smoothing,
    )
    warnings = list(battles.warnings)
    if target.temperature is not None:
        warnings += target.temperature.warnings
    dropped = dict(battles.dropped)
    base = Leaderboard(
        method=request.method,
        beta=target.beta,
        beta_se=target.beta_se,
        l2=request.l2 if request.method in _ELO else None,
        models=(),
        components=(),
        warnings=tuple(warnings),
        dropped=dropped,
        n_battles=0,
        outcome=target.outcome,
        interval=request.interval,
        confidence_level=request.level,
        replicates=request.replicates if request.interval == "bootstrap" else None,
        seed=request.seed,
        smoothing=target.smoothing,
        temperature=target.temperature,
    )
    if target.values is None:
        told = f"no leaderboard by {request.method}: {target.reason}"
        return replace(base, warnings=(*base.warnings, told), interval="none")
    used, y = target_battles(battles, target.values)
    if len(used) < len(battles):
        dropped["no outcome"] = len(battles) - len(used)
    if not len(used):
        raise DataError("battles", f"no battle has an outcome ({target.outcome})")
    clusters = None if used.prompts is None else len(np.unique(used.prompts))
    if clusters is not None and clusters < 20 and request.interval != "none":
        told = f"only {clusters} prompts: intervals by prompt are rough below some 20"
        base = replace(base, warnings=(*base.warnings, told))
    base = replace(base, n_battles=len(used), clusters=clusters)
    wins = wins_table(used.a, used.b, y, used.n_models)
    if request.method in _ELO:
        return _elo_board(base, used, y, wins, request, draw)
    return _order_board(base, used, y, wins, request, draw)


def _elo_board(
    base: Leaderboard,
    used: Battles,
    y: FloatArray,
    wins: FloatArray,
    request: _Request,
    draw: np.random.Generator,
) -> Leaderboard:
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


def _seen_structure_warnings(warnings: tuple[str, ...], n_battles: Any) -> tuple[str, ...]:
    unseen = int((n_battles == 0).sum())
    if not unseen:
        return warnings
    return (*warnings, f"{unseen} models have no battle with an outcome and are not ranked")


def _order_board(
    base: Leaderboard,
    used: Battles,
    y: FloatArray,
    wins: FloatArray,
    request: _Request,
    draw: np.random.Generator,
) -> Leaderboard:
    shape = structure(wins, used.names)
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    warnings = list(shape.warnings[:1] if shape.component.max() > 0 else ())
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
    n_battles: Any,
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


def _powered(battles: Battles, request: _Request) -> Leaderboard:
    if battles.verdict is None or battles.human is None:
        raise ArgumentError(
            "method", "prediction-powered", "give votes on some battles and verdicts on all"
        )
    found = prediction_powered(battles, battles.human, battles.verdict, l2=request.l2 or DEFAULT_L2)
    judged = battles.take(np.isfinite(battles.verdict))
    n_battles = battles_per_model(judged.a, judged.b, judged.n_models)
    voted, votes = target_battles(
        battles, np.where(np.isfinite(battles.verdict), battles.human, np.nan)
    )
    shape = structure(wins_table(voted.a, voted.b, votes, voted.n_models), battles.names)
    elo, se = to_elo(found.theta), found.se
    reach = normal_quantile(request.level) * se
    rows: tuple[ModelRow, ...] = score_rows(
        battles.names, elo, n_battles, shape.component, low=elo - reach, high=elo + reach, se=se
    )
    dropped = dict(battles.dropped)
    if len(judged) < len(battles):
        dropped["no verdict"] = len(battles) - len(judged)
    return Leaderboard(
        method=request.method,
        beta=None,
        beta_se=None,
        l2=request.l2 or DEFAULT_L2,
        models=tuple(replace(row, elo=row.score, score=None) for row in rows),
        components=component_names(battles.names, shape.component, n_battles),
        warnings=(*battles.warnings, *shape.warnings),
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


def _kappa(battles: Battles) -> float | None:
    if battles.human is None or battles.verdict is None:
        return None
    return cohen_kappa(battles.verdict, battles.human)


def single_value(frame: pl.DataFrame, column: str) -> str | None:
    """The one value of a column, or None when it is absent, empty or mixed."""
    if column not in frame.columns:
        return None
    values = frame[column].drop_nulls().unique().to_list()
    return str(values[0]) if len(values) == 1 else None
