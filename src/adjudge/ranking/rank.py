"""The front door: battles in, leaderboard out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from adjudge._bradley_terry import DEFAULT_L2
from adjudge._validation import Seed, count, generator, non_negative, one_of, open_unit
from adjudge.errors import ArgumentError, DataError
from adjudge.io.tables import TableLike
from adjudge.ranking.agreement import cohen_kappa, ranking_agreement
from adjudge.ranking.boards import (
    ELO_METHODS,
    Request,
    elo_board,
    order_board,
    powered_board,
)
from adjudge.ranking.counts import Battles, target_battles, wins_table
from adjudge.ranking.evaluation import evaluate_methods, group_temperatures
from adjudge.ranking.frames import battles_from_frame, default_cluster, load_battles
from adjudge.ranking.leaderboard import INTERVALS
from adjudge.ranking.targets import choose_method, make_target
from adjudge.results.ranking import Leaderboard, RankAgreement

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


def rank(
    battles: TableLike,
    *,
    method: str = "auto",
    format: str | None = None,
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
    against: str | None = None,
    evaluate: bool = False,
    alpha: float = 0.1,
    splits: int = 5,
    time_limit: float = 10.0,
    rng: Seed = 0,
) -> Leaderboard:
    """Rank models by their battles.

    `battles` is a path or a frame (polars, pandas) in the battles format, or a public data set
    that io knows (`format`, `baseline`: as `adjudge.io.open_battles`). `method`:

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
    `against` ("votes" or a column) adds the rank correlation with that opinion's leaderboard.

    >>> rank({"model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"],
    ...       "winner": ["model_a", "tie", "tie"]}, interval="none").models[0].model
    'x'
    """
    frame, unread = load_battles(battles, format, baseline=baseline)
    if method != "auto":
        one_of(method, METHODS, "method")
    one_of(interval, INTERVALS, "interval")
    non_negative(l2, "l2")
    level = open_unit(confidence_level, "confidence_level")
    count(replicates, "replicates", least=2)
    column = default_cluster(frame) if cluster == "auto" else cluster
    found, source = battles_from_frame(
        frame,
        human=human,
        verdict=verdict,
        score=score,
        other=None if against == "votes" else against,
        cluster=column,
        group=group,
    )
    if not len(found):
        raise DataError("battles", "has no battle left", remedy="give battles of two models")
    if method == "auto":
        method = choose_method(found, source, verdict)
    request = Request(
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
    if against is not None:
        board = replace(board, agreement=_agreement(found, request, against, draw))
    if group is not None:
        rows, advice = group_temperatures(found)
        board = replace(board, groups=rows, pooling=advice)
    if evaluate:
        board = evaluate_methods(board, found, l2=float(l2), alpha=alpha, splits=splits, rng=draw)
    return board


def _ranked(battles: Battles, request: Request, draw: np.random.Generator) -> Leaderboard:
    if request.method == "prediction-powered":
        return powered_board(battles, request, draw)
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
        l2=request.l2 if request.method in ELO_METHODS else None,
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
    if request.method in ELO_METHODS:
        return elo_board(base, used, y, wins, request, draw)
    return order_board(base, used, y, wins, request, draw)


def _agreement(
    battles: Battles, request: Request, against: str, draw: np.random.Generator
) -> RankAgreement | None:
    """The board's targets and another opinion's, ranked on the same battles."""
    other = battles.human if against == "votes" else battles.other
    if other is None:
        raise ArgumentError("against", against, "give a column of outcomes, or votes in the file")
    method = request.method if request.method in ELO_METHODS else "bt"
    target = make_target(
        battles,
        method,
        source=request.source,
        named=request.named,
        beta=request.beta,
        smoothing=request.smoothing,
    )
    if target.values is None:
        return None
    return ranking_agreement(
        battles,
        target.values,
        other,
        l2=request.l2 or DEFAULT_L2,
        confidence_level=request.level,
        replicates=min(request.replicates, 200),
        rng=draw,
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
