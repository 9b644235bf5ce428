"""Juries: mirrored exactly, sure where the judges are, and worth the labels they cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from adjudge.errors import ArgumentError
from adjudge.selection.guarantees.scope import scope_threshold
from adjudge.selection.jury import calibrate_jury, mean_jury
from adjudge.simulate.selective import several_judges
from adjudge.uncertainty import preference_entropy


def accepted(p, prefers_a, alpha=0.15):
    """What scope accepts of the second half after calibrating on the first, and its errors."""
    s, e = preference_entropy(p), ((p > 0.5) != prefers_a).astype(int)
    half = len(p) // 2
    chosen = scope_threshold(s[:half], e[:half], alpha=alpha).accept(s[half:])
    return chosen.mean(), e[half:][chosen].mean() if chosen.any() else 0.0


def test_swapping_a_and_b_mirrors_the_jury_exactly():
    rng = np.random.default_rng(1)
    p = rng.random((80, 4)).round(3)
    label = (rng.random(80) < p[:, 0]).astype(int)
    for jury in (mean_jury(4), calibrate_jury(p, label)):
        assert (jury.predict(1 - p) == 1 - jury.predict(p)).all()
    swapped = calibrate_jury(1 - p, 1 - label)
    assert swapped.weights == pytest.approx(calibrate_jury(p, label).weights, abs=1e-9)


def test_the_surer_of_two_sure_pairs_stays_the_surer():
    # An over-confident judge is above 0.998 for most pairs; the order among those is its doubt.
    p = np.array([[0.999, 0.6], [0.9999, 0.6], [0.99999, 0.6]])
    for jury in (mean_jury(2), calibrate_jury(*several_judges(60, seed=2, scales=(6, 1),
                                                     skills=(1.0, 0.5)))):  # fmt: skip
        assert (np.diff(jury.predict(p)) > 0).all()


def test_certain_probabilities_are_finite():
    p = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    for jury in (mean_jury(2), calibrate_jury(p, [0, 1, 1, 0])):
        assert np.isfinite(jury.weights).all()
        assert np.isfinite(jury.predict(p)).all()
        assert jury.predict(p)[2] == 0.5


def test_a_judge_is_ignored_but_never_turned_round():
    p, y = several_judges(80, seed=3)
    against = np.column_stack([p, 1 - y * 0.8 - 0.1])
    weights = calibrate_jury(against, y).weights
    assert weights[-1] == 0
    assert (weights >= 0).all()
    assert weights.max() > 0


def test_weights_are_those_of_a_slow_solver():
    p, y = several_judges(60, seed=4)
    p = p.clip(1e-5, 1 - 1e-5)
    x = np.log(p / (1 - p))

    def loss(roots):
        w = roots**2
        return np.logaddexp(0, (1 - 2 * y) * (x @ w)).sum() + 5 * w @ w

    slow = min(
        (
            minimize(loss, np.full(5, start), method="Nelder-Mead",
                     options={"maxiter": 40_000, "xatol": 1e-9, "fatol": 1e-12})
            for start in (0.1, 0.5)
        ),
        key=lambda result: result.fun,
    )  # fmt: skip
    assert calibrate_jury(p, y).weights == pytest.approx(slow.x**2, abs=1e-3)


def test_a_jury_is_worth_sixty_labels_where_no_judge_stands_out():
    """Against each judge alone, which keeps the sixty labels for calibration."""
    rng = np.random.default_rng(5)
    juries, alone, wrong = [], [], []
    for _ in range(150):
        p, y = several_judges(400, seed=rng)
        p_jury = calibrate_jury(p[:60], y[:60]).predict(p[60:])
        share, risk = accepted(p_jury, y[60:])
        juries.append(share)
        wrong.append(risk)
        alone.append([accepted(p[:, j], y)[0] for j in range(p.shape[1])])
    assert np.mean(juries) > np.mean(alone, axis=0).max() + 0.05
    assert np.mean(wrong) <= 0.15 + 4 * np.std(wrong) / np.sqrt(len(wrong))


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match="one column for each of 2"):
        mean_jury(2).predict([[0.5]])
    with pytest.raises(ArgumentError, match="rows are pairs"):
        mean_jury(1).predict([0.5])
    with pytest.raises(ArgumentError, match="one label for each"):
        calibrate_jury([[0.5, 0.5]], [1, 0])
