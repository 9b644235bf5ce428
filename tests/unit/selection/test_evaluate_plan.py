"""evaluate and plan_selection on frames."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from adjudge.errors import ArgumentError, DataError
from adjudge.selection import evaluate_doubt, plan_labels, plan_selection
from adjudge.simulate.pairs import two_order_judge
from adjudge.statistics.entropy import random_orders
from adjudge.statistics.numbers import expected_calibration_error


def rows(n=300, seed=0) -> pl.DataFrame:
    return pl.DataFrame(two_order_judge(n, seed=seed))


def test_both_orders_give_four_signals_and_every_method():
    seen = evaluate_doubt(rows(), splits=20)
    assert [s.signal for s in seen.signals] == [
        *("preference_entropy", "single_order", "swap_vote", "swap_vote_by_coin"),
    ]
    assert len(seen.methods) == 4 * 6 * 5
    fields = {"signal", "judge", "method", "alpha", "coverage", "coverage_sd", "risk", "risk_sd"}
    assert fields | {"ratio", "share_above"} <= set(seen.to_dict()["methods"][0])
    assert {"signal", "judge", "n", "accuracy", "ece", "auroc", "auprc"} <= set(
        seen.to_dict()["signals"][0]
    )
    assert any("labelled rows alone" in line for line in seen.assumptions)


def test_the_numbers_are_those_of_the_definitions():
    frame = rows()
    p = (frame["p_fwd"].to_numpy() + frame["p_rev"].to_numpy()) / 2
    right = (np.where(p > 0.5, "A", "B") == frame["label"].to_numpy()).astype(int)
    result = evaluate_doubt(frame, splits=5).signals[0]
    assert result.accuracy == right.mean()
    assert result.ece == expected_calibration_error(np.maximum(p, 1 - p), right)


def test_votes_that_disagree_are_no_errors_of_the_confidence():
    """Counted as errors at confidence one half, they made a vote look better than the entropy."""
    frame = rows(400)
    votes = (frame["p_fwd"] > 0.5).to_numpy(), (frame["p_rev"] > 0.5).to_numpy()
    agree = votes[0] == votes[1]
    right = (np.where(votes[0], "A", "B") == frame["label"].to_numpy())[agree]
    seen = evaluate_doubt(frame, splits=5)
    entropy, _, vote, _ = seen.signals
    assert (vote.n, vote.n_no_verdict, vote.n_verdicts) == (400, (~agree).sum(), agree.sum())
    assert vote.accuracy == vote.auprc == right.mean()
    assert vote.ece == pytest.approx(1 - right.mean())
    # Every agreeing vote has confidence 1: it cannot tell right from wrong, and the entropy can.
    assert vote.auroc == 0.5 < entropy.auroc
    curve = seen.curves[2]
    assert sum(curve.bin_count) == agree.sum()
    assert curve.coverage == (agree.mean(),)
    # What is accepted has not changed: a row without a verdict calibrates as an error.
    accepted = next(m for m in seen.methods if (m.signal, m.method) == ("swap_vote", "vanilla"))
    assert accepted.coverage == pytest.approx(agree.mean(), abs=0.05)


def test_a_judge_that_follows_the_order_has_no_vote_at_all():
    frame = rows(40).with_columns(p_fwd=pl.lit(0.9), p_rev=pl.lit(0.2))
    vote = evaluate_doubt(frame, splits=5).signals[2]
    assert (vote.n_no_verdict, vote.accuracy, vote.ece, vote.auroc, vote.auprc) == (40, *[None] * 4)


def test_the_single_order_is_the_one_drawn():
    frame = rows(50)
    orders = random_orders(frame["id"].to_list(), seed=3)
    p = np.where(orders == "ab", frame["p_fwd"], frame["p_rev"]).astype(float)
    right = np.where(p > 0.5, "A", "B") == frame["label"].to_numpy()
    assert evaluate_doubt(frame, splits=5, seed=3).signals[1].accuracy == right.mean()
    assert 0 < (orders == "ab").sum() < 50


def test_one_probability_gives_one_signal_named_after_its_protocol():
    frame = rows(60).select("id", "label", p_a=pl.col("p_fwd"), protocol=pl.lit("likelihood"))
    assert [s.signal for s in evaluate_doubt(frame, splits=5).signals] == ["likelihood"]
    own = frame.with_columns(uncertainty=pl.Series(np.linspace(0, 1, 60)))
    assert [s.signal for s in evaluate_doubt(own, splits=5).signals] == ["uncertainty"]


def test_judges_and_protocols_stand_apart():
    frame = pl.concat(
        [
            rows(60).with_columns(judge=pl.lit("x"), protocol=pl.lit("preference")),
            rows(60).with_columns(judge=pl.lit("x"), protocol=pl.lit("rubric")),
            rows(60, 1).with_columns(judge=pl.lit("y"), protocol=pl.lit("preference")),
        ]
    )
    seen = evaluate_doubt(frame, splits=5)
    assert len(seen.signals) == 12
    assert len(evaluate_doubt(frame, splits=5, judge="x", protocol="rubric").signals) == 4


def test_clusters_are_split_whole():
    frame = rows(100).with_columns(prompt_id=pl.Series([str(i // 5) for i in range(100)]))
    seen = evaluate_doubt(frame, splits=5)
    assert seen.cluster == "prompt_id"
    assert evaluate_doubt(frame, splits=5, cluster=None).cluster is None


def test_one_class_alone_has_no_auroc():
    frame = pl.DataFrame({"id": range(20), "p_a": [0.9] * 20, "label": ["A"] * 20})
    assert evaluate_doubt(frame, splits=5).signals[0].auroc is None


def test_without_labels_it_says_so():
    with pytest.raises(DataError, match="no human labels"):
        evaluate_doubt(rows(10).drop("label"))


# --- plan ------------------------------------------------------------------------------------


def test_more_labels_buy_coverage_until_they_do_not():
    plan = plan_selection(rows(800), alpha=0.2, repeats=60)
    coverage = [p.coverage for p in plan.points]
    assert coverage[0] < coverage[-1]
    assert [p.extrapolated for p in plan.points] == [p.n > 400 for p in plan.points]
    assert plan.recommended is not None
    later = [p.coverage for p in plan.points if p.n >= plan.recommended]
    assert all(b - a < plan.gain for a, b in pairwise(later))


def test_the_picture_of_a_plan_has_a_band_of_one_deviation_and_repeated_prompts_are_counted():
    frame = rows(120).with_columns(prompt_id=pl.Series([n // 2 for n in range(120)]))
    plan = plan_selection(frame, alpha=0.2, repeats=20)
    assert plan.dropped["same prompt_id as a row that is used"] == 60
    [axes] = plan.plot().axes
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    ends = [(p.coverage - p.coverage_sd, p.coverage + p.coverage_sd) for p in plan.points]
    assert heights.min() == pytest.approx(max(0, min(low for low, _ in ends)))
    assert heights.max() == pytest.approx(min(1, max(high for _, high in ends)))


def test_a_useless_judge_gets_no_recommendation():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"id": range(200), "p_a": rng.random(200), "label": rng.choice(["A", "B"], 200)}
    )
    assert plan_selection(frame, alpha=0.05, repeats=20).recommended is None


@pytest.mark.parametrize("guarantee", ["fdr", "pac"])
def test_plans_for_every_guarantee(guarantee):
    plan = plan_selection(rows(200), alpha=0.25, guarantee=guarantee, repeats=20)
    assert plan.points[-1].coverage > 0


def test_a_plan_needs_one_judge_and_some_labels():
    two = pl.concat([rows(50).with_columns(judge=pl.lit(j)) for j in "ab"])
    with pytest.raises(ArgumentError, match="choose one of a"):
        plan_selection(two)
    with pytest.raises(ArgumentError, match="label 20 rows"):
        plan_selection(rows(10))


def test_a_plan_without_labels_knows_the_error_rate_of_every_threshold():
    frame = rows(400).drop("label")
    below = plan_selection(frame, accuracies=[0.95], repeats=40)
    assert below.n_labelled == 0
    assert below.n_rows == 400
    assert [p.share_above for p in below.points] == [0] * len(below.points)
    assert below.points[-1].risk == pytest.approx(0.05)
    assert not any(p.extrapolated for p in below.points)
    above = plan_selection(frame, accuracies=[0.88], repeats=40)
    assert [p.share_above for p in above.points] == [p.share_feasible for p in above.points]
    at_alpha = plan_selection(frame, accuracies=[0.7], alpha=0.3, repeats=40)
    assert {p.share_above for p in at_alpha.points} == {0}


def test_a_plan_from_stated_accuracies_is_that_of_labels_with_these_accuracies():
    frame = rows(2000, seed=5).with_columns(p_a=(pl.col("p_fwd") + pl.col("p_rev")) / 2)
    stated = plan_selection(frame.drop("label"), accuracies=[0.98, 0.9, 0.7], repeats=100)
    rng = np.random.default_rng(0)
    doubt = (0.5 - (pl.col("p_a") - 0.5).abs()).rank("ordinal")
    group = frame.select(((doubt.cast(pl.Int64) - 1) * 3) // 2000).to_series().to_numpy()
    wrong = pl.Series(rng.random(2000) < np.array([0.02, 0.1, 0.3])[group])
    verdict = pl.when(pl.col("p_a") > 0.5)
    label = pl.when(wrong).then(verdict.then(pl.lit("B")).otherwise(pl.lit("A")))
    label = label.otherwise(verdict.then(pl.lit("A")).otherwise(pl.lit("B")))
    measured = plan_selection(frame.with_columns(label=label), repeats=100)
    for expected, seen in zip(stated.points[2:6], measured.points[2:6], strict=True):
        assert seen.coverage == pytest.approx(expected.coverage, abs=0.06)


def test_a_plan_without_labels_or_accuracies_says_what_to_give():
    frame = rows(40).drop("label")
    with pytest.raises(ArgumentError, match=r"no row has a label.*--accuracies 0.97,0.9,0.7"):
        plan_selection(frame)
    with pytest.raises(ArgumentError, match="give one or more, such as"):
        plan_selection(frame, accuracies=[])
    with pytest.raises(ArgumentError, match="from 0 to 1"):
        plan_selection(frame, accuracies=[97])
    with pytest.raises(ArgumentError, match="give 20 rows"):
        plan_selection(frame[:10], accuracies=[0.9])


def test_swap_and_vote_with_a_coin_has_a_verdict_on_every_row():
    frame = rows(300)
    signals = {s.signal: s for s in evaluate_doubt(frame, splits=5).signals}
    vote, coin = signals["swap_vote"], signals["swap_vote_by_coin"]
    assert vote.n_no_verdict > coin.n_no_verdict == 0
    assert coin.n_verdicts == 300


def test_the_accuracy_of_vanilla_is_that_of_the_judge():
    seen = evaluate_doubt(rows(300), splits=200, alphas=[0.2])
    method = {(m.signal, m.method): m for m in seen.methods}
    for signal in seen.signals:
        if not signal.n_no_verdict:
            vanilla = method[signal.signal, "vanilla"].accuracy
            assert vanilla == pytest.approx(signal.accuracy, abs=0.01)
            scope = method[signal.signal, "scope"]
            assert scope.accuracy is None or scope.accuracy >= vanilla - 0.02


def test_ids_to_label_are_random_and_new():
    frame = rows(100).with_columns(
        label=pl.when(pl.int_range(100) < 40).then("label"),
        prompt_id=pl.Series([str(i // 2) for i in range(100)]),
    )
    chosen = plan_labels(frame, n=20, seed=1).to_frame()
    assert chosen.height == 20
    picked = frame.filter(pl.col("id").is_in(chosen["id"].to_list()))
    assert picked["label"].null_count() == 20
    assert picked["prompt_id"].n_unique() == 20
    assert chosen["sampled_by"].unique().to_list() == ["random"]
    with pytest.raises(ArgumentError, match="only 30"):
        plan_labels(frame, n=31)


def test_a_pair_that_one_judge_has_the_label_of_is_not_drawn_again():
    frame = pl.DataFrame(
        {"id": ["x", "x", "y", "y"], "judge": ["j", "k"] * 2, "p_a": [0.9, 0.8, 0.2, 0.3]}
    ).with_columns(label=pl.Series(["A", None, None, None]))
    assert plan_labels(frame, n=1).ids == ("y",)
    with pytest.raises(ArgumentError, match="only 1 unlabelled"):
        plan_labels(frame, n=2)


def test_ece_is_of_the_confidence_that_was_stated_whatever_p_a_was_made_of_it() -> None:
    stated = np.repeat([0.6, 0.7, 0.8, 0.9], 100)
    right = np.tile(np.arange(100), 4) < np.round(100 * stated)  # as often as it said
    claims = pl.DataFrame(
        {
            "id": [str(k) for k in range(400)],
            "protocol": ["verbalized"] * 400,
            "p_a": (1 + stated) / 2,  # as rows on the scale from a guess (0) to certain (1) have it
            "uncertainty": 1 - stated,
            "label": np.where(right, "A", "B"),
        }
    )
    ours = claims.with_columns(confidence=pl.Series(stated))
    assert evaluate_doubt(claims, splits=2, alphas=[0.2]).signals[0].ece > 0.1
    quality = evaluate_doubt(ours, splits=2, alphas=[0.2]).signals[0]
    assert quality.ece == pytest.approx(0.0)
    # A column of the same name that says something else is not taken for it.
    other = claims.with_columns(confidence=pl.Series(stated[::-1]))
    assert evaluate_doubt(other, splits=2, alphas=[0.2]).signals[0].ece > 0.1
