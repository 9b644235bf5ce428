"""Several judges on the answers of several models, with known rates: for tests and docs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from scipy.special import ndtri

from adjudge.errors import ArgumentError
from adjudge.validation import Seed, count, generator


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
        own = stream.normal(size=questions)
        right = ndtri(rate) - hardness * difficulty + np.sqrt(1 - hardness**2) * own > 0
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
                **{name: said.astype(np.int64) for name, said in verdicts.items()},
                "truth": right.astype(np.int64),
            }
        )
        human = pl.when(pl.Series(labelled)).then("truth").alias("human")
        frames.append(frame.with_columns(human).select(pl.exclude("truth"), "truth"))
    return pl.concat(frames)
