"""Binary judges with known truth: counts for Monte Carlo, rows for tests, docs and the demo.

Several judges on the answers of several models, with known rates: for tests and docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import ndtri

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
    separate = stream.random(len(common))
    return np.where(stream.random(len(common)) < share, common, separate)


def panel_rows(
    rates: Mapping[str, float],
    skills: Mapping[str, float],
    *,
    questions: int,
    labels: int,
    leniency: float = 0.3,
    hardness: float = 0.5,
    seed: Seed = 0,
) -> pl.DataFrame:
    """A table with a row for each model's answer to each question, and a 0/1 column per judge.

    Columns: id, prompt_id, model, one for each judge, human (empty unless labelled), truth.
    `rates` are the models' exact rates. An answer is right if
    ndtri(rate) - hardness * d + sqrt(1 - hardness^2) * e > 0, with d the question's difficulty and
    e the answer's error, both standard normal. A judge gives 1 if
    skill * (+1 if right, -1 if wrong) - 0.4 d + its leniency with the model + noise > 0. The
    leniencies are normal with standard deviation `leniency`, so judges are wrong together on hard
    questions and favour some models. `labels` rows of each model are labelled at random.

    >>> rows = panel_rows({"x": 0.6, "y": 0.4}, {"a": 1.0, "b": 0.5}, questions=40, labels=10)
    >>> rows.columns
    ['id', 'prompt_id', 'model', 'a', 'b', 'human', 'truth']
    >>> rows.height, rows["human"].null_count()
    (80, 60)
    """
    stream = generator(seed)
    if not 0 <= hardness < 1:
        raise ArgumentError("hardness", hardness, "give a number from 0 to below 1")
    if count(labels, "labels") > count(questions, "questions", least=1):
        raise ArgumentError(
            "labels", labels, f"give at most {questions}, the number of rows of each model"
        )
    difficulty = stream.normal(size=questions)
    frames = []
    favours = {name: dict(zip(rates, stream.normal(0, leniency, len(rates)), strict=True))
               for name in skills}  # fmt: skip
    for model, rate in rates.items():
        error = stream.normal(size=questions)
        right = ndtri(rate) - hardness * difficulty + np.sqrt(1 - hardness**2) * error > 0
        verdicts = {
            name: skill * np.where(right, 1, -1)
            - 0.4 * difficulty
            + favours[name][model]
            + stream.normal(size=questions)
            > 0
            for name, skill in skills.items()
        }
        labelled = np.isin(np.arange(questions), stream.permutation(questions)[:labels])
        frame = pl.DataFrame(
            {
                "id": [f"{model}-{i}" for i in range(questions)],
                "prompt_id": [f"q{i}" for i in range(questions)],
                "model": [model] * questions,
                **{name: passed.astype(np.int64) for name, passed in verdicts.items()},
                "truth": right.astype(np.int64),
            }
        )
        human = pl.when(pl.Series(labelled)).then("truth").alias("human")
        frames.append(frame.with_columns(human).select(pl.exclude("truth"), "truth"))
    return pl.concat(frames)
