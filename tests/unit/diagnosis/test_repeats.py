"""Asked again: flips between repeats, with intervals that hold; contradictions by reply."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.diagnosis import diagnose_bias
from adjudge.diagnosis.consistency import retest
from adjudge.errors import ArgumentError


def test_flips_are_the_chance_that_two_answers_differ() -> None:
    ids = ["x"] * 3 + ["y"] * 2 + ["z"] * 4 + ["once"]
    said = ["A", "A", "B", "A", "A", "A", None, "tie", "B", "A"]
    result = retest(ids, said)
    assert result.n == 3
    assert result.flip_share == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert (result.most_repeats, result.dropped) == (4, {"answered once": 1})
    with pytest.raises(ArgumentError, match="none was answered twice"):
        retest(["x", "y"], ["A", "B"])


def test_a_judge_that_never_changes_has_a_lower_end_of_zero() -> None:
    result = retest([k // 3 for k in range(300)], ["A"] * 300)
    assert (result.flip_share, result.low) == (0.0, 0.0)
    assert result.high is not None
    assert 0.0 < result.high < 0.06
    assert not any(measure.departs for measure in result.measures())


def test_questions_of_one_cluster_widen_the_interval() -> None:
    ids = [k // 2 for k in range(400)]
    said = ["A" if k % 2 and (k // 40) % 2 else "B" for k in range(400)]
    alone, together = retest(ids, said), retest(ids, said, clusters=[k // 40 for k in range(400)])
    assert together.flip_share == alone.flip_share == 0.5
    assert together.clusters == 10
    assert together.low is not None
    assert alone.low is not None
    assert together.low < alone.low - 0.1


def test_the_interval_covers_the_chance_of_a_flip() -> None:
    """Each question has a chance of its own to be answered A; 60 clusters of three questions."""
    rng = np.random.default_rng(11)
    trials, covered = 300, 0
    truth = 0.4 * (2 * 0.8 * 0.2)  # four in ten questions are in doubt
    for _ in range(trials):
        doubtful = np.repeat(rng.random(60) < 0.4, 3)
        p = np.where(doubtful, 0.8, 1.0)
        said = np.where(rng.random((3, 180)) < p, "A", "B")
        result = retest(
            np.tile(np.arange(180), 3).tolist(),
            said.ravel().tolist(),
            clusters=np.tile(np.repeat(np.arange(60), 3), 3),
        )
        assert result.low is not None
        assert result.high is not None
        covered += result.low <= truth <= result.high
    # 95 % nominal: fewer than 273 of 300 would have a chance below 1 in 1,000.
    assert covered >= 273


def judged(**more: object) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 120
    return pl.DataFrame(
        {
            "id": [str(k // 3) for k in range(n)],
            "judge": ["m"] * n,
            "repeat": [k % 3 for k in range(n)],
            "p_a": rng.random(n).round(3),
            "status": ["ok"] * n,
            "label": ["A"] * n,
            **more,
        }
    )


def test_repeats_are_compared_and_everything_else_is_about_the_first() -> None:
    rows = judged()
    report = diagnose_bias(rows)
    assert report.retest is not None
    assert (report.retest.n, report.retest.most_repeats) == (40, 3)
    assert report.judges[0].retest == report.retest
    assert report.dropped == {"repeat of another row": 80}
    assert report.agreement is not None
    assert report.agreement.n == 40
    first = diagnose_bias(rows.filter(pl.col("repeat") == 0).drop("repeat"))
    assert first.agreement == report.agreement
    assert first.retest is None
    assert "retest" not in first.not_measured


def test_a_repeat_without_an_answer_is_no_answer() -> None:
    rows = judged()
    silent = (pl.col("id") == "0") & (pl.col("repeat") > 0)
    rows = rows.with_columns(
        pl.when(~silent).then(pl.col("p_a")).alias("p_a"),
        pl.when(silent).then(pl.lit("refused")).otherwise("status").alias("status"),
    )
    result = diagnose_bias(rows).retest
    assert result is not None
    assert (result.n, result.dropped) == (39, {"answered once": 1})


def test_what_a_reply_prefers_is_held_against_its_own_scores() -> None:
    n = 40
    rows = pl.DataFrame(
        {
            "id": [str(k) for k in range(n)],
            "judge": ["m"] * n,
            "p_a": [0.6] * n,
            "verdict": ["A"] * n,
            "score_a": [7.0] * n,
            "score_b": [5.0] * n,
            "score_diff_ab": [2.0] * n,
            "score_diff_ba": [2.0] * 30 + [0.0] * 10,
            "preference_ab": ["A"] * 20 + ["B"] * 10 + ["tie"] * 10,
            "preference_ba": ["A"] * n,
        }
    )
    result = diagnose_bias(rows).contradictions
    assert result is not None
    assert (result.unit, result.n, result.share) == ("reply", 60, pytest.approx(1 / 6))
    assert result.clusters == 30
    assert result.dropped == {"no verdict": 10, "equal scores": 10}
    before = diagnose_bias(rows.drop("preference_ab", "preference_ba"))
    assert before.contradictions is None
    assert "computed from the scores" in before.not_measured["contradictions"]
