"""Battles in, leaderboard out: Elo scales, bare orders, votes with a judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
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
    Mapper,
    battles_per_model,
    bootstrap_strengths,
    bradley_terry,
    elo_standard_errors,
    float_at,
    map_here,
    prediction_powered,
    resampled_wins,
    sandwich,
    structure,
    target_battles,
    wins_table,
)
from adjudge.ranking.differences import (
    choose_reference,
    component_ranges,
    component_ranks,
    difference_intervals,
    independent_wins,
)
from adjudge.ranking.evaluation import evaluate_methods
from adjudge.ranking.leaderboard import Leaderboard, ModelRow
from adjudge.ranking.shift import spell_mix, weigh_battles
from adjudge.ranking.targets import JurorRow, Target, calibrate_jury, choose_method, make_target
from adjudge.ranking.temperature import group_temperatures
from adjudge.records import Interval
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import DEFAULT_L2, ELO_PER_UNIT, to_elo
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    count,
    generator,
    non_negative,
    one_of,
    open_unit,
)

METHODS = (
    *("soft-elo", "hard-elo", "smoothed", "bt", "prediction-powered"),
    *("win-rate", "copeland", "schulze", "mfas", "online-elo"),
)
ELO_METHODS = ("soft-elo", "hard-elo", "smoothed", "bt")
INTERVALS = ("bootstrap", "sandwich", "none")
#: With fewer prompts, intervals by prompt are rough.
_FEW_PROMPTS = 20
#: Resamples of a rank correlation, whose interval is rough anyway.
_MOST_CORRELATIONS = 200


class ReadingBattles(Reading, total=False):
    """What every call takes that reads battles.

    Args:
        format: Name of a public format, if it cannot be detected from content.
        baseline: Arena-Hard's baseline model, for the format arena-hard.
        human: Column of people's votes.
        verdict: Column of the verdicts to rank by (A, B, tie).
        score: Column of score differences, positive for model_a.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. They are resampled together. Default: auto.
        by: Fit a temperature for each value of this column, such as language. `difficulty`, if
            there is no such column: thirds of the prompts by the judge's mean |s|.
        against: votes, or a column: print the rank correlation with that leaderboard. It is the
            Bradley-Terry leaderboard of that column.
        jury: All judges of the file as one: mean of calibrated scores, majority of verdicts. It
            needs battles that each of them scored (rows of the same `id`).
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
    """

    format: str | None
    baseline: str | None
    human: str | None
    verdict: str | None
    score: str | None
    cluster: str | None
    by: str | None
    against: str | None
    jury: bool
    model_labels: bool


def rank(
    battles: TableLike | Battles,
    *,
    method: str = "auto",
    beta: float | None = None,
    smoothing: float | None = None,
    l2: float = DEFAULT_L2,
    interval: str = "bootstrap",
    confidence_level: float = 0.95,
    replicates: int = 500,
    families: Mapping[str, str] | None = None,
    evaluate: bool = False,
    alpha: float = 0.1,
    mix: Mapping[str, float] | None = None,
    splits: int = 5,
    time_limit: float = 10.0,
    engine: str = "local",
    workers: int | None = None,
    ray_address: str | None = None,
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
        l2: Penalty l2 |theta|^2.
        interval: bootstrap, sandwich or none.
        confidence_level: Confidence level of the intervals.
        replicates: Bootstrap resamples.
        families: Makers of models whose names do not show it, for the quantiles by family in
            `evaluate`.
        evaluate: Leave every model out in turn and compare hard, soft and smoothed with people.
        alpha: Error level of conformal intervals.
        mix: Share of each value of `by` in the battles of new models, such as en=0.3,de=0.7.
            Battles are weighted to it in `evaluate` and in saved anchors; the leaderboard is not.
        splits: Random halves of the models.
        time_limit: Time limit for mfas, in seconds.
        engine: Where the resamples are computed: local (this process) or ray. The numbers are the
            same; ray pays off from thousands of replicates on.
        workers: Number of Ray workers. Default: one per available GPU, else per CPU.
        ray_address: HOST:PORT of a Ray cluster's head. Default: RAY_ADDRESS, else a Ray for this
            run on this machine.
        seed: Seed of everything random.
        **reading: How battles are read: see `ReadingBattles`.

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
    ready = prepare_battles(battles, **reading)
    if not len(ready):
        raise DataError("battles", "has no battle left", remedy="give battles of two models")
    if method == "auto":
        method = choose_method(ready)
    mapper = _mapper(engine, workers, ray_address)
    request = Request(method, penalty, interval, level, replicates, time_limit, mapper, rng)
    jurors: tuple[JurorRow, ...] = ()
    agreement = None
    if method == "prediction-powered":
        if ready.other is not None:
            remedy = "leave it out: prediction-powered has no separate outcomes to compare"
            raise ArgumentError("against", reading.get("against") or "another opinion", remedy)
        board = _board_with_judge(ready, request)
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
        evaluation = evaluate_methods(weigh_battles(ready, mix), l2=penalty, seed=rng, **how)
    elif mix is not None:
        raise ArgumentError("mix", spell_mix(mix), "add --evaluate (evaluate=True)")
    kappa = None
    if ready.human is not None and ready.verdict is not None:
        kappa = cohen_kappa(ready.verdict, ready.human)
    whose, unnamed = board.whose, reading.get("human") is None
    if board.outcome == "votes" and unnamed and ready.voters.endswith(" winner"):
        whose = f"{whose} (a judge's? --verdict winner)"
    fitted = () if board.temperature is None else board.temperature.warnings
    return replace(
        board,
        whose=whose,
        advice=_advice(ready, board),
        warnings=(*ready.warnings, *fitted, *board.warnings),
        dropped={**ready.dropped, **board.dropped},
        kappa=kappa,
        agreement=agreement,
        groups=groups,
        mix=dict(mix or {}),
        pooling=pooling,
        jury=jurors,
        seed=seed if isinstance(seed, int) else None,
        judge_fingerprint=ready.fingerprints[0] if len(ready.fingerprints) == 1 else None,
        **evaluation,
    )


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
    measured = f"judge errors are measured by: {battles.command} --evaluate"
    return f"--method bt ranks by the votes; {measured}"


def _mapper(engine: str, workers: int | None, ray_address: str | None) -> Mapper:
    """What computes the blocks of a bootstrap."""
    if (engine, workers, ray_address) == ("local", None, None):
        return map_here
    from adjudge.judges.cluster.connection import map_blocks
    from adjudge.judges.options import check_engine

    check_engine(engine, workers, ray_address)
    return partial(map_blocks, workers=workers, ray_address=ray_address)


@dataclass(frozen=True)
class Request:
    """The checked options of `rank`."""

    method: str
    l2: float
    interval: str
    level: float
    replicates: int
    time_limit: float
    mapper: Mapper
    rng: np.random.Generator

    def empty_board(self, target: Target, l2: float | None) -> Leaderboard:
        """A leaderboard by this method, without models."""
        how = {name: value for name, value in vars(target).items() if name != "values"}
        nothing: dict[str, Any] = {"models": (), "components": (), "warnings": (), "dropped": {}}
        nothing |= {"interval": "none", "n_battles": 0}
        return Leaderboard(method=self.method, confidence_level=self.level, l2=l2, **how, **nothing)


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
    if target.values is not battles.human:
        lost = battles.count_lost(~np.isfinite(target.values), "no outcome")
    board = replace(board, n_battles=len(used), clusters=_prompts(used))
    fill = _elo_board if with_elo else _plain_board
    return fill(replace(board, dropped=merge_dropped(lost)), used, y, request)


def _elo_board(board: Leaderboard, used: Battles, y: FloatArray, request: Request) -> Leaderboard:
    """Bradley-Terry on the targets, with intervals and rank ranges."""
    wins = wins_table(used.a, used.b, y, used.n_models)
    fit = bradley_terry(wins, names=used.names, l2=request.l2)
    spread, few, assumptions = None, [], []
    if request.interval != "none":
        spread = _elo_spread(fit, used, y, request)
        few = _few_prompts(used)
        independent = "battles of different prompts" if used.prompts is not None else "battles"
        assumptions.append(f"{independent} are independent draws")
        if board.beta:
            assumptions.append("the interval treats the temperature as fixed")
    if board.covers_judge_error:
        assumptions.append("the voters are the people whom the leaderboard is for")
    interval = request.interval
    if spread is not None and spread.references and used.prompts is None:
        interval = "profile"
    board = replace(
        board,
        interval=interval,
        replicates=request.replicates if interval == "bootstrap" else None,
        warnings=(*few, *fit.structure.warnings, *_not_ranked(used)),
        assumptions=tuple(assumptions),
    )
    return _with_models(board, used, fit.theta, fit.structure.component, elo=fit.elo, spread=spread)


def _plain_board(board: Leaderboard, used: Battles, y: FloatArray, request: Request) -> Leaderboard:
    """Win rate, Copeland, Schulze, exact order or online Elo."""
    wins = wins_table(used.a, used.b, y, used.n_models)
    shape = structure(wins, used.names)
    component, warnings = shape.component, [*shape.apart, *_not_ranked(used)]
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
            warnings += _few_prompts(used)
        warnings.append("win rates depend on which opponents a model met")
    board = replace(board, warnings=tuple(warnings))
    return _with_models(board, used, strength, component, elo=elo, score=score, spread=spread)


def _prompts(used: Battles) -> int | None:
    return None if used.prompts is None else len(np.unique(used.prompts))


def _not_ranked(used: Battles) -> list[str]:
    unseen = int((battles_per_model(used.a, used.b, used.n_models) == 0).sum())
    return [f"{unseen} models have no battle with an outcome and are not ranked"] if unseen else []


def _few_prompts(used: Battles) -> list[str]:
    prompts = _prompts(used)
    if prompts is None or prompts >= _FEW_PROMPTS:
        return []
    return [f"only {prompts} prompts: below about {_FEW_PROMPTS}, intervals are rough"]


def _board_with_judge(battles: Battles, request: Request) -> Leaderboard:
    """Votes on a random sample of the battles, the judge on all: prediction-powered."""
    if battles.verdict is None or battles.human is None:
        raise ArgumentError(
            "method",
            "prediction-powered",
            "give verdicts on all battles (--verdict NAME) and people's votes on a random part of "
            "them, empty elsewhere (--human NAME)",
        )
    l2 = request.l2 or DEFAULT_L2
    fit = prediction_powered(battles, battles.human, battles.verdict, l2=l2)
    judged, _ = target_battles(battles, battles.verdict)
    voted, y = target_battles(judged, np.asarray(judged.human))
    n_battles, votes = (battles_per_model(of.a, of.b, of.n_models) for of in (judged, voted))
    shape = structure(wins_table(voted.a, voted.b, y, voted.n_models), battles.names)
    warnings = [*_few_prompts(judged), *shape.warnings]
    if shape.unbounded:
        warnings.append(
            "where the votes are a clean sweep, these intervals and rank ranges can be false: "
            "--method bt on the votes alone has intervals of differences that hold"
        )
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
        warnings.append(f"{int(unseen.sum())} models have no vote and are not ranked")
    drawn = _normal_draws(fit.theta, fit.covariance, _prompts(judged) or len(judged), request)
    se = elo_standard_errors(fit.covariance)
    spread = _normal_spread(fit.theta, se, drawn, shape.component, request.level)
    outcome = f"{fit.n_labelled:,} votes, judge used with weight {fit.weight:.2f}"
    both = Target(None, outcome, "votes and a judge", covers_judge_error=True)
    board = replace(
        request.empty_board(both, l2),
        interval="sandwich",
        n_battles=len(judged),
        clusters=_prompts(judged),
        dropped=merge_dropped({"no verdict": len(battles) - len(judged)}),
        warnings=tuple(warnings),
        assumptions=(
            "the battles with votes are a random sample of all battles",
            "many voted battles per model; the interval is a normal approximation",
        ),
    )
    elo = to_elo(fit.theta)
    # Without a vote a model has no link to people's scale, and its variance would be 0.
    return _with_models(
        board, judged, elo, shape.component, elo=elo, spread=spread, ranked=votes > 0
    )


# --- rows, with intervals and rank ranges ---


@dataclass(frozen=True)
class Spread:
    """The uncertainty of each number: standard error, interval (NaN: no such end), rank range.

    The ends are on the scale of their number; with `references`, the positions of one model for
    each component, they are of the Elo difference to it. `level` is that of the intervals.
    """

    se: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    references: tuple[int, ...] = ()
    rank_low: IntArray | None = None
    rank_high: IntArray | None = None
    level: float | None = None

    def interval_of(self, k: int) -> Interval | None:
        """The interval of one model; None if there are none, or for the reference itself."""
        if self.low is None or self.high is None or self.level is None or k in self.references:
            return None
        return Interval(float_at(self.low, k), float_at(self.high, k), self.level)


def _with_models(
    board: Leaderboard,
    used: Battles,
    strength: FloatArray,
    component: IntArray,
    *,
    elo: FloatArray | None = None,
    score: FloatArray | None = None,
    spread: Spread | None = None,
    ranked: BoolArray | None = None,
) -> Leaderboard:
    """The board with its rows: the largest component first, the strongest first within it.

    A row shows `elo`, or the method's own `score`, or neither if a method gives only an order;
    `spread` is on the same scale. A model without a battle is not on the leaderboard.
    """
    spread, names = spread or Spread(), used.names
    rank = component_ranks(strength, component)
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    shown = np.flatnonzero(n_battles > 0 if ranked is None else ranked)
    order = sorted(shown.tolist(), key=lambda k: (component[k], -strength[k], names[k]))
    models = tuple(
        ModelRow(
            model=names[k],
            elo=float_at(elo, k),
            interval=None if spread.references else spread.interval_of(k),
            difference=spread.interval_of(k) if spread.references else None,
            se=float_at(spread.se, k),
            n_battles=int(n_battles[k]),
            rank=int(rank[k]),
            rank_low=None if spread.rank_low is None else int(spread.rank_low[k]),
            rank_high=None if spread.rank_high is None else int(spread.rank_high[k]),
            score=float_at(score, k),
            component=int(component[k]),
            unbounded=(ends := spread.interval_of(k)) is not None and None in (ends.low, ends.high),
        )
        for k in order
    )
    groups = (shown[component[shown] == number] for number in np.unique(component[shown]))
    components = tuple(tuple(names[k] for k in group) for group in groups)
    references = tuple(names[k] for k in spread.references)
    return replace(board, models=models, components=components, references=references)


def _elo_spread(fit: Fit, used: Battles, y: FloatArray, request: Request) -> Spread:
    """elo -+ z SE with the bootstrap's or the sandwich's SE; differences after a clean sweep.

    These are not percentiles: sparse battles push estimates away from the mean, resamples push them
    further, and percentiles count that twice (30 models of 40 battles each, 95 %: 0.94 against
    0.97). With few prompts neither keeps its level.

    Rank ranges of independent wins and losses come from likelihood ratios. With prompts, ties or
    soft targets they come from the bootstrap, or from normal draws with the sandwich covariance.
    """
    component, level = fit.structure.component, request.level
    swept = bool(fit.structure.unbounded)
    decided = used.prompts is None and bool(np.isin(y, (0.0, 1.0)).all())
    wins = independent_wins(used, y) if swept or decided else None
    covariance, drawn, se = None, None, np.full(len(component), np.nan)
    if request.interval == "sandwich":
        covariance = sandwich(fit, used.a, used.b, y, clusters=used.prompts)
        se = elo_standard_errors(covariance)
        if not decided:
            drawn = _normal_draws(fit.theta, covariance, _prompts(used) or len(used), request)
    elif not (swept and decided):
        size, mapper = request.replicates, request.mapper
        drawn = bootstrap_strengths(fit, used, y, replicates=size, seed=request.rng, mapper=mapper)
        se = ELO_PER_UNIT * drawn.std(axis=0, ddof=1)
    if decided:
        drawn = None
    spread = _normal_spread(fit.theta, se, drawn, component, level, wins)
    if not swept or wins is None:
        return spread
    # The scale is then set by the penalty: only differences have intervals.
    low, high = np.full(len(se), np.nan), np.full(len(se), np.nan)
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
            if covariance is not None:
                diagonal = np.diag(covariance)[members]
                variance = diagonal + covariance[reference, reference]
                variance -= 2 * covariance[members, reference]
            else:
                variance = (np.asarray(drawn)[:, members].T - np.asarray(drawn)[:, reference]).var(
                    axis=1, ddof=1
                )
            normal = gap, np.sqrt(np.maximum(variance, 0.0))
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


def _normal_spread(
    theta: FloatArray,
    se: FloatArray,
    drawn: FloatArray | None,
    component: IntArray,
    level: float,
    wins: FloatArray | None = None,
) -> Spread:
    """Elo -+ z SE, with rank ranges if strengths were drawn or wins can be tested."""
    best = worst = None
    if drawn is not None or wins is not None:
        best, worst = component_ranges(theta, drawn, component, wins=wins, confidence_level=level)
    elo, reach = to_elo(theta), normal_quantile(level) * se
    return Spread(se, elo - reach, elo + reach, rank_low=best, rank_high=worst, level=level)


def _rate_spread(used: Battles, y: FloatArray, request: Request) -> Spread:
    drawn = resampled_wins(used, y, replicates=request.replicates, seed=request.rng)
    rates = np.stack([np.nan_to_num(orders.win_rate(table), nan=0.5) for table in drawn])
    tail = (1 - request.level) / 2
    low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
    return Spread(rates.std(axis=0, ddof=1), low, high, level=request.level)
