"""Position, verbosity, family, contradictions, reliability: the numbers themselves."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.diagnosis import family_of, family_scores
from adjudge.diagnosis.consistency import contradictions, position_bias
from adjudge.diagnosis.family import family_bias
from adjudge.diagnosis.length import verbosity_bias
from adjudge.diagnosis.reliability import _BinSums, reliability
from adjudge.errors import ArgumentError
from adjudge.statistics.numbers import reliability_bins


def test_quality_cancels_out_of_the_first_share() -> None:
    # A is better in every pair, and seen so in both orders: no slot is preferred.
    result = position_bias([0.9] * 30, [0.8] * 30)
    assert (result.first_share, result.flip_share, result.biased) == (0.5, 0.0, False)
    assert result.low is not None
    assert result.high is not None
    assert result.low < 0.5 < result.high  # thirty pairs do not prove that none ever flips


def test_exactly_one_half_is_half_a_pick_and_no_flip() -> None:
    result = position_bias([0.5, 0.9], [0.1, 0.9])
    assert result.first_share == pytest.approx((0.75 + 0.5) / 2)
    assert result.flip_share == 0.0


def test_one_order_only_is_left_out_and_counted() -> None:
    result = position_bias([0.9, 0.9, None, None], [0.1, None, 0.2, None])
    assert result.n == 1
    assert result.dropped == {"no answer": 1, "one order only": 2}
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
    result = position_bias(
        [0.9] * 20 + [0.1] * 20, [0.1] * 20 + [0.9] * 20, groups=["en"] * 20 + ["de"] * 20
    )
    assert result.first_share == 0.5
    assert not result.biased
    assert [(g.group, g.first_share) for g in result.by_group] == [("de", 0.0), ("en", 1.0)]


def test_one_cluster_carries_no_interval() -> None:
    result = position_bias([0.9] * 5, [0.1] * 5, clusters=["p"] * 5)
    assert (result.low, result.high, result.biased) == (None, None, False)


def test_verbosity_looks_at_near_ties_only() -> None:
    margin = [0.02, -0.03, 0.05, 0.4, 0.0, 0.01]
    a, b = [10, 2, 10, 1, 5, 7], [3, 9, 3, 9, 6, 7]
    result = verbosity_bias(margin, a, b)
    assert (result.n, result.longer_share) == (3, 1.0)
    assert result.dropped == {"equal length": 1, "exactly tied": 1, "not near-tied": 1}


def test_verbosity_prefers_the_longer_answer() -> None:
    longer = verbosity_bias([0.05] * 60, [200] * 60, [100] * 60)
    assert longer.biased
    assert str(longer).endswith(": it prefers the longer answer")


def test_no_near_tie_is_a_result() -> None:
    result = verbosity_bias([0.4], [1], [2])
    assert (result.n, result.longer_share, result.biased) == (0, None, False)
    assert "no preference for length is measurable" in str(result)


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
    result = family_bias(
        np.where(own_a, judge_own, 1 - judge_own),
        np.where(own_a, people_own, 1 - people_own),
        own_a,
        ~own_a,
        family="OpenAI",
    )
    assert result.judge_share == pytest.approx(0.8)
    assert result.reference_share == pytest.approx(0.5)
    assert result.excess == pytest.approx(0.3)
    assert result.biased
    assert "favours its own family" in str(result)


def test_family_pairs_that_do_not_count_are_counted() -> None:
    result = family_bias([0.9, 0.9, None, 0.9], [1, 1, 1, None], [1, 1, 1, 1], [1, 0, 0, 0])
    assert result.n == 1
    assert result.dropped == {"not exactly one own answer": 1, "no answer": 1, "no reference": 1}


def test_contradictions_count_decisive_pairs_only() -> None:
    result = contradictions(
        ["A", "B", "A", "tie", None, "B"], [5, 5, 3, 4, 4, None], [3, 3, 3, 1, 1, 2]
    )
    assert (result.n, result.share) == (2, 0.5)
    assert result.dropped == {"no verdict": 2, "no scores": 1, "equal scores": 1}


def test_text_among_the_numbers_is_refused_by_its_name() -> None:
    with pytest.raises(ArgumentError, match="score_b"):
        contradictions(["A"], [1], ["high"])
    with pytest.raises(ArgumentError, match="margin"):
        verbosity_bias(["high"], [1], [2])
    with pytest.raises(ArgumentError, match="deviation"):
        family_scores(["high"], ["gpt-4"], [True])


def test_a_consistent_judge_has_no_contradiction_and_a_lower_end_of_zero() -> None:
    result = contradictions(["A", "B"] * 50, [5, 1] * 50, [1, 5] * 50)
    assert (result.share, result.low) == (0.0, 0.0)
    assert result.high is not None
    assert 0 < result.high < 0.05


def test_reliability_of_a_calibrated_judge_raises_no_alarm() -> None:
    rng = np.random.default_rng(11)
    sure = rng.uniform(0.5, 1, 4000)
    result = reliability(sure, (rng.random(4000) < sure).astype(int))
    assert not result.biased
    assert result.p_value is not None
    assert result.p_value > 0.05
    assert result.ece_if_calibrated == pytest.approx(result.ece_equal_mass, abs=0.02)
    assert result.ece_interval.low == 0.0
    assert "calibrated as far as 4,000 rows show" in str(result)


def test_reliability_right_on_average_only() -> None:
    # Too modest at 0.6 and too sure at 0.9: the mean gap is zero, the curve is not flat.
    sure = np.repeat([0.6, 0.9], 500)
    right = np.concatenate(
        [np.tile([1, 1, 1, 1, 0], 100), np.tile([1, 1, 0, 1, 0, 1, 1, 1, 0, 1], 50)]
    )
    result = reliability(sure, right)
    assert result.over_confidence == pytest.approx(0.0)
    assert not result.biased
    assert result.ece_equal_mass == pytest.approx(0.2)
    assert result.p_value is not None
    assert result.p_value < 0.01
    assert "not over- or under-confident on average" in str(result)
    assert "but miscalibrated at some confidence" in str(result)
    assert sum(entry.n for entry in result.curve) == 1000


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
    assert few.ece_interval is not None
    assert many.ece_interval is not None
    reach_few, reach_many = (
        few.ece_equal_mass - few.ece_interval.low,
        many.ece_equal_mass - many.ece_interval.low,
    )
    assert reach_many == pytest.approx(reach_few / np.sqrt(2), rel=0.08)


def test_clusters_of_one_row_have_the_sums_of_their_table() -> None:
    rng = np.random.default_rng(2)
    sure = rng.uniform(0.5, 1, 1500)
    right = (rng.random(1500) < sure).astype(np.int64)
    bins = reliability_bins(sure, right, equal_mass=True)
    sums = _BinSums.of(sure - right, bins, np.arange(1500), 1500)
    each = np.zeros((1500, len(bins.count)))
    each[np.arange(1500), bins.which] = sure - right
    assert sums.each is None
    assert np.allclose(sums.products, each.T @ each, rtol=1e-12)
    assert np.allclose(sums.total, each.sum(axis=0), rtol=1e-12)


def test_resampled_totals_of_many_rows_vary_as_those_of_the_bootstrap() -> None:
    """A judge that is always too sure by a half: its totals hardly vary around their mean."""
    rng = np.random.default_rng(8)
    sure = rng.uniform(0.5, 1, 1500)
    gap = 0.5 + rng.normal(0, 0.1, 1500)
    bins = reliability_bins(sure, rng.integers(0, 2, 1500), equal_mass=True)
    many = _BinSums.of(gap, bins, np.arange(1500), 1500)
    each = np.zeros((1500, len(bins.count)))
    each[np.arange(1500), bins.which] = gap
    few = _BinSums(1500, many.total, many.products, each)
    spread, exact = (np.cov(sums.resample(4000, rng).T) for sums in (many, few))
    assert np.allclose(spread, exact, atol=0.1 * exact.max())


def test_few_flips_have_the_exact_interval_of_their_direction() -> None:
    """Three of forty pairs flip, all to the first slot: Clopper-Pearson of three in three."""
    forward, reverse = np.full(40, 0.9), np.full(40, 0.9)
    reverse[:3] = 0.1
    bias = position_bias(forward, reverse)
    assert bias.first_share == pytest.approx(0.5 + 3 / 80)
    assert bias.interval is not None
    assert bias.interval.low == pytest.approx(0.5 + 3 / 80 * (2 * 0.025 ** (1 / 3) - 1))
