"""The SCOPE protocol end to end: pairs are judged, ties dropped, items sampled."""

from __future__ import annotations

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.present.figures.selection import scope_figure
from adjudge.reproduce.scope import NOTES, reproduce_scope
from adjudge.simulate.pairs import simulate_pairs
from adjudge.simulate.selective import two_order_judge


def pairs(n=60) -> pl.DataFrame:
    rows = [
        {
            "id": p.id,
            "prompt": p.prompt,
            "response_a": p.response_a,
            "response_b": p.response_b,
            "label": p.label,
        }
        for p in simulate_pairs(n, seed=1)
    ]
    return pl.DataFrame(rows)


def test_pairs_are_judged_first():
    done = reproduce_scope(
        {"own": pairs()}, judge="simulated:accuracy=0.9,seed=1", n=40, splits=10, store=None
    )
    own = done.datasets[1]
    assert own.dataset == "own"
    assert own.n_sampled <= 40
    assert {s.signal for s in own.evaluation.signals} >= {"preference_entropy", "single_order"}


def test_pairs_without_a_judge_are_refused():
    with pytest.raises(ArgumentError, match="give a --judge"):
        reproduce_scope({"own": pairs()}, n=40, splits=5)


def test_ties_are_dropped_and_items_sampled():
    frame = pl.DataFrame(two_order_judge(200, seed=0)).with_columns(
        label=pl.when(pl.int_range(200) < 50).then(pl.lit("tie")).otherwise("label")
    )
    own = reproduce_scope({"mine": frame}, n=100, splits=5).datasets[1]
    assert (own.n_available, own.n_sampled) == (150, 100)
    again = reproduce_scope({"mine": frame[::-1]}, n=100, splits=5).datasets[1]
    assert again == own


def test_unlabelled_judgments_are_refused():
    frame = pl.DataFrame(two_order_judge(30, seed=0)).drop("label")
    with pytest.raises(ArgumentError, match="no human labels"):
        reproduce_scope({"mine": frame}, n=20, splits=5)


def test_a_published_data_set_is_sampled_and_judged():
    rows = [
        {"id": i, "prompt": f"q{i}", "chosen": "good", "rejected": "bad", "chosen_model": "x",
         "rejected_model": "y", "subset": "z"}
        for i in range(60)
    ]  # fmt: skip
    own = reproduce_scope(
        {"rewardbench": rows}, judge="simulated:accuracy=0.9,seed=1", n=40, splits=5, store=None
    ).datasets[1]
    assert (own.n_available, own.n_sampled) == (60, 40)


def test_published_judgments_need_no_judge():
    rows = [
        {"instruction": f"q{i}", "outputs": ["a", "b"], "preferences": {"human": 1 + i % 2},
         "probs": [0.9, 0.1]}
        for i in range(50)
    ]  # fmt: skip
    own = reproduce_scope({"chatbot-arena": rows}, n=40, splits=5).datasets[1]
    assert (own.n_available, own.n_sampled) == (50, 40)
    assert own.evaluation.signals[0].signal == "trust-or-escalate"


def test_the_picture_names_its_data_beside_the_finding():
    done = reproduce_scope({"mine": pl.DataFrame(two_order_judge(200, seed=3))}, splits=300)
    figure = scope_figure(done)
    titles = [panel.get_title(loc="left") for panel in figure.axes[::2]]
    # With 300 splits fdr's mean lies two standard errors above alpha once in fifteen: chance.
    assert titles[0] == (
        "simulator, 2,000 items\nscope, fdr and pac keep the mean error share within alpha, "
        "give or take chance"
    )
    assert titles[1].startswith("mine, 200 items\n")
    assert [panel.get_legend() is None for panel in figure.axes] == [True, False, True, False]


def test_what_a_summary_gives_is_not_said_to_be_the_papers():
    [message] = [note for note in NOTES if "2.4 %" in note]
    assert "the summary 2.4 % without naming the data" in message
