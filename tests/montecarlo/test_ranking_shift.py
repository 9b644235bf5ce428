"""Do intervals of new models hold on another mix of prompts than the calibration battles had?

The judge likes or dislikes a model a little on short prompts and much on long ones. Nine of ten
calibration battles are short; eight of ten battles of the new model are long. A band is 3.5
standard errors of a share over independent worlds, with fixed seeds. The second test places models
by the quantile of long prompts alone, also with as few anchors as a quantile needs.
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
from adjudge.ranking.leaderboard import ModelRow
from adjudge.ranking.shift import weigh_battles
from adjudge.statistics.bradley_terry import fit_against_anchors, fit_strengths, to_elo
from adjudge.validation import FloatArray, IntArray

TARGET = {"short": 0.2, "long": 0.8}
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


def place_new(
    seed: int, *, models: int, mix: dict[str, float] | None, quantile: str
) -> tuple[Battles, pl.DataFrame, ModelRow]:
    """The known battles, those of a new model, and its row: the anchors know the column `kind`."""
    draw = np.random.default_rng(seed)
    theta = draw.normal(0, 0.8, models + 1)
    likes = np.stack([draw.normal(0, 0.1, models + 1), draw.normal(0, 1.2, models + 1)])
    a = draw.integers(0, models, BATTLES)
    b = (a + draw.integers(1, models, BATTLES)) % models
    old = draw_rows(draw, theta, likes, a, b, long=0.1)
    fresh = draw_rows(
        draw, theta, likes, np.full(PER, models), draw.integers(0, models, PER), long=0.8
    )
    options: dict[str, Any] = {"replicates": 20, "seed": seed, "method": "soft-elo"}
    anchors = make_anchors(old, by="kind", mix=mix, **options)
    board = place(fresh.drop("human_pref"), anchors, alpha=0.1, seed=seed, quantile=quantile)
    row = next(row for row in board.models if row.origin == "new")
    return code_battles(old, by="kind"), fresh, row


def in_interval(known: Battles, fresh: pl.DataFrame, row: ModelRow) -> bool:
    """Whether its interval has people's Elo of the new model, the others as in known battles."""
    wins = wins_table(known.a, known.b, np.asarray(known.human), known.n_models, known.weights)
    rivals = fresh["model_b"].str.tail(2).cast(pl.Int64).to_numpy()
    met = np.bincount(rivals, minlength=known.n_models).astype(float)
    won = np.asarray(float((fresh["human_pref"] == "A").sum()))
    assert row.interval is not None
    return float(to_elo(fit_against_anchors(met, won, fit_strengths(wins)))) in row.interval


def band(worlds: int) -> float:
    return 0.9 - 3.5 * math.sqrt(0.9 * 0.1 / worlds)


@pytest.mark.montecarlo
def test_a_given_mix_covers() -> None:
    inside = []
    for seed in range(80):
        shares = []
        for mix in (TARGET, None):
            known, fresh, row = place_new(seed, models=MODELS, mix=mix, quantile="pooled")
            shares.append(in_interval(weigh_battles(known, TARGET), fresh, row))
        inside.append(shares)
    weighted, plain = np.mean(inside, axis=0)
    assert weighted >= band(80)
    # Of all battles, residuals are those of short prompts: the interval is too narrow.
    assert plain < 0.75


def check_long(worlds: int, models: int) -> None:
    inside = []
    for seed in range(worlds):
        shares = []
        for quantile in ("kind=long", "pooled"):
            known, fresh, row = place_new(seed, models=models, mix=None, quantile=quantile)
            # People's Elo on long prompts, whatever the quantile is of.
            long = fresh.filter(pl.col("kind") == "long")
            shares.append(in_interval(weigh_battles(known, {"long": 1.0}), long, row))
        inside.append(shares)
    own, pooled = np.mean(inside, axis=0)
    assert own >= band(worlds)
    assert pooled < 0.75


def test_the_quantile_of_one_value_covers_shortly() -> None:
    check_long(6, MODELS)


@pytest.mark.montecarlo
@pytest.mark.parametrize("models", [9, MODELS])
def test_the_quantile_of_one_value_covers(models: int) -> None:
    """Nine anchors are the fewest with a quantile at 90 %."""
    check_long(50, models)


def test_with_fewer_anchors_a_value_has_no_quantile() -> None:
    row = place_new(0, models=8, mix=None, quantile="kind=long")[2]
    assert row.unbounded
