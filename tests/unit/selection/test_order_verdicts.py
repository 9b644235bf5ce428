"""Verdicts in both orders without probabilities: their agreement is the doubt, in every verb."""

from __future__ import annotations

import polars as pl
import pytest

from adjudge.data.judgments import BY_ORDERS, prepare_judgments
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import DataError, PolicyMismatchError
from adjudge.selection import calibrate, evaluate, select
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
    assert prepare_judgments(rows).frame.drop("judge").equals(ours)
    lone = prepare_judgments({"id": [1], "p_a": [0.9], "judge_label": ["A"]}).frame
    assert "verdict_fwd" not in lone.columns


def test_the_diagnoses_read_the_same_numbers() -> None:
    columns = ["id", "status", "p_fwd", "p_rev", "p_a", "verdict"]
    diagnosed = prepare_verdicts(ROWS)
    assert not diagnosed.graded
    assert diagnosed.frame.select(columns).equals(prepare_judgments(ROWS).frame.select(columns))


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
    evaluation = evaluate(many(160, 4, 40), splits=20, alphas=[0.1])
    quality = evaluation.signals[0]
    assert (quality.n, quality.n_no_verdict) == (200, 40)
    [scope] = [m for m in evaluation.methods if m.method == "scope" and m.signal == quality.signal]
    assert scope.coverage == pytest.approx(0.8, abs=0.02)
