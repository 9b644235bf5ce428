"""The other estimators, and rows that are clustered, stratified, planned, paired or in classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.estimation.classes import class_shares
from adjudge.estimation.estimators import find_estimator
from adjudge.estimation.estimators.conditional import adjust
from adjudge.estimation.label_shift import LEVEL, label_shift
from adjudge.estimation.sample import Sample, make_sample
from adjudge.statistics.numbers import fisher_exact

RUNS = [pytest.param(300, id="short"), pytest.param(3000, id="full", marks=pytest.mark.montecarlo)]


def floor(replications: int, level: float = 0.95) -> float:
    return float(binom.ppf(1 / 20_000, replications, level)) / replications


def verdicts(truth: np.ndarray, q0: float, q1: float, rng: np.random.Generator) -> np.ndarray:
    right = rng.random(len(truth)) < np.where(truth, q1, q0)
    return np.where(right, truth, ~truth).astype(np.float64)


def labelled_first(judge: np.ndarray, truth: np.ndarray, m: int) -> Sample:
    known = np.arange(len(judge)) < m
    return Sample(judge, np.where(known, truth, -1).astype(np.int64), ~known, known)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("method", ["human-only", "difference", "conditional", "ppi++"])
@pytest.mark.parametrize("theta", [0.2, 0.5, 0.85])
def test_random_labels(method: str, theta: float, runs: int) -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(runs):
        truth = rng.random(1200) < theta
        sample = labelled_first(verdicts(truth, 0.75, 0.85, rng), truth, 200)
        got = find_estimator(method).estimate(sample, confidence_level=0.95)
        covered += got.low <= theta <= got.high
    assert covered / runs >= floor(runs)


@pytest.mark.parametrize("runs", RUNS)
def test_probabilities(runs: int) -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(runs):
        truth = rng.random(1200) < 0.3
        sample = labelled_first(rng.beta(np.where(truth, 4, 2), np.where(truth, 2, 4)), truth, 200)
        got = find_estimator("misclassification").estimate(sample, confidence_level=0.95)
        covered += got.low <= 0.3 <= got.high
    assert covered / runs >= floor(runs)


def probabilities(kind: str, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Probabilities of a judge: spread out, or almost verdicts of which nine in ten are right."""
    if kind == "soft":
        return rng.beta(np.where(truth, 8, 2), np.where(truth, 2, 8))
    right = rng.random(len(truth)) < 0.9
    return np.where(np.where(right, truth, ~truth), 0.97, 0.03) + rng.uniform(-0.02, 0.02)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", ["soft", "sure"])
@pytest.mark.parametrize("labels", [30, 60, 200])
def test_ppi_covers_rates_near_nine_tenths(labels: int, kind: str, runs: int) -> None:
    """The promise is 0.94 at 95 %; with few labels a normal interval has less."""
    rng = np.random.default_rng(11)
    hits, normal, widths = 0, 0, np.zeros(2)
    for _ in range(runs):
        truth = rng.random(labels + 1000) < 0.9
        sample = labelled_first(probabilities(kind, truth, rng), truth, labels)
        got = find_estimator("ppi++").estimate(sample, confidence_level=0.95)
        hits += got.low <= 0.9 <= got.high
        half = 1.959964 * got.standard_error
        normal += abs(got.estimate - 0.9) <= half
        widths += got.high - got.low, min(got.estimate + half, 1) - (got.estimate - half)
    assert hits / runs >= floor(runs, 0.94)
    if labels < 200:
        assert normal < hits
    else:
        assert widths[0] < 1.12 * widths[1]


def clustered_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """150 clusters of 8 rows: truth and the judge's errors go together within one."""
    clusters = np.repeat(np.arange(150), 8)
    rate = rng.beta(1.2, 0.8, 150)[clusters]
    skill = rng.beta(8, 2, 150)[clusters]
    truth = rng.random(1200) < rate
    right = rng.random(1200) < skill
    return clusters, truth, np.where(right, truth, ~truth).astype(np.float64)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("method", ["misclassification", "ppi++", "human-only", "conditional"])
def test_clusters(method: str, runs: int) -> None:
    rng = np.random.default_rng(3)
    theta, covered, ignoring = 0.6, 0, 0
    for _ in range(runs):
        clusters, truth, judge = clustered_rows(rng)
        plain = labelled_first(judge, truth, 60 * 8)
        got = find_estimator(method).estimate(
            replace(plain, clusters=clusters), confidence_level=0.95
        )
        covered += got.low <= theta <= got.high
        flat = find_estimator(method).estimate(plain, confidence_level=0.95)
        ignoring += flat.low <= theta <= flat.high
    assert covered / runs >= floor(runs)
    assert ignoring < covered


@pytest.mark.parametrize("runs", RUNS)
def test_strata_where_one_matrix_would_fail(runs: int) -> None:
    rng = np.random.default_rng(4)
    shares, rates = np.array([0.6, 0.4]), np.array([0.3, 0.8])
    q0, q1 = np.array([0.9, 0.6]), np.array([0.6, 0.95])
    theta, covered, pooled = float(shares @ rates), 0, 0
    for _ in range(runs):
        # Labels are drawn evenly over the strata, test rows are not: one matrix mixes wrongly.
        strata = np.concatenate([np.repeat([0, 1], 150), (rng.random(1500) < 0.4).astype(int)])
        truth = rng.random(1800) < rates[strata]
        right = rng.random(1800) < np.where(truth, q1[strata], q0[strata])
        judge = np.where(right, truth, ~truth).astype(np.float64)
        plain = labelled_first(judge, truth, 300)
        layered = replace(plain, strata=strata, strata_names=("a", "b"))
        got = find_estimator("misclassification").estimate(layered, confidence_level=0.95)
        covered += got.low <= theta <= got.high
        one = find_estimator("misclassification").estimate(plain, confidence_level=0.95)
        pooled += one.low <= theta <= one.high
    assert covered / runs >= floor(runs)
    assert pooled / runs < 0.9


@pytest.mark.parametrize("runs", RUNS)
def test_three_classes(runs: int) -> None:
    rng = np.random.default_rng(5)
    theta = np.array([0.5, 0.3, 0.2])
    confusion = np.array([[0.8, 0.15, 0.2], [0.1, 0.75, 0.2], [0.1, 0.1, 0.6]])
    columns = confusion.cumsum(axis=0)
    covered = np.zeros(3)
    for _ in range(runs):
        labels = np.concatenate([np.repeat([0, 1, 2], 80), rng.choice(3, 1000, p=theta)])
        judge = (rng.random(1240)[:, None] > columns[:, labels].T).sum(axis=1)
        test = np.arange(1240) >= 240
        got = class_shares(judge, np.where(test, -1, labels), test, ("a", "b", "c"))
        covered += (got.low <= theta) & (theta <= got.high)
    assert (covered / runs >= floor(runs)).all()


@pytest.mark.parametrize("runs", RUNS)
def test_three_classes_in_clusters(runs: int) -> None:
    """150 prompts of 8 rows, 75 of them labelled; class and the judge's slips go by prompt."""
    rng = np.random.default_rng(10)
    theta = np.array([0.5, 0.3, 0.2])
    clusters = np.repeat(np.arange(150), 8)
    test = clusters >= 75
    covered, ignoring = np.zeros(3), np.zeros(3)
    for _ in range(runs):
        own = rng.choice(3, 1200, p=theta)
        truth = np.where(rng.random(1200) < 0.5, rng.choice(3, 150, p=theta)[clusters], own)
        # A prompt's slip is drawn once: where the judge errs on it, it says the same wrong thing.
        slips = rng.random(1200) < rng.beta(1, 4, 150)[clusters]
        judge = np.where(slips, rng.choice(3, 150)[clusters], truth)
        labels = np.where(test, -1, truth)
        got = class_shares(judge, labels, test, ("a", "b", "c"), clusters=clusters)
        flat = class_shares(judge, labels, test, ("a", "b", "c"))
        covered += (got.low <= theta) & (theta <= got.high)
        ignoring += (flat.low <= theta) & (theta <= flat.high)
    assert (covered / runs >= floor(runs)).all()
    assert (ignoring / runs < 0.9).all()


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("method", ["conditional", "misclassification"])
def test_labels_picked_by_verdict(method: str, runs: int) -> None:
    rng = np.random.default_rng(6)
    theta, covered = 0.5, 0
    for _ in range(runs):
        truth = rng.random(1200) < theta
        judge = verdicts(truth, 0.7, 0.9, rng)
        chance = np.full(1200, np.nan)
        human = np.full(1200, np.nan)
        for verdict, size in ((0, 120), (1, 60)):
            pool = np.flatnonzero(judge == verdict)
            rows = rng.permutation(pool)[:size]
            chance[rows], human[rows] = size / len(pool), truth[rows]
        sample = make_sample(judge, human, sampling_probability=chance)
        got = find_estimator(method).estimate(sample, confidence_level=0.95)
        covered += got.low <= theta <= got.high
    assert covered / runs >= floor(runs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("clustered", [False, True])
def test_the_shift_check_keeps_its_level(clustered: bool, runs: int) -> None:
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(runs):
        clusters, truth, judge = clustered_rows(rng)
        if not clustered:
            truth = rng.random(1200) < 0.6
            judge = verdicts(truth, 0.8, 0.8, rng)
        sample = labelled_first(judge, truth, 480)
        if clustered:
            sample = replace(sample, clusters=clusters)
        rejected += label_shift(sample).p_value < 0.05
    assert rejected / runs <= float(binom.ppf(1 - 1 / 20_000, runs, 0.05)) / runs


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(2_000, id="short"),
        pytest.param(40_000, id="full", marks=pytest.mark.montecarlo),
    ],
)
@pytest.mark.parametrize(
    ("labels", "theta", "q0", "q1"), [(60, 0.6, 0.9, 0.8), (200, 0.8, 0.7, 0.9)]
)
def test_honest_users_keep_their_method_and_its_coverage(
    labels: int, theta: float, q0: float, q1: float, runs: int
) -> None:
    """Random labels: at most 1 in 1,000 gets the remark. Where the labels look least random (the
    5 % with the smallest p-values), conditional still covers, and so does the one beside it."""
    rng = np.random.default_rng(12)
    n, cells = 1000, [theta * q1, theta * (1 - q1), (1 - theta) * (1 - q0), (1 - theta) * q0]
    right, missed, alarm, rejection = rng.multinomial(labels, cells, runs).T
    ones, zeros, others = (
        right + alarm,
        missed + rejection,
        rng.binomial(n, cells[0] + cells[2], runs),
    )
    p = np.array(
        [fisher_exact(int(k), labels, int(j), n) for k, j in zip(ones, others, strict=True)]
    )
    assert (p < LEVEL).sum() <= binom.ppf(1 - 1 / 20_000, runs, LEVEL)
    odd, z = p < 0.05, 1.959964
    rates = right / np.maximum(ones, 1), missed / np.maximum(zeros, 1)
    for judge_rate, size in (((ones + others) / (n + labels), n + labels), (others / n, n)):
        centre, se = adjust(judge_rate, *rates, size, ones, zeros, z)
        covered = np.abs(centre - theta) <= z * se
        assert covered.mean() >= floor(runs)
        assert covered[odd].mean() >= floor(int(odd.sum()), 0.94)
