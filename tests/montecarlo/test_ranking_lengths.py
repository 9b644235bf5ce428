"""New models that write more than the anchors; the judge likes length, and people do not.

Standard deviations are of the anchors' own habits of length. A band is 3.5 standard errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from adjudge.data.battles import code_battles
from adjudge.ranking import make_anchors, place
from adjudge.ranking.bradley_terry import wins_table
from adjudge.statistics.bradley_terry import fit_against_anchors, fit_strengths, to_elo
from adjudge.validation import FloatArray, IntArray

MODELS = 20
BATTLES = 2400
PER = 240
HABIT = 0.3


def draw_rows(
    draw: np.random.Generator, theta: FloatArray, habit: FloatArray, a: IntArray, b: IntArray
) -> pl.DataFrame:
    """The judge's score grows by 1.5 with x = (a - b) / (a + b); people's preference does not."""
    lengths = [np.exp(6 + habit[m] + draw.normal(0, 0.5, len(m))) for m in (a, b)]
    x = (lengths[0] - lengths[1]) / (lengths[0] + lengths[1])
    quality = 1.5 * (theta[a] - theta[b]) + draw.normal(0, 1.5, len(a))
    score = quality + 1.5 * x
    names = np.array([f"model-{k:02}" for k in range(len(theta))])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "human_pref": np.where(draw.random(len(a)) < expit(0.6 * quality), "A", "B"),
            "score_a": 6 + score / 2,
            "score_b": 6 - score / 2,
            "length_a": lengths[0],
            "length_b": lengths[1],
        }
    )


def placed(seed: int, away: float, control: list[str] | None) -> tuple[float, float, bool]:
    """Whether the interval has people's Elo, its width, and whether there was a warning."""
    draw = np.random.default_rng(seed)
    theta = draw.normal(0, 0.8, MODELS + 1)
    habit = np.append(draw.normal(0, HABIT, MODELS), away * HABIT)
    a = draw.integers(0, MODELS, BATTLES)
    b = (a + draw.integers(1, MODELS, BATTLES)) % MODELS
    old = draw_rows(draw, theta, habit, a, b)
    rivals = draw.integers(0, MODELS, PER)
    fresh = draw_rows(draw, theta, habit, np.full(PER, MODELS), rivals)
    options: dict[str, Any] = {"replicates": 20, "seed": seed, "method": "soft-elo"}
    anchors = make_anchors(old, control=control, **options)
    board = place(fresh.drop("human_pref"), anchors, alpha=0.1, seed=seed)
    row = next(row for row in board.models if row.origin == "new")
    low, high = row.ends
    assert row.interval is not None
    assert low is not None
    assert high is not None
    known = code_battles(old)
    wins = wins_table(known.a, known.b, np.asarray(known.human), MODELS)
    met = np.bincount(rivals, minlength=MODELS).astype(float)
    won = np.asarray(float((fresh["human_pref"] == "A").sum()))
    truth = float(to_elo(fit_against_anchors(met, won, fit_strengths(wins))))
    warned = any("longer answers than every anchor" in line for line in board.warnings)
    return float(truth in row.interval), high - low, warned


def summary(worlds: int, away: float, control: list[str] | None) -> tuple[float, float, float]:
    seen = np.array([placed(seed, away, control) for seed in range(worlds)], dtype=np.float64)
    covered, width, warned = seen.mean(axis=0).tolist()
    return covered, width, warned


def check(worlds: int, away: float) -> None:
    plain = summary(worlds, away, None)
    styled = summary(worlds, away, ["length"])
    error = BAND * math.sqrt(0.9 * 0.1 / worlds)
    assert styled[0] >= 0.9 - error
    assert styled[1] < 0.85 * plain[1]
    if away >= 4:
        assert plain[0] < 0.6
        assert plain[2] > 0.9


BAND = 3.5


def test_a_model_that_writes_much_more() -> None:
    check(12, 4)


@pytest.mark.montecarlo
@pytest.mark.parametrize("away", [0, 2, 4])
def test_models_that_write_more_in_full(away: float) -> None:
    check(50, away)


def print_table() -> None:
    """Coverage at 90 %, width and share of warnings, without and with length in the fit."""
    print("| new model writes | plain: covered, width, warned | --control length |\n|---|---|---|")
    for away in (0, 2, 4):
        cells = (summary(200, away, control) for control in (None, ["length"]))
        shown = (f"{covered:.2f}, {width:.0f}, {warned:.2f}" for covered, width, warned in cells)
        print(f"| {away} standard deviations more | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    print_table()
