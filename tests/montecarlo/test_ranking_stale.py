"""How often `anchors check` says that anchors moved, among anchors that hold and one that moved.

Scores follow what people like and what the judge likes of each model. A band is 3.5 standard errors
of a share over independent worlds, with fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from adjudge.ranking import AnchorsCheck, check_anchors, make_anchors
from adjudge.validation import FloatArray

MODELS = 15
MOVED = 7


def draw_rows(
    draw: np.random.Generator, theta: FloatArray, likes: FloatArray, battles: int, prompts: int
) -> pl.DataFrame:
    a = draw.integers(0, MODELS, battles)
    b = (a + draw.integers(1, MODELS, battles)) % MODELS
    prompt = draw.integers(0, prompts, battles) if prompts else np.arange(battles)
    effect = draw.normal(0, 0.8 if prompts else 0.0, (prompts or battles, MODELS))
    gap = theta[a] - theta[b] + effect[prompt, a] - effect[prompt, b]
    quality = 1.5 * gap + draw.normal(0, 1.5, battles)
    score = quality + likes[a] - likes[b]
    names = np.array([f"m{k:02}" for k in range(MODELS)])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "human_pref": np.where(draw.random(battles) < expit(0.6 * quality), "A", "B"),
            "score_a": 6 + score / 2,
            "score_b": 6 - score / 2,
            "prompt_id": prompt,
        }
    )


def check_after(
    seed: int, *, old: int, new: int, shift: float = 0.0, judge: bool = True, prompts: int = 0
) -> AnchorsCheck:
    """New battles against anchors; one model is worse by `shift`, for the judge too or not."""
    draw = np.random.default_rng(seed)
    theta = draw.normal(0, 0.8, MODELS)
    likes = draw.normal(0, 0.4, MODELS)
    rows = draw_rows(draw, theta, likes, old, prompts)
    anchors = make_anchors(rows, method="soft-elo", replicates=50, seed=seed)
    theta[MOVED] -= shift
    likes[MOVED] += 0 if judge else 1.5 * shift
    return check_anchors(draw_rows(draw, theta, likes, new, prompts), anchors)


def share_of_alarms(worlds: int, text: str, **how: float) -> float:
    """The share of checks that have a line with this text."""
    checks = [check_after(seed, **how) for seed in range(worlds)]  # type: ignore[arg-type]
    return float(np.mean([any(text in line for line in check.changed) for check in checks]))


def most(level: float, worlds: int) -> float:
    return level + 3.5 * math.sqrt(level * (1 - level) / worlds)


def test_anchors_that_hold_seldom_move_shortly() -> None:
    assert share_of_alarms(10, "", old=1500, new=600) <= most(0.03, 10)


@pytest.mark.montecarlo
@pytest.mark.parametrize(
    ("old", "new", "prompts"), [(3000, 1500, 0), (1500, 600, 0), (3000, 1500, 100), (800, 3000, 0)]
)
def test_anchors_that_hold_seldom_move(old: int, new: int, prompts: int) -> None:
    assert share_of_alarms(60, "", old=old, new=new, prompts=prompts) <= most(0.03, 60)


@pytest.mark.montecarlo
def test_an_anchor_that_moved_is_seen() -> None:
    """87 Elo that the judge follows, and 174 that it does not."""
    judge = f"place m{MOVED:02}"
    assert share_of_alarms(20, judge, old=3000, new=1500, shift=0.5) >= 0.7
    assert share_of_alarms(20, "by the votes", old=3000, new=1500, shift=1.0, judge=False) >= 0.3
