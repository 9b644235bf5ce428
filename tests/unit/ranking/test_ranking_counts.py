"""Names to codes, outcomes to targets, battles to tables; what is dropped is counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.ranking import battles_from_frame, count_wins, load_battles
from adjudge.ranking.bootstrap import resampled_wins
from adjudge.ranking.counts import code_names, outcome_targets, wins_table


def test_names_are_sorted_and_missing_ones_marked() -> None:
    names, a, b = code_names(pl.Series(["z", None, "é"]), pl.Series(["a", "a", "z"]))
    assert names == ("a", "z", "é")
    assert a.tolist() == [1, -1, 2]
    assert b.tolist() == [0, 0, 1]


def test_codes_do_not_depend_on_names_seen_before() -> None:
    first = code_names(pl.Series(["q1", "q2"]), pl.Series(["q3", "q1"]))
    code_names(pl.Series(["other"]), pl.Series(["names"]))
    again = code_names(pl.Series(["q1", "q2"]), pl.Series(["q3", "q1"]))
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


def test_outcomes_in_every_spelling() -> None:
    words = ["A", "model_a", "b", "model_b", "tie", "tie (bothbad)", "", None]
    got = outcome_targets(pl.Series(words), "winner")
    np.testing.assert_array_equal(got, [1, 1, 0, 0, 0.5, 0.5, np.nan, np.nan])
    np.testing.assert_array_equal(
        outcome_targets(pl.Series([1.0, 0.5, None]), "w"), [1, 0.5, np.nan]
    )


@pytest.mark.parametrize("bad", [["A", "C"], [0.3, 1.0]])
def test_unknown_outcomes_are_refused(bad: list[object]) -> None:
    with pytest.raises(ArgumentError, match="winner"):
        outcome_targets(pl.Series(bad), "winner")


@pytest.mark.parametrize("made", [list, np.array, pd.Series, pl.Series])
def test_columns_of_any_kind(made: type) -> None:
    names, wins = count_wins(made(["x", "y", "x"]), made(["y", "x", "x"]), made(["A", "B", "A"]))
    assert names == ("x", "y")
    assert wins.tolist() == [[0, 2], [0, 0]]  # a battle with oneself does not count


def test_soft_targets_sum() -> None:
    _, wins = count_wins(["x", "y"], ["y", "x"], [0.75, 0.5])
    np.testing.assert_allclose(wins, [[0, 1.25], [0.75, 0]])


def test_probabilities_must_be_probabilities() -> None:
    with pytest.raises(ArgumentError, match="target"):
        count_wins(["x"], ["y"], [1.5])


def test_resampling_cells_is_resampling_battles() -> None:
    draw = np.random.default_rng(0)
    a = np.array([0] * 30 + [1] * 20 + [2] * 10)
    b = np.array([1] * 30 + [0] * 20 + [0] * 10)
    y = np.array([1.0] * 18 + [0.5] * 12 + [1.0] * 20 + [0.0] * 10)
    tables = resampled_wins(a, b, y, 3, replicates=4000, seed=1)
    rows = draw.integers(0, 60, size=(4000, 60))
    direct = np.stack([wins_table(a[r], b[r], y[r], 3) for r in rows])
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 60)
    np.testing.assert_allclose(tables.mean(axis=0), direct.mean(axis=0), atol=0.35)
    np.testing.assert_allclose(tables.std(axis=0), direct.std(axis=0), atol=0.25)
    cross = [np.cov(t[:, 0, 1], t[:, 1, 0])[0, 1] for t in (tables, direct)]
    assert cross[0] == pytest.approx(cross[1], abs=1.0)


def test_battles_of_a_prompt_come_together() -> None:
    a, b = np.zeros(40, dtype=int), np.ones(40, dtype=int)
    y = np.repeat([1.0, 0.0], 20)
    clusters = np.repeat([0, 1], 20)
    tables = resampled_wins(a, b, y, 2, replicates=50, seed=0, clusters=clusters)
    assert set(np.unique(tables[:, 0, 1])) <= {0.0, 20.0, 40.0}
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 40)


def test_frames_of_probabilities_and_flips() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "x", "y"],
            "model_b": ["y", "z", "z"],
            "p_fwd": [0.9, 0.9, None],
            "p_rev": [0.7, 0.2, None],
            "label": ["A", "B", "tie"],
        }
    )
    loaded, dropped = load_battles(frame)
    battles, source = battles_from_frame(loaded)
    assert dropped == {}
    assert source == "log-odds of p_a"
    assert battles.score is not None
    assert battles.verdict is not None
    assert battles.human is not None
    assert battles.score[0] == pytest.approx(np.log(0.8 / 0.2))
    # The judge turned with the order: no preference, though the mean leans to A.
    np.testing.assert_array_equal(battles.verdict, [1.0, 0.5, np.nan])
    np.testing.assert_array_equal(battles.human, [1.0, 0.0, 0.5])


def test_certain_probabilities_are_counted() -> None:
    frame = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "p_a": [1.0], "winner": ["model_a"]})
    battles, _ = battles_from_frame(frame)
    assert battles.score is not None
    assert np.isfinite(battles.score).all()
    assert "1 probabilities" in battles.warnings[0]


def test_a_verdict_column_of_another_name_is_another_judge() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "y"],
            "model_b": ["y", "x"],
            "winner": ["model_a", "tie"],
            "score_a": [9.0, 1.0],
            "score_b": [1.0, 9.0],
            "gpt4_pref": ["B", "A"],
        }
    )
    battles, source = battles_from_frame(frame, verdict="gpt4_pref")
    assert source == "verdicts in gpt4_pref"
    assert battles.score is not None
    assert battles.score.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("option", ["human", "verdict", "score", "cluster", "group"])
def test_a_missing_column_is_named(option: str) -> None:
    frame = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    with pytest.raises(ArgumentError, match="nowhere"):
        battles_from_frame(frame, **{option: "nowhere"})
