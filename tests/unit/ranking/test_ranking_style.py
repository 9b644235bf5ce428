"""Boards at equal style: the fit, what is refused, what is printed beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.discrete.discrete_model import Logit

from adjudge.data.battles import code_battles
from adjudge.errors import ArgumentError
from adjudge.ranking import rank
from adjudge.ranking.bradley_terry import wins_table
from adjudge.ranking.pooled import fit_pooled
from adjudge.statistics.bradley_terry import fit_strengths, fit_with_features

N = 6


def make(size: int = 1500, seed: int = 0, **effects: float) -> pl.DataFrame:
    """Battles whose votes like length; the weak models write more."""
    draw = np.random.default_rng(seed)
    theta = np.linspace(-1, 1, N)
    a = draw.integers(0, N, size)
    b = (a + draw.integers(1, N, size)) % N
    longer = {side: np.exp(5 - theta[m] / 2 + draw.normal(0, 0.5, size)).round()
              for side, m in (("a", a), ("b", b))}  # fmt: skip
    lists = {side: draw.poisson(1.5, size) for side in "ab"}
    x = (longer["a"] - longer["b"]) / (longer["a"] + longer["b"])
    total = np.maximum(lists["a"] + lists["b"], 1)
    gap = theta[a] - theta[b] + effects.get("length", 1.0) * x
    gap += effects.get("lists", 0.5) * (lists["a"] - lists["b"]) / total
    won = draw.random(size) < 1 / (1 + np.exp(-gap))
    agrees = draw.random(size) < 0.8
    names = np.array([f"m{k}" for k in range(N)])
    return pl.DataFrame(
        {
            "model_a": names[a], "model_b": names[b],
            "winner": np.where(won, "model_a", "model_b"),
            "verdict": np.where(won == agrees, "A", "B"),
            "length_a": longer["a"], "length_b": longer["b"],
            "lists_a": lists["a"], "lists_b": lists["b"],
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return make()


def test_the_fit_is_a_logit_regression(frame: pl.DataFrame) -> None:
    battles = code_battles(frame, control=["length", "lists"])
    assert battles.human is not None
    assert battles.style is not None
    start = fit_strengths(wins_table(battles.a, battles.b, battles.human, N))
    fit = fit_with_features(
        battles.a, battles.b, battles.human, battles.style, N, start=start, l2=0.0
    )
    assert fit is not None
    models = np.eye(N)[battles.a] - np.eye(N)[battles.b]
    matrix = np.column_stack([models[:, 1:], battles.style])
    peer = Logit(battles.human, matrix).fit(disp=False, tol=1e-12).params
    assert np.abs(fit.theta[1:] - fit.theta[0] - peer[: N - 1]).max() < 1e-6
    assert np.abs(fit.beta - peer[N - 1 :]).max() < 1e-6


def test_the_covariance_of_independent_votes_is_that_of_a_logit_regression(
    frame: pl.DataFrame,
) -> None:
    battles = code_battles(frame, control=["length"])
    assert battles.human is not None
    fit = fit_pooled(battles, battles.human, features=battles.style, l2=1e-9)
    models = np.eye(N)[battles.a] - np.eye(N)[battles.b]
    matrix = np.column_stack([models[:, 1:], np.asarray(battles.style)])
    peer = Logit(battles.human, matrix).fit(disp=False, tol=1e-12).cov_params()
    ours = fit.covariance
    variance = np.diag(ours)[1:] + ours[0, 0] - 2 * ours[0, 1:]
    assert variance / fit.phi == pytest.approx(np.diag(peer)[: N - 1], rel=1e-4)
    assert fit.phi == pytest.approx(1.0, abs=0.1)


def test_a_board_at_equal_style_has_the_plain_one_beside(frame: pl.DataFrame) -> None:
    board = rank(frame, method="bt", control=["length", "lists"])
    plain = {row.model: row for row in rank(frame, method="bt").models}
    for row in board.models:
        other = plain[row.model]
        assert row.plain is not None
        assert row.plain.elo == pytest.approx(other.elo, abs=1e-6)
        assert (row.plain.rank, row.plain.rank_low) == (other.rank, other.rank_low)
        assert row.like_style is not None
        assert row.like_style > 0.05
    weak, strong = board.models[-1], board.models[0]
    # Weak models write more: at equal length they lose what that gained.
    assert (weak.model, strong.model) == ("m0", "m5")
    assert weak.plain is not None
    assert strong.plain is not None
    assert (weak.elo or 0) < weak.plain.elo - 20
    assert (strong.elo or 0) > strong.plain.elo + 20
    length, lists = board.style
    assert length.wins == pytest.approx(1 / (1 + np.exp(-1 / 3)), abs=0.05)
    assert (length.difference, lists.difference) == ("twice as long", "twice as many list items")
    shown = str(board)
    assert "at equal length and lists" in shown
    assert "it is not what a model would win if it wrote otherwise" in shown
    assert "twice as long" in shown
    # A scale of the feature changes nothing: it is divided by its root mean square.
    scaled = frame.with_columns(much_a=7 * pl.col("length_a"), much_b=7 * pl.col("length_b"))
    again = rank(scaled, method="bt", control=["much"])
    assert again.models[0].elo == pytest.approx(
        rank(frame, method="bt", control=["length"]).models[0].elo
    )
    assert again.style[0].difference == "twice the much"


@pytest.mark.parametrize("method", ["bt", "hard-elo", "prediction-powered"])
def test_every_source_of_outcomes_is_controlled(frame: pl.DataFrame, method: str) -> None:
    few = frame.with_columns(winner=pl.when(pl.int_range(pl.len()) % 3 == 0).then("winner"))
    board = rank(few, method=method, control=["length"])
    assert board.interval == "pooled"
    [row] = board.style
    assert (row.beta_judge is not None) == (method == "prediction-powered")
    assert ("judge's beta" in str(board)) == (method == "prediction-powered")


def test_soft_targets_are_controlled(frame: pl.DataFrame) -> None:
    draw = np.random.default_rng(1)
    sign = (pl.col("winner") == "model_a").cast(pl.Float64) * 2 - 1
    scores = frame.with_columns(
        score_a=sign + pl.Series(draw.normal(0, 1, frame.height)), score_b=0.0
    )
    board = rank(scores.drop("verdict"), method="soft-elo", control=["length"])
    assert board.beta is not None
    assert board.style[0].beta > 0


def test_a_model_without_battles_at_like_style_has_no_rank(frame: pl.DataFrame) -> None:
    # One model always writes ten times as much.
    long = frame.with_columns(
        pl.when(pl.col(f"model_{side}") == "m2").then(10 * pl.col(f"length_{side}"))
        .otherwise(f"length_{side}").alias(f"length_{side}")
        for side in "ab"
    )  # fmt: skip
    board = rank(long, method="bt", control=["length"])
    [row] = [row for row in board.models if row.rank is None]
    assert (row.model, row.votes_needed) == ("m2", None)
    assert row.like_style is not None
    assert row.like_style < 0.05
    assert sorted(other.rank for other in board.models if other.rank) == [1, 2, 3, 4, 5]
    assert all(other.rank_high is not None and other.rank_high <= 5
               for other in board.models if other.rank)  # fmt: skip
    assert "1 model extrapolated" in str(board)
    assert "Fewer than 5 % of their battles are at like style: no rank" in str(board)


def test_a_bent_effect_is_shown_with_its_move() -> None:
    draw = np.random.default_rng(0)
    frame = make(8000, length=0.0)
    x = (frame["length_a"] - frame["length_b"]) / (frame["length_a"] + frame["length_b"])
    bend = (3.0 * x * (0.6 - x.abs())).to_numpy()
    flips = draw.random(len(x)) < np.abs(np.tanh(bend / 2))
    side = pl.Series(np.where(bend > 0, "model_a", "model_b"))
    votes = pl.when(pl.Series(flips)).then(side).otherwise("winner")
    board = rank(frame.with_columns(winner=votes), method="bt", control=["length"])
    assert board.style[0].bent
    assert all(row.bend is not None for row in board.models)
    assert "if bent" in str(board)
    straight = rank(make(3000), method="bt", control=["length"])
    assert not straight.style[0].bent
    assert all(row.bend is None for row in straight.models)
    assert "if bent" not in str(straight)


def test_few_battles_that_only_a_bend_would_separate_are_ranked() -> None:
    lengths = [(40, 200), (300, 90), (90, 40), (120, 150), (80, 40),
               (60, 80), (70, 160), (150, 70), (110, 60), (95, 120)]  # fmt: skip
    rows = pl.DataFrame(
        {
            "model_a": ["brief", "chatty", "brief"] * 40,
            "model_b": ["chatty", "plain", "plain"] * 40,
            "winner": (["model_b", "model_a", "model_a"] * 3 + ["model_a"]) * 12,
            "length_a": [a for a, _ in lengths] * 12,
            "length_b": [b for _, b in lengths] * 12,
        }
    )
    board = rank(rows, control=["length"])
    assert board.style[0].bent_p is None
    assert "not tested" in str(board)


def test_what_cannot_be_controlled_is_refused(frame: pl.DataFrame) -> None:
    def refuse(rows: pl.DataFrame, match: str, **options: Any) -> None:
        with pytest.raises(ArgumentError, match=match):
            rank(rows, **{"method": "bt", "control": ["length"], **options})

    topics = frame.with_columns(prompt_id=pl.int_range(pl.len()) % 19)
    refuse(topics, "19 prompts, but 20 are needed")
    refuse(frame.head(19), "19 battles, but 20 are needed")
    rare = frame.with_columns(length_b=pl.when(pl.int_range(pl.len()) % 25 > 0)
                              .then("length_a").otherwise("length_b"))  # fmt: skip
    refuse(rare, "it differs in [34].* % of the battles, and 5 % are needed")
    longer = pl.col("length_a") > pl.col("length_b")
    sure = frame.with_columns(
        winner=pl.when(longer).then(pl.lit("model_a")).otherwise(pl.lit("model_b"))
    )
    refuse(sure, "they separate who wins")
    again = frame.with_columns(copy_a=pl.col("length_a"), copy_b=pl.col("length_b"))
    refuse(again, "control = 'copy': leave it out: .*it repeats one", control=["length", "copy"])
    open_a, open_b = (pl.col(name).str.ends_with("1").cast(int) for name in ("model_a", "model_b"))
    refuse(frame.with_columns(open=open_a - open_b), "each model has one value", control=["open"])
    refuse(frame, "mfas has no Elo", method="mfas")
    refuse(frame, "has pooled intervals", interval="bootstrap")
    refuse(frame, "without --evaluate", evaluate=True)
    refuse(frame, "without --against", against="verdict")


def test_a_feature_named_twice_counts_once_and_the_advice_keeps_the_style(
    tmp_path: Path,
) -> None:
    rows = make()
    twice = rank(rows, control=["length", "length"], interval="pooled", method="bt")
    assert twice.models == rank(rows, control=["length"], interval="pooled", method="bt").models
    file = tmp_path / "battles.csv"
    some = pl.when(pl.int_range(pl.len()) < 500).then("winner")
    rows.with_columns(some.alias("winner")).write_csv(file)
    advice = rank(file, control=["length"]).advice
    assert advice.endswith(f"adjudge rank {file} --control length --method prediction-powered")


def test_a_difference_is_worded_in_units_of_its_size(frame: pl.DataFrame) -> None:
    worth = np.random.default_rng(1).normal(size=frame.height)
    for scale, words in ((0.1, "0.1 more t"), (1.0, "one more t"), (300.0, "100 more t")):
        rows = frame.with_columns(t=pl.Series(scale * worth))
        row = rank(rows, method="bt", control="t").style[0]
        assert row.difference == words
        assert 0.4 < row.wins < 0.6
        assert row.interval is not None
        low, high = row.interval
        assert low is not None
        assert high is not None
        assert high - low > 0.01


def test_the_unit_of_a_feature_changes_nothing(frame: pl.DataFrame) -> None:
    """Also one in which squares overflow, or are 0; and one feature needs no list."""
    draw = np.random.default_rng(1)
    worth = draw.normal(size=frame.height)

    def board(unit: float) -> list[float | None]:
        rows = frame.with_columns(words=pl.Series(unit * worth))
        return [row.elo for row in rank(rows, method="bt", control="words").models]

    assert board(1e200) == pytest.approx(board(1.0))
    assert board(1e-200) == pytest.approx(board(1.0))
