"""The entry point: battles in, leaderboard out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from adjudge.errors import ArgumentError, DataError
from adjudge.io.tables import TableLike
from adjudge.ranking.agreement import ranking_agreement
from adjudge.ranking.boards import Request, order_by_target, order_with_judge
from adjudge.ranking.bootstrap import Mapper, map_here
from adjudge.ranking.evaluation import Evaluation, evaluate_methods, group_temperatures
from adjudge.ranking.jury import calibrate_jury
from adjudge.ranking.leaderboard import INTERVALS
from adjudge.ranking.targets import Target, choose_method, make_target
from adjudge.results.ranking import JurorRow, Leaderboard, RankAgreement
from adjudge.rows.agreement import cohen_kappa
from adjudge.rows.battles import Battles, prepare_battles
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import Seed, count, generator, non_negative, one_of, open_unit

METHODS = (
    *("soft-elo", "hard-elo", "smoothed", "bt", "prediction-powered"),
    *("win-rate", "copeland", "schulze", "mfas", "online-elo"),
)
#: Resamples of a rank correlation, whose interval is rough anyway.
_MOST_CORRELATIONS = 200


def rank(
    battles: TableLike | Battles,
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
    by: str | None = None,
    against: str | None = None,
    jury: bool = False,
    families: Mapping[str, str] | None = None,
    evaluate: bool = False,
    alpha: float = 0.1,
    splits: int = 5,
    time_limit: float = 10.0,
    model_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    engine: str = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    seed: Seed = 0,
) -> Leaderboard:
    """Rank models by their battles.

    Intervals cover the noise of these battles; `evaluate` measures how far a judge's leaderboard is
    from people's.

    Args:
        battles: model_a, model_b and the result: winner or human_pref (people), score_a and
            score_b, p_a or verdict (the judge). A path or a frame (polars, pandas) in the battles
            format, a public data set that `adjudge.io.open_battles` reads, or the result of
            `prepare_battles`, with its columns chosen there.
        method: soft-elo, hard-elo, smoothed, bt, prediction-powered, win-rate, copeland, schulze,
            mfas, online-elo; auto picks one of the first two, or bt. `soft-elo` is Bradley-Terry on
            sigma(beta s), beta fitted to people's votes (or given); `hard-elo` on the judge's
            verdicts; `smoothed` on verdicts moved to `smoothing`. `bt` and the orders `win-rate`,
            `copeland`, `schulze`, `mfas`, `online-elo` are on the column `verdict` if named, else
            on people's votes, else on the judge's verdicts. `prediction-powered` has judge verdicts
            everywhere, votes on a random sample. `auto` is soft-elo with scores and votes, else
            hard-elo with verdicts, else bt.
        format: Name of a public format, if it cannot be detected from content.
        baseline: Arena-Hard's baseline model, for the format arena-hard.
        human: Column of people's votes.
        verdict: Column of the verdicts to rank by (A, B, tie).
        score: Column of score differences, positive for model_a.
        beta: Temperature of soft-elo, instead of fitting it.
        smoothing: Constant of smoothed, instead of choosing it. By default it is chosen by maximum
            likelihood.
        l2: Penalty l2 |theta|^2.
        interval: bootstrap, sandwich or none.
        confidence_level: Confidence level of the intervals.
        replicates: Bootstrap resamples.
        cluster: Column of rows that belong together, such as the prompt. They are resampled
            together. "auto" is prompt_id if it repeats; None resamples single battles.
        by: Fit a temperature for each value of this column, such as language.
        against: votes, or a column: print the rank correlation with that leaderboard. It is the
            Bradley-Terry leaderboard of that column.
        jury: All judges of the file as one: mean of calibrated scores, majority of verdicts. It
            needs battles that each of them scored (rows of the same `id`).
        families: Makers of models whose names do not show it, for the quantiles by family in
            `evaluate`.
        evaluate: Leave every model out in turn and compare hard, soft and smoothed with people.
        alpha: Error level of conformal intervals.
        splits: Random halves of the models.
        time_limit: Time limit for mfas, in seconds.
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
        columns: Our column names to those of the file.
        labels_as: Meaning of words in columns of winners and verdicts.
        engine: Where the resamples are computed: local (this process) or ray. The numbers are the
            same; ray pays off from thousands of replicates on.
        workers: Number of Ray workers.
        ray_address: HOST:PORT of a Ray cluster's head.
        seed: Seed of everything random.

    >>> rank({"model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"],
    ...       "winner": ["model_a", "tie", "tie"]}, interval="none").models[0].model
    'x'
    """
    if method != "auto":
        one_of(method, METHODS, "method")
    one_of(interval, INTERVALS, "interval")
    penalty = non_negative(l2, "l2")
    level = open_unit(confidence_level, "confidence_level")
    count(replicates, "replicates", least=2)
    rng = generator(seed)
    ready = prepare_battles(
        battles,
        format=format,
        baseline=baseline,
        human=human,
        verdict=verdict,
        score=score,
        cluster=cluster,
        by=by,
        against=against,
        model_labels=model_labels,
        jury=jury,
        columns=columns,
        labels_as=labels_as,
    )
    if not len(ready):
        raise DataError("battles", "has no battle left", remedy="give battles of two models")
    if method == "auto":
        method = choose_method(ready)
    jurors: tuple[JurorRow, ...] = ()
    mapper = _mapper(engine, workers, ray_address)
    request = Request(method, penalty, interval, level, replicates, time_limit, mapper)
    if method == "prediction-powered":
        if ready.other is not None:
            remedy = "leave it out: prediction-powered has no separate outcomes to compare"
            raise ArgumentError("against", against or "another opinion", remedy)
        target, order = order_with_judge(ready, request, rng)
    else:
        if method == "soft-elo" and ready.panel is not None:
            if beta is not None:
                remedy = "leave it out: a jury's temperatures are fitted to votes"
                raise ArgumentError("beta", beta, remedy)
            ready, jurors = calibrate_jury(ready)
        target = make_target(ready, method, beta=beta, smoothing=smoothing)
        order = order_by_target(ready, target, request, rng)
    agreement = _agreement(ready, target, request, rng)
    groups, pooling = group_temperatures(ready)
    evaluation = Evaluation()
    if evaluate:
        evaluation = evaluate_methods(
            ready, l2=penalty, alpha=alpha, splits=splits, families=families, seed=rng
        )
    kappa = None
    if ready.human is not None and ready.verdict is not None:
        kappa = cohen_kappa(ready.verdict, ready.human)
    fitted = () if target.temperature is None else target.temperature.warnings
    return Leaderboard(
        method=method,
        outcome=target.outcome,
        covers_judge_error=target.of_people,
        reason=target.reason,
        beta=target.beta,
        beta_se=target.beta_se,
        smoothing=target.smoothing,
        temperature=target.temperature,
        models=order.models,
        components=order.components,
        interval=order.interval,
        confidence_level=level,
        replicates=order.replicates,
        l2=order.l2,
        n_battles=order.n_battles,
        clusters=order.clusters,
        proven=order.proven,
        gap=order.gap,
        assumptions=order.assumptions,
        warnings=(*ready.warnings, *fitted, *order.warnings),
        dropped={**ready.dropped, **order.dropped},
        kappa=kappa,
        agreement=agreement,
        groups=groups,
        pooling=pooling,
        loo=evaluation.loo,
        conformal=evaluation.conformal,
        held_out=evaluation.held_out,
        budgets=evaluation.budgets,
        quantiles=evaluation.quantiles,
        jury=jurors,
        seed=seed if isinstance(seed, int) else None,
        judge_fingerprint=ready.fingerprints[0] if len(ready.fingerprints) == 1 else None,
    )


def _mapper(engine: str, workers: int | None, ray_address: str | None) -> Mapper:
    """What computes the blocks of a bootstrap."""
    if (engine, workers, ray_address) == ("local", None, None):
        return map_here
    from adjudge.judges.cluster.blocks import map_blocks
    from adjudge.judges.options import check_engine

    check_engine(engine, workers, ray_address)
    return partial(map_blocks, workers=workers, ray_address=ray_address)


def _agreement(
    battles: Battles, target: Target, request: Request, rng: np.random.Generator
) -> RankAgreement | None:
    """The board's own order and another column's Bradley-Terry, on the same battles."""
    if battles.other is None or target.values is None:
        return None
    return ranking_agreement(
        battles,
        target.values,
        battles.other,
        method=request.method,
        time_limit=request.time_limit,
        l2=request.l2 or DEFAULT_L2,
        confidence_level=request.level,
        replicates=min(request.replicates, _MOST_CORRELATIONS),
        seed=rng,
    )
