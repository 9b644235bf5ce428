"""The signed ridge: its weights, its penalty, and where it stays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from adjudge.statistics import ridge
from adjudge.statistics.ridge import HOME, PENALTIES, fit_ridge


def rows(n, *, columns=4, weights=(1.0, 0.3), seed=0):
    """Signed rows whose first two columns are a mean and its sign."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n) * 2
    x = np.column_stack([mean, np.sign(mean), rng.normal(size=(n, columns - 2))])
    w = np.zeros(columns)
    w[: len(weights)] = weights
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(x @ w))), 1, -1)
    return x * y[:, None]


def fit(signed, learns=None, seed=0):
    learns = np.ones((1, len(signed)), dtype=bool) if learns is None else learns
    return fit_ridge(signed, learns, units=np.arange(len(signed)), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("weights", [(1.0, 0.3), (0.6, 0.0, 1.5, -1.5)])
def test_weights_are_those_of_a_slow_solver(weights):
    signed = rows(120, weights=weights)
    [scales], [own], [penalty] = fit(signed)
    assert scales == pytest.approx(np.sqrt((signed**2).mean(axis=0)))
    assert penalty in PENALTIES
    assert own[0] * own[1] > 0  # the constraint on the sign does not bind here
    each = np.array([HOME, HOME, penalty, penalty])

    def loss(w):
        return np.logaddexp(0, -(signed / scales) @ w).sum() + (each * w * w).sum() / 2

    slow = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert own == pytest.approx(slow.x, abs=1e-6)


def test_it_leaves_home_for_a_reason_and_not_for_noise():
    assert fit(rows(200)).penalty[0] == PENALTIES[0]
    assert fit(rows(200, weights=(0.2, 0.0, 2.0, -1.5))).penalty[0] < PENALTIES[0]


def test_the_sign_never_weighs_against_the_mean():
    against = 0
    for seed in range(40):
        signed = rows(60, weights=(1.0, -0.4), seed=seed)
        [made] = fit(signed).weights
        assert made[0] * made[1] >= 0
        against += made[1] == 0
    assert against > 20


def test_many_samples_at_once_are_the_samples_one_by_one(monkeypatch):
    signed = rows(90, weights=(0.5, 0.1, 1.0))
    rng = np.random.default_rng(1)
    learns = rng.random((6, 90)) < rng.uniform(0.3, 0.9, (6, 1))
    folds = rng.integers(0, 5, (6, 90))
    monkeypatch.setattr(ridge, "_random_folds", lambda learns, units, rng: folds[: len(learns)])
    monkeypatch.setattr(ridge, "_CELLS", 2 * 25 * 90 * 4)  # two samples to a batch
    together = fit(signed, learns)
    for at in range(6):
        monkeypatch.setattr(
            ridge, "_random_folds", lambda learns, units, rng, at=at: folds[at : at + 1]
        )
        alone = fit(signed, learns[at : at + 1])
        assert alone.penalty[0] == together.penalty[at]
        assert alone.weights[0] == pytest.approx(together.weights[at], abs=1e-9)
        assert alone.scales[0] == pytest.approx(together.scales[at])


def test_folds_are_of_whole_units_and_of_one_size():
    units = np.repeat(np.arange(20), 3)
    learns = np.isin(units, np.arange(4, 19))[None]
    [folds] = ridge._random_folds(learns, units, np.random.default_rng(0))
    by_unit = folds.reshape(20, 3)
    assert (by_unit == by_unit[:, :1]).all()
    assert np.bincount(by_unit[4:19, 0]).tolist() == [3] * 5


def test_perfectly_separated_rows_have_finite_weights():
    signed = np.abs(rows(50))
    assert np.isfinite(fit(signed).weights).all()
