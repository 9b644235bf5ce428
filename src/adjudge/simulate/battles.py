"""Battles with known truth: models of known strength, people who vote, a judge that scores.

Each battle has a quality difference u = stretch (theta_a - theta_b) + noise. People prefer A with
probability sigma(beta u). The judge reports s = u plus a bias for each model (`bias`, one draw per
model, which more battles do not average away). So sigma(beta s) is right up to that bias, while
sign(s) ignores the size of s and stretches the leaderboard. Soft-Elo is made for this case. With
`informative=False` the size of s is shuffled among the battles. Then it has no information, and
the temperature's check should detect it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray, Seed, count, generator, non_negative, positive


@dataclass(frozen=True)
class SimulatedBattles:
    """A frame in the battles format, with its true strengths (`theta`) and biases (`bias`)."""

    frame: pl.DataFrame
    names: tuple[str, ...]
    theta: FloatArray
    bias: FloatArray
    beta: float


def simulate_battles(
    *,
    models: int = 20,
    battles: int = 4000,
    beta: float = 0.6,
    spread: float = 0.8,
    stretch: float = 1.5,
    noise: float = 1.5,
    bias: float = 0.15,
    ties: float = 0.2,
    prompts: int | None = None,
    informative: bool = True,
    new_models: int = 0,
    seed: Seed = 0,
) -> SimulatedBattles:
    """Draw battles between random pairs of models.

    `ties` is the probability that people call an even battle (u = 0) a tie; it falls with |u|.
    Scores are averages of six criteria, in twelfths. The last `new_models` models get no votes and
    meet only the others.

    >>> drawn = simulate_battles(models=5, battles=100, seed=1)
    >>> drawn.frame.columns[:6]
    ['id', 'prompt_id', 'model_a', 'model_b', 'human_pref', 'score_a']
    """
    draw = generator(seed)
    count(models, "models", least=2)
    count(battles, "battles", least=1)
    count(new_models, "new_models")
    if models - new_models < 2:
        remedy = f"at least 2 of the {models} models must have votes"
        raise ArgumentError("new_models", new_models, remedy)
    positive(beta, "beta")
    for value, name in ((spread, "spread"), (stretch, "stretch"), (noise, "noise"), (bias, "bias")):
        non_negative(value, name)
    voted_on = models - new_models
    theta = draw.normal(0, spread, models)
    liking = draw.normal(0, bias, models)
    a = draw.integers(0, models, battles)
    b = draw.integers(0, voted_on, battles)
    b = np.where(b == a, (b + 1) % voted_on, b)
    swap = draw.random(battles) < 0.5
    a[swap], b[swap] = b[swap], a[swap]

    u = stretch * (theta[a] - theta[b]) + draw.normal(0, noise, battles)
    prefers_a = draw.random(battles) < expit(beta * u)
    tied = draw.random(battles) < ties * np.exp(-np.abs(u))
    vote = np.where(tied, "tie", np.where(prefers_a, "A", "B")).astype(object)
    vote[(a >= voted_on) | (b >= voted_on)] = None

    s = u + liking[a] - liking[b]
    if not informative:
        s = np.sign(s) * draw.permutation(np.abs(s))
    s = np.round(s * 12) / 12
    middle = draw.uniform(5, 7, battles).round(1)
    width = len(str(models - 1))
    names = tuple(f"model-{k:0{width}d}" for k in range(models))
    table = np.array(names)
    prompt = np.arange(battles)
    if prompts is not None:
        prompt = draw.integers(0, count(prompts, "prompts", least=1), battles)
    languages = np.where(draw.random(battles) < 0.7, "en", "de")
    columns = {
        "id": [f"battle-{k}" for k in range(battles)],
        "prompt_id": [f"prompt-{k}" for k in prompt],
        "model_a": table[a],
        "model_b": table[b],
        "human_pref": pl.Series(vote.tolist(), dtype=pl.String),
        "score_a": middle + s / 2,
        "score_b": middle - s / 2,
        "language": languages,
        "judge": ["simulated"] * battles,
    }
    frame = pl.DataFrame(columns)
    return SimulatedBattles(frame=frame, names=names, theta=theta, bias=liking, beta=beta)
