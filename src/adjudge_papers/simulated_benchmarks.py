"""Judgments in the shape of the SCOPE paper: three benchmarks, four judges, every protocol.

Each pair has a true margin m; people prefer A with probability sigma(2.9 m). A judge's log odds are
9 (m + noise), plus a bias towards the answer shown first. Half of the noise is shared by all judges
of the pair. The spread of m, the noise and the bias were fitted by hand to the error shares,
coverages and AUROC that the paper prints, so that its pattern shows: entropy above one order,
larger judges above smaller ones, scope above naive. They show that the method runs as described and
replicate nothing. A judge is asked as in the paper:

    preference    p_fwd and p_rev, both about response_a
    verbalized    one random order; the stated confidence rises a little with its log odds
    annotators    one random order; five personas vote, each with independent noise

Judges have invented names with the sizes of the paper's judges, so that no number can be mistaken
for a number about a real model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.statistics.entropy import random_orders
from adjudge.validation import FloatArray, Seed, count, generator

#: The quality difference between the two answers of a pair.
BENCHMARKS = {"mt-bench": 1.0, "rewardbench": 2.1, "chatbot-arena": 1.1}
#: The noise of a judge, and its bias to the first answer.
JUDGES = {
    "simulated-7b": (0.8, 0.7),
    "simulated-14b": (0.65, 0.55),
    "simulated-32b": (0.5, 0.4),
    "simulated-70b": (0.4, 0.35),
}
_SHARPNESS, _STRETCH, _PERSONAS = 2.9, 9.0, 5
_Columns = dict[str, np.ndarray[Any, Any]]


def simulate_benchmarks(n: int = 2000, *, seed: Seed = 0) -> dict[str, pl.DataFrame]:
    """`n` labelled pairs of each benchmark, by all judges and protocols.

    >>> frame = simulate_benchmarks(4)["mt-bench"]
    >>> frame.height, sorted(frame["protocol"].unique())
    (48, ['annotators', 'preference', 'verbalized'])
    """
    count(n, "n", least=1)
    rng = generator(seed)
    return {name: _simulate(name, n, spread, rng) for name, spread in BENCHMARKS.items()}


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
    for judge, (noise, lean) in JUDGES.items():
        mixed = np.sqrt(0.5) * (shared + rng.normal(size=n))
        odds = _STRETCH * (margin + noise * mixed)
        first = _STRETCH * (lean + 0.15 * rng.normal(size=n))
        # One order, which is random for each pair.
        seen = odds + np.where(random_orders(pairs["id"].to_list()) == "ab", first, -first)
        asked = {
            "preference": _preference(odds, first, rng),
            "verbalized": _verbalized(seen, rng),
            "annotators": _annotators(seen, rng),
        }
        parts += [
            pairs.with_columns(
                judge=pl.lit(judge),
                protocol=pl.lit(protocol),
                **{column: pl.Series(values) for column, values in columns.items()},
            )
            for protocol, columns in asked.items()
        ]
    return pl.concat(parts, how="diagonal")


def _preference(odds: FloatArray, first: FloatArray, rng: np.random.Generator) -> _Columns:
    jitter = 0.9 * rng.normal(size=(2, len(odds)))
    return {"p_fwd": expit(odds + first + jitter[0]), "p_rev": expit(odds - first + jitter[1])}


def _verbalized(seen: FloatArray, rng: np.random.Generator) -> _Columns:
    # Judges state round numbers near the top, whatever their true confidence.
    stated = np.clip(0.86 + 0.004 * np.abs(seen) + 0.05 * rng.normal(size=len(seen)), 0.5, 1)
    sure = np.round(stated * 20) / 20
    return {
        "verdict": np.where(seen > 0, "A", "B"),
        "p_a": np.where(seen > 0, sure, 1 - sure),
        "confidence": sure,
        "uncertainty": 1 - sure,
    }


def _annotators(seen: FloatArray, rng: np.random.Generator) -> _Columns:
    votes = (seen + 6.0 * rng.normal(size=(_PERSONAS, len(seen))) > 0).sum(axis=0)
    p_a = votes / _PERSONAS
    return {
        "p_a": p_a,
        "uncertainty": 1 - np.maximum(p_a, 1 - p_a),
        "verdict": np.where(p_a > 0.5, "A", "B"),
    }
