"""Runs of the same questions: the definitions by counting, labels, refusals, what is printed."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr

from adjudge import estimate_runs
from adjudge.cli import run
from adjudge.errors import AdjudgeError, ArgumentError
from adjudge.estimation.runs import RunsEstimate, pass_all, pass_any
from shown import html_lines, terminal_lines


def table(verdicts: np.ndarray, human: np.ndarray | None = None, **columns: Any) -> pl.DataFrame:
    """A row for each run; `human` as the verdicts, NaN for no label."""
    questions, runs = verdicts.shape
    rows: dict[str, Any] = {
        "id": [f"r{q}-{r}" for q in range(questions) for r in range(runs)],
        "prompt_id": [f"q{q}" for q in range(questions) for _ in range(runs)],
        "judge": verdicts.ravel().astype(int),
    }
    if human is not None:
        rows["human"] = pl.Series(human.ravel(), nan_to_null=True)
    return pl.DataFrame(rows).with_columns(**{name: pl.lit(v) for name, v in columns.items()})


def rates(result: RunsEstimate) -> dict[str, float | None]:
    [group] = result.groups
    return {rate.statistic: rate.estimate for rate in group.rates}


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_pass_k_is_what_counting_all_choices_of_k_runs_gives(k: int) -> None:
    for passes in range(6):
        runs = [1] * passes + [0] * (5 - passes)
        chosen = list(combinations(runs, k))
        n, c = np.array([5]), np.array([float(passes)])
        assert pass_any(c, n, k)[0] == pytest.approx(sum(map(max, chosen)) / comb(5, k))
        assert pass_all(c, n, k)[0] == pytest.approx(sum(map(min, chosen)) / comb(5, k))


def test_the_judge_alone() -> None:
    verdicts = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]] * 10)
    result = estimate_runs(table(verdicts))
    assert rates(result) == pytest.approx({"pass@1": 0.5, "pass@3": 0.75, "pass^3": 0.25})
    assert not result.labelled
    [group] = result.groups
    # Two of three choices of two runs differ for half of the questions.
    pairs = [a != b for row in verdicts for a, b in permutations(row, 2)]
    assert group.flips == pytest.approx(np.mean(pairs))
    each = [c * (3 - c) / 6 for c in verdicts.sum(axis=1)]
    assert group.suite_error == pytest.approx(np.sqrt(sum(each)) / 40)
    # A run without a number of its own: the same by `epoch`.
    again = table(verdicts).with_columns(id="prompt_id", epoch=pl.Series([*range(3)] * 40))
    assert rates(estimate_runs(again.drop("prompt_id"))) == pytest.approx(rates(result))


def test_labels_on_all_runs_of_some_questions_correct_all_three() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((200, 3)) < rng.beta(2, 1, (200, 1))
    verdicts = np.where(rng.random((200, 3)) < 0.2, 1, truth)
    human = np.where(np.arange(200)[:, None] < 80, truth, np.nan)
    result = estimate_runs(table(verdicts, human))
    [group] = result.groups
    assert {rate.n_labelled for rate in group.rates} == {80}
    for rate, of in zip(group.rates, (lambda t: t, np.max, np.min), strict=True):
        exact = truth.mean() if rate.statistic == "pass@1" else np.apply_along_axis(of, 1, truth)
        assert rate.interval is not None
        low, high = rate.interval.low, rate.interval.high
        assert low is not None
        assert high is not None
        assert low < float(np.mean(exact)) < high
        assert rate.by_judge > float(np.mean(exact))
    everything = estimate_runs(table(verdicts, truth.astype(float)))
    assert rates(everything)["pass^3"] == pytest.approx(truth.all(axis=1).mean())


def test_labels_on_single_runs_give_pass_1_alone() -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random((100, 3)) < 0.6).astype(float)
    human = np.where(np.arange(3)[None, :] == 0, truth, np.nan)
    result = estimate_runs(table(truth, human))
    found = rates(result)
    assert found["pass@1"] is not None
    assert (found["pass@3"], found["pass^3"]) == (None, None)
    assert any("errors about one question repeat" in line for line in html_lines(result))
    few = np.where(np.arange(100)[:, None] < 20, truth, np.nan)
    [group] = estimate_runs(table(truth, few)).groups
    assert {rate.reason for rate in group.rates} == {
        "20 questions with labels on all runs: 30 or more are needed"
    }


def test_what_is_refused() -> None:
    verdicts = np.array([[1, 1, 0]] * 40)
    with pytest.raises(ArgumentError, match="have fewer than 4 runs: give --k 3"):
        estimate_runs(table(verdicts), k=4)
    uneven = table(verdicts).filter(pl.col("id") != "r0-2")
    assert estimate_runs(uneven).k == 2
    with pytest.raises(ArgumentError, match="1 question of 40 have fewer than 3 runs"):
        estimate_runs(uneven, k=3)
    with pytest.raises(AdjudgeError, match="no question was run twice"):
        estimate_runs(table(verdicts[:, :1]))
    with pytest.raises(ArgumentError, match="gate = 70: give a number from 0 to 1"):
        estimate_runs(table(verdicts), gate=70)
    words = table(verdicts).with_columns(judge=pl.Series(["x", "y", "z"] * 40))
    with pytest.raises(AdjudgeError, match="name the word that counts as a pass"):
        estimate_runs(words)


def test_groups_and_a_gate() -> None:
    rng = np.random.default_rng(3)
    both = pl.concat(
        [
            table((rng.random((60, 12)) < rate).astype(int), model=name)
            for name, rate in (("a", 0.5), ("b", 0.9))
        ]
    ).with_columns(id=pl.int_range(1440))
    result = estimate_runs(both, by="model", gate=0.5, k=2)
    a, b = result.groups
    assert a.gate is not None
    assert b.gate is not None
    # At the gate itself half of all runs pass; far from it none changes side.
    assert a.gate.flips > 0.3
    assert b.gate.flips < 0.001
    assert b.gate.passes
    assert not result.warnings
    lines = html_lines(result)
    assert lines[0] == "By this judge: 2 groups of runs, with k = 2"
    assert any(
        line.startswith("b: by the judge a gate at 50 % passes now; two runs of") for line in lines
    )


def test_runs_that_never_differed_do_not_show_that_a_gate_never_flips() -> None:
    [group] = estimate_runs(table(np.ones((40, 3), dtype=int)), gate=0.9).groups
    assert group.gate is not None
    assert (group.flips, group.gate.flips, group.gate.interval.low) == (0, 0, 0)
    # Two runs of a question differ in up to 7 % of the cases: so much can one run vary.
    sd = math.sqrt(group.flips_interval.high / 2 / 40)
    side = ndtr(0.1 / sd - 1.96 / math.sqrt(3))
    assert group.gate.interval.high == pytest.approx(2 * side * (1 - side))
    assert group.gate.interval.high > 0.01


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]] * 10)
    rows = tmp_path / "answers.csv"
    table(verdicts).write_csv(rows)
    picture = tmp_path / "runs.png"
    assert run(["runs", str(rows), "--gate", "0.6", "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("By this judge: 50 % [38.0, 62.0] of the runs pass, 75 % [59.9, 87.")
    assert "by the judge a gate at 60 % fails now" in out
    assert picture.stat().st_size > 1000
    result = estimate_runs(rows, gate=0.6)
    assert terminal_lines(result)[0] == out.splitlines()[0]


def test_a_gate_with_few_questions_that_differ_is_doubted() -> None:
    """Its rate of flips comes from them alone: with 1.5 of 30 on average it covers 0.67."""
    runs = {"prompt_id": [i // 10 for i in range(300)], "judge": [1.0] * 290 + [1.0, 0.0] * 5}
    warnings = estimate_runs(runs, gate=0.98).warnings
    assert warnings == (
        "only 1 question with runs that differ: how often the gate flips can be larger than its "
        "interval",
    )
    runs["judge"] = [1.0, 0.0] * 25 + [1.0] * 250
    assert estimate_runs(runs, gate=0.98).warnings == ()
