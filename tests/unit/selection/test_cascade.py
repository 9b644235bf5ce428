"""Cascades over frames: planned from their share alone, decided in use as in calibration."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from adjudge.data import read_judgments, read_result, write_result
from adjudge.data.judgments import prepare_judgments
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.policy.doubts import LearningShare
from adjudge.selection import (
    Cascade,
    Jury,
    Learned,
    PlannedCascade,
    calibrate,
    evaluate_doubt,
    plan_cascade,
    read_policy,
    scope_threshold,
    select,
    verify_policy,
)
from adjudge.selection.cascade import find_stages, in_learning_share, run_cascade
from adjudge.selection.cascade_plan import CascadePlan, Sheet
from adjudge.selection.doubts.evidence import log_odds
from adjudge.simulate.pairs import cascade_judges
from adjudge.statistics.entropy import INFINITE_DOUBT

THREE = {"cheap": 0.8, "middle": 1.3, "strong": 2.5}
COSTS = (1, 5, 30)


def rows(n=500, *, skills=None, seed=0, **options):
    made = cascade_judges(n, skills=skills or THREE, seed=seed, **options)
    return pl.DataFrame(made).with_columns(pl.col("judge").alias("judge_fingerprint"))


@pytest.fixture(scope="module")
def old():
    return rows(seed=2, failures={"cheap": 0.1, "strong": 0.05})


@pytest.fixture(scope="module")
def plan(old):
    return plan_cascade(old, Cascade("cheap,middle,strong", costs=COSTS), alpha=0.1)


@pytest.fixture(scope="module")
def policy(old):
    return calibrate(old, alpha=0.1, doubt=Cascade("cheap,middle,strong", costs=COSTS))


@pytest.fixture(scope="module")
def pair_plan(old):
    return plan_cascade(old, Cascade("cheap,strong", costs=[1, 30]), alpha=0.15)


def in_share(frame, plan):
    return in_learning_share(frame, plan.rule.learning)


# --- naming the stages -----------------------------------------------------------------------


def test_judges_are_named_as_in_the_file_or_by_their_model():
    frame = pl.DataFrame({"judge": ["openai:gpt-4.1", "simulated:a=1,b=2"], "protocol": ["p"] * 2})
    stages = (("simulated:a=1,b=2", "p"), ("openai:gpt-4.1", "p"))
    assert find_stages("simulated:a=1,b=2,gpt-4.1", frame) == stages
    assert find_stages(["a=1,b=2", "openai:gpt-4.1"], frame) == stages


@pytest.mark.parametrize("named", ["gpt-5,openai:gpt-4.1", "gpt-4.1", "gpt-4.1,gpt-4.1", ""])
def test_what_is_no_cascade_is_refused_with_the_judges_there_are(named):
    frame = pl.DataFrame({"judge": ["openai:gpt-4.1", "x"], "protocol": ["p"] * 2})
    with pytest.raises(ArgumentError, match="openai:gpt-4.1, x"):
        find_stages(named, frame)


def test_one_judge_by_two_protocols_is_two_stages(old):
    two = old.filter(pl.col("judge") != "middle").with_columns(
        protocol=pl.when(pl.col("judge") == "cheap").then(pl.lit("likelihood"))
        .otherwise(pl.lit("preference")),
        judge=pl.lit("x"),
    )  # fmt: skip
    made = calibrate(
        two, doubt=Cascade(["x (likelihood)", "x (preference)"], costs=[1, 1.5]), alpha=0.2
    )
    assert made.judges == ("x (likelihood)", "x (preference)")
    assert select(two, made).summary.n == 500


def test_a_judge_by_two_protocols_of_which_one_is_dropped():
    made = rows(400, skills={"useless": 0.0, "middle": 1.3, "strong": 2.5}, seed=0)
    made = made.with_columns(
        protocol=pl.when(pl.col("judge") == "useless").then(pl.lit("likelihood"))
        .otherwise(pl.lit("preference")),
        judge=pl.when(pl.col("judge") == "strong").then(pl.lit("y")).otherwise(pl.lit("x")),
    )  # fmt: skip
    names = ["x (likelihood)", "x (preference)", "y (preference)"]
    policy = calibrate(made, doubt=Cascade(names, costs=COSTS), alpha=0.1)
    assert policy.judges == ("x", "y")
    assert select(made, policy).summary.n == 400


# --- the plan --------------------------------------------------------------------------------


def test_a_plan_comes_from_its_learning_share_alone(old, plan):
    outside = pl.Series(~in_share(old, plan))
    other = old.with_columns(
        label=pl.when(outside).then(pl.lit("A")).otherwise("label"),
        p_a=pl.when(outside & pl.col("p_a").is_not_null()).then(0.5).otherwise("p_a"),
    )
    again = plan_cascade(other, Cascade("cheap,middle,strong", costs=COSTS))
    assert again == plan
    assert (
        plan_cascade(
            old.sample(fraction=1, shuffle=True, seed=1),
            Cascade("cheap,middle,strong", costs=COSTS),
        )
        == plan
    )
    assert plan_cascade(old, Cascade("cheap,middle,strong", costs=COSTS), seed=1) != plan


def test_the_share_is_a_hash_of_the_cluster_else_of_the_id():
    frame = pl.DataFrame({"id": [str(i) for i in range(4000)]}).with_columns(
        prompt_id=pl.when(pl.int_range(4000) < 3000).then(pl.int_range(4000) // 3).cast(pl.String)
    )
    share = LearningShare(column="prompt_id", share=0.3, seed=4)
    used = in_learning_share(frame, share)
    assert abs(used.mean() - 0.3) < 0.03
    assert (np.ptp(used[:3000].reshape(-1, 3).astype(int), axis=1) == 0).all()
    assert 0.2 < used[3000:].mean() < 0.4  # rows without a cluster are drawn one by one
    assert (in_learning_share(frame, replace(share, seed=5)) != used).any()
    with pytest.raises(ArgumentError, match="prompt_id"):
        in_learning_share(frame.drop("prompt_id"), share)


def test_the_planned_tau_is_the_largest_whose_mean_doubt_fits_alpha_with_a_margin():
    rng = np.random.default_rng(0)
    doubts = rng.uniform(0, 0.5, (200, 3)) * [1.0, 0.7, 0.4]
    doubts[rng.random((200, 3)) < 0.1] = np.inf
    wrong = rng.random((200, 3)) < np.minimum(doubts, 0.5)
    sheet = Sheet((), doubts, wrong, np.cumsum(COSTS), 0.1, doubts)
    passing: dict[float, list[float]] = {0.0: [], 1.0: []}
    for tau in sheet.taus[1:].tolist():
        ends = [next((u for u in row if u <= tau), row[-1]) for row in doubts.tolist()]
        below = [u for u in ends if u <= tau]
        for margin, taus in passing.items():
            error = margin * (0.1 * 0.9 / len(below)) ** 0.5
            taus += [tau] if sum(below) / len(below) + error <= 0.1 else []
    assert sheet.largest_tau() == max(passing[1.0]) < max(passing[0.0]) < sheet.taus.max()
    assert sheet.largest_tau(margin=0.0) == max(passing[0.0])
    points = sheet.points(sheet.largest_tau())
    assert sheet.largest_tau() in [point.tau for point in points]
    costs = [point.cost for point in points]
    assert costs == sorted(costs, reverse=True)  # a smaller tau is dearer
    assert (costs[0], costs[-1]) == (36.0, pytest.approx(1 * (1 - 0.1) + 6 * 0.1, abs=0.5))
    for point in points:
        ends = sorted(next((u for u in row if u <= point.tau), row[-1]) for row in doubts.tolist())
        most = max(k for k in range(201) if sum(ends[:k]) <= 0.1 * k)
        assert (point.coverage, sum(point.stops)) == (most / 200, pytest.approx(1))


def test_juries_and_a_label_free_cascade_are_candidates():
    """Scored on the learning share alone; each can be planned, calibrated and used."""
    frame = rows(seed=2)
    plan = plan_cascade(frame, Cascade("cheap,middle,strong", costs=COSTS))
    assert [(one.name, one.judges) for one in plan.candidates[1:]] == [
        ("label_free", ("cheap", "middle", "strong")), ("jury", ("cheap", "middle")),
    ]  # fmt: skip
    jury = plan_cascade(frame, Cascade("cheap,middle,strong", costs=COSTS), candidate="jury")
    assert (jury.rule.judges, jury.rule.tau, jury.planned.cost) == (("cheap", "middle"), 0, 6)
    assert [point.tau for point in jury.points] == [0]
    assert jury.candidates == plan.candidates
    two = frame.filter(pl.col("judge") != "strong")
    ended = run_cascade(jury.rule, read_judgments(two)).rows.sort("id")
    p = two.pivot(on="judge", index="id", values="p_a").sort("id").select("cheap", "middle")
    odds = log_odds(p.to_numpy()).mean(axis=1)
    assert ended["verdict"].to_list() == np.where(odds > 0, "A", "B").tolist()
    assert np.allclose(ended["uncertainty"], 1 / (1 + np.exp(np.abs(odds))))
    learning = ended.filter(pl.Series(in_share(ended, jury)))
    doubt, wrong = learning["uncertainty"], learning["verdict"] != learning["label"]
    accepted = scope_threshold(doubt, wrong.cast(pl.Int64), alpha=0.1).accept(doubt.to_numpy())
    assert jury.candidates[2].coverage == pytest.approx(accepted.mean())
    free = plan_cascade(frame, Cascade("cheap,middle,strong", costs=COSTS), candidate="label_free")
    for made in (jury, free):
        policy = calibrate(frame, doubt=PlannedCascade(made), alpha=0.1)
        done = select(frame.drop("label"), policy)
        assert done.rows.height == 500
        assert done.summary.n_accepted > 50
    with pytest.raises(ArgumentError, match="name three judges"):
        plan_cascade(frame, Cascade("cheap,strong", costs=[1, 30]), candidate="jury")
    with pytest.raises(ArgumentError, match="leave out tau: a jury is asked about every row"):
        plan_cascade(
            frame, Cascade("cheap,middle,strong", costs=[1, 5, 30]), candidate="jury", tau=0.1
        )


def test_a_cascade_of_one_judge_says_that_it_calibrates_on_fewer_labels():
    frame = rows(skills={"cheap": 0.0, "strong": 2.5})
    policy = calibrate(frame, doubt=Cascade("cheap,strong", costs=[1, 1.01]), alpha=0.1)
    assert [stage.judge for stage in policy.cascade.rule.stages] == ["strong"]
    n = policy.dropped["in the learning share of the cascade"]
    line = f"the cascade is strong alone, and {n} rows of the learning share do not calibrate: if"
    assert any(line in warning for warning in policy.warnings)


@pytest.mark.parametrize("seed", [0, 2])
def test_a_useless_cheap_judge_is_dropped(seed):
    made = rows(400, skills={"useless": 0.0, "middle": 1.3, "strong": 2.5}, seed=seed)
    plan = plan_cascade(made, Cascade("useless,middle,strong", costs=COSTS))
    assert plan.rule.judges == ("middle", "strong")
    [dropped] = plan.dropped_stages
    assert dropped.judge == "useless"
    assert dropped.cost_without / dropped.coverage_without <= dropped.cost_with / (
        dropped.coverage_with
    )


def test_where_no_tau_leaves_room_for_chance_the_last_judge_is_left():
    made = rows(400, skills={"useless": 0.0, "middle": 1.3, "strong": 2.5}, seed=1)
    plan = plan_cascade(made, Cascade("useless,middle,strong", costs=COSTS))
    assert (plan.feasible, plan.rule.judges, plan.dropped_stages) == (True, ("strong",), ())
    assert plan.planned.coverage == plan.alone[-1].coverage > 0.5
    assert any("only the last judge is left" in one for one in plan.warnings)


def test_a_cascade_that_accepts_nothing_is_a_result():
    made = rows(300, skills={"x": 0.0, "y": 0.0}, seed=1)
    plan = plan_cascade(made, Cascade("x,y", costs=[1, 2]), alpha=0.02)
    assert (plan.feasible, plan.rule.tau, plan.rule.judges) == (False, 0.0, ("y",))
    policy = calibrate(made, doubt=Cascade("x,y", costs=[1, 2]), alpha=0.02)
    assert not policy.feasible


def test_costs_are_measured_dollars_unless_given(old):
    priced = old.with_columns(
        cost=pl.when(pl.col("judge") == "cheap").then(0.001)
        .when(pl.col("judge") == "middle").then(0.004).otherwise(pl.lit(0.02))
    )  # fmt: skip
    plan = plan_cascade(priced, Cascade("cheap,strong"))
    assert plan.cost_source == "dollars"
    assert [one.cost for one in plan.alone] == pytest.approx([0.001, 0.02])
    assert plan_cascade(priced, Cascade("cheap,strong", costs=[1, 30])).cost_source == "given"


@pytest.mark.parametrize(
    ("costs", "message"),
    [(None, "the rows have no cost"), ((1, 2), "give 3"), ((1, 2, 0), "the last above 0"),
     ((1, -2, 3), "not negative")],
)  # fmt: skip
def test_unknown_and_impossible_costs_are_refused(old, costs, message):
    with pytest.raises(ArgumentError, match=message):
        plan_cascade(old, Cascade("cheap,middle,strong", costs=costs))


def test_few_labels_are_refused(old):
    with pytest.raises(ArgumentError, match="learning_share"):
        plan_cascade(old.filter(pl.col("id") < "pair-00020"), Cascade("cheap,strong", costs=[1, 2]))


def test_a_plan_is_read_back_and_refused_where_it_was_edited(old, tmp_path, plan):
    write_result(plan, tmp_path / "plan.json")
    assert read_result(tmp_path / "plan.json", CascadePlan) == plan
    written = json.loads((tmp_path / "plan.json").read_text())
    written["rule"]["stages"][0]["weights"][0] += 0.1
    (tmp_path / "plan.json").write_text(json.dumps(written))
    with pytest.raises(DataError, match="digest"):
        calibrate(old, doubt=PlannedCascade(tmp_path / "plan.json"))


# --- calibrate -------------------------------------------------------------------------------


def test_rows_of_the_learning_share_never_calibrate(old, policy, plan):
    learning = in_share(old.unique("id"), plan).sum()
    assert policy.n_calibration == 500 - learning
    assert policy.dropped["in the learning share of the cascade"] == learning
    assert calibrate(old, doubt=PlannedCascade(plan), alpha=0.1) == policy
    only = old.filter(pl.Series(in_share(old, plan)))
    with pytest.raises(ArgumentError, match="label others to calibrate"):
        calibrate(only, doubt=PlannedCascade(plan))


def test_rows_of_a_learning_rows_cluster_do_not_calibrate_either(old, plan):
    """The plan drew by id; the file that calibrates has prompts."""
    prompts = old.with_columns(prompt_id=pl.col("id").str.slice(5, 5).cast(pl.Int64) // 2)
    used = pl.Series("used", in_share(prompts, plan))
    clean = prompts.with_columns(used).filter(~pl.col("used").any().over("prompt_id"))
    made = calibrate(prompts, doubt=PlannedCascade(plan), alpha=0.2)
    assert made.cascade.n_verdicts == clean["id"].n_unique()


def test_a_failed_judge_is_passed_over_and_a_failed_last_one_is_no_verdict(old, policy):
    done = run_cascade(policy.cascade.rule, prepare_judgments(old).frame)
    last = len(policy.judges) - 1
    for stage in range(last):
        # Where a judge failed no row ends, unless an earlier one was sure already.
        assert not (done.failed[:, stage] & (done.stage <= stage)).any()
    assert done.failed[:, last].sum() > 0
    ended = done.rows.filter(pl.Series(done.failed[:, last]))
    assert set(ended["uncertainty"]) == {INFINITE_DOUBT}
    assert set(ended["verdict"]) == {None}
    assert set(ended["status"]) == {"error"}
    assert sum(policy.cascade.failed) > 0
    assert INFINITE_DOUBT in policy.groups[0].scores


def test_rows_are_decided_in_use_as_in_calibration(old, policy):
    """One by one, and with the later judges' rows gone where a row ended early."""
    done = run_cascade(policy.cascade.rule, prepare_judgments(old).frame)
    ended = dict(zip(done.rows["id"], done.stage.tolist(), strict=True))
    place = {name: at for at, name in enumerate(policy.judges)}
    asked = old.filter(
        pl.struct("id", "judge").map_elements(
            lambda row: place.get(row["judge"], 9) <= ended[row["id"]], return_dtype=pl.Boolean
        )
    )
    assert asked.height < old.filter(pl.col("judge").is_in(list(policy.judges))).height
    asked = prepare_judgments(asked).frame
    again = run_cascade(policy.cascade.rule, asked)
    assert again.rows.select("id", "verdict", "uncertainty", "stage").equals(
        done.rows.select("id", "verdict", "uncertainty", "stage")
    )
    for name in ("pair-00003", "pair-00007"):
        own = run_cascade(policy.cascade.rule, asked.filter(pl.col("id") == name)).rows
        assert own["uncertainty"].equals(done.rows.filter(pl.col("id") == name)["uncertainty"])


def test_rows_of_a_deployed_cascade_calibrate_it_again(old, policy, plan):
    """Its way is all that a row needs; the plan stays, and so do the counts."""
    done = run_cascade(plan.rule, prepare_judgments(old).frame)
    open_ids = done.rows.filter(pl.Series(done.stage > 0))["id"]
    deployed = old.filter((pl.col("judge") == plan.rule.judges[0]) | pl.col("id").is_in(
        open_ids.implode()))  # fmt: skip
    made = calibrate(deployed, doubt=PlannedCascade(plan), alpha=0.1)
    assert made.groups == policy.groups
    assert (made.cascade.coverage_last, policy.cascade.coverage_last is None) == (None, False)
    lost = deployed.filter((pl.col("judge") == plan.rule.judges[0]) | (pl.col("id") > "pair-00100"))
    with pytest.raises(
        ArgumentError, match="the others are not a random sample: ask that judge too"
    ):
        calibrate(lost, doubt=PlannedCascade(plan), alpha=0.1)


def test_rows_that_only_the_cheap_judge_saw_do_not_calibrate(old, policy, plan):
    """Those of them that end with it would be easy ones without the hard ones next to them."""
    some = old.filter((pl.col("judge") == plan.rule.judges[0]) | (pl.col("id") > "pair-00200"))
    made = calibrate(some, doubt=PlannedCascade(plan), alpha=0.1)
    without = calibrate(
        some.filter(pl.col("id") > "pair-00200"), doubt=PlannedCascade(plan), alpha=0.1
    )
    assert made.groups == without.groups
    assert made.n_calibration < policy.n_calibration
    assert made.dropped["not judged by every stage"] > 0
    assert "were not judged by every stage are missing at random" in made.assumptions[-1]


def test_an_id_is_in_the_learning_share_whichever_judge_has_its_cluster(old, plan):
    rows = old.with_columns(prompt_id=pl.when(pl.col("judge") == plan.rule.judges[0]).then(
        pl.col("id").str.slice(0, 9)))  # fmt: skip
    share = in_learning_share(rows, LearningShare(column="prompt_id", share=0.3, seed=0))
    per_id = rows.with_columns(share=pl.Series(share)).group_by("prompt_id").agg(
        pl.col("share").n_unique(), pl.col("id").n_unique().alias("ids"))  # fmt: skip
    known = per_id.filter(pl.col("prompt_id").is_not_null())
    assert known["ids"].max() > 1
    assert known["share"].max() == 1
    by_id = rows.with_columns(share=pl.Series(share)).group_by("id").agg(pl.col("share").n_unique())
    assert by_id["share"].max() == 1


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_every_guarantee_holds_for_a_cascade_and_says_so(old, pair_plan, guarantee):
    made = calibrate(old, alpha=0.15, doubt=PlannedCascade(pair_plan), guarantee=guarantee)
    assert made.guarantee == guarantee
    assert made.coverage > 0.3
    assert any("every guarantee holds as for any judge" in one for one in made.assumptions)


def test_a_cascade_by_group(old, pair_plan):
    made = old.with_columns(half=pl.when(pl.col("id") < "pair-00250").then(pl.lit("x"))
                            .otherwise(pl.lit("y")))  # fmt: skip
    policy = calibrate(made, alpha=0.2, doubt=PlannedCascade(pair_plan), by="half")
    assert [group.group for group in policy.groups] == ["x", "y"]
    assert {one.group for one in select(made, policy).summary.groups} == {"x", "y"}


def test_a_cascade_of_rows_without_its_judges_is_refused(old):
    with pytest.raises(ArgumentError, match="cascade = 'strong': the judgments have cheap"):
        calibrate(old, doubt=Cascade("cheap,strong", costs=[1, 2]), judge="cheap")
    with pytest.raises(ArgumentError, match="name two judges or more, .*: cheap, middle, strong"):
        calibrate(old, doubt="cascade")
    with pytest.raises(ArgumentError, match="a cascade is evaluated by plan_cascade"):
        evaluate_doubt(old, doubt=Cascade("cheap,strong", costs=[1, 2]))


def test_a_doubt_that_combines_judges_takes_no_weights(old):
    weighted = old.with_columns(w=1.0)
    for doubt in (Jury(), Learned(jury=Jury()), Cascade("cheap,strong", costs=[1, 2])):
        with pytest.raises(ArgumentError, match="a doubt that combines judges cannot use weights"):
            calibrate(weighted, doubt=doubt, guarantee="fdr", weights="w")


def test_the_category_of_a_plan_is_read_from_a_file(old, tmp_path):
    """No option names the column: the plan does."""
    is_code = pl.col("id") < "pair-00250"
    topic = pl.when(is_code).then(pl.lit("code")).otherwise(pl.lit("chat"))
    long = old.with_columns(my_topic=topic)
    plan = plan_cascade(long, Cascade("cheap,strong", costs=[1, 30], category="my_topic"))
    path = tmp_path / "rows.parquet"
    long.write_parquet(path)
    assert calibrate(path, doubt=PlannedCascade(plan)).cascade.rule.category == "my_topic"


def test_a_plan_of_another_judge_or_answer_mass_is_refused(old, plan):
    other = old.with_columns(judge_fingerprint=pl.lit("f2") + pl.col("judge"))
    with pytest.raises(PolicyMismatchError, match="the plan was made for"):
        calibrate(other, doubt=PlannedCascade(plan))
    with pytest.raises(ArgumentError, match=r"made with 0\.1"):
        calibrate(old, doubt=PlannedCascade(plan), min_answer_mass=0.2)


def test_lengths_and_categories_are_learned_from_and_then_needed(old):
    rng = np.random.default_rng(1)
    long = old.with_columns(
        length_a=pl.Series(rng.integers(50, 900, old.height)),
        length_b=pl.Series(rng.integers(50, 900, old.height)),
        kind=pl.Series(rng.choice(["code", "chat"], old.height)),
    )
    long = long.with_columns(pl.col("length_a", "length_b", "kind").first().over("id"))
    made = calibrate(long, doubt=Cascade("cheap,strong", costs=[1, 30], category="kind"), alpha=0.2)
    rule = made.cascade.rule
    assert (rule.lengths, rule.category, rule.categories) == ("length", "kind", ("chat", "code"))
    assert select(long, made).summary.n_accepted > 0
    with pytest.raises(ArgumentError, match="the cascade needs this column"):
        select(long.drop("kind"), made)


# --- select, verify --------------------------------------------------------------------------


def test_select_decides_once_per_id(old, policy):
    run = select(old, policy)
    assert run.rows["id"].is_unique().all()
    assert (run.summary.n, run.summary.n_accepted) == (500, run.rows["accepted"].sum())
    assert sum(one.n for one in run.summary.stages) == 500
    assert sum(one.n_accepted for one in run.summary.stages) == run.summary.n_accepted
    accepted = run.rows.filter("accepted")
    assert (accepted["learned_doubt"] <= policy.threshold).all()
    assert (accepted["verdict"] != accepted["label"]).mean() < 0.15
    failed = run.rows.filter(pl.col("status") == "error")
    assert set(failed["reason"]) == {"status error"}
    assert not failed["accepted"].any()


def test_select_leaves_rows_open_that_go_on_to_a_judge_that_was_not_asked(old, policy):
    run = select(old.filter(pl.col("judge") != policy.judges[-1]), policy)
    lost = run.rows.filter(pl.col("reason") == "needs a judge that was not asked")
    assert lost.height == run.summary.dropped["needs a judge that was not asked"] > 0
    assert run.summary.n == 500


def test_rows_of_other_judges_are_ignored_and_counted(old, policy):
    more = pl.concat([old, old.head(3).with_columns(judge=pl.lit("z"))])
    run = select(more, policy)
    assert any("of a judge that is not a stage of the cascade: ignored" in w
               for w in run.summary.warnings)  # fmt: skip
    assert run.summary.n_accepted == select(old, policy).summary.n_accepted


@pytest.mark.attack("status")
def test_a_row_that_every_judge_failed_is_counted_and_not_planned_for(old, pair_plan):
    judged = old.filter(pl.col("judge") != "middle")
    answered = judged.filter((pl.col("status") == "ok").any().over("id"))
    none = {"p_fwd": None, "p_rev": None, "p_a": None, "status": "refused"}
    failed = judged.head(40).with_columns(
        pl.concat_str(pl.lit("failed-"), "id").alias("id"),
        *(pl.lit(value).alias(name) for name, value in none.items()),
    )
    both = pl.concat([answered, failed], how="diagonal_relaxed")
    cascade = Cascade(["cheap", "strong"], costs=[1, 30])
    done = plan_cascade(both, cascade, alpha=0.15)
    reference = plan_cascade(answered, cascade, alpha=0.15)
    assert done.dropped == {**reference.dropped, "status refused": 40}
    assert done.points == reference.points
    # A row that one of the judges failed is planned for.
    assert (answered["status"] == "error").any()
    assert "status error" not in reference.dropped
    assert reference.rule.n_learning == pair_plan.rule.n_learning


def test_select_refuses_another_judge(old, policy):
    other = old.with_columns(judge_fingerprint=pl.lit("other"))
    with pytest.raises(PolicyMismatchError, match="the cascade was made for"):
        select(other, policy)


def test_fdr_decides_on_a_batch_with_the_failed_rows_in_it(old, pair_plan):
    made = calibrate(old, alpha=0.15, doubt=PlannedCascade(pair_plan), guarantee="fdr")
    new = rows(300, seed=9, failures={"cheap": 0.1, "strong": 0.3})
    few = select(new, made).summary
    assert 0 < few.n_accepted < 300
    measured = new.filter(
        (pl.col("status") == "ok").all().over("id") | (pl.col("judge") == "cheap")
    )
    # As a batch of their own the sure rows would be held to less: rows without a verdict count.
    assert select(measured, made).summary.n_accepted >= few.n_accepted


@pytest.mark.parametrize(
    ("field", "value"), [("cost", 0.5), ("cost_last", 1.0), ("n_verdicts", 7), ("stopped", [1])]
)
def test_an_edited_cascade_is_named(policy, tmp_path, field, value):
    written = policy.to_dict()
    written["cascade"][field] = value
    (tmp_path / "policy.json").write_text(json.dumps(written))
    check = verify_policy(tmp_path / "policy.json")
    assert not check.intact
    named = f"cascade.{'n_verdicts' if field == 'stopped' else field}"
    assert check.unreadable or named in [one.field for one in check.contradictions]
    with pytest.raises(DataError):
        read_policy(tmp_path / "policy.json")


def test_a_policy_with_a_cascade_is_read_back(policy, tmp_path):
    write_result(policy, tmp_path / "policy.json")
    assert read_policy(tmp_path / "policy.json") == policy
    assert verify_policy(tmp_path / "policy.json").intact
