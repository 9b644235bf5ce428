"""Tournaments with known truth: a ranking, noise around it, and documents with circular opinions.

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

from adjudge.validation import (
    BoolArray,
    FloatArray,
    Seed,
    count,
    generator,
    non_negative,
    probabilities,
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
