"""How much length adds to an answer's chance, the models held fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import t as student_t

from adjudge.diagnosis.length import length_bias
from adjudge.errors import ArgumentError


def _pairs(
    *, prompts: int, gamma: float, people: float | None = None, seed: int = 0
) -> dict[str, Any]:
    """Four pairs a prompt among six models, of which the better ones write more."""
    rng = np.random.default_rng(seed)
    n = 4 * prompts
    theta = np.linspace(-1.2, 1.2, 6)
    a = rng.integers(0, 6, n)
    b = (a + rng.integers(1, 6, n)) % 6
    length_a, length_b = (300 * np.exp(0.4 * theta[m] + rng.normal(0, 0.5, n)) for m in (a, b))
    doublings = np.log2(length_a / length_b)

    def verdicts(liking: float) -> np.ndarray:
        return (rng.random(n) < expit(theta[a] - theta[b] + liking * doublings)).astype(float)

    drawn: dict[str, Any] = {
        "wins": verdicts(gamma),
        "length_a": length_a,
        "length_b": length_b,
        "models_a": [f"m{k}" for k in a],
        "models_b": [f"m{k}" for k in b],
        "clusters": np.repeat(np.arange(prompts), 4),
    }
    if people is not None:
        drawn["labels"] = np.where(verdicts(people) == 1, "A", "B").tolist()
    return drawn


def test_a_judge_that_likes_good_models_is_not_said_to_like_length() -> None:
    drawn = _pairs(prompts=300, gamma=0.0)
    fair = length_bias(**drawn)
    assert not fair.biased
    assert fair.effect_interval.low < 0 < fair.effect_interval.high
    # Without the models the same verdicts look like a liking for length.
    alone = length_bias(**{**drawn, "models_a": None, "models_b": None})
    assert alone.biased
    assert alone.effect > 0.05
    assert (fair.models, alone.models) == (6, 0)


def test_a_liking_for_length_is_shown_with_its_size() -> None:
    bias = length_bias(**_pairs(prompts=300, gamma=0.7))
    assert bias.biased
    assert bias.odds_doubling == pytest.approx(np.exp(0.7), rel=0.15)
    assert 0.06 < bias.effect_interval.low < bias.effect < bias.effect_interval.high < 0.2
    assert bias.measures()[0].departs


def test_the_estimate_is_that_of_a_general_optimiser() -> None:
    drawn = _pairs(prompts=60, gamma=0.4, seed=3)
    won = drawn["wins"]
    x = np.log2((1 + drawn["length_a"]) / (1 + drawn["length_b"])).clip(-3, 3)
    names = sorted({*drawn["models_a"]})
    a, b = ([names.index(m) for m in drawn[side]] for side in ("models_a", "models_b"))

    def loss(beta: np.ndarray) -> float:
        eta = beta[a] - beta[b] + beta[-1] * x
        fit = np.logaddexp(0, eta) - won * eta
        return float(fit.sum() + 0.01 * beta[:-1] @ beta[:-1] + 0.5 * beta[-1] ** 2)

    beta = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-8}).x
    assert length_bias(**drawn).odds_doubling == pytest.approx(np.exp(beta[-1]), rel=1e-4)


def test_people_who_like_length_as_much_are_no_ground_for_a_bias() -> None:
    same = length_bias(**_pairs(prompts=300, gamma=0.7, people=0.7))
    assert same.effect_interval.low > 0.03
    assert not same.biased
    assert same.low < 0 < same.high
    more = length_bias(**_pairs(prompts=300, gamma=0.9, people=0.1))
    assert more.biased
    assert more.excess == pytest.approx(more.effect - more.human_effect)
    # A coin likes length less than people do: that is no liking of its own.
    coin = length_bias(**_pairs(prompts=300, gamma=0.0, people=1.2))
    assert coin.high < -0.03
    assert not coin.biased
    assert not coin.measures()[0].departs


def test_a_sure_effect_below_the_floor_is_no_bias() -> None:
    drawn = _pairs(prompts=4000, gamma=0.08, seed=1)
    small = length_bias(**drawn)
    assert 0 < small.effect_interval.low < small.effect < 0.03
    assert not small.biased
    assert small.negligible
    assert length_bias(**drawn, floor=0.0).biased


def test_a_few_pairs_show_nothing_and_a_judge_that_takes_the_longer_always_is_shown() -> None:
    few = length_bias([1, 1, 1, 1], [9] * 4, [3] * 4)
    assert not few.biased
    assert few.effect_interval.low < 0
    all_longer = length_bias([1, 0] * 100, [90, 30] * 100, [30, 90] * 100)
    assert all_longer.biased
    assert all_longer.effect_interval.low > 0.4
    against = ["B", "A"] * 3
    apart = length_bias([1, 0] * 3, [90, 30] * 3, [30, 90] * 3, labels=against)
    assert (apart.low, apart.high, apart.biased) == (None, None, False)


def test_a_model_that_wins_by_length_is_named() -> None:
    rng = np.random.default_rng(2)
    n, models = 1200, np.array(["wordy", "x", "y"])
    a = rng.integers(0, 3, n)
    b = (a + rng.integers(1, 3, n)) % 3
    length_a, length_b = (np.where(m == 0, 900, 200) * rng.uniform(0.3, 3, n) for m in (a, b))
    strength = np.where(np.arange(3) == 0, -0.8, 0.0)
    x = np.log2(length_a / length_b).clip(-3, 3)
    wins = (rng.random(n) < expit(strength[a] - strength[b] + 0.7 * x)).astype(float)
    bias = length_bias(wins, length_a, length_b, models_a=models[a], models_b=models[b])
    [winner] = bias.winners
    assert winner.model == "wordy"
    assert winner.win_share > 0.5 > winner.by_strength


def test_what_says_nothing_is_counted() -> None:
    bias = length_bias(
        [1, np.nan, 0, 1, 0.5],
        [5, 5, np.nan, 7, 9],
        [6, 6, 6, 7, 3],
        models_a=["x", "x", "x", "x", None],
        models_b=["y"] * 5,
    )
    assert bias.dropped == {"no answer": 1, "no length": 1, "no model": 1, "equal length": 1}
    assert (bias.n, bias.low) == (1, None)
    nothing = length_bias([1, 0], [4, 4], [4, 4])
    assert (nothing.n, nothing.effect, nothing.biased) == (0, None, False)
    endless = length_bias([1, 0], [4, np.inf], [5, np.inf])
    assert endless.dropped == {"no length": 1}
    with pytest.raises(ArgumentError, match=r"wins\[0\]"):
        length_bias([2], [4], [5])
    with pytest.raises(ArgumentError, match="floor"):
        length_bias([1], [4], [4], floor=-1)
    with pytest.raises(ArgumentError, match="one length"):
        length_bias([1], [4, 5], [4, 4])


def test_the_interval_is_clustered_with_its_small_sample_factor() -> None:
    """By hand, without models: sandwich over prompts, times G/(G - 1) (n - 1)/(n - k), Student's t.

    Few clusters, so that the factor is large: 8/7 of the variance.
    """
    drawn = _pairs(prompts=8, gamma=0.5, seed=5)
    # Rows of a prompt are the same pair: the clustered error is twice that of independent rows.
    drawn = {name: np.repeat(drawn[name][::4], 4) for name in ("wins", "length_a", "length_b")}
    clusters = np.repeat(np.arange(8), 4)
    bias = length_bias(**drawn, clusters=clusters)
    x = np.log2((1 + drawn["length_a"]) / (1 + drawn["length_b"])).clip(-3, 3)
    gamma = np.log(bias.odds_doubling)
    p = expit(gamma * x)
    pulls = p * (1 - p) * x**2
    information = pulls.sum() + 1.0  # the prior on gamma; the one strength cancels
    influence = (drawn["wins"] - p) * x / information
    shares = np.bincount(clusters, weights=pulls) / information
    sums = np.bincount(clusters, weights=influence) / (1 - shares)
    n, groups, parameters = len(x), 8, 2
    variance = groups / (groups - 1) * (n - 1) / (n - parameters) * float(sums @ sums)
    assert variance > 1 / information  # else the interval would be that of independent pairs
    reach = student_t.ppf(0.975, groups - 1) * np.sqrt(variance)
    reach *= np.mean(p * (1 - p) * np.abs(x))  # the effect is a function of gamma alone
    assert list(bias.effect_interval) == pytest.approx([bias.effect - reach, bias.effect + reach])


def test_a_judge_that_never_differs_from_people_is_not_certain_to() -> None:
    """The judge says what people say in 30 pairs: the difference is 0, its interval is not."""
    draw = np.random.default_rng(0)
    length_a, length_b = draw.integers(20, 400, (2, 30))
    votes = draw.random(30) < 0.5
    labels = np.where(votes, "A", "B").tolist()
    bias = length_bias(votes.astype(float), length_a, length_b, labels=labels)
    assert bias.excess == 0
    assert bias.low is not None
    assert bias.high is not None
    assert bias.high == -bias.low
    assert 0.03 < bias.high < 0.2
    assert not bias.biased
