"""The pictures of selection are drawn from any result, small ones too."""

from __future__ import annotations

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.present.selection import (
    evaluation_figure,
    evaluation_pictures,
    paper_rows,
    plan_figure,
    policy_figure,
)
from adjudge.present.theme import save_figure
from adjudge.selection import calibrate, evaluate, plan_selection
from adjudge.simulate.selective import two_order_judge


def rows(n=120, seed=0, judge="x"):
    return pl.DataFrame(two_order_judge(n, skill=2.0, seed=seed)).with_columns(judge=pl.lit(judge))


def test_one_judge_shows_methods_and_several_show_judges(tmp_path):
    one = evaluate(rows(), n_splits=10)
    figure = evaluation_figure(one)
    labels = {text.get_text() for text in figure.axes[0].get_legend().get_texts()}
    assert {"scope", "fdr", "pac", "naive", "heuristic", "vanilla"} <= labels
    both = evaluate(pl.concat([rows(), rows(seed=1, judge="y")]), n_splits=10)
    figure = evaluation_figure(both)
    assert {"x", "y"} <= {t.get_text() for t in figure.axes[0].get_legend().get_texts()}
    assert save_figure(figure, tmp_path / "e.png").stat().st_size > 20_000
    with pytest.raises(ArgumentError, match="the evaluation has x, y"):
        evaluation_figure(both, judge="z")


def test_every_panel_can_stand_alone():
    pictures = evaluation_pictures(evaluate(rows(), n_splits=10))
    assert len(pictures) == 4
    assert all(caption and figure.axes[0].get_title(loc="left") for figure, caption in pictures)


def test_the_papers_signals_are_used_where_they_exist():
    seen = evaluate(rows(), n_splits=10)
    used = {(m.method, m.signal) for m in paper_rows(seen, "x", None)}
    assert ("naive", "single_order") in used
    assert ("scope", "preference_entropy") in used
    single = evaluate(rows().select("id", "label", "judge", p_a="p_fwd"), n_splits=10)
    assert {m.signal for m in paper_rows(single, "x", None)} == {"p_a"}


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_a_policy_is_drawn_with_its_alpha(guarantee):
    figure = policy_figure(calibrate(rows(), alpha=0.2, guarantee=guarantee))
    assert "alpha = 0.2" in {text.get_text() for text in figure.axes[0].texts}


def test_an_infeasible_policy_is_drawn_too():
    figure = policy_figure(calibrate(rows(30), alpha=0.01))
    assert "nothing can be accepted" in figure.axes[0].get_title(loc="left")


def test_a_plan_is_drawn():
    figure = plan_figure(plan_selection(rows(200), alpha=0.2, repeats=10))
    assert figure.axes[0].get_xscale() == "log"
