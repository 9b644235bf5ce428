"""The front door: every method, components, clean sweeps, warnings, evaluation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data import prepare_battles
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking import METHODS, fit_temperature, make_anchors, rank, rank_correlations
from adjudge.ranking.bradley_terry import count_wins, structure
from adjudge.simulate.battles import simulate_battles


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return simulate_battles(models=20, battles=5000, seed=3).frame


@pytest.mark.parametrize("method", METHODS)
def test_every_method_ranks_everybody(method: str, frame: pl.DataFrame) -> None:
    board = rank(frame, method=method, replicates=60)
    assert board.method == method
    assert {row.model for row in board.models} == set(frame["model_a"].unique())
    assert sorted(row.rank for row in board.models)[0] == 1
    assert [row.rank for row in board.models] == sorted(row.rank for row in board.models)
    loaded = json.loads(board.to_json())
    wanted = {"method", "beta", "beta_se", "l2", "models", "components", "warnings", "dropped"}
    assert wanted <= loaded.keys()
    row = {"model", "elo", "interval", "se", "n_battles", "rank", "rank_low", "rank_high"}
    assert row <= loaded["models"][0].keys()
    assert method in str(board)


def test_methods_agree_on_the_top_and_the_bottom(frame: pl.DataFrame) -> None:
    ends = set()
    for method in ("bt", "copeland", "schulze", "mfas", "win-rate"):
        board = rank(frame, method=method, interval="none")
        ends.add((board.models[0].model, board.models[-1].model))
    assert len(ends) <= 3


def test_auto_looks_at_what_there_is(frame: pl.DataFrame) -> None:
    assert rank(frame, interval="none").method == "soft-elo"
    votes = frame.select("model_a", "model_b", "human_pref")
    assert rank(votes, interval="none").method == "bt"
    judged = frame.drop("human_pref").with_columns(verdict=pl.lit("A"))
    assert rank(judged, interval="none").method == "hard-elo"
    named = votes.with_columns(gpt=pl.col("human_pref"))
    assert rank(named, verdict="gpt", interval="none").outcome == "gpt"


def test_an_interval_of_a_win_rate_is_around_it_and_wider_at_a_higher_level(
    frame: pl.DataFrame,
) -> None:
    half, most = (
        rank(frame, method="win-rate", replicates=200, confidence_level=level, seed=1).models
        for level in (0.5, 0.95)
    )
    for narrow, wide in zip(half, most, strict=True):
        (low, high), (lowest, highest) = narrow.ends, wide.ends
        assert lowest < low < high < highest
        assert lowest < wide.score < highest


def test_of_many_models_that_won_or_lost_all_five_are_named() -> None:
    rows = [(f"m{k}", "loser", "model_a") for k in range(6)]
    board = rank(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))
    [text] = [text for text in board.warnings if "won all" in text]
    assert "m4 (won all) and 2 more: the penalty alone determines the Elo" in text


def test_bins_of_agreement_follow_each_other_and_hold_every_vote() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(0, 2, 400)
    human = np.where(rng.random(400) < 1 / (1 + np.exp(-score)), 1.0, 0.0)
    bins = fit_temperature(score, human).agreement
    assert sum(row.n for row in bins) == 400
    assert [row.low for row in bins[1:]] == [row.high for row in bins[:-1]]
    for row in bins[1:]:
        inside = (np.abs(score) > row.low) & (np.abs(score) <= row.high)
        assert inside.sum() == row.n
        assert row.agreement == pytest.approx(((score > 0) == (human == 1))[inside].mean())


def test_bootstrap_and_sandwich_agree(frame: pl.DataFrame) -> None:
    one = rank(frame, method="bt", interval="bootstrap", replicates=800, seed=1)
    other = rank(frame, method="bt", interval="sandwich")
    by_model = {row.model: row.se for row in other.models}
    for row in one.models:
        assert row.se == pytest.approx(by_model[row.model], rel=0.15)
        low, high = row.ends
        assert low is not None
        assert high is not None
        assert row.elo is not None
        assert low < row.elo < high
        assert row.rank_low is not None
        assert row.rank_high is not None
        assert row.rank_low <= row.rank <= row.rank_high


def test_the_same_seed_gives_the_same_board(frame: pl.DataFrame) -> None:
    assert rank(frame, seed=4, replicates=50) == rank(frame, seed=4, replicates=50)
    assert rank(frame, seed=4, replicates=50) != rank(frame, seed=5, replicates=50)


def test_row_order_does_not_matter(frame: pl.DataFrame) -> None:
    one = rank(frame, interval="none")
    other = rank(frame.sample(fraction=1, shuffle=True, seed=1), interval="none")
    assert [row.model for row in one.models] == [row.model for row in other.models]
    for x, y in zip(one.models, other.models, strict=True):
        assert x.elo == pytest.approx(y.elo, abs=1e-6)


def test_pandas_and_dicts(frame: pl.DataFrame) -> None:
    import pandas as pd

    board = rank(pd.DataFrame(frame.to_dict(as_series=False)), interval="none")
    again = rank(frame.to_dict(as_series=False), interval="none")
    assert [row.elo for row in board.models] == [row.elo for row in again.models]


def test_groups_that_never_met_are_ranked_apart() -> None:
    board = rank(
        {
            "model_a": ["x", "x", "y", "p", "q"] * 4,
            "model_b": ["y", "z", "z", "q", "p"] * 4,
            "winner": ["model_a", "tie", "model_b", "model_a", "model_a"] * 4,
        },
        replicates=50,
    )
    assert board.components == (("x", "y", "z"), ("p", "q"))
    assert any("never met" in text for text in board.warnings)
    assert [row.rank for row in board.models if row.component == 1] == [1, 1]
    for component in (0, 1):
        elo = [row.elo for row in board.models if row.component == component]
        assert np.mean(np.array(elo, dtype=float)) == pytest.approx(1500)


def test_a_clean_sweep_has_an_interval_of_its_difference_to_a_model_that_was_not_swept() -> None:
    rows = [("best", "mid", "model_a")] * 6 + [("mid", "low", "model_a")] * 5
    rows += [("low", "mid", "model_a")] * 4 + [("best", "low", "model_a")] * 3
    frame = pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")
    board = rank(frame, interval="bootstrap")
    best, mid, low = board.models
    assert (best.model, best.interval, best.se) == ("best", None, None)
    assert best.elo is not None
    assert np.isfinite(best.elo)
    assert best.unbounded
    assert board.references == ("mid",)
    assert mid.difference is None
    assert best.difference is not None
    assert best.difference.high is None
    assert low.difference is not None
    assert None not in low.ends
    assert any("won all" in text for text in board.warnings)
    # The mirror image: everything lost.
    turned = rank(frame.rename({"model_a": "model_b", "model_b": "model_a"}), interval="bootstrap")
    worst = turned.models[-1]
    assert worst.model == "best"
    assert best.difference.low is not None
    assert worst.ends == (None, pytest.approx(-best.difference.low, abs=1e-6))


def swept(wins: int, losses: int, rivals: int = 1, prompts: int | None = None) -> pl.DataFrame:
    """One model against others, each of which also met the next, won and lost."""
    rows = []
    for k in range(rivals):
        rows += [("best", f"m{k}", "model_a")] * wins + [("best", f"m{k}", "model_b")] * losses
        if rivals > 1:
            rows += [(f"m{k}", f"m{(k + 1) % rivals}", side) for side in ("model_a", "model_b")] * 9
    frame = pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")
    if prompts is not None:
        frame = frame.with_columns(prompt_id=pl.int_range(pl.len()) % prompts)
    return frame


@pytest.mark.parametrize(("wins", "losses", "rivals"), [(39, 1, 1), (40, 0, 1), (30, 0, 3)])
@pytest.mark.parametrize("interval", ["pooled", "bootstrap", "sandwich"])
def test_a_sweep_is_first_as_surely_as_one_defeat_less(
    wins: int, losses: int, rivals: int, interval: str
) -> None:
    best = rank(swept(wins, losses, rivals), interval=interval).models[0]
    assert (best.model, best.rank_low, best.rank_high) == ("best", 1, 1)


def test_a_sweep_on_few_prompts_is_few_wins() -> None:
    # 40 wins on 4 prompts are 4 wins: 2 * 0.5^4 is above 5 %.
    assert rank(swept(40, 0, prompts=4), interval="bootstrap").models[0].rank_high == 2
    assert rank(swept(40, 0, prompts=20), interval="bootstrap").models[0].rank_high == 1
    few, many = (rank(swept(40, 0, prompts=prompts)).models[0] for prompts in (4, 20))
    assert (few.rank, few.rank_high, many.rank, many.rank_high) == (None, None, 1, 1)
    assert (few.votes_needed or 0) > 40
    shared = rank(swept(30, 0, 3, prompts=60), interval="bootstrap")
    assert shared.models[0].rank_high == 1
    assert [None in row.ends for row in shared.models if row.difference is not None] == [
        True, False, False,
    ]  # fmt: skip


def test_no_penalty_and_a_clean_sweep_is_an_error_that_says_so() -> None:
    battles = {"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]}
    with pytest.raises(ArgumentError, match="l2"):
        rank(battles, l2=0, interval="none")


def test_repeated_prompts_widen_the_interval() -> None:
    frame = simulate_battles(models=5, battles=300, prompts=300, seed=2).frame
    frame = frame.with_columns(prompt_id=pl.int_range(pl.len()).cast(pl.String))
    copies = pl.concat([frame] * 6).drop("id")
    naive = rank(copies, method="bt", cluster=None, replicates=300)
    clustered = rank(copies, method="bt", replicates=300)
    single = rank(frame, method="bt", replicates=300)
    assert clustered.clusters == 300
    assert naive.clusters is None

    def mean_se(board: Any) -> float:
        return float(np.mean([row.se for row in board.models]))

    assert mean_se(clustered) == pytest.approx(mean_se(single), rel=0.15)
    assert mean_se(naive) == pytest.approx(mean_se(single) / np.sqrt(6), rel=0.15)


def test_soft_elo_repairs_the_stretched_ruler(frame: pl.DataFrame) -> None:
    board = rank(frame, evaluate=True, replicates=20, seed=0)
    by_method = {row.method: row for row in board.loo}
    assert set(by_method) == {
        *("hard-elo", "soft-elo", "smoothed"),
        *(f"smoothed {c}" for c in (0.55, 0.65, 0.75, 0.85, 0.95)),
    }
    hard, soft = by_method["hard-elo"], by_method["soft-elo"]
    assert hard.mae is not None
    assert soft.mae is not None
    assert soft.mae < hard.mae / 2
    assert soft.spearman is not None
    assert soft.spearman > 0.9
    assert soft.mean_beta == pytest.approx(0.6, abs=0.1)
    # The ramp of section 4.3: weak models too low, strong ones too high.
    assert hard.residual_by_quarter[0] < 0 < hard.residual_by_quarter[3]
    intervals = {row.method: row for row in board.conformal}
    assert intervals["soft-elo"].median_width is not None
    assert intervals["hard-elo"].median_width is not None
    assert intervals["soft-elo"].median_width < intervals["hard-elo"].median_width
    assert {row.method for row in board.held_out} == {"hard-elo", "soft-elo", "smoothed"}
    assert [row.per_model for row in board.budgets if row.method == "soft-elo"][:2] == [5.0, 10.0]
    json.loads(board.to_json())


def test_evaluation_needs_votes(frame: pl.DataFrame) -> None:
    with pytest.raises(ArgumentError, match="votes"):
        rank(frame.drop("human_pref"), method="hard-elo", evaluate=True, interval="none")


def test_groups_get_their_own_beta(frame: pl.DataFrame) -> None:
    board = rank(frame, by="language", interval="none")
    assert [row.group for row in board.groups] == ["de", "en"]
    assert board.pooling is not None
    assert "one pooled beta is enough" in board.pooling
    # A judge whose scores mean nothing in one language.
    draw = np.random.default_rng(0)
    noise = draw.permutation(frame["score_a"].to_numpy())
    broken = frame.with_columns(
        score_a=pl.when(pl.col("language") == "en").then(pl.Series(noise)).otherwise("score_a")
    )
    advice = rank(broken, by="language", interval="none").pooling
    assert advice is not None
    assert "groups differ" in advice


def test_scores_against_people_are_a_finding(frame: pl.DataFrame) -> None:
    turned = frame.rename({"score_a": "score_b", "score_b": "score_a"})
    board = rank(turned, method="soft-elo")
    assert not board.feasible
    assert board.models == ()
    assert board.beta is not None
    assert board.beta < 0
    assert board.reason is not None
    assert "prefer the side with the judge's lower score" in board.reason
    smoothed = rank(turned, method="smoothed")
    assert not smoothed.feasible
    assert smoothed.reason is not None
    assert "nothing to smooth" in smoothed.reason
    json.loads(board.to_json())


def test_perfect_agreement_has_no_temperature(frame: pl.DataFrame) -> None:
    perfect = frame.with_columns(
        score_a=pl.col("human_pref").replace_strict({"A": 7.0, "tie": 5.0, "B": 3.0}),
        score_b=pl.lit(5.0),
    )
    board = rank(perfect, method="soft-elo")
    assert board.beta is None
    assert any("unbounded" in text for text in board.warnings)


def test_prediction_powered_uses_a_good_judge(frame: pl.DataFrame) -> None:
    # A judge that gives people's vote in 85 % of the battles.
    agrees = pl.Series(np.random.default_rng(0).random(frame.height) < 0.85)
    other = pl.col("human_pref").replace({"A": "B", "B": "A"})
    votes = frame.select("model_a", "model_b", "human_pref").with_columns(
        verdict=pl.when(agrees).then("human_pref").otherwise(other)
    )
    few = votes.with_columns(human_pref=pl.when(pl.int_range(pl.len()) % 5 == 0).then("human_pref"))
    powered = rank(few, method="prediction-powered")
    alone = rank(few.drop("verdict"), method="bt")
    by_model = {row.model: row.se for row in alone.models}
    gain = np.mean([row.se / by_model[row.model] for row in powered.models if row.se])
    assert gain < 0.85
    assert "judge used with weight" in powered.outcome


@pytest.mark.parametrize("method", ["bt", "prediction-powered"])
def test_a_swept_model_has_an_open_end_and_no_certain_elo(frame: pl.DataFrame, method: str) -> None:
    first = str(frame["model_a"][0])
    wins = (
        pl.when(pl.col("model_a") == first)
        .then(pl.lit("A"))
        .when(pl.col("model_b") == first)
        .then(pl.lit("B"))
        .otherwise("human_pref")
    )
    board = rank(frame.with_columns(human_pref=wins), method=method)
    best = board.models[0]
    assert (best.model, best.se, best.unbounded) == (first, None, True)
    assert best.ends[0] is not None
    assert best.ends[1] is None
    assert (best.rank_low, best.rank_high) == (1, 1)
    assert f"at least {best.ends[0]:.0f}" in str(board)
    assert not any(row.unbounded for row in board.models[1:])


@pytest.mark.parametrize("method", ["bt", "win-rate", "copeland", "schulze", "mfas", "online-elo"])
def test_a_model_without_an_outcome_is_not_ranked_and_said_so(method: str) -> None:
    battles = {
        "model_a": ["x", "y", "z"],
        "model_b": ["y", "x", "x"],
        "winner": ["model_a", "model_a", None],
    }
    board = rank(battles, method=method, interval="none")
    assert {row.model for row in board.models} == {"x", "y"}
    assert "1 models have no battle with an outcome and are not ranked" in board.warnings


def test_groups_without_scores_are_answered(frame: pl.DataFrame) -> None:
    board = rank(frame.drop("score_a", "score_b"), by="language", interval="none")
    assert board.groups == ()
    assert board.pooling == "no beta by group: it needs judge scores and votes"


def test_wrong_options_are_named(frame: pl.DataFrame) -> None:
    for bad in ({"method": "best"}, {"interval": "wide"}, {"confidence_level": 2}, {"l2": -1}):
        with pytest.raises(ArgumentError, match=next(iter(bad))):
            rank(frame, **bad)  # type: ignore[arg-type]  # the test is about wrong types
    with pytest.raises(ArgumentError, match="beta"):
        rank(frame.drop("human_pref"), method="soft-elo")
    with pytest.raises(ArgumentError, match="verdict"):
        rank(frame.drop("score_a", "score_b"), method="hard-elo")
    with pytest.raises(DataError, match="model_b"):
        rank({"model_a": ["x"], "winner": ["tie"]})


def test_a_given_beta_needs_no_votes(frame: pl.DataFrame) -> None:
    fitted = rank(frame, interval="none")
    given = rank(frame.drop("human_pref"), method="soft-elo", beta=fitted.beta, interval="none")
    assert [row.elo for row in given.models] == [row.elo for row in fitted.models]


def test_half_the_penalty_is_the_released_code(frame: pl.DataFrame) -> None:
    one = rank(frame.head(200), method="bt", l2=0.01, interval="none")
    half = rank(frame.head(200), method="bt", l2=0.005, interval="none")
    assert one.models[0].elo is not None
    assert half.models[0].elo is not None
    assert one.models[0].elo < half.models[0].elo


def test_ranks_by_the_sandwich_need_more_clusters_than_models(frame: pl.DataFrame) -> None:
    many = rank(frame, interval="sandwich")
    assert all(row.rank_low is not None and row.rank_high is not None for row in many.models)
    assert all((row.rank_low or 0) <= row.rank <= (row.rank_high or 0) for row in many.models)
    # A covariance from 6 prompts is singular: some differences would look certain.
    few = rank(
        frame.with_columns(topic=pl.int_range(pl.len()) % 6), interval="sandwich", cluster="topic"
    )
    assert all(row.rank_low is None for row in few.models)


def test_votes_helped_by_a_judge_have_rank_ranges(frame: pl.DataFrame) -> None:
    board = rank(frame, method="prediction-powered")
    assert all(
        row.rank_low is not None and row.rank_low <= row.rank <= (row.rank_high or 0)
        for row in board.models
    )


def test_votes_helped_by_a_judge_say_over_how_many_prompts(frame: pl.DataFrame) -> None:
    topics = frame.with_columns(topic=pl.int_range(pl.len()) % 15)
    board = rank(topics, method="prediction-powered", cluster="topic")
    assert board.clusters == 15
    assert any("only 15 prompts" in text for text in board.warnings)
    assert rank(frame, method="prediction-powered", cluster=None).clusters is None


def test_votes_that_skip_a_model_are_no_random_sample(frame: pl.DataFrame) -> None:
    draw = np.random.default_rng(0)
    kept = pl.Series(draw.random(frame.height) < 0.5)
    part = frame.with_columns(human_pref=pl.when(kept).then("human_pref"))
    random = rank(part, method="prediction-powered")
    assert not any("random sample" in text for text in random.warnings)
    name = random.models[0].model
    skipped = part.with_columns(
        human_pref=pl.when((pl.col("model_a") != name) & (pl.col("model_b") != name)).then(
            "human_pref"
        )
    )
    board = rank(skipped, method="prediction-powered")
    assert any("not a random sample" in text and name in text for text in board.warnings)
    # Nothing ties it to people's scale: no row, rather than an interval of no width.
    assert any("1 models have no vote" in text for text in board.warnings)
    assert name not in {row.model for row in board.models}
    assert all(row.se is not None and row.se > 0 for row in board.models)


def test_battles_prepared_once_serve_the_board_and_the_anchors(frame: pl.DataFrame) -> None:
    repeated = frame.with_columns(prompt_id=(pl.int_range(pl.len()) // 2).cast(pl.String))
    options: dict[str, Any] = {"evaluate": True, "replicates": 20, "seed": 3}
    prepared = prepare_battles(repeated, by="language", against="votes")
    assert rank(prepared, **options) == rank(repeated, by="language", against="votes", **options)
    # Anchors count battles one by one, whatever the board resamples together.
    assert make_anchors(prepared, seed=5) == make_anchors(repeated, by="language", seed=5)
    for option in ({"human": "human_pref"}, {"cluster": "language"}, {"by": "language"}):
        with pytest.raises(ArgumentError, match=f"{next(iter(option))}.*prepare_battles"):
            rank(prepared, **option)


def test_what_intervals_cover_is_part_of_the_result(frame: pl.DataFrame) -> None:
    def covers(**options: Any) -> bool:
        return rank(frame, replicates=2, **options).covers_judge_error

    assert covers(method="bt")
    assert covers(method="prediction-powered")
    assert not covers(method="soft-elo")
    assert not covers(method="hard-elo")
    # A column of verdicts that is called votes is still a judge's.
    renamed = frame.with_columns(votes=pl.col("human_pref"))
    board = rank(renamed, method="bt", verdict="votes", interval="none")
    assert (board.outcome, board.covers_judge_error) == ("votes", False)


@pytest.mark.parametrize("method", ["bt", "win-rate", "copeland", "schulze", "mfas", "online-elo"])
def test_a_board_is_compared_by_its_own_order(method: str, frame: pl.DataFrame) -> None:
    """The correlation is that of the printed board with people's, whatever the method."""
    sides = pl.col("score_a") - pl.col("score_b")
    few = frame.head(260).with_columns(
        judged=pl.when(sides > 0).then(pl.lit("A")).when(sides < 0).then(pl.lit("B"))
    )
    options: dict[str, Any] = {"interval": "none", "replicates": 20}
    board = rank(few, method=method, verdict="judged", against="votes", **options)
    orders = []
    for one in (board, rank(few, method="bt", **options)):
        numbers = {row.model: row.elo if row.score is None else row.score for row in one.models}
        if one.method == "mfas":
            numbers = {row.model: -row.rank for row in one.models}
        orders.append([numbers[name] for name in sorted(numbers)])
    tau, rho = rank_correlations(*orders)
    assert board.agreement is not None
    assert board.agreement.kendall == pytest.approx(tau)
    assert board.agreement.spearman == pytest.approx(rho)
    assert (board.agreement.kendall_interval is None) == (method in ("mfas", "online-elo"))


def test_votes_helped_by_a_judge_have_nothing_to_correlate(frame: pl.DataFrame) -> None:
    with pytest.raises(ArgumentError, match="against = 'votes': leave it out"):
        rank(frame, method="prediction-powered", against="votes")
    with pytest.raises(ArgumentError, match="against = 'votes': give votes"):
        rank(frame.drop("human_pref"), method="hard-elo", against="votes")


def test_a_board_without_intervals_claims_none(frame: pl.DataFrame) -> None:
    few = frame.with_columns(prompt_id=(pl.int_range(pl.len()) % 5).cast(pl.String))
    for options in ({"method": "copeland"}, {"method": "soft-elo", "interval": "none"}):
        board = rank(few, **options)
        assert (board.interval, board.replicates) == ("none", None)
        assert not any("interval" in text for text in (*board.warnings, *board.assumptions))
    warned = rank(few, method="soft-elo", replicates=20)
    assert any("only 5 prompts" in text for text in warned.warnings)


def test_the_advice_follows_how_many_battles_people_voted_on(frame: pl.DataFrame) -> None:
    def advice(votes: int) -> str:
        rows = frame.with_row_index().with_columns(
            human_pref=pl.when(pl.col("index") < votes).then("human_pref")
        )
        return rank(rows.drop("index"), method="hard-elo", interval="sandwich").advice

    assert advice(0).startswith("With people's votes on a random part of the battles")
    assert advice(60).startswith(f"People voted on 60 of {frame.height:,} battles")
    assert advice(frame.height).startswith("--method bt ranks by the votes")


def test_certain_outcomes_are_wins_and_a_model_without_a_battle_won_nothing() -> None:
    names, wins = count_wins(["x", "y", "x"], ["y", "x", "x"], [1.0, 0.0, 1.0])
    assert (names, wins.tolist()) == (("x", "y"), [[0.0, 2.0], [0.0, 0.0]])
    with pytest.raises(ArgumentError, match="outside"):
        count_wins(["x"], ["y"], [1.5])
    alone = np.zeros((3, 3))
    alone[0, 1], alone[1, 0] = 2, 1
    assert structure(alone, ("x", "y", "unseen")).unbounded == ()


def few_votes(frame: pl.DataFrame, votes: int) -> pl.DataFrame:
    return frame.with_columns(human_pref=pl.when(pl.int_range(pl.len()) < votes).then("human_pref"))


@pytest.mark.parametrize("method", ["bt", "prediction-powered"])
def test_a_model_is_ranked_if_its_interval_is_narrow_enough(
    frame: pl.DataFrame, method: str
) -> None:
    few = few_votes(frame, 120)
    board = rank(few, method=method)
    strict = rank(few, method=method, widest=1.0)
    generous = rank(few, method=method, widest=2000.0)
    assert not strict.feasible
    assert all(row.rank is None for row in strict.models)
    assert all(row.rank is not None for row in generous.models)
    for row in (*board.models, *strict.models):
        limit = board.widest if row in board.models else strict.widest
        low, high = row.ends
        assert limit is not None
        if low is not None and high is not None:
            assert (row.rank is None) == ((high - low) / 2 > limit)
        if row.rank is None:
            assert row.votes_needed is not None
            assert row.votes_needed > (row.votes or 0)
            assert (row.rank_low, row.rank_high) == (None, None)
    # Twice as narrow needs four times as many.
    ash = generous.models[0].model
    needs = [
        next(row.votes_needed for row in board.models if row.model == ash)
        for board in (rank(few, method=method, widest=limit) for limit in (20.0, 10.0))
    ]
    assert needs[1] == pytest.approx(4 * (needs[0] or 0), rel=0.01)


def test_as_many_votes_as_models_have_no_interval() -> None:
    rows = {"model_a": ["x", "y", "z"], "model_b": ["y", "z", "x"], "winner": ["model_a"] * 3}
    board = rank(rows)
    assert all(row.ends == (None, None) and row.rank is None for row in board.models)
    assert "These votes cannot order the models" in str(board)
    # Votes that are all ties say little, not everything.
    ties = rank({**rows, "winner": ["tie"] * 3, "model_a": ["x"] * 3, "model_b": ["y"] * 3})
    assert all((row.ends[1] or 0) - (row.ends[0] or 0) > 100 for row in ties.models)


def test_what_intervals_a_method_has(frame: pl.DataFrame) -> None:
    few = few_votes(frame, 1000)
    kinds = {method: rank(few, method=method, replicates=20).interval for method in METHODS[:6]}
    assert kinds == {
        **dict.fromkeys(("soft-elo", "hard-elo", "smoothed", "win-rate"), "bootstrap"),
        **dict.fromkeys(("bt", "prediction-powered"), "pooled"),
    }
    assert rank(few, method="hard-elo", interval="pooled").interval == "pooled"
    assert rank(few, method="prediction-powered", interval="none").models[0].interval is None
    for wrong, method in (("bootstrap", "prediction-powered"), ("pooled", "win-rate")):
        with pytest.raises(ArgumentError, match=f"interval = '{wrong}': choose .* for {method}"):
            rank(few, method=method, interval=wrong)
    with pytest.raises(ArgumentError, match="l2 = 0: give a number above 0"):
        rank(few, method="bt", l2=0)
    with pytest.raises(ArgumentError, match="alpha"):
        rank(few, alpha=2.0)


def test_few_prompts_widen_a_resampled_board(frame: pl.DataFrame) -> None:
    """The bootstrap's error times sqrt(G / (G - 1)), and Student's t with G - 1."""
    few = frame.with_columns(topic=pl.int_range(pl.len()) % 5)
    board = rank(few, method="hard-elo", cluster="topic", replicates=50, seed=1)
    for row in board.models:
        assert row.elo is not None
        assert row.se is not None
        assert row.ends[1] == pytest.approx(row.elo + 2.7764 * row.se, abs=1e-2)
    one = rank(few.with_columns(topic=1), method="hard-elo", cluster="topic", replicates=50)
    assert all(row.unbounded and row.ends == (None, None) for row in one.models)
    assert all(row.rank_high == len(one.models) for row in one.models)


def test_no_number_of_votes_replaces_prompts(frame: pl.DataFrame) -> None:
    """On one prompt nothing shows how prompts differ: no interval, and more votes do not help."""
    board = rank(frame.with_columns(prompt_id=pl.lit("p")), method="bt")
    assert all(row.rank is None and row.votes_needed is None for row in board.models)
    assert board.warnings == ("only 1 prompt: below about 20, intervals are rough",)
