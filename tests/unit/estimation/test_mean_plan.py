"""How many labels for a width of the mean of scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import RatePlan, estimate, plan_rate, rows_to_label
from adjudge.estimation.mean_plan import MeanPlan


def pilot(n: int = 1200, labelled: int = 80) -> tuple[dict[str, list], np.ndarray]:
    rng = np.random.default_rng(6)
    people = rng.integers(1, 6, n)
    judge = np.clip(people + rng.integers(-1, 2, n), 1, 5)
    human = [int(score) if at < labelled else None for at, score in enumerate(people)]
    return {"judge": judge.tolist(), "human": human}, people


def planned(**options: object) -> MeanPlan:
    plan = plan_rate(pilot()[0], **options)
    assert isinstance(plan, MeanPlan)
    return plan


def test_the_width_is_that_of_estimate() -> None:
    """With as many labels as the plan says, the interval is as wide as it says."""
    rows, people = pilot()
    for width in (0.6, 0.3, 0.2):
        plan = planned(width=width)
        assert plan.labels is not None
        assert plan.expected_width is not None
        assert plan.expected_width <= width
        human = np.where(np.arange(1200) < plan.labels, people, np.nan)
        got = estimate(judge=rows["judge"], human=human, labels_are_random=True)
        assert got.high - got.low == pytest.approx(plan.expected_width, rel=0.12)
        assert plan.labels_without_judge is not None
        assert plan.labels_without_judge > plan.labels
    # The width of the labels at hand, from the same formula.
    now = estimate(rows, labels_are_random=True)
    assert planned(budget=80).expected_width == pytest.approx(now.high - now.low, rel=0.08)


def test_a_width_out_of_reach_is_a_reason() -> None:
    plan = planned(width=0.05)
    assert (plan.feasible, plan.labels) == (False, None)
    assert "all 1,200 rows labelled give" in str(plan.reason)
    assert f"Width 0.05 cannot be reached: {plan.reason}" in str(plan)
    assert plan.width_of_all == pytest.approx(planned(budget=1200).expected_width)


def test_clusters_need_more_labels() -> None:
    rows, _ = pilot()
    four = {name: [value for value in values for _ in range(4)] for name, values in rows.items()}
    four["prompt_id"] = [at // 4 for at in range(4800)]
    plan = plan_rate(four, width=0.3)
    alone = planned(width=0.3)
    assert isinstance(plan, MeanPlan)
    assert plan.labels is not None
    assert alone.labels is not None
    assert plan.labels == pytest.approx(4 * alone.labels, rel=0.15)


def test_what_is_missing_is_named() -> None:
    few, _ = pilot(labelled=12)
    with pytest.raises(DataError, match="12 labels, and the spread of scores needs 30"):
        plan_rate(few, width=0.3)
    rows, _ = pilot()
    with pytest.raises(ArgumentError, match="is for rates, and these rows are scores"):
        plan_rate(rows, width=0.3, sensitivity=0.9)
    with pytest.raises(ArgumentError, match="from 30 to the 1,200 rows"):
        plan_rate(rows, budget=5000)
    with pytest.raises(ArgumentError, match="give one of the two"):
        plan_rate(rows)
    rates = {"judge": [1, 0] * 50, "human": [1, 0] * 10 + [None] * 80}
    assert isinstance(plan_rate(rates, width=0.2), RatePlan)
    with pytest.raises(ArgumentError, match="width = 1.5: give a number from 0 to 1"):
        plan_rate(rates, width=1.5)


def test_rows_are_drawn_at_random_and_the_command_says_what_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, _ = pilot()
    plan = planned(width=0.3)
    assert plan.labels is not None
    drawn = rows_to_label(rows, plan)
    assert drawn.height == plan.labels - 80
    assert set(drawn["sampled_by"]) == {"random"}
    assert drawn["human"].null_count() == drawn.height
    pl.DataFrame(rows).write_csv("scores.csv")
    assert run(["plan", "rate", "scores.csv", "--width", "0.3", "--write-ids", "next.csv"]) == 0
    assert pl.read_csv("next.csv").height == drawn.height
    text = capsys.readouterr().out
    assert f"{plan.labels} random labels (80 exist, {drawn.height} more) give a width of" in text
    assert run(["plan", "rate", "scores.csv", "--width", "2", "--plot", "p.png"]) == 0
    assert "no picture, of a mean" in capsys.readouterr().err
    assert run(["plan", "rate", "scores.csv", "--width", "0.01"]) == 2
