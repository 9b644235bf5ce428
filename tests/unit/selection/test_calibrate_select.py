"""Policies: what calibrate leaves behind, what select does with it, what both refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.data import write_result
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.judges import judge_pairs
from adjudge.selection import (
    Jury,
    calibrate,
    fdr_select,
    pac_threshold,
    read_policy,
    scope_threshold,
    select,
)
from adjudge.selection.selecting import SAME_ROWS
from adjudge.simulate.pairs import simulate_pairs, two_order_judge
from adjudge.statistics.entropy import preference_entropy


def rows(n=300, seed=0, **columns) -> pl.DataFrame:
    made = pl.DataFrame(two_order_judge(n, skill=2.0, seed=seed))
    return made.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def scored(frame: pl.DataFrame):
    p = (frame["p_fwd"].to_numpy() + frame["p_rev"].to_numpy()) / 2
    errors = np.where(p > 0.5, "A", "B") != frame["label"].to_numpy()
    return preference_entropy(p), errors.astype(int)


# --- calibrate -------------------------------------------------------------------------------


def test_the_policy_is_the_threshold_of_the_arrays():
    frame = rows()
    s, e = scored(frame)
    for guarantee, rule in (("scope", scope_threshold), ("pac", pac_threshold)):
        policy, arrays = calibrate(frame, alpha=0.2, guarantee=guarantee), rule(s, e, alpha=0.2)
        assert (policy.accepts, policy.threshold) == (arrays.accepts, arrays.threshold)
        assert policy.n_accepted == arrays.n_accepted
        assert policy.empirical_risk == arrays.empirical_risk
        assert policy.n_errors == e.sum()


def test_the_three_guarantees_stand_side_by_side_whichever_is_chosen():
    frame = rows()
    scope, fdr, pac = (
        [replace(other, labels_needed=None) for other in policy.alternatives]
        for policy in (calibrate(frame, alpha=0.2, guarantee=g) for g in ("scope", "fdr", "pac"))
    )
    assert scope == fdr == pac
    assert [a.guarantee for a in scope] == ["scope", "fdr", "pac"]
    assert [a.indicative for a in scope] == [False, True, False]
    assert all(a.promise and a.not_promised for a in scope)


@pytest.mark.parametrize(
    "as_given",
    [lambda f: f, lambda f: pd.DataFrame(f.to_dict(as_series=False)), lambda f: f.to_dict()],
)
def test_any_kind_of_frame_will_do(as_given):
    frame = rows(100)
    assert calibrate(as_given(frame), alpha=0.3).threshold == calibrate(frame, alpha=0.3).threshold


def test_a_pandas_frame_in_and_out():
    frame = rows(100)
    given = pd.DataFrame(frame.to_dict(as_series=False))
    done = select(given.drop(columns="label"), calibrate(given, alpha=0.3))
    assert isinstance(done.to_frame("pandas"), pd.DataFrame)
    assert done.to_frame("pandas")["id"].tolist() == done.to_frame()["id"].to_list()


def test_row_order_changes_nothing():
    frame = rows(200, prompt_id=[str(i % 60) for i in range(200)])
    for guarantee in ("scope", "fdr", "pac"):
        first = calibrate(frame, alpha=0.2, guarantee=guarantee)
        again = calibrate(frame[::-1], alpha=0.2, guarantee=guarantee)
        assert again == first
        assert select(frame[::-1], first).summary == select(frame, first).summary


def test_swapping_a_and_b_changes_nothing():
    frame = rows(300).with_columns(p_a=(pl.col("p_fwd") + pl.col("p_rev")) / 2)
    frame = frame.select("id", "label", pl.col("p_a").round(4))
    other = pl.when(pl.col("label") == "A").then(pl.lit("B")).otherwise(pl.lit("A"))
    swapped = frame.with_columns(label=other, p_a=1 - pl.col("p_a"))
    for jury_of in (frame, swapped):
        assert calibrate(jury_of, alpha=0.2).n_accepted == calibrate(frame, alpha=0.2).n_accepted
    assert calibrate(swapped, alpha=0.2).threshold == pytest.approx(
        calibrate(frame, alpha=0.2).threshold, abs=1e-12
    )


def test_a_row_at_one_half_is_an_error_and_never_accepted():
    frame = pl.DataFrame({"id": range(40), "p_a": [0.9] * 37 + [0.5] * 3, "label": ["A"] * 40})
    policy = calibrate(frame, alpha=0.1)
    assert policy.accepts == "all"  # E + 1 = 4 <= 0.1 * 40
    assert (policy.n_errors, policy.n_accepted, policy.empirical_risk) == (3, 37, 0.0)
    assert any("no verdict" in line for line in policy.warnings)
    done = select(frame.drop("label"), policy)
    assert done.rows.filter(pl.col("p_a") == 0.5)["accepted"].to_list() == [False] * 3
    assert done.summary.dropped == {"no verdict": 3}
    tighter = calibrate(frame[:39], alpha=0.07)  # 2 + 1 > 0.07 * 39, 1 <= 0.07 * 37
    assert tighter.accepts == "below"


def test_human_ties_are_left_out_or_errors():
    frame = rows(60).with_columns(
        label=pl.when(pl.int_range(60) < 20).then(pl.lit("tie")).otherwise("label")
    )
    dropped = calibrate(frame, alpha=0.3)
    assert (dropped.n_calibration, dropped.dropped) == (40, {"human tie": 20})
    assert any("have a preference" in line for line in dropped.assumptions)
    kept = calibrate(frame, alpha=0.3, ties="error")
    assert kept.n_calibration == 60
    assert kept.n_errors == dropped.n_errors + 20


def test_rows_left_out_are_counted_by_reason():
    frame = pl.DataFrame(
        {
            "id": range(6),
            "status": ["ok", "ok", "refused", "no_logprobs", "ok", "censored"],
            "p_a": [0.9, 0.8, None, None, 0.7, 0.6],
            "label": ["A", None, "A", "B", "tie", "B"],
        }
    )
    policy = calibrate(frame, alpha=0.3)
    assert policy.n_calibration == 2
    assert policy.dropped == {
        "no label": 1,
        "status no_logprobs": 1,
        "status refused": 1,
        "human tie": 1,
    }


def test_labels_come_by_id_and_doubtful_ones_are_left_out():
    frame = rows(50)
    labels = frame.select("id", "label")
    joined = calibrate(frame.drop("label"), labels=labels, alpha=0.3)
    assert joined.threshold == calibrate(frame, alpha=0.3).threshold
    sampled = labels.with_columns(sampled_by=pl.Series(["doubt"] + ["random"] * 49))
    kept = calibrate(frame.drop("label"), labels=sampled, alpha=0.3)
    assert kept.dropped["label sampled by doubt: not used, its row is unlabelled"] == 1
    assert kept.n_calibration == joined.n_calibration - 1
    planned = labels.with_columns(sampled_by=pl.Series(["plan"] * 5 + ["random"] * 45))
    warned = calibrate(frame.drop("label"), labels=planned, alpha=0.3).warnings
    assert any("5 labels were drawn by a plan" in line for line in warned)
    unsaid = labels.with_columns(sampled_by=pl.Series(["doubt"] + [None] * 49))
    assert calibrate(frame.drop("label"), labels=unsaid, alpha=0.3).groups == kept.groups
    with pytest.raises(DataError, match="50 label sampled by doubt: not used"):
        calibrate(frame.with_columns(sampled_by=pl.lit("doubt")), alpha=0.3)


def test_repeated_prompts_calibrate_once_each():
    frame = rows(200, prompt_id=[f"p{i % 50}" for i in range(200)])
    policy = calibrate(frame, alpha=0.3)
    assert (policy.cluster, policy.n_calibration) == ("prompt_id", 50)
    assert policy.dropped["same prompt_id as a row that is used"] == 150
    assert calibrate(frame, alpha=0.3, seed=1).groups != policy.groups
    every_row = calibrate(frame, alpha=0.3, cluster=None)
    assert every_row.n_calibration == 200
    assert any("prompt_id repeats" in line for line in every_row.warnings)
    once = rows(50, prompt_id=[f"p{i}" for i in range(50)])
    assert calibrate(once, alpha=0.3).cluster is None


def test_infeasible_is_a_result():
    frame = pl.DataFrame({"id": range(5), "p_a": [0.9] * 5, "label": ["A"] * 5})
    policy = calibrate(frame, alpha=0.1)
    assert (policy.accepts, policy.threshold, policy.feasible) == ("none", None, False)
    assert policy.coverage == policy.empirical_risk == 0.0
    assert "5 labels" in (policy.groups[0].note or "")
    done = select(frame.drop("label"), policy)
    assert done.summary.n_accepted == 0


# --- groups ----------------------------------------------------------------------------------


def grouped(sizes=(150, 100, 6)):
    names = [name for name, n in zip("xyz", sizes, strict=True) for _ in range(n)]
    return rows(sum(sizes), language=names)


def test_groups_have_their_own_rules_and_small_ones_are_named():
    frame = grouped()
    policy = calibrate(frame, alpha=0.2, by="language", guarantee="pac")
    assert [g.group for g in policy.groups] == ["x", "y", "z"]
    s, e = scored(frame.filter(pl.col("language") == "x").sort("id"))
    alone = pac_threshold(s, e, alpha=0.2, delta=0.1 / 3)
    assert policy.groups[0].threshold == alone.threshold
    assert policy.groups[2].accepts == "none"
    assert "only 6 labels: " in (policy.groups[2].note or "")
    assert any("uses 0.0333 of delta 0.1 for each of 3 rules" in line for line in policy.warnings)


def test_small_groups_are_pooled_on_request():
    frame = grouped((150, 8, 9))
    policy = calibrate(frame, alpha=0.1, by="language", small_groups="pool")
    assert [g.group for g in policy.groups] == ["x", "(small groups)"]
    assert policy.groups[1].members == ("y", "z")
    assert policy.groups[1].n_calibration == 17
    done = select(frame.drop("label"), policy)
    assert "group not calibrated" not in done.summary.dropped


def test_a_group_that_was_not_calibrated_is_not_accepted():
    policy = calibrate(grouped(), alpha=0.3, by="language")
    new = rows(20, seed=9, language=["w"] * 20)
    done = select(new, policy)
    assert done.summary.n_accepted == 0
    assert done.summary.dropped == {"group not calibrated": 20}


def test_pooled_fdr_is_one_promise():
    frame = grouped((150, 100, 50))
    policy = calibrate(frame, alpha=0.2, by="language", guarantee="fdr", pooled=True)
    done = select(rows(90, seed=4, language=["x", "y", "z"] * 30), policy)
    assert done.summary.n_accepted > 0
    assert any("together" in line for line in policy.assumptions)
    with pytest.raises(ArgumentError, match="needs --guarantee fdr"):
        calibrate(frame, by="language", pooled=True)


def test_several_judges_have_their_own_rules():
    good, bad = rows(100), rows(100, seed=3)
    both = pl.concat([good.with_columns(judge=pl.lit("g")), bad.with_columns(judge=pl.lit("b"))])
    policy = calibrate(both, alpha=0.3)
    assert policy.judges == ("b", "g")
    assert policy.groups[1].threshold == calibrate(good, alpha=0.3).threshold
    assert calibrate(both, alpha=0.3, judge="g").threshold == policy.groups[1].threshold
    with pytest.raises(ArgumentError, match="judge = 'x'"):
        calibrate(both, judge="x")
    with pytest.raises(ArgumentError, match="its own rule"):
        calibrate(both, by="judge")


def test_a_judge_that_is_called_jury_is_none():
    policy = calibrate(rows(60).with_columns(judge=pl.lit("jury")), alpha=0.3)
    assert policy.jury is None
    assert not any("each judge alone" in line for line in policy.warnings)
    assert any("without judge_fingerprint" in line for line in policy.assumptions)


@pytest.mark.attack("rows that do not count")
def test_rows_without_a_fingerprint_next_to_others_are_counted():
    half = pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("f"))
    policy = calibrate(rows(60).with_columns(judge_fingerprint=half), alpha=0.3)
    assert "30 rows of 60 have no judge_fingerprint" in " ".join(policy.warnings)


# --- weights ---------------------------------------------------------------------------------


def test_weights_are_for_fdr_alone():
    frame = rows(200, w=[1.0 + i % 3 for i in range(200)])
    with pytest.raises(ArgumentError, match="choose --guarantee fdr"):
        calibrate(frame, weights="w")
    policy = calibrate(frame, alpha=0.3, guarantee="fdr", weights="w")
    assert 0 < (policy.groups[0].effective_size or 0) < 200
    new = rows(50, seed=2, w=[1.0] * 50)
    assert select(new, policy).summary.n == 50
    with pytest.raises(ArgumentError, match="needs this column"):
        select(new.drop("w"), policy)
    with pytest.raises(ArgumentError, match="above 0"):
        calibrate(frame.with_columns(w=pl.lit(0.0)), guarantee="fdr", weights="w")


# --- select ----------------------------------------------------------------------------------


def test_select_applies_the_threshold_and_keeps_every_row_in_order():
    policy = calibrate(rows(), alpha=0.2)
    new = rows(80, seed=5).drop("label")[::-1].with_columns(note=pl.lit("kept"))
    done = select(new, policy)
    assert done.rows["id"].to_list() == new["id"].to_list()
    assert done.rows.columns[:6] == ["id", "judge", "verdict", "p_a", "uncertainty", "accepted"]
    assert done.rows["note"].to_list() == ["kept"] * 80
    below = done.rows["uncertainty"] <= policy.threshold
    assert done.rows["accepted"].to_list() == below.to_list()
    assert done.summary.n_accepted == below.sum()
    assert done.rows.filter(~pl.col("accepted"))["reason"].unique().to_list() == ["too uncertain"]


def test_fdr_decides_on_the_batch():
    frame, new = rows(), rows(80, seed=5)
    done = select(new, calibrate(frame, alpha=0.2, guarantee="fdr"))
    chosen = fdr_select(*scored(frame), scored(new)[0], alpha=0.2)
    assert done.rows["accepted"].to_list() == chosen.accepted.tolist()


def test_rows_without_a_measurement_are_counted_and_kept():
    policy = calibrate(rows(), alpha=0.2)
    new = pl.DataFrame(
        {"id": ["a", "b"], "status": ["ok", "refused"], "p_a": [0.99, None]},
    )
    done = select(new, policy)
    assert done.rows["accepted"].to_list() == [True, False]
    assert done.rows["reason"].to_list() == [None, "status refused"]
    assert done.summary.dropped == {"status refused": 1}
    assert not done.summary.drift.tested


@pytest.mark.parametrize(
    "options", [{}, {"guarantee": "fdr"}, {"by": "language"}, {"doubt": "learned"}]
)
def test_the_calibration_rows_themselves_are_warned_about(options):
    frame = rows(language=["en", "fr"] * 150)
    policy = calibrate(frame, alpha=0.2, **options)
    more = frame.with_columns(id=pl.format("more-{}", pl.int_range(pl.len())))
    shuffled = pl.concat([frame, more]).sample(fraction=1.0, shuffle=True, seed=1)
    english = frame.filter(pl.col("language") == "en")
    assert SAME_ROWS in select(frame, policy).summary.warnings
    assert SAME_ROWS in json.loads(select(shuffled, policy).summary.to_json())["warnings"]
    assert (SAME_ROWS in select(english, policy).summary.warnings) == ("by" in options)
    others = rows(seed=1, language=["en", "fr"] * 150)
    assert SAME_ROWS not in select(others, policy).summary.warnings
    assert SAME_ROWS not in select(frame[30:], policy).summary.warnings


def test_scores_with_few_values_say_nothing_about_whose_rows_they_are():
    few = rows().with_columns(pl.col("p_fwd", "p_rev").round(1))
    assert SAME_ROWS not in select(few, calibrate(few, alpha=0.2)).summary.warnings
    # Twenty distinct scores of a hundred possible ones occur in any large file.
    many = rows(20_000).with_columns(pl.col("p_fwd", "p_rev").round(1))
    assert SAME_ROWS not in select(many, calibrate(few.unique("p_fwd"), alpha=0.4)).summary.warnings


def test_drift_is_seen():
    policy = calibrate(rows(400), alpha=0.2)
    same = select(rows(400, seed=8), policy).summary.drift
    assert same.tested
    assert not same.flagged
    unsure = rows(400, seed=8).with_columns(p_fwd=pl.lit(0.55), p_rev=pl.lit(0.6))
    other = select(unsure, policy).summary.drift
    assert other.flagged
    assert (other.statistic or 0) > 0.5


# --- the file --------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_a_policy_survives_its_file(tmp_path, guarantee):
    frame = rows(150, judge_fingerprint=["f" * 64] * 150)
    policy = calibrate(frame, alpha=0.25, guarantee=guarantee)
    write_result(policy, tmp_path / "policy.json")
    again = read_policy(tmp_path / "policy.json")
    assert again == policy
    new = rows(40, seed=2, judge_fingerprint=["f" * 64] * 40)
    assert select(new, tmp_path / "policy.json").summary == select(new, policy).summary


def test_another_prompt_is_refused_by_its_fingerprint():
    policy = calibrate(rows(100, judge_fingerprint=["aa" * 32] * 100), alpha=0.3)
    with pytest.raises(PolicyMismatchError, match="prompt, weights, engine or settings") as caught:
        select(rows(20, judge_fingerprint=["bb" * 32] * 20), policy)
    assert caught.value.differs == ("judge_fingerprint",)
    done = select(rows(20), policy)
    assert any("compared by name" in line for line in done.summary.warnings)


def test_another_judge_or_protocol_is_refused_by_name():
    frame = rows(100).with_columns(judge=pl.lit("a"), protocol=pl.lit("preference"))
    policy = calibrate(frame, alpha=0.3)
    with pytest.raises(PolicyMismatchError) as caught:
        select(frame.with_columns(judge=pl.lit("b")), policy)
    assert caught.value.differs == ("judge",)
    with pytest.raises(PolicyMismatchError) as caught:
        select(frame.with_columns(protocol=pl.lit("likelihood")), policy)
    assert caught.value.differs == ("protocol",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": "much"}, "alpha"),
        ({"groups": None}, "groups"),
        ({"schema_version": 99}, "newer"),
        ({"kind": "estimate"}, "kind 'estimate'"),
    ],
)
def test_a_broken_policy_is_one_line(tmp_path, change, message):
    policy = calibrate(rows(50), alpha=0.3).to_dict() | change
    (tmp_path / "p.json").write_text(json.dumps(policy))
    with pytest.raises((DataError, PolicyMismatchError), match=message) as caught:
        read_policy(tmp_path / "p.json")
    assert "\n" not in str(caught.value)


def test_a_policy_with_shuffled_scores_is_refused(tmp_path):
    policy = calibrate(rows(50), alpha=0.3)
    group = replace(policy.groups[0], scores=policy.groups[0].scores[::-1])
    write_result(replace(policy, groups=(group,)), tmp_path / "p.json")
    with pytest.raises(DataError, match="not in order"):
        read_policy(tmp_path / "p.json")


# --- juries ----------------------------------------------------------------------------------


def several(n=240):
    frames = []
    for seed, judge in enumerate("abc"):
        made = two_order_judge(n, seed=np.random.default_rng(seed))
        frames.append(pl.DataFrame(made).with_columns(judge=pl.lit(judge)))
    truth = frames[0]["label"]
    return pl.concat([f.with_columns(label=truth) for f in frames])


def test_a_mean_jury_averages_log_odds_and_can_select():
    frame = several()
    policy = calibrate(frame, alpha=0.3, doubt=Jury("mean"))
    assert policy.jury is not None
    assert policy.judges == ("a", "b", "c")
    assert set(policy.jury.coverage_alone) == {"a", "b", "c"}
    assert policy.n_calibration == 240
    done = select(frame.drop("label"), policy)
    p = (pl.col("p_fwd") + pl.col("p_rev")) / 2
    odds = (p / (1 - p)).log()
    odds = (0.99 * odds.clip(-4.9, 4.9) + 0.01 * odds).mean().alias("odds")
    odds = frame.group_by("id").agg(odds).sort("id")["odds"].to_numpy()
    assert done.rows.sort("id")["p_a"].to_numpy() == pytest.approx(1 / (1 + np.exp(-odds)))
    assert done.rows["judge"].unique().to_list() == ["jury"]


def test_a_pair_that_some_judge_lacks_is_kept_and_not_accepted():
    frame = several()
    policy = calibrate(frame, alpha=0.3, doubt=Jury("mean"))
    lost = (pl.col("judge") == "b") & (pl.col("id") == "pair-00003")
    new = frame.drop("label").filter(~lost)
    done = select(new, policy)
    assert done.rows.height == 240
    row = done.rows.filter(pl.col("id") == "pair-00003").row(0, named=True)
    assert (row["accepted"], row["p_a"]) == (False, None)
    assert row["reason"] == "not scored by every judge of the jury"
    assert done.summary.n - done.summary.n_accepted == sum(done.summary.dropped.values())


def test_a_jury_needs_its_members():
    frame = several()
    policy = calibrate(frame, alpha=0.3, doubt=Jury("mean"))
    with pytest.raises(ArgumentError, match="also needs c"):
        select(frame.filter(pl.col("judge") != "c"), policy)
    with pytest.raises(ArgumentError, match="two judges or more"):
        calibrate(frame.filter(pl.col("judge") == "a"), doubt=Jury("mean"))
    with pytest.raises(ArgumentError, match="jury = 'logistic': choose one of mean"):
        calibrate(frame, doubt=Jury("logistic"))


def test_pandas_missing_values_are_missing():
    frame = pd.DataFrame({"id": range(3), "p_a": [0.9, None, 0.2], "label": ["A", "A", None]})
    policy = calibrate(frame, alpha=0.3)
    assert policy.n_calibration == 1
    assert policy.dropped == {"no label": 1, "status error": 1}


def test_the_store_names_the_part_that_differs(tmp_path):
    store = tmp_path / "replies.db"
    with_pairs = list(simulate_pairs(80, seed=1))
    asked = {"store": store, "protocol": "preference"}
    old = judge_pairs(with_pairs, judge="simulated:accuracy=0.9,seed=1", **asked).judgments
    same = judge_pairs(with_pairs[:30], judge="simulated:accuracy=0.9,seed=1", **asked).judgments
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Which is better?\n{prompt}\nA: {response_a}\nB: {response_b}\nA or B?")
    new = judge_pairs(
        with_pairs[:30], judge="simulated:accuracy=0.9,seed=1", prompt=prompt, **asked
    ).judgments
    policy = calibrate(old, alpha=0.3, store=store)
    assert policy.groups[0].fingerprint_parts is not None
    assert select(same, policy, store=store).summary.n == 30
    with pytest.raises(PolicyMismatchError) as caught:
        select(new, policy, store=store)
    assert any("prompt" in part for part in caught.value.differs)
    assert not any("judge" in part for part in caught.value.differs)


@pytest.mark.parametrize("guarantee", ["scope", "pac", "fdr"])
def test_a_policy_of_many_labels_stays_small_unless_fdr_needs_them_all(guarantee):
    n = 30_001
    frame = pl.DataFrame(two_order_judge(n, seed=3))
    policy = calibrate(frame, guarantee=guarantee)
    group = policy.groups[0]
    scores = np.array(group.scores)
    assert policy.n_calibration == n
    assert len(group.errors) == len(scores) == (n if guarantee == "fdr" else 20_000)
    everything = np.array(calibrate(frame, guarantee="fdr").groups[0].scores)
    below = np.searchsorted(scores, everything, side="right") / len(scores)
    exact = np.searchsorted(everything, everything, side="right") / n
    assert np.abs(below - exact).max() <= 1 / 20_000


def test_nothing_accepted_has_no_share_of_errors_and_one_is_singular():
    frame = pl.DataFrame({"id": ["a"], "p_a": [0.9], "label": ["B"]})
    policy = calibrate(frame)
    lines = [" ".join(line.split()) for line in policy.explain().splitlines()]
    caption = "Each guarantee at alpha 0.1 for the judge, on the 1 calibration label (1 wrong)"
    assert caption in lines
    assert [line for line in lines if line.endswith(("0 %", "–"))] == [
        "* scope nothing 0 0 % –",
        "fdr nothing ~0 ~0 % –",
        "pac nothing 0 0 % –",
    ]


# --- labels from their own file --------------------------------------------------------------


def test_every_label_of_the_file_is_accounted_for():
    frame = pl.DataFrame(
        {"id": [f"{i}" for i in range(30)], "p_a": [0.9] * 30, "label": ["B"] * 30}
    )
    given = pl.DataFrame({"id": [f"{i}" for i in range(32)] + ["0"], "label": ["A"] * 32 + ["B"]})
    policy = calibrate(frame, labels=given, alpha=0.1)
    assert policy.dropped == {
        "raters without a majority": 1,
        "label of an id without a row": 2,
        "label of the row, replaced by the one in the labels file": 29,
    }


# --- pooled groups ---------------------------------------------------------------------------


def test_pooled_groups_are_told_apart():
    # One Benjamini-Hochberg over both groups; what it accepts in each is not the same.
    rng = np.random.default_rng(3)
    sure = np.r_[np.full(150, 0.97), rng.uniform(0.5, 0.6, 150)]
    frame = pl.DataFrame(
        {
            "id": np.arange(300).astype(str),
            "p_a": sure,
            "label": np.where(
                rng.random(300) < np.r_[np.full(150, 0.97), np.full(150, 0.5)], "A", "B"
            ),
            "kind": ["easy"] * 150 + ["hard"] * 150,
        }
    )
    policy = calibrate(frame, alpha=0.1, guarantee="fdr", by="kind", pooled=True)
    shares = {group.group: group.coverage for group in policy.groups}
    assert shares["easy"] > 0.95
    assert shares["hard"] < 0.1
    assert policy.n_accepted == sum(group.n_accepted for group in policy.groups)
    done = select(frame.drop("label"), policy)
    of_group = done.rows.group_by("kind").agg(pl.len(), pl.col("accepted").sum()).rows()
    assert {(g.group, g.n, g.n_accepted) for g in done.summary.groups} == set(of_group)


# --- public data sets ------------------------------------------------------------------------


def test_published_judgments_are_read_as_they_are():
    rows = [
        {
            "instruction": f"question {i}",
            "outputs": ["yes", "no"],
            "preferences": {"human": 1},
            "probs": [0.9, 0.05],
        }
        for i in range(40)
    ]
    policy = calibrate(rows, alpha=0.1)
    assert (policy.n_calibration, policy.accepts) == (40, "all")
    assert select(rows, policy).summary.n_accepted == 40


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,p_a\n1,0.9\n")
    with pytest.raises(DataError, match=r"mine\.csv.*no human labels"):
        calibrate(path)


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_every_policy_says_that_it_is_of_one_try(guarantee: str) -> None:
    said = "alpha and the number of labels were chosen before: calibrating again"
    policy = calibrate(rows(60), alpha=0.3, guarantee=guarantee)
    assert [line[: len(said)] for line in policy.assumptions].count(said) == 1
    assert said in policy.explain()
