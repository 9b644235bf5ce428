"""The reporting paper's statements, reproduced by `adjudge.reproduce.reporting`."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.present.views import figures_of
from adjudge.reproduce.reporting import length_curve, reproduce_reporting
from adjudge.reproduce.reporting_protocol import arena_protocol


@pytest.fixture(scope="module")
def paper():  # type: ignore[no-untyped-def]
    return reproduce_reporting(repeats=1000, seed=1)


def test_statements(paper) -> None:
    agreeing = {one.where for one in paper.claims if one.agrees}
    assert {"section 1", "Figures 6b, 9 to 16", "Figure 6b", "Proposition 6.1", "Figure 5"} <= (
        agreeing
    )
    # Two statements do not hold as written; the report must keep saying so.
    figure3 = next(one for one in paper.claims if one.where == "Figure 3")
    assert not figure3.agrees
    assert figure3.ours.startswith("362")


def test_coverage_bias_and_length(paper) -> None:
    for one in paper.settings:
        assert min(one.coverage) > 0.925
        assert min(one.coverage_adaptive) > 0.925
        inner = slice(3, 18)
        bias = np.array(one.corrected) - np.array(one.rates)
        assert np.abs(bias[inner]).max() < 0.02
        assert np.mean(one.length_adaptive) < np.mean(one.length_equal)


def test_figure_3_shrinks_with_labels_and_algorithm_1_is_never_much_longer() -> None:
    for p in (0.3, 0.5, 0.7, 0.9):
        curve = length_curve(p)
        equal, adaptive = np.array(curve.equal), np.array(curve.adaptive)
        assert (np.diff(equal[20:]) < 0).all()
        assert (adaptive <= equal * 1.03).all()


def test_every_figure_of_the_paper_is_drawn(paper) -> None:
    drawn = {name: figure.draw() for name, figure in figures_of(paper).items()}
    assert set(drawn) == {f"figure{i}" for i in (3, 4, 5, 6, *range(9, 17))}
    assert len(drawn["figure3"].axes[0].lines) == 8
    assert len(drawn["figure5"].axes[0].lines) == 7
    for number in (6, *range(9, 17)):
        panels = drawn[f"figure{number}"].axes
        assert len(panels) == 3
        assert all(panel.get_xlabel() == "true rate" for panel in panels)


def test_figure_7_counts_every_model_and_says_how_many_splits_spoke() -> None:
    rng = np.random.default_rng(0)
    models = [f"m{k:02d}" for k in range(30)]
    human = {m: (rng.random(60) < 0.5).astype(int) for m in models}
    judge = {m: np.where(rng.random(60) < 0.9, human[m], 1 - human[m]) for m in models}
    human["m29"][:] = 1
    rows = [
        {"model": m, "human": int(h), "judge": int(j)}
        for m in models
        for h, j in zip(human[m], judge[m], strict=True)
    ]
    done = arena_protocol(rows, splits=20)
    axes = done.plot(figure="figure7").axes[0]
    better = sum(
        abs(row.bias_corrected) < abs(row.bias_naive)
        for row in done.protocol
        if row.bias_corrected is not None
    )
    title = f"Correction brings {better} of 29 models closer to the human rate"
    assert axes.get_title(loc="left") == f"{title}\n1 more without an estimate"
    assert axes.get_xlabel().endswith("the 24 models with most rows")
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert len(labels) == 24
    for label, row in zip(labels, done.protocol, strict=False):
        assert label == (f"{row.model} ({20 - row.refused} splits)" if row.refused else row.model)


def test_rows_without_a_model_are_counted_and_are_no_model() -> None:
    rows = {"judge": [1, 0] * 40, "human": [1, 0] * 40, "model": ["m"] * 50 + [None] * 30}
    done = arena_protocol(rows, splits=5)
    assert [row.model for row in done.protocol] == ["m"]
    assert done.dropped == {"no model named": 30}
    winners = ["model_a", "model_b"] * 40
    battles = {"judge": winners, "human": winners, "model_a": ["x"] * 80}
    done = arena_protocol(battles | {"model_b": ["y"] * 50 + [None] * 30}, splits=5)
    assert {row.model: row.rows for row in done.protocol} == {"x": 50, "y": 50}
    assert done.dropped == {"no model named": 30}
