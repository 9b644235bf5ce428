"""Labels drawn among the surest rows: the draw, and what calibrate, select and serve make of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from adjudge.data import prepare_judgments, write_result, write_rows
from adjudge.errors import ArgumentError, DataError, InputError, PolicyMismatchError
from adjudge.judges import judge_pairs
from adjudge.judges.judge import make_judge, parse_judge, parse_protocol
from adjudge.policy.result import Cut
from adjudge.records import Pair
from adjudge.selection import (
    Jury,
    calibrate,
    evaluate_doubt,
    plan_labels,
    plan_selection,
    read_policy,
    select,
)
from adjudge.selection.labelled import BEYOND
from adjudge.selection.verifying import contradictions
from adjudge.server.service import Case, JudgeService
from adjudge.simulate.pairs import two_order_judge


def judge_rows(n=1000, *, judge="x", seed=0):
    rows = pl.DataFrame(two_order_judge(n, skill=2.0, seed=seed))
    return rows.with_columns(
        judge=pl.lit(judge), protocol=pl.lit("preference"), judge_fingerprint=pl.lit(f"{judge}1")
    )


ROWS = judge_rows()
POOL, TRUTH = ROWS.drop("label"), ROWS.select("id", "label")


def labelled(plan):
    return plan.to_frame().join(TRUTH, on="id", maintain_order="left")


def doubt_of(frame):
    p = (frame["p_fwd"] + frame["p_rev"]).to_numpy() / 2
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


PLAN = plan_labels(POOL, surest=0.6, n=200, seed=5)
LABELS = labelled(PLAN)


# --- the draw --------------------------------------------------------------------------------


def test_the_draw_is_among_the_surest_and_says_so():
    doubt = dict(zip(POOL["id"], doubt_of(POOL), strict=True))
    drawn = PLAN.to_frame()
    assert PLAN.cut == Cut(
        judge="x", protocol="preference", judge_fingerprint="x1", at=PLAN.cut.at, share=0.6
    )
    assert sum(value <= PLAN.cut.at + 1e-12 for value in doubt.values()) == 600
    assert max(doubt[name] for name in drawn["id"]) <= PLAN.cut.at + 1e-12
    assert drawn.row(0, named=True) == {
        "id": PLAN.ids[0],
        "sampled_by": "surest",
        **PLAN.cut.columns,
    }
    assert drawn["id"].n_unique() == PLAN.n == 200


def test_the_draw_goes_by_id_and_seed_alone():
    shuffled = POOL.sample(fraction=1, shuffle=True, seed=3)
    assert plan_labels(shuffled, surest=0.6, n=200, seed=5).ids == PLAN.ids
    assert plan_labels(POOL, surest=0.6, n=200, seed=6).ids != PLAN.ids
    # In random order: whoever stops early has labelled a random part of it.
    assert list(PLAN.ids) != sorted(PLAN.ids)


def test_every_row_below_the_cut_is_drawn_as_often():
    ids = [f"r{i}" for i in range(10)]
    rows = {"id": ids, "uncertainty": np.arange(10) / 20, "p_a": [0.9] * 10}
    prepared = prepare_judgments(rows)
    drawn = [plan_labels(prepared, surest=0.5, n=2, seed=seed).ids for seed in range(200)]
    times = [sum(name in one for one in drawn) for name in ids]
    assert times[5:] == [0] * 5
    # 80 expected; five standard deviations of a binomial are 35.
    assert all(45 < n < 115 for n in times[:5])


def test_tied_rows_enter_together():
    rows = {
        "id": range(100),
        "p_a": [0.9] * 100,
        "uncertainty": [0.1] * 55 + [0.3] * 30 + [0.5] * 15,
    }
    plan = plan_labels(rows, surest=0.6, n=10)
    assert (plan.cut.at, plan.cut.share, plan.n_below) == (0.3, 0.85, 85)
    assert plan_labels(rows, surest=0.55, n=10).cut.at == 0.1
    with pytest.raises(ArgumentError, match="all rows are tied at the cut"):
        plan_labels(rows, surest=0.9, n=10)


def test_what_cannot_be_drawn_is_refused():
    two = pl.concat([POOL, judge_rows(judge="y").drop("label")])
    with pytest.raises(ArgumentError, match=r"judge = None: choose one of x \(preference\), y \("):
        plan_labels(two, surest=0.6)
    assert plan_labels(two, surest=0.6, judge="x", n=200, seed=5).ids == PLAN.ids
    with pytest.raises(ArgumentError, match="only 600 unlabelled rows below the cut are left"):
        plan_labels(POOL, surest=0.6, n=601)
    with pytest.raises(ArgumentError, match="surest = 1: give a number strictly between 0 and 1"):
        plan_labels(POOL, surest=1)


def test_a_second_draw_has_the_same_cut_and_other_rows():
    more = plan_labels(POOL, surest=0.6, n=300, labels=LABELS, seed=5)
    assert more.cut == PLAN.cut
    assert not set(more.ids) & set(PLAN.ids)
    assert more.warnings == ()
    both = pl.concat([LABELS, labelled(more)])
    assert calibrate(POOL, labels=both).n_calibration == 500
    wider = plan_labels(POOL, surest=0.8, n=100, labels=LABELS)
    assert "earlier labels were sampled among the surest 60 %" in wider.warnings[0]


def test_a_random_draw_meets_rows_that_were_labelled_for_their_score():
    rows = POOL.head(12).with_columns(
        label=pl.Series(["A"] * 8 + [None] * 4),
        sampled_by=pl.Series(
            ["doubt", "surest", "audit", "random", "plan", None, "doubt", "doubt"] + [None] * 4
        ),
    )
    free = sorted(plan_labels(rows, n=9).ids)
    assert free == sorted(rows.filter(~pl.int_range(12).is_in([3, 4, 5]))["id"])
    assert plan_labels(rows, n=9).sampled_by == "random"


def test_rows_that_the_judge_did_not_answer_are_not_drawn():
    """They cannot calibrate. A row with p of one half does, as an error, and can be drawn."""
    rows = {
        "id": range(12),
        "p_a": [None, None, None, 0.5] + [0.8] * 8,
        "status": ["error", "error", "off_answer", "ok"] + ["ok"] * 8,
    }
    plan = plan_labels(rows)
    assert sorted(map(int, plan.ids)) == list(range(3, 12))
    assert (plan.n_pool, plan.dropped) == (9, {"status error": 2, "status off_answer": 1})
    assert str(plan).endswith("left out 2 rows: status error\nleft out 1 row: status off_answer")


@pytest.mark.parametrize("use", [plan_labels, calibrate, evaluate_doubt, plan_selection])
def test_what_is_not_a_way_of_sampling_is_refused_by_every_verb(use):
    rows = POOL.head(40).with_columns(label=pl.lit("A"), sampled_by=pl.lit(3))
    with pytest.raises(DataError, match="row 1, column sampled_by: '3' is not known; use random"):
        use(rows)
    unlabelled = rows.with_columns(label=pl.lit(None, pl.String))
    assert plan_labels(unlabelled, surest=0.5, n=5).n == 5


def test_of_a_cluster_one_row_is_drawn():
    rows = POOL.with_row_index("n").with_columns(prompt_id=pl.col("n") // 4).drop("n")
    plan = plan_labels(rows, surest=0.6, n=100)
    assert rows.filter(pl.col("id").is_in(plan.ids))["prompt_id"].n_unique() == 100


# --- calibrate -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl", "labels.parquet"])
def test_the_cut_comes_through_files_to_the_policy(name, tmp_path):
    write_rows(LABELS, tmp_path / name)
    policy = calibrate(POOL, labels=tmp_path / name, guarantee="pac")
    assert policy.cuts == (PLAN.cut,)
    assert policy.n_calibration == 200
    assert policy.promise.startswith(
        "among the surest 60 % of the verdicts of x (preference): with probability at least 90 %"
    )
    assert any("was not chosen with these labels" in line for line in policy.assumptions)
    path = write_result(policy, tmp_path / "policy.json")
    assert read_policy(path) == policy


def test_random_labels_count_below_the_cut_only():
    rest = POOL.filter(~pl.col("id").is_in(PLAN.ids))
    random = labelled(plan_labels(rest, n=100, seed=1))
    policy = calibrate(POOL, labels=pl.concat([LABELS, random], how="diagonal"))
    doubt = dict(zip(POOL["id"], doubt_of(POOL), strict=True))
    inside = sum(doubt[name] <= PLAN.cut.at + 1e-12 for name in random["id"])
    assert 0 < inside < 100
    assert policy.n_calibration == 200 + inside
    assert policy.dropped[BEYOND] == 100 - inside


def test_of_two_cuts_of_one_score_the_lower_one_holds():
    narrow = plan_labels(POOL, surest=0.3, n=50, labels=LABELS, seed=2)
    policy = calibrate(POOL, labels=pl.concat([LABELS, labelled(narrow)]))
    assert policy.cuts == (narrow.cut,)
    assert policy.dropped[BEYOND] + policy.n_calibration == 250


@pytest.mark.parametrize("guarantee", ["scope", "pac"])
def test_where_everything_passes_the_rule_ends_at_the_cut(guarantee):
    agreeing = LABELS.drop("label").join(
        POOL.select(
            "id",
            label=pl.when(pl.col("p_fwd") + pl.col("p_rev") > 1)
            .then(pl.lit("A"))
            .otherwise(pl.lit("B")),
        ),
        on="id",
    )
    policy = calibrate(POOL, labels=agreeing, guarantee=guarantee)
    assert (policy.accepts, policy.threshold) == ("below", PLAN.cut.at)
    assert {other.accepts for other in policy.alternatives} == {"below", "batch"}
    accepted = select(POOL, policy).rows.filter("accepted")
    assert accepted.height == 600
    assert list(contradictions(policy, source="policy")) == []


def test_a_label_without_its_cut_is_refused():
    bare = LABELS.drop("cut")
    with pytest.raises(DataError, match="column cut: is missing .* --plan FILE"):
        calibrate(POOL, labels=bare)
    torn = LABELS.with_columns(cut=pl.lit("low"))
    with pytest.raises(DataError, match="column cut: 'low' is not a number"):
        calibrate(POOL, labels=torn)


def test_labels_of_another_prompt_are_refused():
    other = POOL.with_columns(judge_fingerprint=pl.lit("x2"))
    with pytest.raises(
        PolicyMismatchError, match="the rows of this judge have another fingerprint"
    ) as caught:
        calibrate(other, labels=LABELS)
    assert caught.value.differs == ("judge_fingerprint",)


def test_evaluate_and_plan_selection_leave_them_out():
    for verb in (evaluate_doubt, plan_selection):
        with pytest.raises(DataError, match="200 labels were sampled by surest"):
            verb(POOL, labels=LABELS)


# --- select ----------------------------------------------------------------------------------

POLICY = calibrate(POOL, labels=LABELS, guarantee="scope", alpha=0.2)


def new_rows(seed=9):
    return judge_rows(seed=seed).drop("label")


def test_nothing_beyond_the_cut_is_accepted():
    lax = replace(POLICY, groups=(replace(POLICY.groups[0], accepts="all", threshold=None),))
    rows = select(new_rows(), lax).rows
    beyond = rows["uncertainty"].to_numpy() > PLAN.cut.at
    assert set(rows.filter(beyond)["reason"]) == {BEYOND}
    assert rows.filter(~beyond)["accepted"].all()


def test_drift_is_of_the_rows_below_the_cut():
    drift = select(new_rows(), POLICY).summary.drift
    assert drift.tested
    assert not drift.flagged
    assert drift.n_new == (select(new_rows(), POLICY).rows["uncertainty"] <= PLAN.cut.at).sum()


def test_a_batch_is_of_the_rows_below_the_cut():
    policy = calibrate(POOL, labels=LABELS, guarantee="fdr", alpha=0.1)
    rows = select(new_rows(), policy).rows
    inside = new_rows().filter(pl.Series(rows["uncertainty"] <= PLAN.cut.at))
    alone = select(inside, policy).rows
    assert alone["accepted"].sum() == rows["accepted"].sum() > 0
    assert alone.filter("accepted")["id"].to_list() == rows.filter("accepted")["id"].to_list()


def test_another_judge_or_a_jury_keeps_to_the_cut_of_the_first():
    both = pl.concat(
        [POOL, judge_rows(judge="y").with_columns(p_fwd="p_rev", p_rev="p_fwd").drop("label")]
    )
    members = both.filter(pl.col("id").is_in(POOL["id"].to_list()))
    with pytest.raises(PolicyMismatchError, match="its judgments are missing; give them too"):
        calibrate(members, labels=LABELS, judge="y")
    policy = calibrate(members, labels=LABELS, doubt=Jury("mean"), alpha=0.2)
    assert policy.cuts == (PLAN.cut,)
    assert policy.accepts == "below"
    assert list(contradictions(policy, source="policy")) == []
    rows = select(members, policy).rows
    surest = set(POOL.filter(pl.Series(doubt_of(POOL) <= PLAN.cut.at + 1e-12))["id"])
    assert set(rows.filter("accepted")["id"]) <= surest
    assert set(rows.filter(reason=BEYOND)["id"]) == set(POOL["id"]) - surest
    with pytest.raises((PolicyMismatchError, ArgumentError)):
        select(members.filter(judge="y"), policy)


# --- serve -----------------------------------------------------------------------------------


def test_serve_accepts_nothing_beyond_the_cut():
    spec, protocol = "simulated:accuracy=0.8,noise=0.5", "preference"
    judge = make_judge(parse_judge(spec), parse_protocol(protocol))
    pairs = [
        Pair(id=str(i), prompt=f"What is {i} + 1?", response_a=str(i + 1), response_b="?")
        for i in range(80)
    ]
    judged = judge_pairs(pairs, judge=spec, protocol=protocol, store=None).judgments
    plan = plan_labels(judged, surest=0.4, n=20)
    agreeing = plan.to_frame().join(judged.select("id", label="verdict"), on="id")
    policy = calibrate(judged, labels=agreeing)
    assert policy.threshold == plan.cut.at

    async def rule():
        service = JudgeService(judge, policy)
        return await service.rule_many([Case(subject=one) for one in pairs])

    rulings = asyncio.run(rule())
    assert sum(ruling.accepted for ruling in rulings) == plan.n_below == 32
    assert {r.reason for r in rulings if r.judgment.uncertainty > plan.cut.at} == {BEYOND}
    other = replace(policy, cuts=(replace(plan.cut, judge="another"),))
    with pytest.raises(InputError, match="serve asks one judge"):
        JudgeService(judge, other)


# --- the file --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"accepts": "all", "threshold": None}, "groups.0.accepts"),
        ({"threshold": 0.69}, "groups.0.threshold"),
        ({"scores": (*POLICY.groups[0].scores[:-1], 0.69)}, "groups.0.scores"),
    ],
)
def test_a_policy_that_goes_beyond_its_cut_is_refused(change, field):
    changed = replace(POLICY, groups=(replace(POLICY.groups[0], **change),))
    assert next(contradictions(changed, source="policy")).field == field


def test_a_cut_that_was_taken_out_is_noticed(tmp_path):
    path = write_result(POLICY, tmp_path / "policy.json")
    assert json.loads(path.read_text())["cuts"][0]["at"] == PLAN.cut.at
    differs = [one.field for one in contradictions(replace(POLICY, cuts=()), source="policy")]
    assert "promise" in differs


def test_a_plan_draws_two_hundred_rows_or_all() -> None:
    rows = {"id": range(30), "p_a": [0.6] * 30, "label": ["A"] * 10 + [None] * 20}
    assert plan_labels(rows).n == 20
    many = {"id": range(900), "p_a": [0.6] * 900}
    assert plan_labels(many).n == 200
    with pytest.raises(ArgumentError, match="only 20 unlabelled rows are left"):
        plan_labels(rows, n=21)
    with pytest.raises(ArgumentError, match="only 0 unlabelled rows are left"):
        plan_labels({**rows, "label": ["A"] * 30})


def test_a_random_draw_needs_no_doubt() -> None:
    """Grades of 0 and 1 have none; rows that a second file labels are not drawn again."""
    rows = {"id": range(30), "judge": [0, 1] * 15}
    labels = {"id": range(10), "label": [1, 0] * 5}
    assert sorted(map(int, plan_labels(rows, labels=labels).ids)) == list(range(10, 30))
    repeated = {**rows, "prompt_id": [n // 3 for n in range(30)]}
    assert plan_labels(repeated).n == 10
    with pytest.raises(DataError, match="column p_a: is missing"):
        plan_labels(rows, surest=0.5)
    with pytest.raises(DataError, match="column id: is missing; name yours: --column id=NAME"):
        plan_labels({"judge": [0, 1]})


def _labelled_but(**origin: str) -> pl.DataFrame:
    """Ten rows, of which the first five have a label of this origin."""
    rows = {"id": [f"x{i}" for i in range(10)], "p_a": [0.9 - i / 100 for i in range(10)]}
    five = [True] * 5 + [False] * 5
    columns = {name: [word if has else None for has in five] for name, word in origin.items()}
    return pl.DataFrame({**rows, "label": ["A" if has else None for has in five], **columns})


@pytest.mark.parametrize(
    ("origin", "reason"),
    [
        ({"started_from": "Judge"}, "label started from the judge's answer"),
        ({"sampled_by": "DOUBT"}, "label sampled by doubt"),
        ({"sampled_by": "browsed"}, "label sampled by browsed"),
    ],
)
@pytest.mark.parametrize("surest", [None, 0.9])
def test_a_row_whose_label_is_not_used_is_drawn(
    origin: dict[str, str], reason: str, surest: float | None
) -> None:
    plan = plan_labels(_labelled_but(**origin), surest=surest)
    assert {f"x{i}" for i in range(5)} <= {*plan.ids}
    assert plan.dropped == {f"{reason}: not used, its row is unlabelled": 5}


def test_rows_that_a_model_labelled_are_not_drawn_and_this_is_said() -> None:
    plan = plan_labels(_labelled_but(labelled_by="MODEL"))
    assert {*plan.ids} == {f"x{i}" for i in range(5, 10)}
    made = "5 labels were made by a model: their rows are not drawn (see --model-labels)"
    assert plan.warnings == (made,)
    assert f"note: {made}" in str(plan)


def test_words_about_the_origin_of_labels_are_refused_if_unknown() -> None:
    with pytest.raises(DataError, match="'machine' is not known; use person or model"):
        plan_labels(_labelled_but(labelled_by="machine"))
