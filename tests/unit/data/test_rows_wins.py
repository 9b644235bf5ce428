"""Judgments of pairs from the side of one model, and its corrected win rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge import estimate
from adjudge.cli import run
from adjudge.data.judgments import read_wins
from adjudge.errors import AdjudgeError
from adjudge.estimation.rate_view import estimate_figure

Columns = dict[str, list[Any]]


def make_pairs(n: int, seed: int) -> Columns:
    """Pairs of three models; `new` is A in some and B in others, and not in every pair."""
    rng = np.random.default_rng(seed)
    sides = [rng.choice(["new", "old", "other"], 2, replace=False) for _ in range(n)]
    p_a = rng.beta(0.7, 0.7, n).round(6)
    labels = np.where(rng.random(n) < 0.2 + 0.6 * p_a, "A", "B")
    return {
        "id": [f"p{k}" for k in range(n)],
        "judge": ["model"] * n,
        "p_a": p_a.tolist(),
        "label": [label if k % 3 else None for k, label in enumerate(labels.tolist())],
        "model_a": [str(one) for one, _ in sides],
        "model_b": [str(other) for _, other in sides],
    }


def turned(rows: Columns, model: str) -> tuple[list[float], list[float | None]]:
    """The judge's probabilities and people's labels for the model, written out."""
    judge: list[float] = []
    human: list[float | None] = []
    for a, b, p, label in zip(
        rows["model_a"], rows["model_b"], rows["p_a"], rows["label"], strict=True
    ):
        if model not in (a, b):
            continue
        judge.append(p if a == model else 1 - p)
        human.append(None if label is None else float((label == "A") == (a == model)))
    return judge, human


@pytest.mark.parametrize("random", [False, True])
def test_the_win_rate_is_that_of_pairs_turned_to_the_model(random: bool) -> None:
    rows = make_pairs(400, seed=3)
    judge, human = turned(rows, "new")
    by_hand: Any = estimate(judge=judge, human=human, labels_are_random=random)
    result: Any = estimate(rows, model="new", labels_are_random=random)
    assert (result.estimate, result.low, result.high) == (
        by_hand.estimate,
        by_hand.low,
        by_hand.high,
    )
    assert result.dropped == {"a pair without new": 400 - len(judge)}
    assert result.group == "win rate of new"
    assert any("of the pairs of new in which people prefer" in text for text in result.assumptions)
    axis = estimate_figure(result).axes[0].get_xlabel()
    assert axis == "win rate of new, with 95 % intervals"


def test_both_sides_of_two_models_share_every_pair() -> None:
    rows = make_pairs(300, seed=4)
    two = pl.DataFrame(rows).filter((pl.col("model_a") != "other") & (pl.col("model_b") != "other"))
    new: Any = estimate(two, model="new", labels_are_random=True)
    old: Any = estimate(two, model="old", labels_are_random=True)
    assert new.estimate + old.estimate == pytest.approx(1)
    assert new.low + old.high == pytest.approx(1)


def test_a_rate_for_each_opponent(tmp_path: Path) -> None:
    options = {"model": "new", "by": "opponent", "labels_are_random": True}
    frame = pl.DataFrame(make_pairs(600, seed=5)).with_columns(response_a=pl.lit("long"))
    result: Any = estimate(frame, **options)
    assert [one.group for one in result.groups] == ["old", "other"]
    frame.write_parquet(tmp_path / "judgments.parquet")  # read without its texts
    assert estimate(tmp_path / "judgments.parquet", **options) == result


def test_ties_are_half_a_win_and_verdicts_are_read_without_probabilities() -> None:
    rows = {
        "id": [1, 2, 3, 4],
        "model_a": ["x", "y", "x", "x"],
        "model_b": ["y", "x", "y", "x"],
        "verdict": ["A", "model_a", "tie", "A"],
        "label": ["tie", "A", None, "A"],
    }
    table = read_wins(rows, "x")
    assert table.frame.select("judge", "human", "opponent").rows() == [
        (1.0, 0.5, "y"),
        (0.0, 0.0, "y"),
        (0.5, None, "y"),
    ]
    assert table.dropped == {"a pair of the model with itself": 1}
    judged = read_wins(make_pairs(30, seed=6), "new", judge_column="verdict").frame["judge"]
    assert set(judged) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"model": "newer"}, "model = 'newer': the pairs have new, old, other"),
        ({"model_b": None}, {}, "column model_b: is missing; name the column of each side's model"),
        (
            {"label": [*["tie"] * 20, *[None] * 10]},
            {},
            "column label: 0.5 is a tie or a share of people, but ",
        ),
        ({}, {"positive": "A"}, "give a table of judgments, without positive"),
        ({}, {"judge_column": "p_x"}, "judge_column = 'p_x': with a model, use p_a or verdict"),
        ({"p_a": None, "verdict": ["A", "maybe"] * 15}, {}, "'maybe' is not A, B or tie"),
        (
            {},
            {"method": "conditional"},
            "needs verdicts of 0 and 1, not probabilities: name their column with ",
        ),
        ({}, {"judges": ["model", "other"]}, "other is neither a column nor a judge's name"),
    ],
)
def test_what_cannot_be_a_win_rate_is_refused_in_one_line(
    change: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    rows = {**make_pairs(30, seed=7), **change}
    kept = {name: values for name, values in rows.items() if values is not None}
    with pytest.raises(AdjudgeError) as caught:
        estimate(kept, **{"model": "new", **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_grades_have_no_pairs() -> None:
    with pytest.raises(AdjudgeError, match="is for judgments of pairs; for grades: --by model"):
        estimate({"id": [1], "p_pass": [0.5], "human": [1], "model": ["x"]}, model="x")


def test_the_command_takes_annotations_of_alpaca_eval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(8)
    rows = pl.DataFrame(
        {
            "instruction": [f"question {k}" for k in range(90)],
            "output_1": ["one"] * 90,
            "output_2": ["two"] * 90,
            "generator_1": ["base"] * 90,
            "generator_2": ["mine"] * 90,
            "annotator": ["judge"] * 90,
            "preference": 1 + rng.random(90),
        }
    )
    rows.write_json(tmp_path / "annotations.json")
    labels = pl.DataFrame(
        {"id": [f"alpaca-eval-{k}" for k in range(1, 61)], "label": ["A", "B", "B"] * 20}
    )
    labels.write_csv(tmp_path / "labels.csv")
    given = [str(tmp_path / "annotations.json"), "--labels", str(tmp_path / "labels.csv")]
    words = ["--model", "mine", "--labels-are-random", "--explain"]
    assert run(["estimate", *given, *words]) == 0
    shown = capsys.readouterr().out
    assert "win rate of mine: corrected rate" in shown
    assert "human-only random labels 0.667" in " ".join(shown.split())
    assert run(["estimate", *given]) == 1
    assert "adjudge estimate --model NAME" in capsys.readouterr().err
