"""Algebra that must hold exactly: influence, clusters, strata, classes, weights, profile fits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtri, stdtr, stdtrit
from scipy.stats import ttest_ind
from slow_profile import slow_profile_interval

from adjudge.estimation import Counts, corrected_interval, corrected_variance, profile_interval
from adjudge.estimation.classes import _influences, _solve, class_shares
from adjudge.estimation.estimators.conditional import CONDITIONAL
from adjudge.estimation.estimators.misclassification import (
    correct_means,
    corrected_rate,
    misclassification,
    soft,
    stratify,
    weighted_misclassification,
)
from adjudge.estimation.estimators.ppi import DIFFERENCE, PPI
from adjudge.estimation.label_shift import label_shift
from adjudge.estimation.profile import Tallies, best_fit, likelihood_ratio
from adjudge.estimation.sample import Sample, counts_of, make_sample, spread


def draw(seed: int = 0, n: int = 300, m: int = 120, theta: float = 0.6) -> Sample:
    rng = np.random.default_rng(seed)
    truth = rng.random(n + m) < theta
    judge = np.where(rng.random(n + m) < np.where(truth, 0.85, 0.75), truth, ~truth)
    human = [int(t) if i < m else None for i, t in enumerate(truth)]
    return make_sample(judge.astype(float), human)


@pytest.mark.parametrize("seed", range(5))
def test_squared_influence_is_equation_9(seed: int) -> None:
    sample = draw(seed)
    fit, c = correct_means(sample), counts_of(sample)
    expected = corrected_variance(c.p, c.q0, c.q1, c.n, c.m0, c.m1)
    assert fit.influence @ fit.influence == pytest.approx(float(expected), rel=1e-12)
    assert fit.influence.sum() == pytest.approx(0, abs=1e-12)
    assert misclassification(sample).standard_error == pytest.approx(math.sqrt(expected))


def test_influence_is_the_derivative() -> None:
    # Doubling one row moves the estimate by its influence, to first order.
    sample = draw(1, n=4000, m=2000)
    fit = correct_means(sample)
    for row in (0, 1, 2, 3, 2500, 4000):
        twice = Sample(
            *(
                np.append(a, a[row])
                for a in (sample.judge, sample.human, sample.test, sample.labelled)
            )
        )
        moved = correct_means(twice).theta - fit.theta
        assert moved == pytest.approx(fit.influence[row], rel=0.02, abs=1e-9)


def test_one_row_per_cluster_changes_only_the_small_sample_factors() -> None:
    sample = draw(2)
    plain = misclassification(sample)
    clustered = misclassification(replace(sample, clusters=np.arange(len(sample.judge))))
    assert clustered.estimate == plain.estimate
    assert clustered.standard_error == pytest.approx(plain.standard_error * math.sqrt(120 / 119))


def test_duplicated_rows_in_one_cluster_do_not_pass_for_new_information() -> None:
    sample = draw(3, n=400, m=200)
    size = len(sample.judge)
    twice = Sample(
        *(np.tile(a, 2) for a in (sample.judge, sample.human, sample.test, sample.labelled)),
        clusters=np.tile(np.arange(size), 2),
    )
    single = misclassification(sample)
    assert misclassification(twice).standard_error == pytest.approx(
        single.standard_error * math.sqrt(200 / 199), rel=1e-9
    )
    assert spread(np.ones(4), None, None, None, 0.95).inflation == 1.0


def test_one_stratum_is_the_plain_interval_and_two_add_up() -> None:
    sample = draw(4, n=1000, m=400)
    zeros = np.zeros(len(sample.judge), dtype=np.int64)
    one = stratify(replace(sample, strata=zeros, strata_names=("all",)))
    plain = misclassification(sample)
    assert (one.estimate, one.low, one.high) == pytest.approx(
        (plain.estimate, plain.low, plain.high), abs=1e-12
    )
    halves = (np.arange(len(sample.judge)) % 2).astype(np.int64)
    two = stratify(replace(sample, strata=halves, strata_names=("a", "b")))
    parts = [misclassification(sample.restrict(halves == s)) for s in (0, 1)]
    assert two.estimate == pytest.approx(np.mean([p.estimate for p in parts]), abs=1e-12)


def test_a_stratum_without_labels_is_named() -> None:
    sample = draw(5)
    strata = np.where(sample.test & (np.arange(len(sample.judge)) % 3 == 0), 1, 0)
    got = stratify(replace(sample, strata=strata, strata_names=("labelled", "bare")))
    assert got.estimate is None
    assert "bare" in got.reason
    many = replace(sample, strata=np.arange(len(sample.judge)), strata_names=("s",) * 420)
    reason = stratify(many).reason
    assert reason is not None
    assert reason.count("label some rows") == 3
    assert "more); merge strata" in reason


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_are_equation_5_and_9(seed: int) -> None:
    sample = draw(seed)
    c = counts_of(sample)
    labels = np.where(sample.labelled, sample.human, -1).astype(np.int64)
    got = class_shares(sample.judge.astype(np.int64), labels, sample.test, ("0", "1"))
    plain = misclassification(sample)
    assert got.shares[1] == pytest.approx(plain.estimate, abs=1e-12)
    variance = corrected_variance(c.p, c.q0, c.q1, c.n, c.m0, c.m1)
    assert got.covariance[1, 1] == pytest.approx(float(variance), rel=1e-10)
    assert got.covariance.sum() == pytest.approx(0, abs=1e-12)
    # The interval is that of Eq. 7 and 8, around its own centre.
    z = float(ndtri(0.975))
    adjusted = ((c.k + z**2 / 2) / (c.n + z**2), (c.c0 + 1) / (c.m0 + 2), (c.c1 + 1) / (c.m1 + 2))
    centre = float(corrected_rate(*adjusted, clipped=False).estimate)
    half = z * math.sqrt(corrected_variance(*adjusted, c.n + z**2, c.m0 + 2, c.m1 + 2))
    assert (got.low[1], got.high[1]) == pytest.approx((centre - half, centre + half))


def test_a_large_cluster_leaves_few_degrees_of_freedom() -> None:
    """60 of 90 labelled rows are one cluster: they say as much as 2.2 equal ones."""
    sample = draw(3, n=210, m=90)
    clusters = np.arange(300)
    clusters[:60] = 0
    alone = replace(sample, clusters=clusters)
    freedom = 90**2 / (60**2 + 30) - 1
    labels = np.where(sample.labelled, sample.human, -1).astype(np.int64)
    verdicts = sample.judge.astype(np.int64)
    got = class_shares(verdicts, labels, sample.test, ("0", "1"), clusters=clusters)
    flat = class_shares(verdicts, labels, sample.test, ("0", "1"))
    influence = _influences(flat.confusion, flat.shares, verdicts, labels, sample.test)[1]
    ratio = spread(influence, clusters, 31, sample.labelled, 0.95).inflation
    # The plain interval has no cluster, and is within [0, 1].
    plain = (flat.high[1] - flat.low[1]) / (2 * float(ndtri(0.975)))
    low = (flat.high[1] + flat.low[1]) / 2 - float(stdtrit(freedom, 0.975)) * plain * ratio
    assert got.low[1] == pytest.approx(max(low, 0))
    gap = sample.judge[:90].mean() - sample.judge[90:].mean()
    each = np.where(sample.labelled, (sample.judge - sample.judge[:90].mean()) / 90, 0.0)
    each -= np.where(sample.test, (sample.judge - sample.judge[90:].mean()) / 210, 0.0)
    sums = np.bincount(clusters, each)
    # Without it the other 30 rows decide: it pulls further than one of 31 equal clusters.
    sums[0] *= (1 - 1 / 31) / (1 - 60 / 90)
    error = math.sqrt(31 / 30 * float(sums @ sums))
    shift = label_shift(alone)
    assert shift is not None
    assert shift.p_value == pytest.approx(2 * float(stdtr(freedom, -abs(gap) / error)))


def test_soft_on_zero_one_is_equation_5() -> None:
    sample = draw(6)
    assert soft(sample).estimate == pytest.approx(misclassification(sample).estimate, abs=1e-12)
    ratio = soft(sample).standard_error / misclassification(sample).standard_error
    assert 1 < ratio < 1.02


def test_equal_weights_change_nothing() -> None:
    sample = draw(7)
    chance = [0.25 if known else None for known in sample.labelled]
    human = [int(z) if z >= 0 else None for z in sample.human]
    planned = make_sample(sample.judge, human, sampling_probability=chance)
    assert planned.n == len(sample.judge)
    q = counts_of(planned)
    fit = correct_means(planned)
    assert (1 - fit.mu0, fit.mu1) == pytest.approx((q.q0, q.q1), abs=1e-12)
    assert weighted_misclassification(planned).estimate == pytest.approx(
        (q.p + q.q0 - 1) / (q.q0 + q.q1 - 1), abs=1e-12
    )


def test_weights_within_verdicts_make_both_planned_estimators_agree() -> None:
    # With weights N_v / m_v the weighted correction of all rows is the conditional estimator.
    rng = np.random.default_rng(8)
    truth = rng.random(1000) < 0.3
    judge = np.where(rng.random(1000) < 0.8, truth, ~truth).astype(float)
    human: list[int | None] = [None] * 1000
    chance: list[float | None] = [None] * 1000
    for verdict, size in ((0, 80), (1, 40)):
        pool = np.flatnonzero(judge == verdict)
        for row in rng.permutation(pool)[:size]:
            human[row], chance[row] = int(truth[row]), size / len(pool)
    sample = make_sample(judge, human, sampling_probability=chance)
    a, b = CONDITIONAL.compute(sample), weighted_misclassification(sample)
    assert a.estimate == pytest.approx(b.estimate, abs=1e-12)
    assert b.standard_error >= a.standard_error


@pytest.mark.parametrize("theta", [0.0, 0.07, 0.5, 0.93, 1.0])
@pytest.mark.parametrize(
    "counts",
    [
        Counts(k=550, n=1000, c0=70, m0=100, c1=90, m1=100),
        Counts(k=3, n=10, c0=10, m0=10, c1=10, m1=10),
        Counts(k=0, n=50, c0=6, m0=10, c1=9, m1=10),
        Counts(k=50, n=50, c0=0, m0=3, c1=1, m1=4),
    ],
)
def test_the_profile_fit_is_the_maximum(theta: float, counts: Counts) -> None:
    data = Tallies.of(counts)
    q0, q1, p = best_fit(theta, data)

    def loss(q: np.ndarray) -> float:
        mixed = theta * q[1] + (1 - theta) * (1 - q[0])
        total = 0.0
        for hits, size, share in (
            (counts.k, counts.n, mixed),
            (counts.c0, counts.m0, q[0]),
            (counts.c1, counts.m1, q[1]),
        ):
            share = min(max(share, 1e-12), 1 - 1e-12)
            total -= hits * math.log(share) + (size - hits) * math.log(1 - share)
        return total

    best = min(
        minimize(loss, start, method="L-BFGS-B", bounds=[(1e-9, 1 - 1e-9)] * 2).fun
        for start in ([0.5, 0.5], [0.9, 0.9], [0.2, 0.7])
    )
    assert loss(np.array([q0[0], q1[0]])) <= best + 1e-5
    assert p[0] == pytest.approx(theta * q1[0] + (1 - theta) * (1 - q0[0]), abs=1e-9)
    assert likelihood_ratio(theta, data)[0] >= 0


def test_the_profile_interval_is_seeded_and_holds_the_estimate() -> None:
    counts = Counts(k=120, n=200, c0=7, m0=10, c1=9, m1=10)
    first, again = (profile_interval(counts, replicates=199) for _ in range(2))
    assert first == again
    assert first[0] < (0.6 + 0.7 - 1) / 0.6 < first[1]
    low, high = profile_interval(counts, confidence_level=0.8, replicates=199)
    assert first[0] < low < high < first[1]


def test_the_quick_search_for_the_profile_interval_gives_the_slow_ones_numbers() -> None:
    rng = np.random.default_rng(2)
    cases = [
        Counts(k=550, n=1000, c0=70, m0=100, c1=9, m1=10),
        Counts(k=7, n=60, c0=8, m0=10, c1=8, m1=10),
        Counts(k=990, n=1000, c0=20, m0=20, c1=95, m1=100),
    ]
    while len(cases) < 6:
        n, m0, m1 = rng.integers((20, 5, 5), (3000, 150, 150)).tolist()
        q0, q1, theta = rng.uniform((0.55, 0.55, 0), (1, 1, 1)).tolist()
        k = int(rng.binomial(n, theta * q1 + (1 - theta) * (1 - q0)))
        c0, c1 = (int(rng.binomial(m, q)) for m, q in ((m0, q0), (m1, q1)))
        cases.append(Counts(k=k, n=n, c0=c0, m0=m0, c1=c1, m1=m1))
    for counts in cases:
        if counts.informative:
            quick = profile_interval(counts, replicates=199, seed=5)
            slow = slow_profile_interval(counts, replicates=199, seed=5)
            assert quick == slow, counts


def test_large_samples_make_profile_and_wald_agree() -> None:
    counts = Counts(k=5500, n=10000, c0=1400, m0=2000, c1=1800, m1=2000)
    low, high = profile_interval(counts)
    sample = make_sample(
        np.repeat([1.0, 0, 0, 1, 1, 0], [5500, 4500, 1400, 600, 1800, 200]),
        [None] * 10000 + [0] * 2000 + [1] * 2000,
    )
    wald = misclassification(sample)
    assert (low, high) == pytest.approx((wald.low, wald.high), abs=0.004)


def test_label_shift_says_how_rare_such_samples_are() -> None:
    alike = label_shift(make_sample([1, 0] * 100, ([1, 0] * 20 + [None] * 160)))
    assert not alike.doubtful
    assert alike.explanation.endswith("(p = 1)")
    apart = label_shift(make_sample([1] * 40 + [0] * 160, [1] * 40 + [None] * 160))
    assert apart.doubtful
    assert apart.explanation.endswith("in a million looks like this")


def test_the_shift_test_for_probabilities_is_welchs() -> None:
    rng = np.random.default_rng(4)
    x = rng.random(90)
    got = label_shift(make_sample(x, [1, 0] * 15 + [None] * 60))
    expected = ttest_ind(x[:30], x[30:], equal_var=False).pvalue
    assert got.p_value == pytest.approx(expected, rel=1e-10)


def test_ppi_is_never_certain_and_needs_no_warning_for_a_rare_class() -> None:
    """Labels that are all equal, with a judge that agrees: a normal interval would be a point."""
    got = PPI.compute(make_sample([1] * 100, [1] * 40 + [None] * 60))
    assert (got.estimate, got.standard_error, got.warnings) == (1.0, 0.0, ())
    assert got.low < 0.95
    assert PPI.compute(draw(m=100, theta=0.05)).warnings == ()


def test_the_difference_estimator_is_normal_and_never_certain() -> None:
    rows = draw(m=100, theta=0.4)
    got = DIFFERENCE.compute(rows)
    assert got.high - got.estimate == pytest.approx(1.959964 * got.standard_error)
    certain = DIFFERENCE.compute(make_sample([1] * 100, [1] * 40 + [None] * 60))
    assert certain.low < 0.95
    [warning] = DIFFERENCE.compute(draw(m=25, theta=0.4)).warnings
    assert warning.startswith("fewer than 30 labels")


def test_influences_of_single_rows_add_up_to_the_variance_of_the_shares() -> None:
    """Row by row or by the delta method: the same variance, if no row is its own neighbour."""
    rng = np.random.default_rng(4)
    labels = np.concatenate([np.full(400, -1), rng.integers(0, 3, 150)])
    truth = np.where(labels < 0, rng.integers(0, 3, 550), labels)
    verdicts = np.where(rng.random(550) < 0.8, truth, rng.integers(0, 3, 550))
    test, labelled = labels < 0, labels >= 0
    per_class = np.bincount(labels[labelled], minlength=3).astype(float)
    confusion = np.zeros((3, 3))
    np.add.at(confusion, (verdicts[labelled], labels[labelled]), 1)
    confusion /= per_class
    seen = np.bincount(verdicts[test], minlength=3) / test.sum()
    shares, covariance = _solve(confusion, seen, float(test.sum()), per_class)
    values = _influences(confusion, shares, verdicts, labels, test)
    assert (values**2).sum(axis=1) == pytest.approx(np.diag(covariance))


@pytest.mark.parametrize("size", [5, 20_000])
def test_many_rates_of_one_judge_are_one_call(size: int) -> None:
    shares = np.linspace(0.3, 0.9, size)
    bounds = corrected_interval(shares, 0.7, 0.9, 1000, 100, 100)
    assert bounds.informative.shape == bounds.low.shape == shares.shape
    assert bounds.informative.all()
    last = corrected_interval(shares[-1], 0.7, 0.9, 1000, 100, 100)
    assert (bounds.low[-1], bounds.high[-1]) == pytest.approx((last.low, last.high), abs=1e-12)
