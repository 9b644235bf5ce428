"""Verdicts in both orders without probabilities: their agreement is the doubt, in every verb."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from adjudge.data.judgments import BY_ORDERS, fixed_doubts, prepare_judgments
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import DataError, PolicyMismatchError
from adjudge.policy.result import Contradiction, Policy
from adjudge.selection import calibrate, evaluate_doubt, select
from adjudge.selection.guarantees import Guarantee
from adjudge.selection.guarantees.pac import PAC
from adjudge.selection.splits import random_halves
from adjudge.selection.thresholds import Levels, SplitCounts, SplitTable
from adjudge.selection.verifying import contradictions
from adjudge.statistics.entropy import entropy_of

ROWS = {
    "id": ["agree", "half", "against", "ties", "one", "late", "b"],
    "verdict_fwd": ["A", "tie", "A", "tie", "A", "A", "b"],
    "verdict_rev": ["A", "A", "B", "tie", None, "Timeout", "B"],
    "label": ["A", "A", "B", "A", "A", "A", "B"],
}


def many(agreed: int, wrong: int, against: int) -> pl.DataFrame:
    """`wrong` of the `agreed` rows are wrong; in `against` rows the orders contradict."""
    n = agreed + against
    return pl.DataFrame(
        {
            "id": range(n),
            "judge": "gpt",
            "verdict_fwd": ["A"] * n,
            "verdict_rev": ["A"] * agreed + ["B"] * against,
            "label": ["B"] * wrong + ["A"] * (n - wrong),
        }
    )


def test_agreement_is_the_doubt_and_contradiction_is_no_verdict() -> None:
    frame = prepare_judgments(ROWS).frame
    assert frame["p_a"].to_list() == [1.0, 0.75, 0.5, 0.5, None, None, 0.0]
    assert frame["verdict"].to_list() == ["A", "A", None, None, None, None, "B"]
    assert frame["status"].to_list() == ["ok"] * 4 + ["error"] * 2 + ["ok"]
    even, half = entropy_of(0.5), entropy_of(0.75)
    assert frame["uncertainty"].to_list() == [0.0, half, even, even, None, None, 0.0]
    assert frame["protocol"].unique().to_list() == [BY_ORDERS]


def test_the_usual_names_are_recognised_and_a_lone_judge_label_stays_the_verdict() -> None:
    names = {"verdict_fwd": "judge_label", "verdict_rev": "judge_label_rev", "label": "human_label"}
    rows = {names.get(name, name): values for name, values in ROWS.items()}
    rows["judge"] = ["gpt"] * 7
    ours = prepare_judgments(ROWS).frame.drop("judge")
    assert prepare_judgments(rows).frame.select(ours.columns).equals(ours)
    lone = prepare_judgments({"id": [1], "p_a": [0.9], "judge_label": ["A"]}).frame
    assert "verdict_fwd" not in lone.columns


def test_the_diagnoses_read_the_same_numbers() -> None:
    columns = ["id", "status", "p_fwd", "p_rev", "p_a", "verdict"]
    diagnosed = prepare_verdicts(ROWS)
    assert not diagnosed.graded
    read = prepare_judgments(ROWS).frame.select(columns)
    assert diagnosed.frame.select(columns).equals(read.filter(pl.col("status") == "ok"))
    assert diagnosed.dropped == {"status error": (read["status"] == "error").sum()}


def test_probabilities_or_an_uncertainty_of_the_file_come_first() -> None:
    both = {"id": [1], "verdict_fwd": ["A"], "verdict_rev": ["A"]}
    assert prepare_judgments({**both, "p_a": [0.6]}).frame["p_a"].to_list() == [0.6]
    named = prepare_judgments({**both, "protocol": ["swap"]}).frame
    assert named["protocol"][0] == "swap (order_verdicts)"
    again = prepare_judgments(named.select("id", "protocol", "verdict_fwd", "verdict_rev")).frame
    assert again["protocol"][0] == "swap (order_verdicts)"
    own = prepare_judgments({**both, "uncertainty": [0.3]}).frame
    assert own.select("uncertainty", "protocol").row(0) == (0.3, "unnamed")


def test_a_contradiction_that_the_file_calls_a_tie_is_no_verdict() -> None:
    rows = {"id": [1, 2], "verdict_fwd": ["A", "A"], "verdict_rev": ["B", "A"]}
    frame = prepare_judgments({**rows, "verdict": ["tie", "A"]}).frame
    assert frame["verdict"].to_list() == [None, "A"]
    with pytest.raises(DataError, match="row 2, column verdict: does not follow from p_a = 1.0"):
        prepare_judgments({**rows, "verdict": ["tie", "B"]})


def test_one_order_alone_is_refused_with_what_is_missing() -> None:
    with pytest.raises(DataError, match="column p_a: is missing; .*verdict_fwd and verdict_rev"):
        prepare_judgments({"id": [1], "verdict_fwd": ["A"], "label": ["A"]})


def test_contradictions_count_as_errors_and_are_never_accepted() -> None:
    rows = many(80, 2, 20)
    policy = calibrate(rows, alpha=0.1)
    assert (policy.n_errors, policy.n_accepted, policy.n_accepted_errors) == (22, 80, 2)
    assert policy.groups[0].protocol == BY_ORDERS
    assert any("the two orders contradict each other" in line for line in policy.warnings)
    selected = select(rows.drop("label"), policy).rows
    assert selected.filter("accepted").height == 80
    assert set(selected.filter(~pl.col("accepted"))["reason"]) == {"no verdict"}


def test_a_policy_of_verdicts_refuses_probabilities() -> None:
    policy = calibrate(many(80, 2, 20), alpha=0.1)
    with pytest.raises(PolicyMismatchError, match="order_verdicts"):
        select({"id": [1], "judge": ["gpt"], "p_a": [0.99]}, policy)


def test_evaluate_measures_them() -> None:
    evaluation = evaluate_doubt(many(160, 4, 40), splits=20, alphas=[0.1])
    quality = evaluation.signals[0]
    assert (quality.n, quality.n_no_verdict) == (200, 40)
    [scope] = [m for m in evaluation.methods if m.method == "scope" and m.signal == quality.signal]
    assert scope.coverage == pytest.approx(0.8, abs=0.02)


def test_pac_tests_the_two_thresholds_of_the_protocol_and_needs_no_lot() -> None:
    rows = many(80, 4, 20)
    policies = [calibrate(rows, alpha=0.1, guarantee="pac", seed=seed) for seed in range(8)]
    assert {policy.threshold for policy in policies} == {0.0}
    assert not contradictory(policies[0])
    # The band, which does not know the protocol, depends on the order of tied rows.
    own = rows.with_columns(uncertainty=pl.Series([0.0] * 80 + [0.6931] * 20))
    by_band = [calibrate(own, alpha=0.1, guarantee="pac", seed=seed).accepts for seed in range(8)]
    assert "none" in by_band


def contradictory(policy: Policy) -> list[Contradiction]:
    return list(contradictions(policy, source="policy"))


def test_the_looser_threshold_is_tested_only_after_the_stricter_one() -> None:
    # 60 sure rows of which 6 are wrong fail, whatever 200 rows with a tie would show.
    n = 260
    rows = pl.DataFrame(
        {
            "id": range(n),
            "verdict_fwd": ["A"] * n,
            "verdict_rev": ["A"] * 60 + ["tie"] * 200,
            "label": ["B"] * 6 + ["A"] * (n - 6),
        }
    )
    assert calibrate(rows, alpha=0.1, guarantee="pac").accepts == "none"
    assert calibrate(rows[6:], alpha=0.1, guarantee="pac").accepts == "all"


def test_a_learned_doubt_is_not_one_of_the_few_values() -> None:
    rng = np.random.default_rng(0)
    lengths = {f"length_{side}": rng.integers(10, 200, 200) for side in "ab"}
    rows = many(160, 4, 40).with_columns(**{name: pl.Series(v) for name, v in lengths.items()})
    policy = calibrate(rows, alpha=0.1, guarantee="pac", doubt="learned")
    assert not contradictory(policy)
    assert policy.accepts != "none"


def test_evaluate_decides_split_by_split_as_calibrate_does() -> None:
    rng = np.random.default_rng(1)
    scores = rng.choice([0.0, entropy_of(0.75), entropy_of(0.5)], size=120, p=[0.6, 0.2, 0.2])
    errors = (rng.random(120) < np.where(scores == scores.max(), 1.0, 0.04)).astype(np.int64)
    values, levels = fixed_doubts(BY_ORDERS), Levels(Fraction(1, 10))
    table = SplitTable.build(scores, errors, None, None, values=values)
    [halves] = random_halves(120, 40, 3)
    counts = SplitCounts.build(table, halves)
    together = PAC.counts_over_splits(counts, levels)
    one_by_one = Guarantee.counts_over_splits(PAC, counts, levels)
    assert all((a == b).all() for a, b in zip(together, one_by_one, strict=True))
    assert together.accepted.max() > 0
