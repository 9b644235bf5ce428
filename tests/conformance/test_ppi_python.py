"""The difference estimator and PPI++ against ppi-python, the authors' own library."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.estimation.estimators.ppi import DIFFERENCE, PPI
from adjudge.estimation.sample import make_sample
from adjudge.statistics.numbers import normal_quantile

ppi_py = pytest.importorskip("ppi_py")

CASES = [
    (seed, n, m, soft)
    for seed, (n, m) in enumerate([(1000, 200), (300, 300), (50, 400), (5000, 30), (17, 11)])
    for soft in (False, True)
]


def draw(seed: int, n: int, m: int, soft: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n + m) < 0.6).astype(float)
    judge = np.where(rng.random(n + m) < 0.8, truth, 1 - truth)
    if soft:
        judge = np.clip(0.2 + 0.6 * judge + rng.normal(0, 0.1, n + m), 0, 1)
    return truth[:m], judge[:m], judge[m:]


@pytest.mark.parametrize(("seed", "n", "m", "soft"), CASES)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_same_estimate_and_standard_error(
    seed: int, n: int, m: int, soft: bool, level: float
) -> None:
    human, judge, unlabelled = draw(seed, n, m, soft)
    sample = make_sample(
        np.concatenate([judge, unlabelled]), [*human.tolist(), *([None] * len(unlabelled))]
    )
    for ours, lam in (
        (PPI.compute(sample, confidence_level=level), None),
        (DIFFERENCE.compute(sample, confidence_level=level), 1),
    ):
        point = ppi_py.ppi_mean_pointestimate(human, judge, unlabelled, lam=lam)
        low, high = ppi_py.ppi_mean_ci(human, judge, unlabelled, alpha=1 - level, lam=lam)
        assert ours.estimate == pytest.approx(float(np.squeeze(point)), abs=1e-9)
        # Its interval is the normal one; ours has the same standard error and is adjusted.
        assert ours.estimate is not None
        assert ours.standard_error is not None
        half = normal_quantile(level) * ours.standard_error
        assert ours.estimate - half == pytest.approx(float(np.squeeze(low)), abs=1e-9)
        assert ours.estimate + half == pytest.approx(float(np.squeeze(high)), abs=1e-9)


def test_the_cases_reach_both_ends_of_the_weight() -> None:
    from adjudge.estimation.estimators.ppi import tuned_weight

    rng = np.random.default_rng(0)
    z = (rng.random(400) < 0.5).astype(float)
    human = [*z[:200].tolist(), *([None] * 200)]
    assert tuned_weight(make_sample(1 - z, human)) == 0.0
    assert 0.4 < tuned_weight(make_sample(z, human)) < 1.0
