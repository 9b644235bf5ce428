"""Do the intervals hold? Seeded worlds with known truth, against the levels they promise.

A band is 3.5 standard errors of the Monte Carlo mean over independent worlds: a right method leaves
it once in two thousand runs, and the seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from adjudge.data.battles import Battles, code_battles
from adjudge.ranking import (
    bradley_terry,
    fit_pooled,
    fit_temperature,
    make_anchors,
    place,
    rank,
)
from adjudge.ranking.anchors import AnchorRow, Anchors
from adjudge.ranking.bradley_terry import elo_standard_errors, sandwich, wins_table
from adjudge.ranking.evaluation import (
    Residuals,
    elo_quantile,
    family_quantiles,
    hold_out_each,
    human_reference,
    residuals,
    split_conformal,
)
from adjudge.ranking.placing import _anchor_quantile, _strength_quantile
from adjudge.ranking.targets import fixed_rule, soft_rule
from adjudge.ranking.temperature import group_temperatures
from adjudge.simulate.battles import simulate_battles
from adjudge.statistics.bradley_terry import fit_against_anchors, fit_strengths, to_elo
from adjudge.statistics.numbers import conformal_rank
from adjudge.validation import exact_level

BAND = 3.5
ANCHORS = Anchors(
    method="soft-elo", beta=0.6, beta_se=0.03, smoothing=None, l2=0.01, replicates=20, models=(),
    judge=None, judge_fingerprint=None, score_source="score_a - score_b", score_quantiles=(),
    n_battles=1, warnings=(), dropped={}, adjudge_version="0",
)  # fmt: skip


def over_worlds(one: Callable[[int], float], worlds: int) -> tuple[float, float]:
    """Mean of `one(seed)` over independent worlds and its standard error."""
    seen = np.array([one(seed) for seed in range(worlds)])
    return float(seen.mean()), float(seen.std(ddof=1) / math.sqrt(worlds))


def split_coverage(models: int, battles: int, seed: int) -> float:
    """Share of test models covered by 90 % intervals, one random split of one world."""
    found = code_battles(
        simulate_battles(models=models, battles=battles, bias=0.3, seed=seed).frame
    )
    held = residuals(
        hold_out_each(soft_rule(found), replicates=20, seed=seed), human_reference(found)
    )
    assert len(held.names) == models
    row = split_conformal(held, alpha=0.1, splits=1, seed=seed)
    assert row.coverage is not None
    return row.coverage


def check_split_coverage(models: int, battles: int, worlds: int) -> None:
    mean, error = over_worlds(lambda seed: split_coverage(models, battles, seed), worlds)
    n = models // 2
    # Exchangeable scores without ties cover with exactly this probability.
    promised = conformal_rank(n, exact_level(0.1)) / (n + 1)
    assert promised >= 0.9
    assert abs(mean - promised) <= BAND * error


def test_conformal_coverage() -> None:
    check_split_coverage(20, 800, 40)


@pytest.mark.montecarlo
@pytest.mark.parametrize(
    ("models", "battles", "worlds"), [(20, 800, 600), (55, 2500, 200), (116, 6000, 40)]
)
def test_conformal_coverage_in_full(models: int, battles: int, worlds: int) -> None:
    check_split_coverage(models, battles, worlds)


def deployed(models: int, seed: int) -> float:
    """1 when a new model's interval holds its Elo on the human board, votes unseen until now."""
    world = simulate_battles(models=models + 1, battles=55 * models, bias=0.3, seed=seed)
    new = world.names[-1]
    mine = (pl.col("model_a") == new) | (pl.col("model_b") == new)
    old, fresh = world.frame.filter(~mine), world.frame.filter(mine)
    board = place(
        fresh.drop("human_pref"), make_anchors(old, replicates=20, seed=seed), alpha=0.1, seed=seed
    )
    row = next(row for row in board.models if row.origin == "new")
    assert row.interval is not None
    assert not row.unbounded
    battles = code_battles(world.frame)
    assert battles.human is not None
    m = battles.names.index(new)
    own = (battles.a == m) | (battles.b == m)
    rest = wins_table(battles.a[~own], battles.b[~own], battles.human[~own], battles.n_models)
    table = wins_table(battles.a[own], battles.b[own], battles.human[own], battles.n_models)
    theta = fit_against_anchors(
        table[m] + table[:, m], np.asarray(table[m].sum()), fit_strengths(rest)
    )
    return float(float(to_elo(theta)) in row.interval)


def check_deployment(models: int, worlds: int) -> None:
    mean, _ = over_worlds(lambda seed: deployed(models, seed), worlds)
    error = math.sqrt(0.9 * 0.1 / worlds)
    assert mean >= 0.9 - BAND * error


@pytest.mark.montecarlo
def test_deployed_intervals_hold() -> None:
    check_deployment(20, 600)


def deployed_with_more(times: int, seed: int) -> float:
    """As `deployed`, but the new model fought `times` as many judged battles as the anchors."""
    models, per = 20, 60
    world = simulate_battles(
        models=models + 1,
        battles=models * per // 2,
        bias=0.3,
        new_models=1,
        seed=seed,
    )
    old = world.frame.filter(pl.col("human_pref").is_not_null())
    draw = np.random.default_rng(seed)
    rival = draw.integers(0, models, times * per)
    # The simulator's own law (its defaults), for one model against the known ones.
    quality = 1.5 * (world.theta[-1] - world.theta[rival]) + draw.normal(0, 1.5, len(rival))
    score = quality + world.bias[-1] - world.bias[rival]
    fresh = pl.DataFrame(
        {
            "model_a": [world.names[-1]] * len(rival),
            "model_b": np.array(world.names)[rival],
            "score_a": 6 + score / 2,
            "score_b": 6 - score / 2,
            "judge": ["simulated"] * len(rival),
        }
    )
    board = place(fresh, make_anchors(old, replicates=20, seed=seed), alpha=0.1, seed=seed)
    row = next(row for row in board.models if row.origin == "new")
    assert row.interval is not None
    assert not row.unbounded
    # People vote on the first of these battles, as many as an anchor has.
    vote = (draw.random(per) < 1 / (1 + np.exp(-0.6 * quality[:per]))).astype(float)
    known = code_battles(old)
    assert known.human is not None
    strength = fit_strengths(wins_table(known.a, known.b, known.human, known.n_models))
    position = {name: k for k, name in enumerate(known.names)}
    at = [position[world.names[k]] for k in rival[:per]]
    met = np.bincount(at, minlength=known.n_models).astype(float)
    theta = fit_against_anchors(met, np.asarray(vote.sum()), strength)
    return float(float(to_elo(theta)) in row.interval)


def check_deployment_with_more(times: int, worlds: int) -> None:
    mean, _ = over_worlds(lambda seed: deployed_with_more(times, seed), worlds)
    assert mean >= 0.9 - BAND * math.sqrt(0.9 * 0.1 / worlds)


@pytest.mark.montecarlo
@pytest.mark.parametrize("times", [1, 5, 20])
def test_many_battles_of_a_new_model_do_not_break_its_interval(times: int) -> None:
    check_deployment_with_more(times, 400)


def leaderboard_coverage(interval: str, seed: int) -> tuple[float, float]:
    """Share of models whose 95 % interval holds the truth; 1 if all true ranks are in range."""
    draw = np.random.default_rng(seed)
    n, size = 8, 2400
    theta = draw.normal(0, 0.6, n)
    theta -= theta.mean()
    a = draw.integers(0, n, size)
    b = (a + draw.integers(1, n, size)) % n
    y = (draw.random(size) < 1 / (1 + np.exp(theta[b] - theta[a]))).astype(float)
    battles = Battles(names=tuple("abcdefgh"), a=a, b=b, human=y)
    board = rank(battles, method="bt", interval=interval, replicates=300, seed=seed)
    rows = sorted(board.models, key=lambda row: row.model)
    truth = to_elo(theta)
    share = np.mean(
        [
            row.interval is not None and elo in row.interval
            for row, elo in zip(rows, truth, strict=True)
        ]
    )
    true_rank = np.argsort(np.argsort(-theta)) + 1
    inside = [
        (row.rank_low or n + 1) <= at <= (row.rank_high or 0)
        for row, at in zip(rows, true_rank, strict=True)
    ]
    return float(share), float(all(inside))


def check_leaderboard(interval: str, worlds: int) -> None:
    seen = np.array([leaderboard_coverage(interval, seed) for seed in range(worlds)])
    error = seen[:, 0].std(ddof=1) / math.sqrt(worlds)
    assert abs(seen[:, 0].mean() - 0.95) <= BAND * error
    # Rank ranges promise at least their level, all models at once.
    assert seen[:, 1].mean() >= 0.95 - BAND * math.sqrt(0.95 * 0.05 / worlds)


@pytest.mark.parametrize("interval", ["bootstrap", "sandwich"])
def test_leaderboard_intervals_and_rank_ranges(interval: str) -> None:
    check_leaderboard(interval, 80)


@pytest.mark.montecarlo
@pytest.mark.parametrize("interval", ["bootstrap", "sandwich"])
def test_leaderboard_intervals_and_rank_ranges_in_full(interval: str) -> None:
    check_leaderboard(interval, 600)


def clustered_coverage(seed: int) -> float:
    """Prompts that all lean one way: intervals by prompt, of battles that share prompts."""
    draw = np.random.default_rng(seed)
    n, prompts, per = 5, 150, 8
    theta = np.linspace(-0.8, 0.8, n)
    lean = draw.normal(0, 0.8, (prompts, n))  # a prompt may suit a model
    code = np.repeat(np.arange(prompts), per)
    a = draw.integers(0, n, prompts * per)
    b = (a + draw.integers(1, n, prompts * per)) % n
    d = theta[a] - theta[b] + lean[code, a] - lean[code, b]
    y = 1 / (1 + np.exp(-d))
    fit = bradley_terry(wins_table(a, b, y, n))
    se = elo_standard_errors(sandwich(fit, a, b, y, clusters=code))
    # What the fit estimates: Bradley-Terry of the mean preference over prompts.
    many = draw.normal(0, 0.8, (20_000, n))
    i, j = np.triu_indices(n, 1)
    mean = (1 / (1 + np.exp(-(theta[i] - theta[j] + many[:, i] - many[:, j])))).mean(axis=0)
    table = np.zeros((n, n))
    table[i, j], table[j, i] = mean, 1 - mean
    truth = to_elo(fit_strengths(1e4 * table))
    return float((np.abs(fit.elo - truth) <= 1.96 * se).mean())


def test_intervals_by_prompt() -> None:
    mean, error = over_worlds(clustered_coverage, 60)
    assert abs(mean - 0.95) <= BAND * error


def powered_coverage(good: bool, seed: int) -> float:
    """Share of models whose 95 % prediction-powered interval holds people's strength."""
    draw = np.random.default_rng(seed)
    n, size = 6, 6000
    theta = draw.normal(0, 0.6, n)
    theta -= theta.mean()
    a = draw.integers(0, n, size)
    b = (a + draw.integers(1, n, size)) % n
    human = (draw.random(size) < 1 / (1 + np.exp(theta[b] - theta[a]))).astype(float)
    if good:
        judge = np.where(draw.random(size) < 0.85, human, 1 - human)
    else:  # loves the last model whatever people say
        judge = np.where(a == n - 1, 1.0, np.where(b == n - 1, 0.0, 0.5))
    human[draw.random(size) > 0.2] = np.nan
    battles = Battles(names=tuple("abcdef"), a=a, b=b)
    fit = fit_pooled(battles, human, judge)
    return float((np.abs(to_elo(fit.theta) - to_elo(theta)) <= fit.half_widths(0.95)).mean())


@pytest.mark.parametrize("good", [True, False])
def test_prediction_powered_intervals(good: bool) -> None:
    mean, error = over_worlds(lambda seed: powered_coverage(good, seed), 50)
    assert abs(mean - 0.95) <= BAND * error


@pytest.mark.montecarlo
@pytest.mark.parametrize("good", [True, False])
def test_prediction_powered_intervals_in_full(good: bool) -> None:
    mean, error = over_worlds(lambda seed: powered_coverage(good, seed), 1000)
    assert abs(mean - 0.95) <= BAND * error


def powered_by_prompt(seed: int) -> float:
    """Votes on a random part of the battles of every prompt, whose battles lean together."""
    draw = np.random.default_rng(seed)
    n, prompts, per = 5, 150, 10
    theta = np.linspace(-0.8, 0.8, n)
    lean = draw.normal(0, 1.2, (prompts, n))
    code = np.repeat(np.arange(prompts), per)
    a = draw.integers(0, n, prompts * per)
    b = (a + draw.integers(1, n, prompts * per)) % n
    d = theta[a] - theta[b] + lean[code, a] - lean[code, b]
    human = (draw.random(len(a)) < 1 / (1 + np.exp(-d))).astype(float)
    judge = np.where(draw.random(len(a)) < 0.9, human, 1 - human)
    human[draw.random(len(a)) > 0.4] = np.nan
    battles = Battles(names=tuple("abcde"), a=a, b=b, prompts=code)
    fit = fit_pooled(battles, human, judge)
    many = draw.normal(0, 1.2, (20_000, n))
    i, j = np.triu_indices(n, 1)
    mean = (1 / (1 + np.exp(-(theta[i] - theta[j] + many[:, i] - many[:, j])))).mean(axis=0)
    table = np.zeros((n, n))
    table[i, j], table[j, i] = mean, 1 - mean
    truth = to_elo(fit_strengths(1e4 * table))
    return float((np.abs(to_elo(fit.theta) - truth) <= fit.half_widths(0.95)).mean())


def test_prediction_powered_by_prompt() -> None:
    mean, error = over_worlds(powered_by_prompt, 60)
    assert abs(mean - 0.95) <= BAND * error


@pytest.mark.montecarlo
def test_prediction_powered_by_prompt_in_full() -> None:
    # What battles of a prompt share, taken from residuals after the judge, covered 0.91 here.
    mean, error = over_worlds(powered_by_prompt, 1000)
    assert abs(mean - 0.95) <= BAND * error


def errors(informative: bool, seed: int) -> tuple[float, float, bool]:
    """Held-out error of hard and soft targets, and whether the temperature's check spoke up."""
    frame = simulate_battles(models=16, battles=2500, informative=informative, seed=seed).frame
    found = code_battles(frame)
    assert found.verdict is not None
    assert found.score is not None
    assert found.human is not None
    human = human_reference(found)
    hard = residuals(
        hold_out_each(fixed_rule("hard-elo", found, found.verdict), replicates=0), human
    ).mae
    soft = residuals(hold_out_each(soft_rule(found), replicates=0), human).mae
    assert hard is not None
    assert soft is not None
    return hard, soft, bool(fit_temperature(found.score, found.human).warnings)


def test_soft_elo_wins_where_scores_carry_signal_and_the_check_stays_quiet() -> None:
    seen = [errors(True, seed) for seed in range(20)]
    assert all(soft < hard for hard, soft, _ in seen)
    assert sum(warned for *_, warned in seen) <= 1


def test_the_check_speaks_up_where_scores_carry_none() -> None:
    seen = [errors(False, seed) for seed in range(20)]
    # A flat slope passes the one-sided 5 % test once in twenty; 4 or more of 20 would be 1.6 %.
    assert sum(warned for *_, warned in seen) >= 17


def temperature_coverage(seed: int) -> float:
    draw = np.random.default_rng(seed)
    s = draw.normal(0, 2, 600)
    human = (draw.random(600) < 1 / (1 + np.exp(-0.5 * s))).astype(float)
    found = fit_temperature(s, human)
    assert found.beta is not None
    assert found.beta_se is not None
    return float(abs(found.beta - 0.5) <= 1.96 * found.beta_se)


def groups_differ(slopes: tuple[float, ...], seed: int) -> float:
    """1 when the advice about groups whose betas are `slopes` is not to pool."""
    draw = np.random.default_rng(seed)
    size = 150 * len(slopes)
    code = draw.integers(0, len(slopes), size)
    s = draw.normal(0, 2, size)
    human = (draw.random(size) < 1 / (1 + np.exp(-np.array(slopes)[code] * s))).astype(float)
    battles = Battles(
        names=("x", "y"),
        a=np.zeros(size, dtype=np.int64),
        b=np.ones(size, dtype=np.int64),
        human=human,
        score=s,
        groups=tuple(str(k) for k in range(len(slopes))),
        group_codes=code,
    )
    _, advice = group_temperatures(battles)
    assert advice is not None
    return float("is enough" not in advice)


def test_pooling_is_advised_unless_groups_differ() -> None:
    alike, _ = over_worlds(lambda seed: groups_differ((0.5,) * 4, seed), 100)
    assert alike <= 0.05 + BAND * math.sqrt(0.05 * 0.95 / 100)
    apart, _ = over_worlds(lambda seed: groups_differ((0.2, 0.2, 0.8, 0.8), seed), 20)
    assert apart == 1.0


def test_temperature_standard_error() -> None:
    worlds = 250
    mean, _ = over_worlds(temperature_coverage, worlds)
    assert abs(mean - 0.95) <= BAND * math.sqrt(0.95 * 0.05 / worlds)


def family_coverage(seed: int) -> tuple[float, float]:
    """Whether a new model of a disliked family is inside its family's and the pooled interval."""
    draw = np.random.default_rng(seed)
    names = tuple(f"{maker}-{k}" for maker in ("openai", "meta") for k in range(14))
    # The judge dislikes Meta's models: their residuals are off by two standard errors more.
    shift = np.repeat([0.0, -25.0], 14)
    human = draw.normal(1500, 80, 28)
    held = Residuals(
        method="soft-elo",
        names=names,
        human=human,
        judge=human + shift + draw.normal(0, 12, 28),
        se=np.full(28, 12.0),
        mean_parameter=None,
        left_out={},
    )
    own = next(row for row in family_quantiles(held, alpha=0.1) if row.group == "Meta").quantile
    pooled = elo_quantile(held.values, held.se, alpha=0.1)
    assert own is not None
    assert pooled is not None
    score = abs(-25.0 + draw.normal(0, 12)) / 12
    return float(score <= own), float(score <= pooled)


def test_a_familys_own_quantile_covers_its_models() -> None:
    worlds = 600
    inside = np.array([family_coverage(seed) for seed in range(worlds)])
    own, pooled = inside.mean(axis=0)
    # 14 models calibrate: the promise is the 14th of 15 ranks.
    promise = conformal_rank(14, exact_level(0.1)) / 15
    assert own >= promise - BAND * math.sqrt(promise * (1 - promise) / worlds)
    # The pooled interval holds on average over families, not for this one.
    assert pooled < 0.9


def strength_coverage(seed: int) -> tuple[float, float]:
    """Whether a strong new model is inside the interval of its strength, and the pooled one."""
    draw = np.random.default_rng(seed)
    theta = np.sort(draw.normal(0, 0.5, 41))
    # The judge is 60 Elo off for the strongest quarter, 10 for the others.
    error = np.where(np.arange(41) >= 31, 60.0, 10.0) * draw.normal(0, 1, 41)
    new = int(draw.integers(31, 41))
    rows = tuple(
        AnchorRow(model=f"m{k}", theta=float(theta[k]), human_elo=None, residual=float(error[k]),
                  se=12.0, n_battles=300)
        for k in range(41) if k != new
    )  # fmt: skip
    anchors = replace(ANCHORS, models=rows)
    elo = float(to_elo(theta[new]))
    level = exact_level(0.1)
    own = _strength_quantile(elo, anchors, level)
    pooled, _ = _anchor_quantile(rows, level)
    assert own is not None
    assert pooled is not None
    size = abs(error[new]) / 12
    return float(size <= own), float(size <= pooled)


def test_a_quantile_by_strength_covers_the_strong_models() -> None:
    worlds = 600
    own, pooled = np.array([strength_coverage(seed) for seed in range(worlds)]).mean(axis=0)
    # Ten anchors or nine are in the strongest quarter: promised is the smaller of 10/11 and 9/10.
    assert own >= 0.9 - BAND * math.sqrt(0.9 * 0.1 / worlds)
    assert pooled < 0.8
