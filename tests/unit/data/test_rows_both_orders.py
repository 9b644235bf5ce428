"""Verdicts in both orders, as `rank` and `diagnose` read them."""

from __future__ import annotations

import pytest

from adjudge import diagnose_bias, rank
from adjudge.data import prepare_battles

ROWS = {
    "model_a": ["x", "x", "y", "y", "x"],
    "model_b": ["y", "z", "z", "x", "z"],
    "verdict_fwd": ["A", "B", "tie", "A", "A"],
    "verdict_rev": ["A", "A", "A", None, "A"],
}


def test_a_flip_is_no_preference_and_one_order_says_nothing() -> None:
    battles = prepare_battles(ROWS)
    assert battles.source == "verdicts in verdict_fwd and verdict_rev"
    assert battles.verdict.tolist() == pytest.approx([1, 0.5, 1, float("nan"), 1], nan_ok=True)
    assert battles.score.tolist() == pytest.approx([1, 0, 0.5, float("nan"), 1], nan_ok=True)
    assert rank(ROWS, interval="none").models[0].model == "x"


def test_the_names_that_published_files_have() -> None:
    published = {**ROWS, "judge_label": ROWS["verdict_fwd"], "judge_label_rev": ROWS["verdict_rev"]}
    del published["verdict_fwd"], published["verdict_rev"]
    assert prepare_battles(published).score.tolist()[:3] == [1, 0, 0.5]
    assert diagnose_bias(published).position.n == diagnose_bias(ROWS).position.n


def test_a_verdict_of_the_file_comes_before_its_orders() -> None:
    battles = prepare_battles({**ROWS, "verdict": ["B"] * 5})
    assert battles.source == "verdicts in verdict"


def test_lengths_under_their_short_name() -> None:
    rows = {**ROWS, "id": list("abcde"), "len_a": [10, 20, 30, 40, 50], "len_b": [1, 2, 3, 4, 5]}
    reasons = diagnose_bias(rows).not_measured
    assert not any("no response text or length" in reason for reason in reasons.values())
