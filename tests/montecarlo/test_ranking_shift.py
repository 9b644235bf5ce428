"""Do intervals of new models hold on another mix of prompts than the calibration battles had?

The judge likes or dislikes a model a little on short prompts and much on long ones. Nine of ten
calibration battles are short; eight of ten battles of the new model are long. A band is 3.5
standard errors of a share over independent worlds, with fixed seeds. The second test places models
that meet long prompts alone, by the quantile of the anchors' battles on those.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from adjudge.data.battles import Battles, code_battles
from adjudge.ranking import make_anchors, place
from adjudge.ranking.bradley_terry import wins_table
from adjudge.ranking.shift import weigh_battles
from adjudge.statistics.bradley_terry import fit_against_anchors, fit_strengths, to_elo
from adjudge.validation import FloatArray, IntArray

TARGET = {"short": 0.2, "long": 0.8}
ONE = {"long": 1.0}
MODELS, BATTLES, PER = 20, 4000, 300


def draw_rows(
    draw: np.random.Generator,
    theta: FloatArray,
    likes: FloatArray,
    a: IntArray,
    b: IntArray,
    long: float,
) -> pl.DataFrame:
    kind = (draw.random(len(a)) < long).astype(int)
    quality = 1.5 * (theta[a] - theta[b]) + draw.normal(0, 1.5, len(a))
    score = quality + likes[kind, a] - likes[kind, b]
    names = np.array([f"model-{k:02}" for k in range(len(theta))])
    votes = draw.random(len(a)) < expit(0.6 * quality)
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "human_pref": np.where(votes, "A", "B"),
            "score_a": 6 + score / 2,
            "score_b": 6 - score / 2,
            "kind": np.where(kind, "long", "short"),
        }
    )


def covered(seed: int, mix: dict[str, float] | None, target: dict[str, float]) -> float:
    """1 if the new model's interval has people's Elo of it on the target mix."""
    draw = np.random.default_rng(seed)
    theta = draw.normal(0, 0.8, MODELS + 1)
    likes = np.stack([draw.normal(0, 0.1, MODELS + 1), draw.normal(0, 1.2, MODELS + 1)])
    a = draw.integers(0, MODELS, BATTLES)
    b = (a + draw.integers(1, MODELS, BATTLES)) % MODELS
    old = draw_rows(draw, theta, likes, a, b, long=0.1)
    rivals = draw.integers(0, MODELS, PER)
    fresh = draw_rows(draw, theta, likes, np.full(PER, MODELS), rivals, long=target["long"])
    options: dict[str, Any] = {"replicates": 20, "seed": seed, "method": "soft-elo"}
    anchors = make_anchors(old, by=None if mix is None else "kind", mix=mix, **options)
    board = place(fresh.drop("human_pref"), anchors, alpha=0.1, seed=seed)
    row = next(row for row in board.models if row.origin == "new")
    assert row.interval is not None
    known = weigh_battles(code_battles(old, by="kind"), target)
    return float(float(to_elo(_votes(known, fresh, rivals))) in row.interval)


def _votes(known: Battles, fresh: pl.DataFrame, rivals: IntArray) -> FloatArray:
    """People's strength of the new model, with the others as their votes on that mix have it."""
    wins = wins_table(known.a, known.b, np.asarray(known.human), MODELS, known.weights)
    met = np.bincount(rivals, minlength=MODELS).astype(float)
    won = np.asarray(float((fresh["human_pref"] == "A").sum()))
    return fit_against_anchors(met, won, fit_strengths(wins))


def check(worlds: int, target: dict[str, float]) -> None:
    seen = np.array([(covered(s, target, target), covered(s, None, target)) for s in range(worlds)])
    weighted, plain = seen.mean(axis=0)
    assert weighted >= 0.9 - 3.5 * math.sqrt(0.9 * 0.1 / worlds)
    # Of all battles, residuals are those of short prompts: the interval is too narrow.
    assert plain < 0.75


@pytest.mark.montecarlo
def test_a_given_mix_covers() -> None:
    check(80, TARGET)


def test_the_quantile_of_one_value_covers_shortly() -> None:
    check(6, ONE)


@pytest.mark.montecarlo
def test_the_quantile_of_one_value_covers() -> None:
    check(50, ONE)
