"""Binary judges with known truth: counts for Monte Carlo, rows for tests, docs and the demo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray, Seed, count, generator


class CountDraws(NamedTuple):
    """Replicated counts: verdicts of 1 among n test rows, right verdicts in each human class."""

    k: FloatArray
    c0: FloatArray
    c1: FloatArray


def draw_counts(
    theta: ArrayLike,
    q0: float,
    q1: float,
    *,
    n: int,
    m0: ArrayLike,
    m1: ArrayLike,
    replications: int,
    seed: Seed = 0,
) -> CountDraws:
    """Replications of the paper's simulation, one row per rate: arrays (rates, replications).

    >>> draw_counts([0.2, 0.8], 0.7, 0.9, n=100, m0=10, m1=10, replications=5).k.shape
    (2, 5)
    """
    stream = generator(seed)
    rate = np.atleast_1d(np.asarray(theta, dtype=np.float64))[:, None]
    shape = (rate.shape[0], count(replications, "replications", least=1))
    p = rate * q1 + (1 - rate) * (1 - q0)
    sizes0, sizes1 = (np.broadcast_to(np.asarray(m, dtype=np.int64), shape) for m in (m0, m1))
    return CountDraws(
        stream.binomial(n, p, shape).astype(np.float64),
        stream.binomial(sizes0, q0).astype(np.float64),
        stream.binomial(sizes1, q1).astype(np.float64),
    )


@dataclass(frozen=True, kw_only=True)
class BinaryModel:
    """One answering model: its true rate, and the judge's sensitivity and specificity."""

    rate: float
    specificity: float
    sensitivity: float


def binary_rows(
    models: Mapping[str, BinaryModel],
    *,
    prompts: int,
    labels: int,
    seed: Seed = 0,
    difficulty: float = 0.0,
) -> pl.DataFrame:
    """Verdicts on the answers of several models to the same prompts, some labelled.

    Columns: id, prompt_id, model, judge, human (empty unless labelled), truth. `labels` rows are
    labelled at random over all models. `difficulty` in [0, 1) is the share of a prompt-wide draw in
    each answer's truth and verdict. It correlates the rows of one prompt; rates stay exact.

    >>> one = BinaryModel(rate=0.6, specificity=0.8, sensitivity=0.9)
    >>> frame = binary_rows({"a": one}, prompts=50, labels=10)
    >>> frame.height, frame["human"].null_count()
    (50, 40)
    """
    stream = generator(seed)
    if not 0 <= difficulty < 1:
        raise ArgumentError("difficulty", difficulty, "give a number from 0 to below 1")
    size = len(models) * count(prompts, "prompts", least=1)
    if count(labels, "labels") > size:
        raise ArgumentError("labels", labels, f"give at most {size}, the number of rows")
    common_truth, common_error = stream.random(prompts), stream.random(prompts)
    frames = []
    for name, model in models.items():
        truth = _uniform(stream, common_truth, difficulty) < model.rate
        right = np.where(truth, model.sensitivity, model.specificity)
        agrees = _uniform(stream, common_error, difficulty) < right
        frames.append(
            pl.DataFrame(
                {
                    "id": [f"{name}-{i}" for i in range(prompts)],
                    "prompt_id": [f"p{i}" for i in range(prompts)],
                    "model": [name] * prompts,
                    "judge": np.where(agrees, truth, ~truth).astype(np.int64),
                    "truth": truth.astype(np.int64),
                }
            )
        )
    frame = pl.concat(frames)
    labelled = np.zeros(size, dtype=bool)
    labelled[stream.permutation(size)[:labels]] = True
    human = pl.when(pl.Series(labelled)).then("truth").alias("human")
    return frame.select("id", "prompt_id", "model", "judge", human, "truth")


def _uniform(stream: np.random.Generator, common: FloatArray, share: float) -> FloatArray:
    """Uniform draws. A share `share` of them is the common draw of the prompt."""
    own = stream.random(len(common))
    return np.where(stream.random(len(common)) < share, common, own)
