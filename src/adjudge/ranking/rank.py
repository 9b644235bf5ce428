"""Battles in, leaderboard out: Elo scales, bare orders, votes with a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from adjudge.data.battles import Battles, prepare_battles
from adjudge.data.rows import merge_dropped
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking import orders
from adjudge.ranking.bradley_terry import (
    Fit,
    bootstrap_strengths,
    bradley_terry,
    elo_standard_errors,
    resampled_wins,
    sandwich,
    structure,
    target_battles,
    wins_of,
)
from adjudge.ranking.differences import (
    choose_reference,
    component_ranges,
    difference_intervals,
    few_groups,
    independent_wins,
    reach_of,
    variances_of_gaps,
)
from adjudge.ranking.evaluation import evaluate_methods
from adjudge.ranking.leaderboard import Leaderboard
from adjudge.ranking.pooled import VOTES_L2
from adjudge.ranking.pooled_board import board_of_targets, board_with_judge
from adjudge.ranking.shift import spell_mix, weigh_battles
from adjudge.ranking.spread import (
    VOTERS,
    Request,
    Spread,
    count_prompts,
    describe_assumptions,
    warn_of_few_prompts,
    warn_of_unseen,
    with_models,
)
from adjudge.ranking.targets import JurorRow, Target, calibrate_jury, choose_method, make_target
from adjudge.ranking.temperature import group_temperatures
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import DEFAULT_L2, ELO_PER_UNIT
from adjudge.validation import (
    FloatArray,
    Seed,
    count,
    exact_level,
    generator,
    known_seed,
    non_negative,
    one_of,
    open_unit,
    positive,
)

METHODS = (
    *("soft-elo", "hard-elo", "smoothed", "bt", "prediction-powered"),
    *("win-rate", "copeland", "schulze", "mfas", "online-elo"),
)
ELO_METHODS = ("soft-elo", "hard-elo", "smoothed", "bt")
INTERVALS = ("auto", "pooled", "bootstrap", "sandwich", "none")
#: Resamples of a rank correlation, whose interval is rough anyway.
_MOST_CORRELATIONS = 200


class ReadingJudged(Reading, total=False):
    """What every call takes that reads battles, judged ones at least.

    Args:
        format: Name of a public format, if it cannot be detected from content.
        baseline: Arena-Hard's baseline model, for the format arena-hard.
        verdict: Column of the verdicts to rank by (A, B, tie).
        score: Column of score differences, positive for model_a.
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
    """

    format: str | None
    baseline: str | None
    verdict: str | None
    score: str | None
    model_labels: bool


class ReadingVotes(ReadingJudged, total=False):
    """What every call takes that reads battles with people's votes.

    Args:
        human: Column of people's votes.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. They are resampled together. Default: auto.
        by: Fit a temperature for each value of this column, such as language. `difficulty`, if
            there is no such column: thirds of the prompts by the judge's mean |s|.
    """

    human: str | None
    cluster: str | None
    by: str | None


class ReadingBattles(ReadingVotes, total=False):
    """What `rank` takes about its battles.

    Args:
        against: votes, or a column: print the rank correlation with that leaderboard. It is the
            Bradley-Terry leaderboard of that column.
        jury: All judges of the file as one: mean of calibrated scores, majority of verdicts. It
            needs battles that each of them scored (rows of the same `id`).
        control: Rank at equal style: length, headers, lists, bold (from response_a and response_b,
            or columns such as lists_a and lists_b), or a column of numbers (NAME_a and NAME_b, or
            NAME for a difference).
    """

    against: str | None
    jury: bool
    control: Sequence[str] | None


def rank(
    battles: TableLike | Battles,
    *,
    method: str = "auto",
    beta: float | None = None,
    smoothing: float | None = None,
    l2: float | None = None,
    interval: str = "auto",
    confidence_level: float = 0.95,
    widest: float = 200.0,
    top: int | None = None,
    replicates: int = 500,
    families: Mapping[str, str] | None = None,
    evaluate: bool = False,
    alpha: float = 0.1,
    mix: Mapping[str, float] | None = None,
    splits: int = 5,
    time_limit: float = 10.0,
    seed: Seed = 0,
    **reading: Unpack[ReadingBattles],
) -> Leaderboard:
    """Rank models by their battles.

    Intervals cover the noise of these battles; `evaluate` measures how far a judge's leaderboard is
    from people's.

    Args:
        battles: model_a, model_b and the result: winner or human_pref (people), score_a and
            score_b, p_a or verdict (the judge). A path or a frame (polars, pandas) in the battles
            format, a public data set of battles, or the result of
            `prepare_battles`, with its columns chosen there.
        method: soft-elo, hard-elo, smoothed, bt, prediction-powered, win-rate, copeland, schulze,
            mfas, online-elo; auto picks one of the first two, or bt. `soft-elo` is Bradley-Terry on
            sigma(beta s), beta fitted to people's votes (or given); `hard-elo` on the judge's
            verdicts; `smoothed` on verdicts moved to `smoothing`. `bt` and the orders `win-rate`,
            `copeland`, `schulze`, `mfas`, `online-elo` are on the column `verdict` if named, else
            on people's votes, else on the judge's verdicts. `prediction-powered` has judge verdicts
            everywhere, votes on a random sample. `auto` is soft-elo with scores and votes, else
            hard-elo with verdicts, else bt.
        beta: Temperature of soft-elo, instead of fitting it.
        smoothing: Constant of smoothed, instead of choosing it. By default it is chosen by maximum
            likelihood.
        l2: Penalty l2 |theta|^2. Default: 0.01; 0.05 on votes, alone or with a judge.
        interval: auto, pooled, bootstrap, sandwich or none. `pooled` is one dispersion for all
            models, which holds with few battles: `auto` takes it for bt and prediction-powered,
            else bootstrap.
        confidence_level: Confidence level of the intervals.
        widest: Largest half-width in Elo with which a model is ranked (pooled intervals).
        top: Show this many models in tables and pictures. The JSON has all of them.
        replicates: Bootstrap resamples.
        families: Makers of models whose names do not show it, for the quantiles by family in
            `evaluate`.
        evaluate: Leave every model out in turn and compare hard, soft and smoothed with people.
        alpha: Error level of conformal intervals.
        mix: Share of each value of `by` in the battles of new models, such as en=0.3,de=0.7.
            Battles are weighted to it in `evaluate`; the leaderboard is not.
        splits: Random halves of the models.
        time_limit: Time limit for mfas, in seconds.
        seed: Seed of everything random.
        **reading: How battles are read: see `ReadingBattles`.

    >>> rank({"model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"],
    ...       "winner": ["model_a", "tie", "tie"]}, interval="none").models[0].model
    'x'
    """
    if method != "auto":
        one_of(method, METHODS, "method")
    one_of(interval, INTERVALS, "interval")
    widest = positive(widest, "widest")
    if top is not None:
        count(top, "top", least=1)
    level = open_unit(confidence_level, "confidence_level")
    count(replicates, "replicates", least=2)
    count(splits, "splits", least=1)
    exact_level(alpha)
    rng = generator(seed)
    ready = prepare_battles(battles, **reading)
    if not len(ready):
        raise DataError("battles", "has no battle left", remedy="give battles of two models")
    if method == "auto":
        method = choose_method(ready)
    if ready.style is not None:
        interval = _refuse_with_control(ready, method, interval, evaluate)
    if method == "prediction-powered" and ready.other is not None:
        remedy = "leave it out: prediction-powered has no separate outcomes to compare"
        raise ArgumentError("against", reading.get("against") or "another opinion", remedy)
    interval, penalty = _choose_interval(interval, method, l2)
    request = Request(method, penalty, interval, level, replicates, widest, time_limit, rng)
    jurors: tuple[JurorRow, ...] = ()
    agreement = None
    if method == "prediction-powered":
        board = board_with_judge(ready, request)
    else:
        if method == "soft-elo" and ready.panel is not None:
            if beta is not None:
                remedy = "leave it out: a jury's temperatures are fitted to votes"
                raise ArgumentError("beta", beta, remedy)
            ready, jurors = calibrate_jury(ready)
        target = make_target(ready, method, beta=beta, smoothing=smoothing)
        board = _board_by_target(ready, target, request)
        if ready.other is not None and target.values is not None:
            agreement = orders.ranking_agreement(
                ready,
                target.values,
                ready.other,
                method=method,
                time_limit=time_limit,
                l2=penalty or DEFAULT_L2,
                confidence_level=level,
                replicates=min(replicates, _MOST_CORRELATIONS),
                seed=rng,
            )
    groups, pooling = group_temperatures(ready)
    evaluation: dict[str, Any] = {}
    if evaluate:
        how: dict[str, Any] = {"alpha": alpha, "splits": splits, "families": families}
        evaluation = evaluate_methods(
            weigh_battles(ready, mix), l2=l2 or DEFAULT_L2, seed=rng, **how
        )
    elif mix is not None:
        raise ArgumentError("mix", spell_mix(mix), "add --evaluate (evaluate=True)")
    kappa = None
    if ready.human is not None and ready.verdict is not None:
        kappa = cohen_kappa(ready.verdict, ready.human)
    unnamed = reading.get("human") is None and ready.voters.endswith(" winner")
    doubt = " (a judge's? --verdict winner)" if board.outcome == "votes" and unnamed else ""
    fitted = () if board.temperature is None else board.temperature.warnings
    return replace(
        board,
        top=top,
        doubt=doubt,
        advice=_advice(ready, board),
        warnings=(*ready.warnings, *fitted, *board.warnings),
        dropped={**ready.dropped, **board.dropped},
        kappa=kappa,
        agreement=agreement,
        groups=groups,
        mix=dict(mix or {}),
        pooling=pooling,
        jury=jurors,
        seed=known_seed(seed),
        judge_fingerprint=ready.fingerprints[0] if len(ready.fingerprints) == 1 else None,
        **evaluation,
    )


def _refuse_with_control(battles: Battles, method: str, interval: str, evaluate: bool) -> str:
    """Refuse what has no control of style; the kind of intervals that has."""
    control = ",".join(battles.control)
    if method not in (*ELO_METHODS, "prediction-powered"):
        raise ArgumentError("control", control, f"leave it out: {method} has no Elo")
    if interval not in ("auto", "pooled"):
        raise ArgumentError("interval", interval, "leave it out: --control has pooled intervals")
    for option, value in {"evaluate": evaluate, "against": battles.other is not None}.items():
        if value:
            remedy = f"leave it out, or run it without --{option}: that compares plain boards"
            raise ArgumentError("control", control, remedy)
    return "pooled"


def _choose_interval(interval: str, method: str, l2: float | None) -> tuple[str, float]:
    """The kind of intervals, and the penalty: that of few votes unless they are resampled."""
    on_votes = method in ("bt", "prediction-powered")
    with_elo = method in (*ELO_METHODS, "prediction-powered")
    if method == "prediction-powered" and interval in ("bootstrap", "sandwich"):
        raise ArgumentError("interval", interval, f"choose pooled or none for {method}")
    if interval == "pooled" and not with_elo:
        raise ArgumentError("interval", interval, f"choose bootstrap or none for {method}")
    if interval == "auto":
        interval = "pooled" if on_votes else "bootstrap"
    pooled = interval == "pooled" or (on_votes and interval == "none")
    penalty = non_negative((VOTES_L2 if pooled else DEFAULT_L2) if l2 is None else l2, "l2")
    if penalty == 0 and (interval == "pooled" or method == "prediction-powered"):
        raise ArgumentError("l2", 0, "give a number above 0, or --interval bootstrap")
    return interval, penalty


def _advice(battles: Battles, board: Leaderboard) -> str:
    """How to include judge errors, with the command."""
    if board.covers_judge_error or battles.verdict is None or not battles.of_people:
        return ""
    judged = np.isfinite(battles.verdict)
    votes = 0 if battles.human is None else int(np.isfinite(battles.human[judged]).sum())
    command = f"{battles.command} --method prediction-powered"
    if not votes:
        return (
            "With people's votes on a random part of the battles, prediction-powered intervals "
            "include judge errors: --method prediction-powered"
        )
    if votes < judged.sum():
        return (
            f"People voted on {votes:,} of {int(judged.sum()):,} battles; if these are a random "
            f"sample, intervals that include judge errors: {command}"
        )
    if battles.control:
        return "--method bt ranks by the votes"
    measured = f"judge errors are measured by: {battles.command} --evaluate"
    return f"--method bt ranks by the votes; {measured}"


def _board_by_target(battles: Battles, target: Target, request: Request) -> Leaderboard:
    """Elo, or a bare order, from the battles with a target."""
    with_elo = request.method in ELO_METHODS
    board = request.empty_board(target, request.l2 if with_elo else None)
    if target.values is None:
        return board
    used, y = target_battles(battles, target.values)
    if not len(used):
        raise DataError("battles", f"no battle has an outcome ({target.outcome})")
    lost = {"no outcome": len(battles) - len(used)}
    # Beside a judge's answers a status is the judge's, and no reason for a missing vote.
    if target.values is not battles.human or battles.source is None:
        lost = battles.count_lost(~np.isfinite(target.values), "no outcome")
    board = replace(board, n_battles=len(used), clusters=count_prompts(used))
    board = replace(board, dropped=merge_dropped(lost))
    if request.interval == "pooled":
        return board_of_targets(board, used, y, request)
    fill = _elo_board if with_elo else _plain_board
    return fill(board, used, y, request)


def _elo_board(board: Leaderboard, used: Battles, y: FloatArray, request: Request) -> Leaderboard:
    """Bradley-Terry on the targets, with intervals and rank ranges."""
    wins = wins_of(used, y)
    fit = bradley_terry(wins, names=used.names, l2=request.l2)
    spread = None
    few: list[str] = []
    assumptions: tuple[str, ...] = ()
    if request.interval != "none":
        spread = _elo_spread(fit, used, y, request)
        few = warn_of_few_prompts(used)
        assumptions = describe_assumptions(board, used)
    if board.covers_judge_error:
        assumptions = (*assumptions, VOTERS)
    interval = request.interval
    if spread is not None and spread.references and used.prompts is None:
        interval = "profile"
    board = replace(
        board,
        interval=interval,
        replicates=request.replicates if interval == "bootstrap" else None,
        warnings=(*few, *fit.structure.warnings, *warn_of_unseen(used)),
        assumptions=assumptions,
    )
    return with_models(board, used, fit.theta, fit.structure.component, elo=fit.elo, spread=spread)


def _plain_board(board: Leaderboard, used: Battles, y: FloatArray, request: Request) -> Leaderboard:
    """Win rate, Copeland, Schulze, exact order or online Elo."""
    wins = wins_of(used, y)
    shape = structure(wins, used.names)
    component, warnings = shape.component, [*shape.apart, *warn_of_unseen(used)]
    elo = score = spread = None
    if request.method in orders.BY_TABLE:
        strength = score = np.nan_to_num(orders.BY_TABLE[request.method](wins), nan=0.0)
    elif request.method == "mfas":
        exact = orders.least_reversals(wins, time_limit=request.time_limit)
        strength = exact.strengths
        board = replace(board, proven=exact.proven, gap=exact.gap)
        if not exact.proven:
            warnings.append(f"order not proven optimal: gap {100 * exact.gap:.2f} % of all wins")
    else:
        strength = elo = orders.online_elo(used.a, used.b, y, used.n_models)
        component = np.zeros(used.n_models, dtype=np.int64)
        warnings.append("online Elo depends on the order of the battles; bt does not")
    if request.method == "win-rate":
        if request.interval != "none":
            board = replace(board, interval="bootstrap", replicates=request.replicates)
            spread = _rate_spread(used, y, request)
            warnings += warn_of_few_prompts(used)
        warnings.append("win rates depend on which opponents a model met")
    board = replace(board, warnings=tuple(warnings))
    return with_models(board, used, strength, component, elo=elo, score=score, spread=spread)


def _elo_spread(fit: Fit, used: Battles, y: FloatArray, request: Request) -> Spread:
    """elo -+ t SE with the bootstrap's or the sandwich's SE; differences after a clean sweep.

    t has G - 1 degrees of freedom, and a bootstrap's variance is multiplied by G / (G - 1), for G
    prompts (battles, without prompts).

    These are not percentiles: sparse battles push estimates away from the mean, resamples push them
    further, and percentiles count that twice (30 models of 40 battles each, 95 %: 0.94 against
    0.97).

    Rank ranges of independent wins and losses come from likelihood ratios. With prompts, ties or
    soft targets they come from the bootstrap, or from normal draws with the sandwich covariance.
    """
    component = fit.structure.component
    level = request.level
    swept = bool(fit.structure.unbounded)
    decided = used.prompts is None and bool(np.isin(y, (0.0, 1.0)).all())
    wins = independent_wins(used, y) if swept or decided else None
    groups = count_prompts(used) or len(used)
    n = len(component)
    covariance = np.full((n, n), np.nan)
    drawn = None
    if request.interval == "sandwich":
        covariance = sandwich(fit, used.a, used.b, y, clusters=used.prompts)
        if not decided:
            drawn = _normal_draws(fit.theta, covariance, groups, request)
    elif not (swept and decided):
        drawn = bootstrap_strengths(fit, used, y, replicates=request.replicates, seed=request.rng)
        covariance = np.atleast_2d(np.cov(drawn.T)) * few_groups(groups) ** 2
    if decided:
        drawn = None
    se = elo_standard_errors(covariance)
    best = worst = None
    if drawn is not None or wins is not None:
        best, worst = component_ranges(
            fit.theta, drawn, component, wins=wins, groups=groups, confidence_level=level
        )
    reach = reach_of(level, groups) * se
    spread = Spread(
        se, fit.elo - reach, fit.elo + reach, rank_low=best, rank_high=worst, level=level
    )
    if not swept or wins is None:
        return spread
    # The scale is then set by the penalty: only differences have intervals.
    low = np.full(n, np.nan)
    high = np.full(n, np.nan)
    references = []
    for number in np.unique(component):
        members = np.flatnonzero(component == number)
        if not wins[members].any():
            continue
        reference = choose_reference(wins, members)
        references.append(reference)
        normal = None
        if used.prompts is not None:
            gap = fit.theta[members] - fit.theta[reference]
            fixed = np.full(len(members), reference)
            variance = variances_of_gaps(covariance, members, fixed)
            normal = gap, reach_of(level, groups) * np.sqrt(variance)
        at = int(np.flatnonzero(members == reference)[0])
        ends = difference_intervals(wins[np.ix_(members, members)], at, level, normal=normal)
        low[members], high[members] = (ELO_PER_UNIT * end for end in ends)
    return replace(spread, se=None, low=low, high=high, references=tuple(references))


def _normal_draws(
    theta: FloatArray, covariance: FloatArray, clusters: int, request: Request
) -> FloatArray | None:
    """(replicates, n) strengths drawn around the estimate with their covariance.

    The covariance is singular with fewer clusters than models and would call some differences
    certain, so it needs twice as many clusters as models; None with fewer.
    """
    if clusters < 2 * len(theta):
        return None
    drawn = request.rng.multivariate_normal(theta, covariance, request.replicates, method="eigh")
    return np.asarray(drawn, dtype=np.float64)


def _rate_spread(used: Battles, y: FloatArray, request: Request) -> Spread:
    drawn = resampled_wins(used, y, replicates=request.replicates, seed=request.rng)
    rates = np.stack([np.nan_to_num(orders.win_rate(table), nan=0.5) for table in drawn])
    tail = (1 - request.level) / 2
    low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
    return Spread(rates.std(axis=0, ddof=1), low, high, level=request.level)
