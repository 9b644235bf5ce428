"""Judgments in the shape of the SCOPE paper: three benchmarks, four judges, every protocol.

Each pair has a true margin m; people prefer A with probability sigma(2.4 m). A judge's log odds are
4 (skill m + noise), plus a bias towards the answer shown first. Part of the noise is shared by all
judges of the pair. It is asked as in the paper:

    preference    p_fwd and p_rev, both about response_a
    verbalized    one random order; the stated confidence rises a little with its log odds
    annotators    one random order; five personas vote, each with independent noise

Judges have invented names with the sizes of the paper's judges, so that no number can be mistaken
for a number about a real model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.statistics.entropy import random_orders
from adjudge.validation import FloatArray, Seed, count, generator

#: The quality difference between the two answers of a pair.
BENCHMARKS = {"mt-bench": 1.0, "rewardbench": 2.4, "chatbot-arena": 1.15}
#: The share of the margin that a judge sees, and its bias to the first answer.
JUDGES = {
    "simulated-7b": (1.0, 0.55),
    "simulated-14b": (1.25, 0.4),
    "simulated-32b": (1.8, 0.3),
    "simulated-70b": (2.2, 0.3),
}
_SHARPNESS, _STRETCH, _PERSONAS = 2.4, 4.0, 5


@dataclass(frozen=True)
class SimulatedBenchmark:
    """One benchmark: judgments of every judge by every protocol, with labels."""

    name: str
    frame: pl.DataFrame


def simulate_benchmarks(n: int = 2000, *, seed: Seed = 0) -> tuple[SimulatedBenchmark, ...]:
    """`n` pairs of each benchmark, all judges and protocols.

    >>> mt_bench, *_ = simulate_benchmarks(4)
    >>> mt_bench.name, mt_bench.frame.height, sorted(mt_bench.frame["protocol"].unique())
    ('mt-bench', 48, ['annotators', 'preference', 'verbalized'])
    """
    count(n, "n", least=1)
    rng = generator(seed)
    return tuple(
        SimulatedBenchmark(name, _simulate(name, n, spread, rng))
        for name, spread in BENCHMARKS.items()
    )


def _simulate(name: str, n: int, spread: float, rng: np.random.Generator) -> pl.DataFrame:
    margin = spread * rng.normal(size=n)
    shared = rng.normal(size=n)
    pairs = pl.DataFrame(
        {
            "id": [f"{name}-{i:05d}" for i in range(n)],
            "label": np.where(rng.random(n) < expit(_SHARPNESS * margin), "A", "B"),
        }
    )
    parts = []
    for judge, (skill, lean) in JUDGES.items():
        noise = 0.5 * shared + 0.6 * rng.normal(size=n)
        odds = _STRETCH * (skill * margin + noise)
        first = _STRETCH * lean * (1 + rng.normal(size=n))
        asked = {
            "preference": _preference(odds, first, rng),
            "verbalized": _verbalized(pairs["id"], odds, first, rng),
            "annotators": _annotators(pairs["id"], odds, first, rng),
        }
        parts += [
            pairs.with_columns(judge=pl.lit(judge), protocol=pl.lit(protocol), **columns)
            for protocol, columns in asked.items()
        ]
    return pl.concat(parts, how="diagonal")


def _preference(
    odds: FloatArray, first: FloatArray, rng: np.random.Generator
) -> dict[str, pl.Series]:
    jitter = 0.8 * rng.normal(size=(2, len(odds)))
    return {
        "p_fwd": pl.Series(expit(odds + first + jitter[0])),
        "p_rev": pl.Series(expit(odds - first + jitter[1])),
    }


def _one_order(ids: pl.Series, odds: FloatArray, first: FloatArray) -> FloatArray:
    """Log odds of response_a in an order that is random for each pair."""
    return np.asarray(odds + np.where(random_orders(ids.to_list()) == "ab", first, -first))


def _verbalized(
    ids: pl.Series, odds: FloatArray, first: FloatArray, rng: np.random.Generator
) -> dict[str, pl.Series]:
    seen = _one_order(ids, odds, first)
    # Judges state round numbers near the top, whatever their true confidence.
    stated = np.clip(0.88 + 0.007 * np.abs(seen) + 0.05 * rng.normal(size=len(seen)), 0.55, 1)
    sure = np.round(stated * 20) / 20
    return {
        "verdict": pl.Series(np.where(seen > 0, "A", "B")),
        "p_a": pl.Series(np.where(seen > 0, sure, 1 - sure)),
        "confidence": pl.Series(sure),
        "uncertainty": pl.Series(1 - sure),
    }


def _annotators(
    ids: pl.Series, odds: FloatArray, first: FloatArray, rng: np.random.Generator
) -> dict[str, pl.Series]:
    seen = _one_order(ids, odds, first)
    votes = (seen + 2.0 * rng.normal(size=(_PERSONAS, len(seen))) > 0).sum(axis=0)
    p_a = votes / _PERSONAS
    return {
        "p_a": pl.Series(p_a),
        "uncertainty": pl.Series(1 - np.maximum(p_a, 1 - p_a)),
        "verdict": pl.Series(np.where(p_a > 0.5, "A", "B")),
    }
