"""Battles: names to codes, outcomes to targets, what the judge left as one score; counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.data.battles import code_battles, prepare_battles
from adjudge.data.outcomes import code_names, outcome_targets
from adjudge.data.rows import Identity
from adjudge.errors import ArgumentError, DataError


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
    battles = prepare_battles(frame)
    assert battles.dropped == {}
    assert battles.source == "log-odds of p_a"
    assert battles.score is not None
    assert battles.verdict is not None
    assert battles.human is not None
    assert battles.score[0] == pytest.approx(np.log(0.8 / 0.2))
    # The judge turned with the order: no preference, though the mean leans to A.
    np.testing.assert_array_equal(battles.verdict, [1.0, 0.5, np.nan])
    np.testing.assert_array_equal(battles.human, [1.0, 0.0, 0.5])


def test_a_protocol_without_orders_scores_by_p_a_next_to_empty_columns_of_the_orders() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "x", "y"],
            "model_b": ["y", "y", "x"],
            "p_fwd": [None, 0.9, None],
            "p_rev": [None, 0.7, 0.5],
            "p_a": [0.2, 0.8, None],
        }
    )
    battles = prepare_battles(frame)
    assert battles.score is not None
    assert battles.verdict is not None
    np.testing.assert_allclose(battles.score, [np.log(0.25), np.log(4), np.nan])
    np.testing.assert_array_equal(battles.verdict, [0.0, 1.0, np.nan])


def test_certain_probabilities_are_counted() -> None:
    frame = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "p_a": [1.0], "winner": ["model_a"]})
    battles = code_battles(frame)
    assert battles.score is not None
    assert np.isfinite(battles.score).all()
    text = "1 probability closer than 1e-6 to 0 or 1, clipped to that distance"
    assert battles.warnings == (text,)


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
    battles = code_battles(frame, verdict="gpt4_pref")
    assert battles.source == "verdicts in gpt4_pref"
    assert battles.score is not None
    assert battles.score.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("option", ["human", "verdict", "score", "cluster", "by", "against"])
def test_a_missing_column_is_named(option: str) -> None:
    frame = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    with pytest.raises(ArgumentError, match="nowhere"):
        code_battles(frame, **{option: "nowhere"})


def test_prepared_battles_are_taken_as_they_are_and_their_columns_not_named_again() -> None:
    frame = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    battles = prepare_battles(frame)
    assert prepare_battles(battles) is battles
    for option in ("human", "verdict", "score", "cluster", "by", "against", "format"):
        with pytest.raises(ArgumentError, match=f"{option} = 'winner': give it to prepare_battles"):
            prepare_battles(battles, **{option: "winner"})


def test_a_battle_without_a_prompt_is_a_cluster_of_its_own() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x"] * 5,
            "model_b": ["y"] * 5,
            "winner": ["tie"] * 5,
            "prompt_id": ["p", None, "p", None, "q"],
        }
    )
    battles = prepare_battles(frame)
    assert battles.prompts is not None
    assert battles.prompts.tolist() == [0, 1, 0, 2, 3]
    assert prepare_battles(frame, cluster="none").prompts is None
    assert prepare_battles(frame.filter(pl.col("prompt_id") != "p")).prompts is None


def test_who_judged_and_another_opinion_come_along() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "y"],
            "model_b": ["y", "x"],
            "winner": ["model_a", None],
            "judge": ["gpt", "gpt"],
            "judge_fingerprint": ["f", None],
            "crowd": ["B", "A"],
        }
    )
    battles = prepare_battles(frame, against="crowd")
    assert battles.identities == (Identity("gpt", None, None), Identity("gpt", None, "f"))
    assert (battles.judges, battles.fingerprints) == (("gpt",), ("f",))
    assert battles.other is not None
    assert battles.other.tolist() == [0.0, 1.0]
    votes = prepare_battles(frame, against="votes").other
    np.testing.assert_array_equal(votes, [1.0, np.nan])
    with pytest.raises(ArgumentError, match="against = 'votes'"):
        prepare_battles(frame.drop("winner"), against="votes")


def test_names_in_a_csv_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,label\n007,1.50,A\n1.50,007,tie\n")
    battles = prepare_battles(path)
    assert battles.names == ("007", "1.50")
    assert battles.human is not None
    assert battles.human.tolist() == [1.0, 0.5]
    path.write_text("model_a,model_b,winner\nx,x,model_a\n")
    with pytest.raises(DataError, match=r"battles\.csv, row 1"):
        prepare_battles(path)


def test_winners_next_to_a_judge_without_verdicts_are_doubted() -> None:
    rows = {"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"], "judge": ["gpt-4o"]}
    read = prepare_battles(rows)
    [doubt] = read.warnings
    assert "if people gave them, add --human winner" in doubt
    assert (read.voters, read.of_people) == ("the winner that gpt-4o gave", False)
    people = prepare_battles({**rows, "judge": ["expert_12"]})
    assert (people.warnings, people.of_people) == ((), True)
    for said in ({"verdict": "winner"}, {"human": "winner"}):
        assert prepare_battles(rows, **said).warnings == ()
    assert prepare_battles({**rows, "p_a": [0.4]}).warnings == ()


@pytest.mark.parametrize("column", ["verdict", "judge_winner", "judge_pref", "who"])
def test_verdicts_can_name_the_winner_in_every_column(tmp_path: Path, column: str) -> None:
    path = tmp_path / "battles.csv"
    path.write_text(
        f"model_a,model_b,{column}\ngpt,claude,claude\nllama,gpt, llama \ngpt,llama,tie\n"
    )
    options = {"verdict": "who"} if column == "who" else {}
    battles = prepare_battles(path, **options)
    assert battles.verdict is not None
    assert battles.verdict.tolist() == [0.0, 1.0, 0.5]
    assert battles.command == f"adjudge rank {path}" + " --verdict who" * (column == "who")
    path.write_text(f"model_a,model_b,{column}\ngpt,claude,gpt\nllama,gpt,claude\n")
    with pytest.raises(DataError, match=rf"battles\.csv, row 2, column {column}: 'claude'"):
        prepare_battles(path, **options)
