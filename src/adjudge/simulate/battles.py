"""Battles with known truth: models of known strength, people who vote, a judge that scores.

Each battle has a quality difference u = stretch (theta_a - theta_b) + noise. People prefer A with
probability sigma(beta u). The judge reports s = u plus a bias for each model (`bias`, one draw per
model, which more battles do not average away). So sigma(beta s) is right up to that bias, while
sign(s) ignores the size of s and stretches the leaderboard. Soft-Elo is made for this case. With
`informative=False` the size of s is shuffled among the battles. Then it has no information, and
the temperature's check should detect it.

Tournaments with known truth: a ranking, noise around it, and documents with circular opinions.

For document d the judge prefers model i to j if

    theta_i - theta_j + u_di - u_dj + noise * L_dij + repeat_noise * L_ask + order  >  0,

u_d is its view of the document (`document_spread`). L is standard logistic, one draw per pair and
one per time it is asked. order is the bias to the first slot. With noise = 1 and nothing else this
is exactly a Bradley-Terry judge. In a circular document, rock, paper, scissors replaces gap and
noise: i is preferred to the next half of the models in the circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.errors import ArgumentError
from adjudge.validation import (
    BoolArray,
    FloatArray,
    Seed,
    count,
    generator,
    non_negative,
    positive,
    probabilities,
)


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
        raise ArgumentError(
            "new_models", new_models, f"at least 2 of the {models} models must have votes"
        )
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
    a, b = np.where(swap, b, a), np.where(swap, a, b)

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
    return SimulatedBattles(
        frame=pl.DataFrame(
            {
                "id": [f"battle-{k}" for k in range(battles)],
                "prompt_id": [f"prompt-{k}" for k in prompt],
                "model_a": table[a],
                "model_b": table[b],
                "human_pref": pl.Series(vote.tolist(), dtype=pl.String),
                "score_a": middle + s / 2,
                "score_b": middle - s / 2,
                "language": np.where(draw.random(battles) < 0.7, "en", "de"),
                "judge": ["simulated"] * battles,
            }
        ),
        names=names,
        theta=theta,
        bias=liking,
        beta=beta,
    )


_PULL = 20.0  # log odds that logistic noise of scale one never reverses


@dataclass(frozen=True)
class SimulatedTournaments:
    """A frame in the tournaments format, with its true strengths and circular documents."""

    frame: pl.DataFrame
    models: tuple[str, ...]
    theta: FloatArray
    circular: BoolArray


def simulate_tournaments(
    *,
    documents: int = 30,
    models: int = 8,
    spread: float = 1.0,
    document_spread: float = 0.0,
    noise: float = 1.0,
    repeat_noise: float = 0.0,
    order_pull: float = 0.0,
    circular: float = 0.0,
    ties: float = 0.0,
    missing: float = 0.0,
    repeats: int = 1,
    both_orders: bool = False,
    judge: str = "simulated",
    criterion: str = "quality",
    theta: Sequence[float] | None = None,
    seed: Seed = 0,
) -> SimulatedTournaments:
    """Draw every pair of models on every document.

    `circular` is a share of documents; `ties` and `missing` are shares of asks. `order_pull` is in
    units of strength. Missing rows are kept, with an empty verdict.

    >>> drawn = simulate_tournaments(documents=2, models=3, seed=1)
    >>> drawn.frame.height, drawn.frame.columns[:4]
    (6, ['doc_id', 'model_a', 'model_b', 'judge'])
    """
    count(documents, "documents", least=1)
    count(models, "models", least=2)
    count(repeats, "repeats", least=1)
    for value, name in (
        (spread, "spread"),
        (document_spread, "document_spread"),
        (noise, "noise"),
        (repeat_noise, "repeat_noise"),
    ):
        non_negative(value, name)
    probabilities([circular, ties, missing], "shares")
    draw = generator(seed)
    strengths = draw.normal(0, spread, models) if theta is None else np.asarray(theta, dtype=float)
    models = len(strengths)
    pairs = np.array(list(combinations(range(models), 2)))
    i, j = pairs[:, 0], pairs[:, 1]
    view = strengths + draw.normal(0, document_spread, (documents, models))
    lean = view[:, i] - view[:, j] + noise * draw.logistic(size=(documents, len(pairs)))
    goes_round = draw.random(documents) < circular
    ahead = np.where((j - i) % models <= (models - 1) / 2, _PULL, -_PULL)
    lean[goes_round] = ahead
    orders = ("ab", "ba") if both_orders else ("ab",)
    width = len(str(max(documents, models) - 1))
    doc_names = np.array([f"doc-{k:0{width}d}" for k in range(documents)])
    names = tuple(f"system-{k:0{width}d}" for k in range(models))
    table, parts = np.array(names), []
    for repeat in range(repeats):
        for order in orders:
            pull = order_pull if order == "ab" else -order_pull
            asked = lean + pull + repeat_noise * draw.logistic(size=lean.shape)
            verdict = np.where(asked > 0, "A", "B").astype(object)
            verdict[draw.random(lean.shape) < ties] = "tie"
            verdict[draw.random(lean.shape) < missing] = None
            parts.append(
                pl.DataFrame(
                    {
                        "doc_id": np.repeat(doc_names, len(pairs)),
                        "model_a": np.tile(table[i], documents),
                        "model_b": np.tile(table[j], documents),
                        "judge": [judge] * lean.size,
                        "criterion": [criterion] * lean.size,
                        "order": [order] * lean.size,
                        "repeat": [str(repeat)] * lean.size,
                        "verdict": pl.Series(verdict.ravel().tolist(), dtype=pl.String),
                    }
                )
            )
    return SimulatedTournaments(
        frame=pl.concat(parts), models=names, theta=strengths, circular=goes_round
    )
