"""Figures of the ranking room: what they draw, and what they refuse to draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.present.figure import save_figure
from adjudge.ranking import rank
from adjudge.ranking.leaderboard import Leaderboard, ModelRow
from adjudge.ranking.leaderboard_view import leaderboard_figure
from adjudge.records import Interval
from adjudge.simulate.battles import simulate_battles


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    frame = simulate_battles(models=20, battles=2500, seed=3).frame
    return rank(frame, evaluate=True, replicates=50, by="language")


def test_every_figure_has_a_name_a_title_and_labelled_axes(board: Leaderboard) -> None:
    figures = board.figures()
    names = {"leaderboard", "evaluation", "held-out", "residuals", "reliability", "widths"}
    assert set(figures) == names | {"intervals", "budgets"}
    for name in figures:
        for axes in board.plot(f"{name}.png", figure=name).axes:
            assert axes.get_title(loc="left")
            in_words = any(tick.get_text()[:1].isalpha() for tick in axes.get_xticklabels())
            assert axes.get_xlabel() or in_words
    with pytest.raises(ArgumentError, match="choose one of leaderboard"):
        board.plot(figure="pie")


def test_without_an_evaluation_there_is_nothing_to_draw(board: Leaderboard) -> None:
    bare = replace(board, held_out=(), loo=(), conformal=(), budgets=())
    assert set(bare.figures()) == {"leaderboard", "reliability"}
    with pytest.raises(ArgumentError, match="choose one of leaderboard, reliability"):
        bare.plot(figure="held-out")
    unbounded = tuple(replace(row, quantile=None, unbounded=True) for row in board.conformal)
    narrow = replace(board, conformal=unbounded, budgets=())
    assert {"widths", "intervals", "budgets"}.isdisjoint(narrow.figures())
    assert len(narrow.plot(figure="evaluation").axes) == 3
    assert not replace(bare, models=(), temperature=None).figures()


def test_open_ends_components_and_odd_names_are_drawn() -> None:
    odd = rank(
        {
            "model_a": ["$x$", "$x$", "[bold]y", "p\x1b[31m", "q"],
            "model_b": ["[bold]y", "z", "z", "q", "p\x1b[31m"],
            "winner": ["model_a", "model_a", "tie", "model_a", "model_a"],
        },
        interval="bootstrap",
        replicates=20,
    )
    save_figure(leaderboard_figure(odd), "odd.svg")
    assert "not on one scale" in leaderboard_figure(odd).axes[0].get_xlabel()


def test_what_the_penalty_determines_has_no_arrow_and_a_name_has_one_line() -> None:
    draw = np.random.default_rng(0)
    pairs = [("best\none", "x"), ("x", "y"), ("y", "z"), ("z", "x"), ("best\none", "z")] * 40
    tone = draw.normal(size=len(pairs))
    won = draw.random(len(pairs)) < 1 / (1 + np.exp(-2 * tone))
    won |= np.array([a.startswith("best") for a, _ in pairs])
    rows = {
        "model_a": [a for a, _ in pairs],
        "model_b": [b for _, b in pairs],
        "human_pref": won.astype(int),
        "tone": tone,
    }
    board = rank(rows, control=["tone"])
    swept = board.models[0]
    assert swept.unbounded
    assert swept.plain is not None
    assert swept.plain.elo != swept.elo
    axes = leaderboard_figure(board).axes[0]
    arrows = [text.xy[1] for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert arrows
    assert all(height > 0.5 for height in arrows)
    assert axes.get_yticklabels()[0].get_text().startswith("best one  ")


@pytest.mark.parametrize("method", ["copeland", "mfas", "win-rate", "online-elo"])
def test_orders_without_elo_are_drawn_and_shown(method: str) -> None:
    frame = simulate_battles(models=5, battles=200, seed=0).frame
    made = rank(frame, method=method, replicates=20)
    save_figure(leaderboard_figure(made), f"{method}.png")
    assert method in str(made)


def test_a_new_model_is_shown_and_drawn_whatever_its_rank() -> None:
    row = ModelRow(
        model="known",
        elo=1500.0,
        interval=None,
        se=None,
        n_battles=0,
        rank=1,
        origin="anchor",
    )
    known = tuple(replace(row, model=f"known-{k}", elo=2000.0 - k, rank=k + 1) for k in range(120))
    interval = Interval(1860.0, 1880.0, level=0.9)
    new = replace(row, model="newcomer", elo=1870.0, interval=interval, rank=121, origin="new")
    board = Leaderboard(
        method="soft-elo",
        beta=None,
        beta_se=None,
        l2=0.01,
        models=(*known, new),
        components=(),
        warnings=(),
        dropped={},
        n_battles=10,
        outcome="",
        interval="conformal",
        confidence_level=0.9,
    )
    axes = leaderboard_figure(board).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 70
    assert labels[-1].startswith("newcomer")
    assert "newcomer: 1870 on people's scale" in axes.get_title(loc="left")
    assert "newcomer (new)" in str(board)
