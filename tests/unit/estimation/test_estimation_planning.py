"""Plans: widths, splits, draws, and whether the judge is worth having."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.estimation import (
    corrected_interval,
    estimate,
    plan_rate,
    proposition_61,
    rows_to_label,
)
from adjudge.estimation.label_budget import PlanInputs
from adjudge.statistics.numbers import binomial_interval

PAPER = {"judge_rate": 0.55, "sensitivity": 0.9, "specificity": 0.7, "n_test": 1000}


def test_the_width_asked_for_is_met_and_not_by_one_label_fewer() -> None:
    plan = plan_rate(**PAPER, width=0.2)
    assert plan.expected_width <= 0.2
    fewer = plan_rate(**PAPER, budget=plan.labels - 1)
    assert fewer.expected_width > 0.2
    low, high, _ = corrected_interval(0.55, 0.7, 0.9, 1000, plan.m0, plan.m1)
    assert plan.expected_width == pytest.approx(float(high - low))


def test_too_few_test_rows_make_a_width_infeasible() -> None:
    plan = plan_rate(**(PAPER | {"n_test": 100}), width=0.05)
    assert plan.m0 is plan.m1 is plan.expected_width is None
    assert plan.human_only_labels is not None
    assert plan.recommendation == (f"width 0.05 needs {plan.human_only_labels:,} with people alone")
    assert not plan.judge_helps
    assert not plan.feasible
    assert plan.reason.startswith("misclassification cannot give width 0.05: the 100 test rows")


def test_the_cheapest_way_comes_first_and_labels_there_count() -> None:
    pilot = {"judge": [1] * 90 + [0] * 30 + [1] * 30 + [1, 1, 1, 0] * 750}
    pilot["human"] = [1] * 90 + [0] * 60 + [None] * 3000  # sensitivity 1, specificity 1/2
    plan = plan_rate(pilot, width=0.12)
    assert plan.conditional_labels < plan.human_only_labels < plan.labels
    more = max(plan.conditional_labels - 150, 0)
    said = f"{plan.conditional_labels} random labels (150 exist, {more} more)"
    assert plan.recommendation == (
        f"width 0.12 needs {said} with conditional, {plan.human_only_labels} with people alone, "
        f"{plan.labels} split by class with misclassification"
    )
    # It saves labels, although misclassification alone has more variance than people.
    assert plan.judge_helps
    assert plan.variance_ratio > 1
    assert "people alone do better than it" in plan.explain()
    assert plan.expected_draws == max(
        math.ceil((plan.m1 - 90) / plan.rate) if plan.m1 > 90 else 0,
        math.ceil((plan.m0 - 60) / (1 - plan.rate)) if plan.m0 > 60 else 0,
    )
    drawn = rows_to_label(pilot, plan)
    assert drawn.height == more > 0
    few = replace(plan, conditional_labels=None)
    assert rows_to_label(pilot, few).height == math.ceil(1.2 * plan.expected_draws)
    # 400 test rows are too few to correct the judge; random labels with conditional are enough.
    short = {name: values[:550] for name, values in pilot.items()}
    plan = plan_rate(short, width=0.12)
    assert plan.m0 is None
    assert plan.feasible
    assert rows_to_label(short, plan).height == plan.conditional_labels - 150 > 0
    plan = plan_rate(pilot, width=0.12)
    by_verdict = rows_to_label(pilot, plan, draw="verdict")
    assert by_verdict["judge"].to_list() == [1] * (plan.verdict_m1 - 120)
    assert plan.verdict_m0 == 30  # these exist, and are enough
    assert rows_to_label(pilot, plan_rate(pilot, budget=20)).height == 0


def test_rows_are_drawn_from_verdicts_in_words_of_truth() -> None:
    rows = {"judge": ["true", "false"] * 100, "human": ["true", "false"] * 20 + [None] * 160}
    plan = plan_rate(rows, budget=100)
    assert rows_to_label(rows, plan, draw="verdict").height == 60


def test_a_quota_that_the_rows_cannot_fill_is_warned_of() -> None:
    plan = plan_rate(judge_rate=0.1, sensitivity=0.9, specificity=0.92, n_test=300, budget=280)
    assert plan.expected_draws > 300
    assert any("cannot be filled here" in text for text in plan.how_to_draw)
    assert not plan.warnings


def test_no_plan_has_fewer_labels_than_its_formula_can_be_trusted_with() -> None:
    """At the reporting paper's Figure 3 point the rate is 0, and with it every formula's noise."""
    point = {"judge_rate": 0.3, "sensitivity": 0.9, "specificity": 0.7, "n_test": 100_000}
    plan = plan_rate(**point, width=0.1)
    assert plan.rate == 0
    assert plan.conditional_labels * 0.3 >= 10
    assert plan.recommendation.startswith(
        f"width 0.1 needs {plan.human_only_labels} with people alone, "
    )
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(40):
        judge = (rng.random(2000) < 0.3).astype(int).tolist()  # people say 0 to every row
        m = plan.conditional_labels
        got = estimate(judge=judge, human=[0] * m + [None] * (2000 - m), method="conditional")
        widths.append(got.high - got.low)
    assert np.mean(widths) == pytest.approx(plan.conditional_width, rel=0.05)
    assert np.mean(widths) <= 0.103
    two = plan_rate(**point, budget=2)
    assert two.conditional_width > 0.4
    assert any("use 34 or more" in text for text in two.warnings)


def test_a_trial_holds_the_rate_and_counts_draws_without_a_number() -> None:
    plan = plan_rate(**PAPER, budget=200)
    assert 0.93 < plan.simulated_coverage < 0.98
    rare = plan_rate(judge_rate=0.02, sensitivity=0.9, specificity=0.999, n_test=5000, budget=20)
    # Most draws of 20 hold no row of verdict 1: no number, which counts as a width of 1.
    assert rare.conditional_width > 0.6


def test_more_labels_than_rows_leave_nothing_to_the_judge() -> None:
    plan = plan_rate(**(PAPER | {"n_test": 150}), budget=200)
    assert plan.conditional_width is plan.simulated_coverage is None
    assert "200 random labels leave no row to the judge" in plan.recommendation
    plan_rate(**(PAPER | {"n_test": 150}), budget=200).plot()


def test_a_pilot_picked_by_plan_is_weighted() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(20_000) < 0.5
    judge = np.where(rng.random(20_000) < np.where(truth, 0.86, 0.7), truth, ~truth).astype(int)
    chance = np.where(judge == 1, 0.05, 0.2)
    picked = rng.random(20_000) < chance
    frame = pl.DataFrame(
        {
            "judge": judge,
            "human": [int(t) if p else None for t, p in zip(truth, picked, strict=True)],
            "sampled_by": ["plan" if p else None for p in picked],
            "sampling_probability": chance,
        }
    )
    plan = plan_rate(frame, budget=800)
    weighted = estimate(frame)
    m1 = weighted.n_calibration_positive
    assert plan.sensitivity == pytest.approx((m1 * weighted.sensitivity + 1) / (m1 + 2))
    assert plan.sensitivity == pytest.approx(0.86, abs=0.05)
    assert plan.specificity == pytest.approx(0.7, abs=0.05)
    as_if_random = plan_rate(frame.drop("sampled_by", "sampling_probability"), budget=800)
    assert as_if_random.sensitivity < 0.7
    mixed = frame.with_columns(
        human=pl.when(pl.int_range(pl.len()) < 5).then(1).otherwise("human"),
        sampled_by=pl.when(pl.int_range(pl.len()) < 5)
        .then(pl.lit("random"))
        .otherwise("sampled_by"),
    )
    with pytest.raises(ArgumentError, match="give --sensitivity and --specificity"):
        plan_rate(mixed, budget=800)
    plan_rate(mixed, budget=800, sensitivity=0.9, specificity=0.7)


def test_a_coin_cannot_be_planned_for() -> None:
    plan = plan_rate(judge_rate=0.5, sensitivity=0.5, specificity=0.5, n_test=100, budget=50)
    assert plan.m0 is plan.expected_width is None
    assert "not better than chance" in plan.reason
    low, high = binomial_interval(25, 50, 0.95)
    assert plan.human_only_width == pytest.approx(high - low)
    plan.to_json()


def test_exact_variance_and_proposition_61_agree_where_the_proposition_holds() -> None:
    for q in (0.7, 0.86, 0.9, 0.97):
        for theta in np.linspace(0.02, 0.98, 49):
            region = proposition_61(q)
            inside = region is not None and region[0] <= theta <= region[1]
            p = theta * q + (1 - theta) * (1 - q)
            plan = plan_rate(
                judge_rate=p, sensitivity=q, specificity=q, n_test=10**12, budget=10**6
            )
            assert (plan.variance_ratio <= 1) == inside
            assert plan.judge_helps == (
                min(plan.conditional_width or 1, plan.expected_width) < plan.human_only_width
            )


def test_more_labels_are_narrower_and_the_step_is_reported() -> None:
    pilot = {"judge": [1] * 54 + [0] * 6 + [1] * 12 + [0] * 28, "human": [1] * 60 + [0] * 40}
    plan = plan_rate(pilot, **PAPER, width=0.2)
    now, *more = plan.next_labels
    assert now.extra == 0
    assert all(step.extra == 50 and step.expected_width < now.expected_width for step in more)
    algorithm = next(step for step in more if "Algorithm" in step.how)
    assert algorithm.expected_width <= min(step.expected_width for step in more) + 0.005


def judged_rows(n: int, labelled: int, seed: int) -> pl.DataFrame:
    """Rows of a judge with sensitivity 0.9 and specificity 0.8, the first ones labelled."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.6
    judge = np.where(rng.random(n) < np.where(truth, 0.9, 0.8), truth, ~truth)
    frame = pl.DataFrame({"id": range(n), "judge": judge, "truth": truth}).cast(pl.Int64)
    human = pl.when(pl.int_range(n) < labelled).then("truth")
    return frame.with_columns(human=human)


@pytest.mark.parametrize(("labelled", "width"), [(0, 0.1), (100, 0.1), (100, 0.06)])
def test_rows_by_verdict_are_those_of_the_plan_and_reach_the_width(
    labelled: int, width: float
) -> None:
    """Before, they were as many as misclassification needs: 1,115 where 447 are enough."""
    quality = {"sensitivity": 0.9, "specificity": 0.8}
    widths, rates = [], []
    for seed in range(12):
        rows = judged_rows(3000, labelled, seed)
        plan = plan_rate(rows, width=width, **quality)
        drawn = rows_to_label(rows, plan, draw="verdict", seed=seed)
        totals = pl.concat([rows.filter(pl.col("human").is_not_null()), drawn], how="diagonal")
        sizes = dict(totals.group_by("judge").len().iter_rows())
        assert sizes == {0: plan.verdict_m0, 1: plan.verdict_m1}
        assert plan.verdict_width <= width
        assert plan.needed("verdict") < 1.02 * plan.conditional_labels < plan.labels
        how = drawn.select("id", "sampled_by", "sampling_probability")
        new = pl.col("sampled_by").is_not_null()
        filled = rows.join(how, on="id", how="left").with_columns(
            human=pl.when(new).then("truth").otherwise("human")
        )
        result = estimate(filled.drop("truth"), method="conditional")
        widths.append(result.interval.high - result.interval.low)
        rates.append(result.estimate)
    # The mean of 12 widths: each varies by a few percent with the sample.
    assert np.mean(widths) == pytest.approx(width, rel=0.04)
    assert np.mean(rates) == pytest.approx(0.6, abs=3 * width / 3.92 / math.sqrt(12))


def test_a_plan_by_verdict_has_at_most_the_rows_of_a_verdict_and_ten_of_each() -> None:
    inputs = PlanInputs(p=0.95, q0=0.3, q1=0.99, n=1000, have=(0, 0), level=0.95)
    assert inputs.by_verdict(990) == (50, 940)  # Neyman's rule: 62 of verdict 0; there are 50
    assert min(inputs.by_verdict(20)) == 10
    for p in (0.3, 0.7):  # either verdict can have the larger share
        even = PlanInputs(p=p, q0=0.9, q1=0.9, n=10_000, have=(0, 0), level=0.95)
        r1, r0 = even.human_rates
        a1, a0 = p * math.sqrt(r1 * (1 - r1)), (1 - p) * math.sqrt(r0 * (1 - r0))
        assert even.by_verdict(400).m1 == round(400 * a1 / (a1 + a0))
    assert replace(inputs, behind=(5, 204)).by_verdict(215) == (11, 204)
    assert replace(inputs, p=0.0).by_verdict(100) == (100, 0)
    plan = plan_rate(judge_rate=0.95, sensitivity=0.99, specificity=0.3, n_test=60, width=0.01)
    assert not plan.can_draw("verdict")


def test_no_number_of_labels_is_said_in_words() -> None:
    plan = plan_rate(**PAPER, width=1e-4)
    assert plan.recommendation == "no number of labels gives width 0.0001"


def test_drawn_rows_are_unlabelled_and_carry_their_probability() -> None:
    frame = pl.DataFrame(
        {
            "id": [str(i) for i in range(100)],
            "judge": [1] * 70 + [0] * 30,
            "human": [1] * 10 + [None] * 90,
        }
    )
    plan = replace(plan_rate(**PAPER, budget=30), verdict_m0=15, verdict_m1=22)
    random = rows_to_label(frame, plan, seed=1)
    assert random.height == 20
    assert random["human"].null_count() == 20
    assert set(random["sampled_by"]) == {"random"}
    assert random["sampling_probability"].to_list() == pytest.approx([20 / 90] * 20)
    assert not random.equals(rows_to_label(frame, plan, seed=2))
    verdict = rows_to_label(frame, plan, draw="verdict", seed=1)
    assert verdict.group_by("judge").len().sort("judge")["len"].to_list() == [15, 12]
    chance = dict(verdict.select("judge", "sampling_probability").unique().iter_rows())
    assert chance == {0: 15 / 30, 1: 12 / 60}
    assert set(verdict["sampled_by"]) == {"plan"}
    # People read the rows in no order of verdicts.
    assert not verdict["judge"].equals(verdict["judge"].sort())
    assert not verdict["judge"].equals(verdict["judge"].sort(descending=True))
    with pytest.raises(ArgumentError, match="not labelled yet"):
        rows_to_label(frame.head(10), plan)


def test_a_plan_for_verdicts_in_words_and_a_table_without_labels() -> None:
    words = {"judge": ["A", "B", "A", None] * 60}
    guess = {"sensitivity": 0.8, "specificity": 0.8}
    plan = plan_rate(words, budget=60, positive="A", **guess)
    assert plan.judge_rate == pytest.approx(2 / 3)
    drawn = rows_to_label(words, plan, draw="verdict", positive="A")
    sizes = dict(drawn.group_by("judge").len().iter_rows())
    assert sizes == {"A": plan.verdict_m1, "B": plan.verdict_m0}
    with pytest.raises(ArgumentError, match="--positive NAME"):
        plan_rate(words, budget=60, **guess)


@pytest.mark.parametrize("sensitivity", [0.9, 0.2])  # the second is not better than chance
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"width": 0}, "width = 0: give a number above 0"),
        ({"width": -0.1}, "width = -0.1: give a number above 0"),
        ({"budget": 0}, "budget = 0: give a whole number, 2 or more"),
        ({"budget": 50, "step": 0}, "step = 0: give a whole number, 1 or more"),
    ],
)
def test_a_plan_for_nothing_is_refused_whatever_the_judge(
    sensitivity: float, bad: dict[str, float], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        plan_rate(**(PAPER | {"sensitivity": sensitivity}), **bad)


def test_verdicts_in_numbers_are_drawn_by_verdict_for_labels_in_words() -> None:
    table = {"judge": [1, 0] * 30, "human": ["yes", "no"] * 10 + [None] * 40}
    plan = plan_rate(table, budget=40, positive="yes")
    drawn = rows_to_label(table, plan, draw="verdict", positive="yes")
    counts = drawn.group_by("judge").len().sort("judge")["len"].to_list()
    assert counts == [plan.verdict_m0 - 10, plan.verdict_m1 - 10]
