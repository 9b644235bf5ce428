"""Do the quantiles by difficulty (`rank --by difficulty`) hold for a new model on such prompts?

Prompts differ in how much the answers to them differ, and the judge errs more where they differ
little. Twenty models give the quantile of each third of the prompts; the twenty-first is new. A
band is 3.5 standard errors of a share over independent worlds, with fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from adjudge.data.battles import Battles, code_battles
from adjudge.ranking.evaluation import (
    group_quantiles,
    hold_out_each,
    human_reference,
    judge_rules,
    residuals,
)

MODELS, BATTLES, ALPHA = 20, 9000, 0.1


def draw_battles(seed: int) -> Battles:
    """Battles of old models and a new one, the last by name, on prompts of three kinds."""
    draw = np.random.default_rng(seed)
    theta, likes = draw.normal(0, 0.8, MODELS + 1), draw.normal(0, 0.4, MODELS + 1)
    a = draw.integers(0, MODELS + 1, BATTLES)
    b = (a + draw.integers(1, MODELS + 1, BATTLES)) % (MODELS + 1)
    stretch = draw.choice([0.6, 1.2, 2.4], BATTLES)
    quality = stretch * (theta[a] - theta[b]) + draw.normal(0, 0.8 * stretch)
    # Where answers differ little, what the judge likes decides.
    score = quality + (likes[a] - likes[b]) / stretch
    names = np.array([f"model-{k:02}" for k in range(MODELS + 1)])
    return code_battles(
        pl.DataFrame(
            {
                "model_a": names[a],
                "model_b": names[b],
                "human_pref": np.where(draw.random(BATTLES) < expit(0.8 * quality), "A", "B"),
                "score_a": 6 + score / 2,
                "score_b": 6 - score / 2,
                "prompt_id": [str(k) for k in range(BATTLES)],
            }
        ),
        by="difficulty",
    )


def covered(seed: int) -> list[list[float]]:
    """For each third (row), 1 if people's Elo of the new model is within the others' quantile.

    A column for each third that the quantile is from.
    """
    battles = draw_battles(seed)
    new = battles.names.index(f"model-{MODELS}")
    old = battles.take(np.flatnonzero((battles.a != new) & (battles.b != new)))
    quantiles = {row.group: row.quantile for row in group_quantiles(old, alpha=ALPHA, seed=seed)}
    assert list(quantiles) == ["easy", "medium", "hard"]
    assert battles.groups is not None
    inside = []
    for group in quantiles:
        rows = np.asarray(battles.group_codes) == battles.groups.index(group)
        third = battles.take(np.flatnonzero(rows))
        rule = judge_rules(third)[-1]
        held = residuals(hold_out_each(rule, seed=seed), human_reference(third))
        at = held.names.index(f"model-{MODELS}")
        score = abs(held.values[at]) / held.se[at]
        inside.append([float(score <= (quantile or 0.0)) for quantile in quantiles.values()])
    return inside


def check(worlds: int) -> None:
    shares = np.array([covered(seed) for seed in range(worlds)]).mean(axis=0)
    assert shares.diagonal().min() >= 1 - ALPHA - 3.5 * math.sqrt(ALPHA * (1 - ALPHA) / worlds)
    # The quantile of easy prompts is too small for hard ones.
    assert shares[2, 0] < 0.5


@pytest.mark.montecarlo
def test_quantiles_by_difficulty_cover() -> None:
    check(60)
