"""Differences of systems: closed forms against peers, one pair against all pairs, sample sizes."""

from __future__ import annotations

import math
from dataclasses import astuple
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from adjudge.estimation.difference_plan import (
    cautious_correlation,
    labels_needed,
    questions_needed,
)
from adjudge.statistics.differences import (
    all_gaps,
    benjamini_hochberg,
    holm,
    labelled_gap,
    labelled_mean,
    paired_gap,
    possibly_best,
    unpaired_gap,
)


def test_the_paired_interval_of_verdicts_is_bonett_and_price() -> None:
    # Cells of the 2 x 2 table: B alone right, A alone right, equal.
    b_only, a_only, n = 24, 11, 180
    d = np.repeat([1.0, -1.0, 0.0], [b_only, a_only, n - b_only - a_only])
    p12, p21 = (b_only + 1) / (n + 2), (a_only + 1) / (n + 2)
    error = math.sqrt((p12 + p21 - (p12 - p21) ** 2) / (n + 2))
    gap = paired_gap(d, zero_one=True)
    assert gap.estimate == pytest.approx((b_only - a_only) / n)
    assert gap.centre == pytest.approx(p12 - p21)
    assert gap.standard_error == pytest.approx(error)
    low, high = gap.interval(0.95)
    assert (low, high) == pytest.approx(
        (p12 - p21 - 1.959964 * error, p12 - p21 + 1.959964 * error), abs=1e-6
    )


def test_the_paired_interval_of_scores_is_students_t_on_many_questions() -> None:
    d = np.random.default_rng(0).normal(0.1, 1, 4000)
    peer = DescrStatsW(d)
    gap = paired_gap(d, zero_one=False)
    assert tuple(gap.interval(0.9)) == pytest.approx(peer.tconfint_mean(alpha=0.1), abs=1e-3)
    assert gap.statistic == pytest.approx(peer.ttest_mean(0)[0], rel=0.002)
    # By hand with the two pseudo questions.
    few = np.array([0.5, -0.25, 1.0, 0.0] * 10)
    n, c = 40, 0.5
    centre = few.sum() / 42
    variance = ((few**2).sum() + 2 * c**2) / 42 - centre**2
    small = paired_gap(few, zero_one=False)
    assert (small.centre, small.standard_error, small.freedom) == pytest.approx(
        (centre, math.sqrt(variance / 41), n - 1)
    )


def test_unpaired_is_agresti_caffo_and_welch() -> None:
    a, b = np.repeat([1.0, 0.0], [40, 60]), np.repeat([1.0, 0.0], [90, 50])
    peer = confint_proportions_2indep(90, 140, 40, 100, method="agresti-caffo")
    assert tuple(unpaired_gap(a, b, zero_one=True).interval(0.95)) == pytest.approx(peer)
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 1, 50), rng.normal(0.3, 2, 80)
    welch = CompareMeans(DescrStatsW(y), DescrStatsW(x))
    gap = unpaired_gap(x, y, zero_one=False)
    assert tuple(gap.interval(0.95)) == pytest.approx(welch.tconfint_diff(usevar="unequal"))
    assert gap.p_value == pytest.approx(stats.ttest_ind(x, y, equal_var=False).pvalue)


def test_labels_of_all_questions_are_people_alone() -> None:
    rng = np.random.default_rng(2)
    h, j = rng.normal(0.2, 1, 60), rng.normal(0, 1, 60)
    assert labelled_gap(h, j, zero_one=False) == paired_gap(h, zero_one=False)


def test_few_scores_that_differ_count_with_the_largest() -> None:
    """Fewer than 10: the pseudo scores are the largest; else half of it, or from 100 on none."""
    for n, different, c in ((60, 9, 4.0), (60, 12, 2.0), (200, 9, 4.0), (200, 12, None)):
        h = np.zeros(n)
        h[:different] = np.linspace(3, 4, different)
        labels = np.concatenate([h, np.full(100, np.nan)])
        gap = labelled_gap(labels, np.zeros(n + 100), zero_one=False)
        squares = float(((h - h.mean()) ** 2).sum())
        variance = squares / (n * (n - 2)) if c is None else (squares + 2 * c**2) / (n * (n + 2))
        assert gap.standard_error == pytest.approx(math.sqrt(variance))
        alone = paired_gap(h, zero_one=False)
        size = 4.0 if different < 10 else 2.0
        spread = (float(h @ h) + 2 * size**2) / (n + 2) - alone.centre**2
        assert alone.standard_error == pytest.approx(math.sqrt(spread / (n + 1)))


def test_few_residuals_count_with_the_largest_of_people_and_judge() -> None:
    """The judge is right about all labels that differ but three: they decide the variance."""
    h = np.zeros(4000)
    h[::10] = 2.0
    j = h.copy()
    j[[0, 10, 20]] = 0.0
    j[3999] = 5.0
    labels = np.where(np.arange(4000) < 200, h, np.nan)
    gap = labelled_gap(labels, j, zero_one=False)
    slope = np.cov(h[:200], j[:200])[0, 1] / ((1 + 200 / 3800) * j.var(ddof=1))
    r = h[:200] - slope * j[:200]
    about = r - r.mean()
    squares = float(about @ about) + 2 * 5.0**2
    variance = squares / (200 * 202) + slope**2 * j.var(ddof=1) / 3800
    assert gap.standard_error == pytest.approx(math.sqrt(variance))


def test_labels_correct_the_judge() -> None:
    rng = np.random.default_rng(3)
    j = rng.normal(0, 1, 1000)
    h = np.where(np.arange(1000) < 200, 0.5 + 0.9 * j + rng.normal(0, 0.3, 1000), np.nan)
    gap = labelled_gap(h, j, zero_one=False)
    known = h[:200]
    slope = np.cov(known, j[:200])[0, 1] / ((1 + 200 / 800) * j.var(ddof=1))
    residual = known - slope * j[:200]
    assert gap.estimate == pytest.approx(residual.mean() + slope * j[200:].mean())
    variance = residual.var(ddof=1) * 199 / 198 / 200 + slope**2 * j.var(ddof=1) / 800
    assert gap.standard_error == pytest.approx(math.sqrt(variance))
    assert gap.standard_error < 0.6 * known.std(ddof=1) / math.sqrt(200)
    reversed_judge = labelled_gap(h, -j, zero_one=False)
    assert reversed_judge.estimate == pytest.approx(known.mean())  # lambda is not below 0
    useless = labelled_gap(h, np.zeros(1000), zero_one=False)
    assert useless.estimate == pytest.approx(known.mean())


def test_few_discordant_labels_do_not_give_an_interval_of_no_width() -> None:
    h = np.where(np.arange(500) < 150, 0.0, np.nan)
    gap = labelled_gap(h, np.zeros(500), zero_one=True)
    assert gap.standard_error == pytest.approx(math.sqrt(2 / (150 * 152)))


def test_a_mean_of_scores_moves_to_peoples_and_stays_on_the_scale_of_labels() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(1, 6, 800).astype(float)
    judge = np.minimum(truth + 1, 5.0)
    labels = np.where(np.arange(800) < 200, truth, np.nan)
    gap = labelled_mean(labels, judge, ends=(1, 5))
    assert abs(gap.estimate - truth.mean()) < abs(judge.mean() - truth.mean()) / 3
    low, high = gap.interval(0.95)
    assert low < truth.mean() < high
    few = labelled_mean(labels[:50], judge[:50], ends=(1, 5))  # no unlabelled row
    assert few.estimate == pytest.approx(truth[:50].mean())
    assert few.centre == pytest.approx((truth[:50].sum() + 6) / 52)


@pytest.mark.parametrize("zero_one", [True, False])
def test_all_pairs_at_once_are_the_pairs_one_by_one(zero_one: bool) -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 2, (200, 5)).astype(float)
    if not zero_one:
        scores = rng.normal(2, 1, (200, 5))
    scores[rng.random(scores.shape) < 0.1] = np.nan
    gaps = all_gaps(scores, zero_one=zero_one)
    for got, (i, j) in zip(gaps, combinations(range(5), 2), strict=True):
        d = scores[:, j] - scores[:, i]
        alone = paired_gap(d[~np.isnan(d)], zero_one=zero_one)
        assert astuple(got) == pytest.approx(astuple(alone), abs=1e-9)


def test_families_of_p_values_are_adjusted_as_statsmodels_does() -> None:
    values = np.random.default_rng(6).random(40) ** 3
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1])
    assert benjamini_hochberg(values) == pytest.approx(multipletests(values, method="fdr_bh")[1])


def test_a_system_far_behind_cannot_be_the_best() -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal([0, 0, -0.02, -1], 1, (300, 4))
    gaps = all_gaps(scores, zero_one=False)
    influence = (scores - scores.mean(axis=0)) / len(scores)
    assert possibly_best(gaps, influence, rng).tolist() == [True, True, True, False]
    same = np.repeat(scores[:, :1], 2, axis=1)
    equal = all_gaps(same, zero_one=False)
    assert possibly_best(equal, same * 0, rng).tolist() == [True, True]


def test_sample_sizes() -> None:
    n = questions_needed(0.6, 0.05)
    assert n == math.ceil(7.8489 * 144 + 1.9207)
    assert labels_needed(0.6, 0.0, 0.1, 10_000) == math.ceil(0.36 * 7.8489 / 0.01)
    assert labels_needed(0.6, 0.9, 0.1, 1000) < 120
    assert labels_needed(0.6, 0.0, 0.1, 100) is None
    assert cautious_correlation(-0.5, 60) == 0
    assert cautious_correlation(1.0, 60) < 1


def test_equal_scores_have_no_error() -> None:
    """Sums of equal columns can differ in the last bits: no interval follows from that."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores = rng.random(45)
        first, *_ = all_gaps(np.stack([scores, scores, rng.random(45)], axis=1), zero_one=False)
        assert (first.estimate, first.centre, first.standard_error) == (0.0, 0.0, 0.0)


def test_the_next_difference_can_be_larger_than_the_few_that_were_seen() -> None:
    """Nine of 90 scores differ: the pseudo scores have the range of both systems' scores."""
    before = np.tile([0.1, 0.9, 0.8], 30)
    after = before + np.where(np.arange(90) < 9, 0.05, 0.0)
    [gap] = all_gaps(np.stack([before, after], axis=1), zero_one=False)
    d = after - before
    variance = (d @ d + 2 * 0.85**2) / 92 - (d.sum() / 92) ** 2  # from 0.1 to 0.95
    assert gap.standard_error == pytest.approx(math.sqrt(variance / 91))
    after += np.where(np.arange(90) == 9, 0.05, 0.0)
    [gap] = all_gaps(np.stack([before, after], axis=1), zero_one=False)
    variance = (10 * 0.05**2 + 2 * 0.025**2) / 92 - (0.5 / 92) ** 2
    assert gap.standard_error == pytest.approx(math.sqrt(variance / 91))


def test_tiny_differences_do_not_hide_that_few_decide_the_variance() -> None:
    """Numbers of clusters, and probabilities, differ a little on every question."""
    b = np.repeat([0.0, 1.0], [97, 3])
    noise = np.random.default_rng(0).normal(0, 1e-6, 100)
    exact, noisy = (
        all_gaps(np.stack([np.zeros(100), b + off], axis=1), zero_one=False)[0]
        for off in (0.0, noise)
    )
    assert noisy.standard_error == pytest.approx(exact.standard_error, rel=1e-3)
