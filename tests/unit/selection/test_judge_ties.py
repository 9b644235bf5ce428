"""A judge's tie and an answer that was not among the letters: never accepted, always counted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.data import read_judgments, read_result, write_result
from adjudge.errors import DataError
from adjudge.policy.result import Policy
from adjudge.selection import Jury, calibrate, evaluate_doubt, select
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.entropy import verdict as verdict_of


def rows(n: int = 400, ties: int = 40, *, seed: int = 0, judge: str = "j") -> pl.DataFrame:
    """A good judge; the first `ties` rows lean to the right answer, but a tie is likeliest."""
    rng = np.random.default_rng(seed)
    label = rng.choice(["A", "B"], n)
    sure = rng.uniform(0.7, 0.99, n)
    right = rng.random(n) < 0.97
    p = np.where((label == "A") == right, sure, 1 - sure)
    p_tie = np.zeros(n)
    p[:ties] = np.where(label[:ties] == "A", 0.6, 0.4)
    p_tie[:ties] = 0.7
    p_tie[ties:] = 0.02
    return pl.DataFrame(
        {"id": range(n), "judge": judge, "p_a": p, "p_tie": p_tie, "label": label.tolist()}
    )


def test_a_file_with_p_tie_gives_ties_as_the_protocol_does() -> None:
    p_a, p_tie = [0.6, 0.6, 0.5, 0.5, 0.9, 0.3], [0.41, 0.3, 0.4, 0.2, None, 0.6]
    frame = read_judgments({"id": range(6), "p_a": p_a, "p_tie": p_tie})
    assert frame["verdict"].to_list() == ["tie", "A", "tie", None, "A", "tie"]
    expected = [verdict_of(p, tie) for p, tie in zip(p_a, p_tie, strict=True)]
    assert frame["verdict"].to_list() == expected
    # The row keeps what was measured; only rules see infinite doubt.
    assert frame["uncertainty"].max() < 0.7


def test_p_a_must_hold_half_of_the_tie() -> None:
    with pytest.raises(
        DataError, match=r"p_tie.*0.9 is larger than p_a allows.*P\(A\) \+ p_tie / 2"
    ):
        read_judgments({"id": [1], "p_a": [0.2], "p_tie": [0.9]})
    with pytest.raises(DataError, match="tie needs p_tie"):
        read_judgments({"id": [1], "p_a": [0.6], "verdict": ["tie"]})


@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_a_tie_is_never_accepted_and_comes_last_in_every_guarantee(guarantee, tmp_path) -> None:
    policy = calibrate(rows(), alpha=0.2, guarantee=guarantee)
    group = policy.groups[0]
    assert group.scores[-40:] == (INFINITE_DOUBT,) * 40
    assert group.errors[-40:] == (1,) * 40
    assert any(
        line
        == "the judge returned a tie on 40 labelled rows: each counts as an error and is never "
        "accepted"
        for line in policy.warnings
    )
    assert policy.feasible
    write_result(policy, tmp_path / "policy.json")
    assert read_result(tmp_path / "policy.json", Policy) == policy
    run = select(rows(200, 20, seed=1), tmp_path / "policy.json")
    tied = run.rows.filter(pl.col("verdict") == "tie")
    assert tied.height == 20
    assert not tied["accepted"].any()
    assert set(tied["reason"]) == {"judge tie"}
    assert run.summary.dropped["judge tie"] == 20
    assert run.rows["uncertainty"].max() < 0.7
    assert run.summary.n_accepted > 100


def test_ties_that_people_share_are_not_right_verdicts() -> None:
    frame = rows(60, 60).with_columns(label=pl.lit("tie"))
    assert calibrate(frame, alpha=0.2, ties="error").n_errors == 60


def test_ties_do_not_look_like_drift_and_are_named() -> None:
    policy = calibrate(rows(400, 0), alpha=0.2)
    new = rows(400, 100, seed=2)
    drift = select(new, policy).summary.drift
    assert not drift.flagged
    assert (drift.n_new, drift.note) == (300, "without 100 judge ties")


def test_evaluate_counts_ties_as_rows_without_a_verdict() -> None:
    frame = rows().with_columns(p_fwd=pl.col("p_a"), p_rev=pl.col("p_a"))
    table = evaluate_doubt(frame, splits=20, alphas=[0.2])
    assert [s.signal for s in table.signals] == [
        *("preference_entropy", "single_order", "swap_vote", "swap_vote_by_coin"),
    ]
    assert [s.n_no_verdict for s in table.signals] == [40] * 4
    vanilla = next(m for m in table.methods if m.method == "vanilla")
    assert vanilla.coverage == pytest.approx(0.9, abs=0.02)


def test_a_jury_of_judges_that_see_ties_sees_them_too() -> None:
    both = pl.concat([rows(judge="one"), rows(seed=3, judge="two").with_columns(rows()["label"])])
    frame = both.filter(pl.col("id") < 40)
    kept = pl.concat([frame, both.filter(pl.col("id") >= 40)])
    policy = calibrate(kept, alpha=0.2, doubt=Jury("mean"))
    assert any("a tie on 40 labelled rows" in line for line in policy.warnings)
    run = select(kept, policy)
    assert run.summary.dropped["judge tie"] == 40
    assert run.rows["uncertainty"].max() < 0.7


def test_a_policy_holds_new_rows_to_its_answer_mass() -> None:
    frame = rows(300, 0).with_columns(
        answer_mass=pl.when(pl.col("id") < 50).then(0.03).when(pl.col("id") < 200).then(0.9)
    )
    policy = calibrate(frame, alpha=0.2)
    assert (policy.min_answer_mass, policy.n_calibration) == (0.1, 250)
    assert policy.dropped == {"status off_answer": 50}
    run = select(frame, policy)
    off = run.rows.filter(pl.col("status") == "off_answer")
    assert (off.height, set(off["reason"]), set(off["p_a"])) == (50, {"status off_answer"}, {None})
    assert run.summary.dropped["status off_answer"] == 50
    loose = calibrate(frame, alpha=0.2, min_answer_mass=0.0)
    assert (loose.min_answer_mass, loose.n_calibration) == (0.0, 300)
    assert "status off_answer" not in select(frame, loose).summary.dropped
    # A policy made before there was a limit applies none.
    assert (
        "status off_answer"
        not in select(frame, calibrate(frame, min_answer_mass=None)).summary.dropped
    )


def test_a_row_without_a_verdict_is_not_counted_as_accepted():
    rows = {"id": range(40), "p_a": [0.5] + [0.9] * 39, "label": ["A"] * 38 + ["B"] * 2}
    policy = calibrate(rows, alpha=0.1)
    assert (policy.accepts, policy.n_accepted) == ("all", 39)
    assert str(policy).startswith("scope at alpha 0.1 passes 39 of 40 labels (5.1 % wrong)")
