"""Choices among several responses: calibrate, select and evaluate with prompts as rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.selection import Choices, Jury, calibrate, evaluate_doubt, read_policy, select
from adjudge.selection.choices import prepare_choices
from adjudge.selection.doubts.jury import jury_preference
from adjudge.simulate.pairs import simulate_choices

OLD = simulate_choices(400, skill=1.5, missing=0.01, seed=1)
NEW = simulate_choices(300, skill=1.5, missing=0.01, seed=2)


@pytest.fixture(scope="module")
def policy():
    return calibrate(OLD, doubt=Choices(), alpha=0.1)


def test_prompts_calibrate_and_the_policy_says_so(policy):
    assert (policy.about, policy.n_calibration, policy.cluster) == ("choices", 400, None)
    assert policy.feasible
    assert any("prompts must be exchangeable" in line for line in policy.assumptions)
    assert any("policy about pairs promises nothing" in line for line in policy.assumptions)
    assert any("without a choice (missing comparison)" in line for line in policy.warnings)
    assert [other.guarantee for other in policy.alternatives] == ["scope", "fdr", "pac"]


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_select_folds_in_the_same_way(guarantee, tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(calibrate(OLD, doubt=Choices(), alpha=0.1, guarantee=guarantee).to_json())
    assert read_policy(path).about == "choices"
    done = select(NEW.drop("label", "best"), path)
    rows = done.rows
    assert rows.columns[:7] == [
        *("id", "judge", "choice", "mean_p", "uncertainty", "accepted", "reason"),
    ]
    assert rows.height == done.summary.n == NEW["prompt_id"].n_unique()
    assert done.summary.about == "choices"
    mute = rows.filter(pl.col("choice").is_null())
    assert mute.height
    assert not mute["accepted"].any()
    assert set(mute["reason"]) == {"missing comparison"}
    # Where its accepted choices are wrong is known here.
    truth = NEW.group_by("prompt_id").agg(pl.col("best").first())
    wrong = rows.filter("accepted").join(truth, left_on="id", right_on="prompt_id")
    assert wrong.height > 30
    assert (wrong["choice"] != wrong["best"]).mean() < 0.2


def test_labels_of_all_pairs_say_the_same_as_the_best_by_name(policy):
    pairs = calibrate(OLD.drop("best"), doubt=Choices(), alpha=0.1)
    whole = OLD.filter(pl.len().over("prompt_id") == 6)
    assert pairs.n_calibration == whole["prompt_id"].n_unique() == 400 - pairs.dropped["no label"]
    named = calibrate(whole.drop("label"), doubt=Choices(), alpha=0.1)
    assert (named.threshold, named.n_errors) == (pairs.threshold, pairs.n_errors)


def test_human_ties_are_left_out_or_errors():
    tied = OLD.with_columns(
        best=pl.when(pl.col("prompt_id") < "prompt-00050").then(pl.lit("tie")).otherwise("best")
    )
    left = calibrate(tied, doubt=Choices())
    assert (left.n_calibration, left.dropped["human tie"]) == (350, 50)
    counted = calibrate(tied, doubt=Choices(), ties="error")
    assert counted.n_calibration == 400
    assert counted.n_errors == left.n_errors + 50
    assert "a human tie counts as an error of any choice" in counted.assumptions


def test_a_policy_about_pairs_is_refused_for_prompts_and_the_other_way_round(policy):
    pairs = calibrate(OLD.drop("best"), alpha=0.1)
    assert pairs.about == "pairs"
    with pytest.raises(PolicyMismatchError, match="is about verdicts on pairs, but these are choi"):
        select(NEW, pairs, best=True)
    with pytest.raises(DataError, match="has no prompt_id, model_a, model_b; a choice among"):
        select(NEW.drop("prompt_id", "model_a", "model_b"), policy)
    assert select(NEW, policy, best=True).summary.about == "choices"


def test_a_jury_chooses_by_the_mean_log_odds_of_its_judges(tmp_path):
    old, new = (
        simulate_choices(400, judges=3, skill=1.2, noise=0.8, missing=0.002, seed=n) for n in (1, 2)
    )
    path = tmp_path / "policy.json"
    path.write_text(calibrate(old, doubt=Choices(Jury("mean")), alpha=0.2).to_json())
    policy = read_policy(path)
    names = [f"simulated-{n}" for n in (1, 2, 3)]
    assert (policy.about, policy.n_calibration, list(policy.judges)) == ("choices", 400, names)
    assert policy.jury.coverage > max(policy.jury.coverage_alone.values())
    done = select(new.drop("label", "best"), policy)
    # The same in two steps: each pair by the jury, then the choice of one judge.
    wide = new.pivot(
        on="judge", index=["id", "prompt_id", "model_a", "model_b"], values="p_a"
    ).drop_nulls()
    p_a = jury_preference(wide.select(names).to_numpy())
    hand = prepare_choices(wide.drop(names).with_columns(p_a=pl.Series(p_a))).frame
    rows = done.rows.join(hand, on="id", suffix="_hand")
    assert rows.height == 400 == done.rows.height
    assert rows["choice"].equals(rows["verdict"], null_equal=True)
    assert np.allclose(rows["uncertainty"], rows["uncertainty_hand"], atol=1e-9)
    assert set(done.rows.filter(pl.col("choice").is_null())["reason"]) == {"failed comparison"}
    first = select(
        new.filter(pl.col("judge") == names[0]),
        calibrate(old.filter(pl.col("judge") == names[0]), doubt=Choices(), alpha=0.2),
    ).rows
    both = done.rows.join(first, on="id", suffix="_first")
    assert both["judge_choice"].equals(both["choice_first"], null_equal=True)
    turned = both.filter("accepted", pl.col("choice") != pl.col("judge_choice")).height
    assert done.summary.n_overturned == turned > 0
    assert f"choice differs from judge_choice in {turned} of" in str(done)
    shuffled = select(new.sample(fraction=1, shuffle=True, seed=4), policy).rows.sort("id")
    assert shuffled.select("id", "choice", "accepted").equals(
        done.rows.sort("id").select("id", "choice", "accepted")
    )
    seen = evaluate_doubt(old, doubt=Choices(Jury("mean")), splits=20, alphas=[0.2])
    accuracy = {signal.judge: signal.accuracy for signal in seen.signals}
    assert accuracy["jury"] > max(accuracy[name] for name in names)


def test_a_jury_of_choices_refuses_what_it_cannot_use(policy):
    two = simulate_choices(100, judges=2, seed=1)
    with pytest.raises(ArgumentError, match="needs two judges or more; there is only simulated"):
        calibrate(OLD, doubt=Choices(Jury("mean")))
    with pytest.raises(ArgumentError, match="jury"):
        calibrate(two, doubt=Choices(Jury("learned")))
    together = calibrate(two, doubt=Choices(Jury("mean")), alpha=0.4)
    with pytest.raises(ArgumentError, match="also needs simulated-2"):
        select(two.filter(pl.col("judge") == "simulated-1"), together)
    prints = two.with_columns(judge_fingerprint=pl.col("judge") + "-print")
    known = calibrate(prints, doubt=Choices(Jury("mean")), alpha=0.4)
    assert known.judge_fingerprints == ("simulated-1-print", "simulated-2-print")
    with pytest.raises(PolicyMismatchError):
        select(prints.with_columns(pl.col("judge_fingerprint") + "!"), known)


def test_groups_are_columns_of_prompts():
    topic = pl.when(pl.col("prompt_id") < "prompt-00200").then(pl.lit("code"))
    frame = OLD.with_columns(topic=topic.otherwise(pl.lit("prose")))
    policy = calibrate(frame, doubt=Choices(), by="topic", alpha=0.2)
    assert [(g.group, g.n_calibration) for g in policy.groups] == [("code", 200), ("prose", 200)]
    assert select(frame, policy).summary.groups[0].n == 200


def test_labels_by_doubt_never_calibrate_a_prompt():
    drawn = pl.when(pl.col("prompt_id") < "prompt-00100").then(pl.lit("doubt"))
    frame = OLD.with_columns(sampled_by=drawn.otherwise(pl.lit("random")))
    policy = calibrate(frame, doubt=Choices())
    reason = "label sampled by doubt: not used, its row is unlabelled"
    assert (policy.n_calibration, policy.dropped[reason]) == (300, 100)


def test_evaluate_measures_choices():
    seen = evaluate_doubt(OLD, doubt=Choices(), splits=20, alphas=[0.1])
    (signal,) = seen.signals
    mute = 400 - OLD.group_by("prompt_id").len().filter(pl.col("len") == 6).height
    assert (signal.signal, signal.n, signal.n_no_verdict) == ("product", 400, mute)
    assert signal.auroc > 0.6
    assert any("without a choice" in line for line in seen.warnings)
    with pytest.raises(DataError, match="has no human labels"):
        evaluate_doubt(OLD.drop("label", "best"), doubt=Choices())
