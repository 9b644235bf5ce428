"""Judges that are none: one with known faults, one that answers from a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from adjudge.errors import ArgumentError, DataError
from adjudge.judges import judge_pairs
from adjudge.records import Pair
from adjudge.simulate.pairs import SimulatedJudge, simulate_pairs

PAIRS = simulate_pairs(500, seed=11)


def within_band(hits: int, n: int, p: float) -> bool:
    """Whether a count is where a binomial lies all but once in a million times."""
    low, high = binom.ppf([5e-7, 1 - 5e-7], n, p)
    return bool(low <= hits <= high)


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_the_accuracy_is_as_promised_whatever_the_bias(accuracy: float, bias: float) -> None:
    judge = f"simulated:accuracy={accuracy},position_bias={bias},seed=4"
    rows = judge_pairs(PAIRS, judge=judge, store=None).judgments
    assert within_band(int((rows["verdict"] == rows["label"]).sum()), len(PAIRS), accuracy)


def test_the_judge_is_calibrated_by_construction() -> None:
    judge = SimulatedJudge(accuracy=0.75)
    labels = np.where(np.random.default_rng(0).random(40_000) < 0.5, "A", "B")
    forward, reverse = (
        np.array([judge.p_a(f"pair {at}", label, order) for at, label in enumerate(labels)])
        for order in ("ab", "ba")
    )
    assert forward == pytest.approx(reverse)
    sure = np.maximum(forward, 1 - forward)
    right = np.where(forward > 0.5, "A", "B") == labels
    for low in (0.5, 0.6, 0.7, 0.8, 0.9):
        part = (sure >= low) & (sure < low + 0.1)
        gap = right[part].mean() - sure[part].mean()
        assert abs(gap) < 5 * 0.5 / np.sqrt(part.sum())


def test_position_bias_is_what_a_torn_judge_adds_to_the_first_answer() -> None:
    judge = SimulatedJudge(accuracy=0.5, position_bias=0.2)
    assert judge.p_a("x", "A", "ab") == pytest.approx(0.7)
    assert judge.p_a("x", "A", "ba") == pytest.approx(0.3)
    assert judge.p_a("x", "A", None) == pytest.approx(0.5)


def test_noise_belongs_to_the_call_and_the_seed_to_the_judge() -> None:
    judge = SimulatedJudge(noise=1.0, seed=1)
    calls = {judge.p_a("x", "A", order, n) for order in ("ab", "ba") for n in range(5)}
    assert len(calls) == 10
    assert judge.p_a("x", "A", "ab") != SimulatedJudge(noise=1.0, seed=2).p_a("x", "A", "ab")


def test_without_labels_the_truth_is_a_fair_coin_of_the_pairs_own() -> None:
    judge = SimulatedJudge(seed=5)
    heads = sum(judge.truth(pair.id, None) == "A" for pair in PAIRS)
    assert within_band(heads, len(PAIRS), 0.5)
    assert judge.truth("x", None) == judge.truth("x", None)
    assert judge.truth("x", "tie") is None


@pytest.mark.parametrize(
    "bad", [{"accuracy": 0.3}, {"position_bias": 0.5}, {"noise": -1.0}, {"noise": float("nan")}]
)
def test_impossible_judges_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ArgumentError):
        SimulatedJudge(**bad)  # type: ignore[arg-type]  # floats by name


@pytest.mark.parametrize(
    "protocol", ["preference", "likelihood", "verbalized", "rubric", "criterion"]
)
def test_every_protocol_can_read_what_it_writes(protocol: str) -> None:
    judge = "simulated:accuracy=0.9,noise=0.3,seed=2"
    done = judge_pairs(PAIRS[:200], judge=judge, protocol=protocol, store=None)
    assert set(done.summary.statuses) == {"ok"}
    assert done.summary.agreement is not None
    assert done.summary.agreement > 0.8


def test_samples_are_drawn_with_the_judges_own_probability() -> None:
    pair = Pair(id="1", prompt="p", response_a="a", response_b="b", label="A")
    row = judge_pairs(
        [pair], judge="simulated:accuracy=0.8,seed=3", samples=400, store=None
    ).judgments.row(0, named=True)
    p = SimulatedJudge(accuracy=0.8, seed=3).p_a("1", "A", "ab")
    assert within_band(row["samples"]["ab"]["A"], 400, p)


def test_judgments_are_replayed() -> None:
    first = judge_pairs(PAIRS[:50], judge="simulated:noise=1,seed=2", store=None, output="j.jsonl")
    again = judge_pairs(PAIRS[:50], judge="replay:j.jsonl", store=None).judgments
    for column in ("p_fwd", "p_rev", "p_a"):
        np.testing.assert_allclose(again[column], first.judgments[column], rtol=1e-12)
    assert set(again["judge"]) == {"replay:j.jsonl"}


def test_replies_are_replayed_and_what_is_missing_is_not_guessed() -> None:
    rows = [
        {"id": "1", "order": "ab", "logprobs": {"A": -0.1, "B": -2.0}},
        {"id": "1", "order": "ba", "p": 0.0},
        {"id": "2", "order": "ab", "p": 0.5},
        {"id": "3", "order": "ab", "status": "refused", "detail": "no"},
        {"id": "3", "order": "ba", "p": 1.0},
        {"id": "4", "order": "ab"},
        {"id": "4", "order": "ba", "p": 1},
    ]
    Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = [Pair(id=str(n), prompt="p", response_a=f"a{n}", response_b="b") for n in range(1, 5)]
    frame = judge_pairs(pairs, judge="replay:r.jsonl", store=None).judgments
    assert frame["status"].to_list() == ["ok", "error", "refused", "error"]
    assert frame.row(0, named=True)["p_rev"] == 1.0
    assert "no reply for id '2', order ba" in frame.row(1, named=True)["detail"]
    assert frame["p_a"].null_count() == 3


def test_a_written_text_is_replayed() -> None:
    texts = [
        {"id": "1", "order": order, "repeat": n, "text": text}
        for order in ("ab", "ba")
        for n, text in enumerate(("A", "B", "A"))
    ]
    pl.DataFrame(texts).write_csv("r.csv")
    pair = Pair(id="1", prompt="p", response_a="a", response_b="b")
    row = judge_pairs([pair], judge="replay:r.csv", samples=3, store=None).judgments.row(
        0, named=True
    )
    assert row["p_fwd"] == pytest.approx(2.5 / 4)
    assert row["p_rev"] == pytest.approx(1.5 / 4)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "1", "p": 1.5}, "not a probability"),
        ({"id": "1", "p": "x"}, "not a probability"),
        ({"id": "", "p": 0.5}, "column id: is missing"),
        ({"id": "1", "p": 0.5, "status": "fine"}, "status 'fine' is not known"),
        ({"id": "1", "p": 0.5, "repeat": "x"}, "repeat"),
        ({"id": "1", "mean_logprob": "low"}, "mean_logprob: 'low' is not a number"),
        ({"id": "1", "logprobs": [-0.1, -2.0]}, "logprobs: is not an object of numbers"),
        ({"id": "1", "logprobs": {"A": "high"}}, "logprobs: is not an object of numbers"),
    ],
)
def test_a_bad_file_of_replies_is_told_by_row(row: dict[str, object], told: str) -> None:
    Path("r.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=told):
        judge_pairs(PAIRS[:1], judge="replay:r.jsonl", store=None)


def test_a_call_replayed_twice_is_refused() -> None:
    Path("r.jsonl").write_text('{"id": "1", "order": "ab", "p": 0.5}\n' * 2)
    with pytest.raises(DataError, match="row 2.*twice"):
        judge_pairs(PAIRS[:1], judge="replay:r.jsonl", store=None)


def test_a_missing_file_is_told() -> None:
    with pytest.raises(DataError, match="no such file"):
        judge_pairs(PAIRS[:1], judge="replay:nowhere.jsonl", store=None)
