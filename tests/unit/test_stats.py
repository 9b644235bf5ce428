"""The shared statistics against independent computations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from adjudge.statistics import numbers as _stats
from adjudge.statistics.clusters import cluster_means_se


@given(st.integers(1, 500), st.integers(1, 99))
def test_the_conformal_rank_is_exact(n: int, percent: int) -> None:
    alpha = Fraction(percent, 100)
    rank = _stats.conformal_rank(n, alpha)
    assert Fraction(rank, n + 1) >= 1 - alpha > Fraction(rank - 1, n + 1)


def test_the_conformal_quantile_is_an_order_statistic_or_nothing() -> None:
    scores = np.array([3.0, 1.0, 2.0])
    assert _stats.conformal_quantile(scores, Fraction(1, 4)) == 3.0
    assert _stats.conformal_quantile(scores, Fraction(1, 2)) == 2.0
    assert _stats.conformal_quantile(scores, Fraction(1, 10)) is None


@given(st.integers(1, 200), st.floats(0, 1), st.sampled_from([0.8, 0.9, 0.95]))
def test_clopper_pearson_equals_scipy(n: int, share: float, level: float) -> None:
    k = round(share * n)
    theirs = stats.binomtest(k, n).proportion_ci(level, method="exact")
    assert _stats.binomial_interval(k, n, level) == pytest.approx((theirs.low, theirs.high))


def test_without_trials_the_interval_is_everything() -> None:
    assert _stats.binomial_interval(0, 0, 0.95) == (0.0, 1.0)


def test_the_binomial_tail_equals_scipy() -> None:
    k, n = np.array([0, 3, 10]), np.array([5, 20, 10])
    expected = stats.binom.cdf(k, n, 0.2)
    np.testing.assert_allclose(_stats.binomial_lower_tail(k, n, 0.2), expected, rtol=1e-12)


def test_clusters_of_one_give_the_usual_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=50)
    mean, se = cluster_means_se(values, np.arange(50), 50)
    assert mean == pytest.approx(values.mean())
    assert se == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_copied_rows_do_not_shrink_the_clustered_error() -> None:
    values = np.random.default_rng(0).normal(size=50)
    _, once = cluster_means_se(values, np.arange(50), 50)
    _, tenfold = cluster_means_se(np.repeat(values, 10), np.repeat(np.arange(50), 10), 50)
    assert tenfold == pytest.approx(once)


def test_cluster_codes_follow_first_appearance() -> None:
    codes, groups = _stats.cluster_codes(["b", "a", "b"])
    assert codes.tolist() == [0, 1, 0]
    assert groups == 2


def test_bootstrap_weights_draw_as_many_clusters_as_there_are() -> None:
    weights = _stats.bootstrap_weights(7, 100, np.random.default_rng(0))
    assert weights.shape == (100, 7)
    assert (weights.sum(axis=1) == 7).all()


@given(st.lists(st.tuples(st.sampled_from([0.5, 0.6, 0.75, 0.9, 1.0]), st.booleans()), min_size=2))
def test_auroc_and_auprc_equal_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    confidence = np.array([row[0] for row in rows])
    correct = np.array([int(row[1]) for row in rows])
    if 0 < correct.sum() < len(correct):
        assert _stats.auroc(confidence, correct) == pytest.approx(
            roc_auc_score(correct, confidence)
        )
    else:
        assert _stats.auroc(confidence, correct) is None
    if correct.sum():
        assert _stats.auprc(confidence, correct) == pytest.approx(
            average_precision_score(correct, confidence)
        )
    else:
        assert _stats.auprc(confidence, correct) is None


def test_a_calibrated_confidence_has_no_calibration_error() -> None:
    confidence = np.repeat([0.6, 0.8], 10)
    correct = np.array([1] * 6 + [0] * 4 + [1] * 8 + [0] * 2)
    for equal_mass in (False, True):
        bins = _stats.reliability_bins(confidence, correct, bins=10, equal_mass=equal_mass)
        assert bins.calibration_error == pytest.approx(0)
    assert _stats.expected_calibration_error(confidence, correct) == pytest.approx(0)


@given(st.lists(st.floats(0, 1), min_size=1), st.booleans(), st.integers(1, 20))
def test_bins_lose_no_row(confidence: list[float], equal_mass: bool, bins: int) -> None:
    values = np.array(confidence)
    table = _stats.reliability_bins(
        values, np.ones(len(values), dtype=np.int64), bins=bins, equal_mass=equal_mass
    )
    assert table.count.sum() == len(values)
    assert (table.accuracy == 1).all()
