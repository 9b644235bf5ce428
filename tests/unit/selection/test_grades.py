"""Grades under a guarantee: the same scores and errors, the same policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from adjudge.data import prepare_grades, read_grades, write_result
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.selection import (
    Jury,
    Learned,
    calibrate,
    evaluate_doubt,
    plan_labels,
    plan_selection,
    read_policy,
    select,
)
from adjudge.selection.doubts.base import DoubtMethod
from adjudge.selection.labelled import BEYOND


def tables(n: int = 300) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same probabilities and truths, as grades and as judgments of pairs."""
    rng = np.random.default_rng(5)
    p = rng.beta(0.7, 0.7, n)
    truth = rng.random(n) < p
    common = pl.DataFrame({"id": [f"r{i}" for i in range(n)], "protocol": ["x"] * n})
    grades = common.with_columns(
        judge_name=pl.lit("j"),
        judge=pl.Series((p > 0.5).astype(int)),
        p_pass=pl.Series(p),
        human=pl.Series(truth.astype(int)),
    )
    pairs = common.with_columns(
        judge=pl.lit("j"), p_a=pl.Series(p), label=pl.Series(np.where(truth, "A", "B"))
    )
    return grades, pairs


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_calibration_sees_scores_and_errors_alone(guarantee: str) -> None:
    grades, pairs = tables()
    one, other = (calibrate(rows, alpha=0.15, guarantee=guarantee) for rows in (grades, pairs))
    assert one.n_accepted > 50
    assert (one.about, other.about) == ("grades", "pairs")
    assert replace(one, about="pairs", assumptions=other.assumptions) == other
    assert not any("tie" in line or "pair" in line for line in one.assumptions)


def test_select_gives_grades_back_and_they_can_be_read_again() -> None:
    grades, pairs = tables()
    policy = calibrate(grades, alpha=0.15)
    run = select(grades.drop("human"), policy)
    assert run.rows.columns[:8] == [
        *("id", "judge_name", "judge", "verdict", "p_pass", "uncertainty", "accepted", "reason"),
    ]
    assert run.rows["judge"].to_list() == grades["judge"].to_list()
    assert run.rows["accepted"].to_list() == (
        select(pairs, calibrate(pairs, alpha=0.15)).rows["accepted"].to_list()
    )
    again = select(run.rows, policy)
    assert again.summary.n_accepted == run.summary.n_accepted
    assert run.summary.about == "grades"


def test_a_policy_is_for_its_own_kind_of_rows(tmp_path: object) -> None:
    grades, pairs = tables()
    with pytest.raises(
        PolicyMismatchError, match="about grades of single answers, but these are verdicts on pairs"
    ):
        select(pairs, calibrate(grades))
    with pytest.raises(PolicyMismatchError, match="about verdicts on pairs, but these are grades"):
        select(grades, calibrate(pairs))
    policy = calibrate(grades)
    path = write_result(policy, f"{tmp_path}/policy.json")
    assert read_policy(path) == policy


def test_evaluate_and_plan_count_the_same_errors() -> None:
    grades, pairs = tables()
    one, other = (evaluate_doubt(rows, splits=20, alphas=[0.2]) for rows in (grades, pairs))
    assert one == other
    assert plan_selection(grades, repeats=10).points == plan_selection(pairs, repeats=10).points


@pytest.mark.parametrize("jury", [Jury("mean"), Learned(jury=Jury())])
def test_a_jury_of_graders(jury: DoubtMethod) -> None:
    (grades, pairs), noise = tables(), np.random.default_rng(1).random(300)
    second = np.clip(grades["p_pass"].to_numpy() + 0.2 * (noise - 0.5), 0.001, 0.999)
    more = pl.Series(second)
    two = pl.concat(
        [grades, grades.with_columns(judge_name=pl.lit("k"), p_pass=more).with_columns(
            judge=(more > 0.5).cast(pl.Int64))]
    )  # fmt: skip
    same = pl.concat([pairs, pairs.with_columns(judge=pl.lit("k"), p_a=more)])
    policies = [calibrate(rows, alpha=0.15, doubt=jury) for rows in (two, same)]
    assert policies[0].threshold == policies[1].threshold
    shown = [evaluate_doubt(rows, doubt=jury, splits=10, alphas=[0.15]) for rows in (two, same)]
    assert shown[0].comparisons == shown[1].comparisons
    chosen = [select(rows, one).rows for rows, one in zip((two, same), policies, strict=True)]
    assert chosen[0]["accepted"].to_list() == chosen[1]["accepted"].to_list()
    assert set(chosen[0]["verdict"]) == {"pass", "fail"}


def test_a_doubt_learned_from_grades() -> None:
    grades, pairs = tables(600)
    policies = [calibrate(rows, alpha=0.15, doubt="learned") for rows in (grades, pairs)]
    assert policies[0].doubt == policies[1].doubt
    assert policies[0].n_accepted == policies[1].n_accepted > 50
    one, other = (
        select(rows, policy).rows for rows, policy in zip((grades, pairs), policies, strict=True)
    )
    assert one.columns[:6] == [
        *("id", "judge_name", "judge", "verdict", "judge_verdict", "learned_doubt"),
    ]
    words = {"A": "pass", "B": "fail"}
    assert one["verdict"].to_list() == [words[w] for w in other["verdict"]]
    assert one["judge"].to_list() == [int(word == "pass") for word in one["verdict"]]
    assert one["accepted"].to_list() == other["accepted"].to_list()
    assert not any("pair" in line for line in policies[0].assumptions + policies[0].warnings)


def test_the_accepted_grade_is_the_verdict_and_the_judges_own_is_kept() -> None:
    """A judge that is worse than a coin: the learned doubt overturns it."""
    right, _ = tables(600)
    wrong = right.with_columns(judge=1 - pl.col("judge"), p_pass=1 - pl.col("p_pass"))
    rows = select(wrong, calibrate(wrong, alpha=0.15, doubt="learned")).rows
    assert rows["judge"].to_list() == right["judge"].to_list()
    assert (rows["verdict"] != rows["judge_verdict"]).all()
    assert read_grades(rows)["verdict"].to_list() == rows["verdict"].to_list()
    assert prepare_grades(rows).judge.tolist() == right["judge"].to_list()
    assert calibrate(rows, alpha=0.45) == calibrate(wrong, alpha=0.45)


def test_low_answer_mass_is_off_the_answer() -> None:
    mass = pl.when(pl.int_range(300) % 3 == 0).then(0.05).otherwise(0.9)
    grades = tables()[0].with_columns(answer_mass=mass, sampled_by=pl.lit("random"))
    policy = calibrate(grades, alpha=0.15, min_answer_mass=0.1)
    assert policy.dropped == {"status off_answer": 100}
    rows = select(grades, policy).rows
    off = rows.filter(pl.col("answer_mass") < 0.1)
    assert off.select("status", "p_pass", "judge", "accepted").unique().rows() == [
        ("off_answer", None, None, False)
    ]
    assert set(off["reason"]) == {"status off_answer"}


def test_labels_of_the_surest_grades_make_a_policy_for_them() -> None:
    grades, pairs = tables()
    plans = [
        plan_labels(rows.drop(["human", "label"], strict=False), surest=0.6, n=100)
        for rows in (grades, pairs)
    ]
    assert plans[0].ids == plans[1].ids
    labels = plans[0].to_frame().join(grades.select("id", "human"), on="id")
    policy = calibrate(grades.drop("human"), labels=labels, alpha=0.1)
    assert [cut.share for cut in policy.cuts] == [0.6]
    rows = select(grades, policy).rows
    assert rows.filter(pl.col("reason") == BEYOND).height > 0
    assert policy.n_accepted > 0


def test_texts_of_pairs_do_not_go_with_grades() -> None:
    with pytest.raises(ArgumentError, match="leave it out: these are grades"):
        calibrate(tables()[0], pairs={"id": ["r0"]}, doubt="learned")


def test_labels_of_verdicts_without_doubt_are_counted_once() -> None:
    rows = pl.DataFrame(
        {
            "id": [f"r{k}" for k in range(40)],
            "judge": [1, 0] * 20,
            "human": [1, 0] * 10 + [None] * 20,
            "started_from": ["judge"] * 3 + [None] * 37,
            "labelled_by": [None] * 3 + ["model"] * 4 + [None] * 33,
            "sampled_by": [None] * 7 + ["doubt"] * 2 + [None] * 31,
        }
    )
    plan = plan_labels(rows, n=10)
    assert plan.dropped == {
        "label started from the judge's answer: not used, its row is unlabelled": 3,
        "label sampled by doubt: not used, its row is unlabelled": 2,
    }
    assert plan.warnings == (
        "4 labels were made by a model: their rows are not drawn (see --model-labels)",
    )
    with pytest.raises(ArgumentError, match="only 25 unlabelled rows"):
        plan_labels(rows, n=30)
