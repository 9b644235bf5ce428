"""Position, verbosity, family, contradictions, reliability: the numbers themselves."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.diagnosis import (
    contradictions,
    family_bias,
    family_of,
    position_bias,
    reliability,
    verbosity_bias,
)
from adjudge.errors import ArgumentError


def test_quality_cancels_out_of_the_first_share() -> None:
    # A is better in every pair, and seen so in both orders: no slot is preferred.
    found = position_bias([0.9] * 30, [0.8] * 30)
    assert (found.first_share, found.flip_share, found.biased) == (0.5, 0.0, False)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high  # thirty pairs do not prove that none ever flips


def test_exactly_one_half_is_half_a_pick_and_no_flip() -> None:
    found = position_bias([0.5, 0.9], [0.1, 0.9])
    assert found.first_share == pytest.approx((0.75 + 0.5) / 2)
    assert found.flip_share == 0.0


def test_one_order_only_is_left_out_and_counted() -> None:
    found = position_bias([0.9, 0.9, None, None], [0.1, None, 0.2, None])
    assert found.n == 1
    assert found.dropped == {"no answer": 1, "one order only": 2}
    with pytest.raises(ArgumentError, match="both orders"):
        position_bias([0.9], [None])


def test_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(1)
    forward = np.repeat(rng.random(20), 10)
    reverse = np.repeat(rng.random(20), 10)
    alone = position_bias(forward, reverse)
    alike = position_bias(forward, reverse, clusters=np.repeat(np.arange(20), 10))
    assert alone.low is not None
    assert alone.high is not None
    assert alike.low is not None
    assert alike.high is not None
    assert alike.high - alike.low > 2 * (alone.high - alone.low)
    assert alike.clusters == 20


def test_opposite_leans_of_two_groups_cancel_and_show_by_group() -> None:
    found = position_bias(
        [0.9] * 20 + [0.1] * 20, [0.1] * 20 + [0.9] * 20, groups=["en"] * 20 + ["de"] * 20
    )
    assert found.first_share == 0.5
    assert not found.biased
    assert [(g.group, g.first_share) for g in found.by_group] == [("de", 0.0), ("en", 1.0)]


def test_one_cluster_carries_no_interval() -> None:
    found = position_bias([0.9] * 5, [0.1] * 5, clusters=["p"] * 5)
    assert (found.low, found.high, found.biased) == (None, None, False)


def test_verbosity_looks_at_near_ties_only() -> None:
    margin = [0.02, -0.03, 0.05, 0.4, 0.0, 0.01]
    a, b = [10, 2, 10, 1, 5, 7], [3, 9, 3, 9, 6, 7]
    found = verbosity_bias(margin, a, b)
    assert (found.n, found.longer_share) == (3, 1.0)
    assert found.dropped == {"equal length": 1, "exactly tied": 1, "not near-tied": 1}
    assert found.overall_n == 4
    assert found.overall_share == 0.75


def test_verbosity_is_held_against_people() -> None:
    n = 60
    margin, a, b = [0.05] * n, [200] * n, [100] * n
    premium = verbosity_bias(margin, a, b, labels=["A", "B"] * (n // 2))
    assert premium.human_share == 0.5
    assert premium.excess == 0.5
    assert "more for length than people do" in premium.finding
    shared = verbosity_bias(margin, a, b, labels=["A"] * n)
    assert shared.excess == 0.0
    assert shared.biased


def test_no_near_tie_is_a_result() -> None:
    found = verbosity_bias([0.4], [1], [2])
    assert (found.n, found.longer_share, found.biased) == (0, None, False)
    assert "no premium can be measured" in found.finding


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-mini", "OpenAI"),
        ("openai/o3-mini", "OpenAI"),
        ("claude-3-5-sonnet-20241022", "Anthropic"),
        ("meta-llama/Llama-3.1-70B-Instruct", "Meta"),
        ("Qwen2.5-72B", "Alibaba"),
        ("phi-3-small-8k-instruct", "Microsoft"),
        ("SmolLM2-135M", "Hugging Face"),
        ("mixtral-8x7b", "Mistral"),
        ("yi-34b-chat", "01.AI"),
        ("dolphin-2.2.1", None),
        ("vicuna-13b", None),
        ("guanaco-65b", None),
    ],
)
def test_families_by_name(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_a_given_family_goes_first() -> None:
    assert family_of("vicuna-13b", {"vicuna-13b": "Meta"}) == "Meta"


def test_family_bias_is_the_excess_over_the_reference() -> None:
    # Own model wins 8 of 10 for the judge and 5 of 10 for people, on either side.
    own_a = np.array([True, False] * 20)
    judge_own = np.array([1, 1, 1, 1, 0] * 8)
    people_own = np.array([1, 0] * 20)
    found = family_bias(
        np.where(own_a, judge_own, 1 - judge_own),
        np.where(own_a, people_own, 1 - people_own),
        own_a,
        ~own_a,
        family="OpenAI",
    )
    assert found.judge_share == pytest.approx(0.8)
    assert found.reference_share == pytest.approx(0.5)
    assert found.excess == pytest.approx(0.3)
    assert found.biased
    assert "favours its own family" in found.finding


def test_family_pairs_that_do_not_count_are_counted() -> None:
    found = family_bias([0.9, 0.9, None, 0.9], [1, 1, 1, None], [1, 1, 1, 1], [1, 0, 0, 0])
    assert found.n == 1
    assert found.dropped == {"not one own answer": 1, "no answer": 1, "no reference": 1}


def test_contradictions_count_decisive_pairs_only() -> None:
    found = contradictions(
        ["A", "B", "A", "tie", None, "B"], [5, 5, 3, 4, 4, None], [3, 3, 3, 1, 1, 2]
    )
    assert (found.n, found.share) == (2, 0.5)
    assert found.dropped == {"no verdict": 2, "no scores": 1, "equal scores": 1}


def test_a_consistent_judge_has_no_contradiction_and_a_lower_end_of_zero() -> None:
    found = contradictions(["A", "B"] * 50, [5, 1] * 50, [1, 5] * 50)
    assert (found.share, found.low) == (0.0, 0.0)
    assert found.high is not None
    assert 0 < found.high < 0.05


def test_reliability_of_a_calibrated_judge_raises_no_alarm() -> None:
    rng = np.random.default_rng(11)
    sure = rng.uniform(0.5, 1, 4000)
    found = reliability(sure, (rng.random(4000) < sure).astype(int))
    assert not found.biased
    assert found.p_value is not None
    assert found.p_value > 0.05
    assert found.ece_if_calibrated == pytest.approx(found.ece_equal_mass, abs=0.02)
    assert found.ece_low == 0.0
    assert "can be taken as it is" in found.finding


def test_reliability_right_on_average_only() -> None:
    # Too modest at 0.6 and too sure at 0.9: the mean gap is zero, the curve is not flat.
    sure = np.repeat([0.6, 0.9], 500)
    right = np.concatenate(
        [np.tile([1, 1, 1, 1, 0], 100), np.tile([1, 1, 0, 1, 0, 1, 1, 1, 0, 1], 50)]
    )
    found = reliability(sure, right)
    assert found.over_confidence == pytest.approx(0.0)
    assert not found.biased
    assert found.ece_equal_mass == pytest.approx(0.2)
    assert found.p_value is not None
    assert found.p_value < 0.01
    assert "not at each confidence" in found.finding
    assert sum(entry.n for entry in found.curve) == 1000


def test_many_clusters_and_few_see_the_same_noise() -> None:
    # 900 clusters flip signs one by one, 1,800 like ones are drawn as normal: as much noise.
    rng = np.random.default_rng(5)
    sure = rng.uniform(0.5, 1, 900)
    right = (rng.random(900) < sure - 0.1).astype(int)
    few = reliability(sure, right, replicates=4000)
    many = reliability(np.tile(sure, 2), np.tile(right, 2), replicates=4000)
    assert few.ece_if_calibrated is not None
    assert many.ece_if_calibrated is not None
    assert many.ece_if_calibrated == pytest.approx(few.ece_if_calibrated / np.sqrt(2), rel=0.03)
    assert few.ece_low is not None
    assert many.ece_low is not None
    reach_few, reach_many = few.ece_equal_mass - few.ece_low, many.ece_equal_mass - many.ece_low
    assert reach_many == pytest.approx(reach_few / np.sqrt(2), rel=0.08)
