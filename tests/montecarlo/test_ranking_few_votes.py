"""Boards with few votes or few prompts: intervals cover, and rank ranges are not false."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from adjudge.data.battles import Battles
from adjudge.ranking import fit_pooled
from adjudge.ranking.pooled import PooledFit
from adjudge.ranking.rank import rank
from adjudge.statistics.bradley_terry import fit_strengths, to_elo
from adjudge.validation import FloatArray

BAND = 3.5
World = tuple[FloatArray, Battles, FloatArray, FloatArray | None]


def few_votes(
    strengths: FloatArray, votes: float, seed: int, *, ties: float = 0.5, judge: bool = False
) -> World:
    """Votes per model on a random part of the battles; a judge that gives most votes on all."""
    draw = np.random.default_rng(seed)
    n = len(strengths)
    size = int(votes * n / 2) * (10 if judge else 1)
    a = draw.integers(0, n, size)
    b = (a + draw.integers(1, n, size)) % n
    p = 1 / (1 + np.exp(strengths[b] - strengths[a]))
    tie = ties * 4 * p * (1 - p)
    won = draw.random(size) < (p - tie / 2) / (1 - tie)
    human = np.where(draw.random(size) < tie, 0.5, won.astype(float))
    verdict = np.where(draw.random(size) < 0.8, human, 1 - human) if judge else None
    if judge:
        human[draw.permutation(size)[size // 10 :]] = np.nan
    battles = Battles(names=tuple(map(str, range(n))), a=a, b=b)
    return to_elo(strengths - strengths.mean()), battles, human, verdict


def covered(fit: PooledFit, truth: FloatArray) -> FloatArray:
    """Which intervals of the models with a vote have the truth; open ends hold anything."""
    elo = to_elo(fit.theta)
    inside = np.abs(elo - truth) <= fit.half_widths(0.95)
    outwards = np.where(fit.theta > 0, truth > elo, truth < elo)
    return np.asarray((inside | (fit.swept & outwards))[fit.votes > 0], dtype=np.float64)


def false_pairs(fit: PooledFit, truth: FloatArray) -> bool:
    """Whether two models differ the wrong way round, or do not differ in truth."""
    i, j = np.triu_indices(len(truth), 1)
    different = fit.differ(i, j, alpha=0.05)
    return bool(
        (different & (np.sign(fit.theta[i] - fit.theta[j]) != np.sign(truth[i] - truth[j]))).any()
    )


def check(make: Callable[[int], World], worlds: int, *, worst: float = 0.88) -> None:
    inside, false = [], []
    for seed in range(worlds):
        truth, battles, human, verdict = make(seed)
        fit = fit_pooled(battles, human, verdict)
        if (fit.votes == 0).any() or fit.component.any():
            continue
        inside.append(covered(fit, truth))
        false.append(false_pairs(fit, truth))
    share = np.array(inside)
    error = share.mean(axis=1).std(ddof=1) / math.sqrt(len(share))
    assert len(share) > worlds / 3
    assert share.mean() >= 0.95 - BAND * error
    # No model pays for the others.
    assert share.mean(axis=0).min() >= worst - BAND * math.sqrt(0.05 * 0.95 / len(share))
    assert np.mean(false) <= 0.05 + BAND * math.sqrt(0.05 * 0.95 / len(share))


SPREAD = np.linspace(-1.5, 1.5, 16)
EQUALS = np.repeat([-1.0, 1.0], 5)


@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize("votes", [5, 10])
def test_few_votes_a_model(votes: int, judge: bool) -> None:
    check(lambda seed: few_votes(SPREAD, votes, seed, judge=judge), 60)


def test_two_groups_of_equals() -> None:
    check(lambda seed: few_votes(EQUALS, 20, seed), 100)


@pytest.mark.montecarlo
@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize("votes", [3, 5, 10, 40])
@pytest.mark.parametrize("strengths", [SPREAD, EQUALS, np.zeros(3)], ids=["spread", "equals", "3"])
def test_few_votes_a_model_in_full(strengths: FloatArray, votes: int, judge: bool) -> None:
    check(lambda seed: few_votes(strengths, votes, seed, judge=judge), 150)


@pytest.mark.montecarlo
@pytest.mark.parametrize("ties", [0.0, 0.8])
@pytest.mark.parametrize("n", [2, 6])
def test_small_boards_with_and_without_ties(n: int, ties: float) -> None:
    for votes in (8, 20, 60):
        check(lambda seed, votes=votes: few_votes(np.zeros(n), votes, seed, ties=ties), 200)


N = 5
LEAN = 1.2


def mean_over_prompts() -> FloatArray:
    """What a board estimates: Bradley-Terry of the mean preference over prompts."""
    theta = np.linspace(-0.8, 0.8, N)
    lean = np.random.default_rng(99).normal(0, LEAN, (20_000, N))
    i, j = np.triu_indices(N, 1)
    gap = theta[i] - theta[j] + lean[:, i] - lean[:, j]
    mean = (1 / (1 + np.exp(-gap))).mean(axis=0)
    table = np.zeros((N, N))
    table[i, j] = mean
    table[j, i] = 1 - mean
    return to_elo(fit_strengths(1e4 * table))


TRUTH = mean_over_prompts()


def by_prompt(prompts: int, seed: int, *, share: float = 1.0, per: int = 12) -> World:
    """Prompts that each suit some models: battles of a prompt lean together."""
    draw = np.random.default_rng(seed)
    theta = np.linspace(-0.8, 0.8, N)
    lean = draw.normal(0, LEAN, (prompts, N))
    code = np.repeat(np.arange(prompts), per)
    a = draw.integers(0, N, len(code))
    b = (a + draw.integers(1, N, len(code))) % N
    gap = theta[a] - theta[b] + lean[code, a] - lean[code, b]
    human = (draw.random(len(a)) < 1 / (1 + np.exp(-gap))).astype(float)
    verdict = np.where(draw.random(len(a)) < 0.9, human, 1 - human) if share < 1 else None
    human[draw.random(len(a)) > share] = np.nan
    battles = Battles(names=tuple("abcde"), a=a, b=b, prompts=code)
    return TRUTH, battles, human, verdict


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_few_prompts(share: float) -> None:
    check(lambda seed: by_prompt(20, seed, share=share), 120)


@pytest.mark.montecarlo
@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("prompts", [8, 20, 50, 150])
def test_few_prompts_in_full(prompts: int, share: float) -> None:
    check(lambda seed: by_prompt(prompts, seed, share=share), 150)


def resampled(prompts: int, interval: str, seed: int) -> tuple[float, bool]:
    """Share of models in their interval, by the bootstrap or the sandwich, and a false range."""
    truth, battles, human, _ = by_prompt(prompts, seed)
    battles = Battles(
        names=battles.names, a=battles.a, b=battles.b, prompts=battles.prompts, human=human
    )
    board = rank(battles, method="bt", interval=interval, replicates=100, seed=seed)
    rows = sorted(board.models, key=lambda row: row.model)
    inside = [
        row.interval is not None and value in row.interval
        for row, value in zip(rows, truth, strict=True)
    ]
    places = np.argsort(np.argsort(-truth)) + 1
    false = any(
        not (row.rank_low or 1) <= place <= (row.rank_high or N)
        for row, place in zip(rows, places, strict=True)
    )
    return float(np.mean(inside)), false


@pytest.mark.montecarlo
@pytest.mark.parametrize("interval", ["bootstrap", "sandwich"])
@pytest.mark.parametrize("prompts", [8, 20, 50])
def test_student_and_few_prompts_of_resampled_boards(prompts: int, interval: str) -> None:
    """Normal quantiles without G / (G - 1) covered 0.91 (8 prompts) and 0.93 (20)."""
    worlds = 150
    seen = np.array([resampled(prompts, interval, seed) for seed in range(worlds)])
    error = seen[:, 0].std(ddof=1) / math.sqrt(worlds)
    assert seen[:, 0].mean() >= 0.94 - BAND * error
    assert seen[:, 1].mean() <= 0.05 + BAND * math.sqrt(0.05 * 0.95 / worlds)


def print_table() -> None:
    """Coverage, worst model, width in Elo and false ranges: resampled and pooled boards."""
    worlds: dict[str, Callable[[int], World]] = {
        f"16 models, {votes} votes each": lambda seed, votes=votes: few_votes(SPREAD, votes, seed)
        for votes in (5, 10, 40)
    }
    worlds |= {
        f"two groups of 5 equals, {votes} votes": lambda seed, votes=votes: few_votes(
            EQUALS, votes, seed
        )
        for votes in (10, 40)
    }
    worlds |= {
        f"5 models, {prompts} prompts": lambda seed, prompts=prompts: by_prompt(prompts, seed)
        for prompts in (8, 20, 50)
    }
    print("| board | bootstrap: covered, worst, width, false | pooled |\n|---|---|---|")
    for name, make in worlds.items():
        cells = []
        for interval in ("bootstrap", "pooled"):
            inside, widths, false = [], [], []
            for seed in range(200):
                truth, battles, human, _ = make(seed)
                battles = replace(battles, human=human)
                board = rank(
                    battles, method="bt", interval=interval, widest=1e9, replicates=100, seed=seed
                )
                if len(board.components) > 1 or len(board.models) < len(truth):
                    continue
                rows = sorted(board.models, key=lambda row: battles.names.index(row.model))
                ends = np.array([row.ends for row in rows], dtype=np.float64)
                low = np.nan_to_num(ends[:, 0], nan=-np.inf)
                high = np.nan_to_num(ends[:, 1], nan=np.inf)
                if board.references:
                    continue
                inside.append((low <= truth) & (truth <= high))
                widths.append(np.median(high - low))
                best = np.array([(truth > value).sum() for value in truth]) + 1
                last = len(truth) - np.array([(truth < value).sum() for value in truth])
                ranges = [
                    (row.rank_low or 1) <= last[k] and best[k] <= (row.rank_high or len(truth))
                    for k, row in enumerate(rows)
                ]
                false.append(not all(ranges))
            share = np.array(inside)
            cells.append(
                f"{share.mean():.3f}, {share.mean(axis=0).min():.2f}, {np.mean(widths):.0f}, "
                f"{np.mean(false):.3f} ({len(share)} boards)"
            )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    print_table()
