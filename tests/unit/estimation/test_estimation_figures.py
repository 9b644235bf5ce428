"""Every kind of result has a picture, and the picture says what was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.estimation import estimate, plan_rate
from adjudge.present.estimation import estimate_figure
from adjudge.present.theme import save_figure
from adjudge.simulate.binary import BinaryModel, binary_rows

MODELS = {
    "small [b]": BinaryModel(rate=0.4, specificity=0.7, sensitivity=0.9),
    "large": BinaryModel(rate=0.8, specificity=0.75, sensitivity=0.95),
    "bare": BinaryModel(rate=0.5, specificity=0.5, sensitivity=0.5),
}
TRUTH = {name: model.rate for name, model in MODELS.items()}


def titles(figure: object) -> str:
    return " ".join(axes.get_title(loc="left") for axes in figure.axes)  # type: ignore[attr-defined]


def test_groups_with_truth_and_a_refusal(tmp_path: Path) -> None:
    rows = binary_rows(MODELS, prompts=600, labels=500, seed=3)
    result = estimate(rows, by="model")
    figure = estimate_figure(result, truth=TRUTH)
    assert "holds the truth for 2 of 2 (1 without)" in titles(figure)
    assert save_figure(figure, tmp_path / "groups.png").stat().st_size > 10_000
    assert result.refused == ("bare",)
    assert "A corrected rate for 2 of 3 groups only" in titles(estimate_figure(result))
    bare = estimate(rows.filter(pl.col("model") == "bare"), by="model")
    assert "allow no corrected rate for any group" in titles(estimate_figure(bare))
    whole = estimate(rows.filter(pl.col("model") != "bare"), by="model")
    assert "For 1 of 2 the judge's own rate is outside" in titles(estimate_figure(whole))
    pooled = estimate_figure(estimate(rows, by="model", pool=True), truth=TRUTH)
    assert "one confusion matrix for all" in titles(pooled)


def test_the_other_kinds(tmp_path: Path) -> None:
    rows = binary_rows(MODELS, prompts=300, labels=300, seed=4)
    rng = np.random.default_rng(0)
    classes = rng.choice(["A", "B", "tie"], 400)
    results = {
        "single": (estimate(rows), 0.57),
        "difference": (estimate(rows, by="model", compare=("large", "small [b]")), None),
        "classes": (
            estimate(judge=classes, human=[c if i < 200 else None for i, c in enumerate(classes)]),
            {"A": 1 / 3},
        ),
        "plan": (
            plan_rate(judge_rate=0.5, sensitivity=0.9, specificity=0.8, n_test=900, width=0.2),
            None,
        ),
    }
    for name, (result, truth) in results.items():
        figure = estimate_figure(result, truth=truth)
        assert titles(figure).strip(), name
        assert save_figure(figure, tmp_path / f"{name}.png").stat().st_size > 5_000


def test_a_stranger_is_refused() -> None:
    with pytest.raises(ArgumentError, match="give a result of estimate"):
        estimate_figure(estimate(judge=[1, 0], human=[1, 0]).label_shift or object())  # type: ignore[arg-type]
