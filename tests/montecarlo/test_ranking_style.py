"""Boards at equal style: coverage, false ranges, the coefficient, and control of one side alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from adjudge.data.battles import Battles
from adjudge.ranking.style import Equal, fit_equal
from adjudge.statistics.bradley_terry import to_elo
from adjudge.validation import FloatArray

BAND = 3.5
N = 10
THETA = np.linspace(-0.8, 0.8, N)
#: Weak models write more: without control of style the order is another.
HABIT = np.linspace(0.9, -0.9, N)


class World(NamedTuple):
    """Battles with a difference in style, votes or P(A), and a judge's verdicts."""

    battles: Battles
    target: FloatArray
    judge: FloatArray


def world(
    seed: int,
    *,
    prompts: int = 0,
    size: int = 1200,
    effect: float = 1.2,
    judge_effect: float = 2.5,
    share: float = 1.0,
    soft: bool = False,
    bent: float = 0.0,
) -> World:
    """Battles; with `prompts` those of a prompt lean together. `effect` is people's of x."""
    draw = np.random.default_rng(seed)
    a = draw.integers(0, N, size)
    b = (a + draw.integers(1, N, size)) % N
    # (e^u - e^v) / (e^u + e^v)
    x = np.tanh((HABIT[a] - HABIT[b] + draw.normal(0, 0.8, size)) / 2)
    gap = THETA[a] - THETA[b]
    codes = None
    if prompts:
        codes = np.sort(draw.integers(0, prompts, size))
        lean = draw.normal(0, 0.6, (prompts, N))
        gap = gap + lean[codes, a] - lean[codes, b]
    people = 1 / (1 + np.exp(-(gap + effect * x + bent * x * np.abs(x))))
    votes = (draw.random(size) < people).astype(float)
    likes = 1 / (1 + np.exp(-(gap + judge_effect * x)))
    judge = np.where(draw.random(size) < 0.7, votes, draw.random(size) < likes).astype(float)
    if soft:
        votes = people
    votes[draw.random(size) > share] = np.nan
    battles = Battles(
        names=tuple(map(str, range(N))), a=a, b=b, prompts=codes, style=x[:, None],
        control=("length",), style_kinds=("times",),
    )  # fmt: skip
    return World(battles, votes, judge)


def fitted(made: World, *, with_judge: bool = False) -> Equal:
    judge = made.judge if with_judge else None
    return fit_equal(made.battles, made.target, judge, l2=0.05, level=0.95)


def truth(**options: bool | float) -> tuple[FloatArray, float]:
    """Elo and coefficient of x that these boards estimate: those of very many battles."""
    many = world(10**6, size=200_000, prompts=20_000 if options.get("prompts") else 0, soft=True)
    equal = fitted(many)
    return to_elo(equal.fit.theta), equal.rows[0].beta / equal.rows[0].scale


INDEPENDENT = truth()
LEANING = truth(prompts=True)


class Seen(NamedTuple):
    """Means over worlds: models in their interval, a false range, the coefficient in its own."""

    inside: FloatArray
    false: float
    beta: float
    width: float


def see(worlds: int, expected: tuple[FloatArray, float], *, plain: bool = False,
        with_judge: bool = False, **options: float) -> Seen:  # fmt: skip
    elo, beta = expected
    i, j = np.triu_indices(N, 1)
    inside, false, betas, widths = [], [], [], []
    for seed in range(worlds):
        equal = fitted(world(seed, **options), with_judge=with_judge)  # type: ignore[arg-type]
        fit = equal.plain if plain else equal.fit
        half = fit.half_widths(0.95)
        inside.append(np.abs(to_elo(fit.theta) - elo) <= half)
        different = fit.differ(i, j, alpha=0.05)
        wrong = np.sign(fit.theta[i] - fit.theta[j]) != np.sign(elo[i] - elo[j])
        false.append(bool((different & wrong).any()))
        row = equal.rows[0]
        betas.append(abs(row.beta - beta * row.scale) <= 2 * row.beta_se)
        widths.append(2 * half.mean())
    share = np.array(inside).mean(axis=1)
    return Seen(share, float(np.mean(false)), float(np.mean(betas)), float(np.mean(widths)))


def check(seen: Seen) -> None:
    worlds = len(seen.inside)
    error = seen.inside.std(ddof=1) / math.sqrt(worlds)
    assert seen.inside.mean() >= 0.95 - BAND * error
    assert seen.false <= 0.05 + BAND * math.sqrt(0.05 * 0.95 / worlds)


def test_votes_at_equal_style() -> None:
    check(see(60, INDEPENDENT))
    # Without control the board answers another question.
    assert see(20, INDEPENDENT, plain=True).inside.mean() < 0.6


@pytest.mark.parametrize("prompts", [20, 60])
def test_prompts_at_equal_style(prompts: int) -> None:
    check(see(50, LEANING, prompts=prompts, size=prompts * 12))


def test_votes_and_a_judge_at_equal_style() -> None:
    check(see(50, INDEPENDENT, with_judge=True, share=0.3, size=3000))


def test_no_effect_of_style_is_found_where_there_is_none() -> None:
    worlds = 100
    found = bent = 0
    for seed in range(worlds):
        row = fitted(world(seed, effect=0.0)).rows[0]
        assert row.interval is not None
        found += 0.5 not in row.interval
        bent += row.bent
    assert found <= worlds * 0.05 + BAND * math.sqrt(worlds * 0.05 * 0.95)
    assert bent <= worlds * 0.01 + BAND * math.sqrt(worlds * 0.01 * 0.99)


def test_a_bent_effect_is_found() -> None:
    rows = [fitted(world(seed, size=6000, bent=-2.5, effect=3.0)) for seed in range(5)]
    assert all(equal.rows[0].bent and equal.bend is not None for equal in rows)


@pytest.mark.montecarlo
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("prompts", [20, 50, 100, 200])
def test_prompts_at_equal_style_in_full(prompts: int, soft: bool) -> None:
    seen = see(200, LEANING, prompts=prompts, size=prompts * 12, soft=soft)
    check(seen)
    # Rough below 100 prompts, and called so.
    assert seen.beta >= (0.9 if prompts < 100 else 0.95) - BAND * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.montecarlo
@pytest.mark.parametrize("votes", [200, 600, 2400])
def test_votes_and_a_judge_at_equal_style_in_full(votes: int) -> None:
    options = {"with_judge": True, "share": 0.1, "size": 10 * votes}
    seen = see(200, INDEPENDENT, **options)  # type: ignore[arg-type]
    check(seen)
    assert seen.width < see(50, INDEPENDENT, share=0.1, size=10 * votes).width


def print_table() -> None:
    """Coverage, false ranges, coverage of the coefficient and width, at equal style."""
    print(
        "| board, 150 each | covered | false ranges | coefficient | width |\n|---|---|---|---|---|"
    )
    boards = {
        f"{prompts} prompts, {'P(A)' if soft else 'votes'}": (
            LEANING, {"prompts": prompts, "size": 12 * prompts, "soft": soft},
        )
        for soft in (False, True)
        for prompts in (20, 50, 100, 200)
    }  # fmt: skip
    few = {"share": 0.05, "size": 8000}
    boards |= {
        "400 votes": (INDEPENDENT, few),
        "400 votes, a judge on 8,000": (INDEPENDENT, {**few, "with_judge": True}),
        "400 votes, no control": (INDEPENDENT, {**few, "plain": True}),
    }
    for name, (expected, options) in boards.items():
        seen = see(150, expected, **options)  # type: ignore[arg-type]
        cells = f"{seen.inside.mean():.3f} | {seen.false:.3f} | {seen.beta:.2f} | {seen.width:.0f}"
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    print_table()
