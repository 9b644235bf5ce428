"""Models that give one answer to every prompt."""

from __future__ import annotations

import polars as pl
import pytest

from adjudge import rank
from adjudge.data.answers import describe_same_answer, same_answers
from adjudge.diagnosis import diagnose_bias

N = 30


def _rows(text: str = "choose me", **columns: object) -> pl.DataFrame:
    """A constant answer that wins nine battles in ten against two honest models."""
    rows = {
        "id": [str(k) for k in range(N)],
        "prompt_id": [f"p{k}" for k in range(N)],
        "model_a": ["constant"] * N,
        "model_b": ["honest", "other"] * (N // 2),
        "response_a": [text] * N,
        "response_b": [f"answer {k}" for k in range(N)],
        "p_a": [0.1 if k % 10 == 0 else 0.9 for k in range(N)],
    }
    return pl.DataFrame({**rows, **columns})


def test_a_model_that_wins_with_one_text_is_named_by_bias_and_rank() -> None:
    says = (
        "constant wins 90 % with the same text for 30 of 30 prompts: read its answers before you "
        "trust its rank"
    )
    report = diagnose_bias(_rows())
    assert [describe_same_answer(one) for one in report.same_answers] == [says]
    assert says in str(report)
    winner = ["model_b" if k % 10 == 0 else "model_a" for k in range(N)]
    board = rank(_rows().drop("p_a").with_columns(winner=pl.Series(winner)), interval="none")
    assert says in board.warnings
    assert says in str(board)


def test_hashes_and_lengths_do_where_there_is_no_text() -> None:
    wins = _rows()["p_a"].round().to_numpy()
    bare = _rows().drop("response_a", "response_b")
    hashed = bare.with_columns(
        answer_hash_a=pl.lit("ab12"), answer_hash_b=pl.col("id"), length_a=7, length_b=9
    )
    [by_hash] = same_answers(hashed, wins)
    assert (by_hash.known_by, by_hash.same, by_hash.prompts) == ("text", N, N)
    lengths = bare.with_columns(length_a=pl.lit(140), length_b=pl.int_range(N) + 100)
    [by_length] = same_answers(lengths, wins)
    assert (by_length.model, by_length.known_by) == ("constant", "length")
    assert "a text of the same length for 30 of 30 prompts" in describe_same_answer(by_length)
    assert same_answers(bare, wins) == ()


@pytest.mark.parametrize(
    ("rows", "wins"),
    [
        # It loses, it has answers of its own, or the prompt is always the same one.
        (_rows(), [0.0] * N),
        (_rows(response_a=[f"text {k % 3}" for k in range(N)]), [1.0] * N),
        (_rows(prompt_id=["one"] * N), [1.0] * N),
        (_rows().head(15), [1.0] * 15),
    ],
)
def test_others_are_not_named(rows: pl.DataFrame, wins: list[float]) -> None:
    assert same_answers(rows, wins) == ()
