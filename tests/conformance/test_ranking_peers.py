"""The same numbers as scikit-learn, scipy and, where installed, evalica and choix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from adjudge.ranking import bradley_terry, fit_temperature, online_elo
from adjudge.ranking.bradley_terry import sandwich, wins_table
from adjudge.statistics.agreement import cohen_kappa
from adjudge.statistics.bradley_terry import fit_strengths


@pytest.fixture(scope="module")
def season() -> tuple[Any, Any, Any, int]:
    draw = np.random.default_rng(11)
    n, size = 12, 3000
    theta = draw.normal(0, 0.7, n)
    a = draw.integers(0, n, size)
    b = (a + draw.integers(1, n, size)) % n
    y = (draw.random(size) < 1 / (1 + np.exp(theta[b] - theta[a]))).astype(float)
    y[draw.random(size) < 0.15] = 0.5
    return a, b, y, n


def test_scikit_learn_logistic_regression(season: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    a, b, y, n = season
    x = np.zeros((len(a), n))
    x[np.arange(len(a)), a] = 1
    x[np.arange(len(a)), b] = -1
    # Ties as two half rows; C = 1 / (2 l2) makes the penalties equal.
    model = LogisticRegression(C=1 / 0.02, fit_intercept=False, tol=1e-10, max_iter=1000)
    model.fit(np.vstack([x, x]), np.repeat([1, 0], len(a)), np.concatenate([y, 1 - y]))
    ours = fit_strengths(wins_table(a, b, y, n), l2=0.01)
    np.testing.assert_allclose(ours, model.coef_[0], atol=1e-6)


def test_evalica_strengths_and_online_elo(season: Any) -> None:
    evalica = pytest.importorskip("evalica")
    a, b, y, n = season
    words = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    names = [f"m{k:02d}" for k in range(n)]
    xs, ys = [names[k] for k in a], [names[k] for k in b]
    won = [words[float(v)] for v in y]
    found = evalica.bradley_terry(xs, ys, won, tolerance=1e-12, limit=10_000).scores
    theirs = np.log(found.loc[names].to_numpy())
    ours = fit_strengths(wins_table(a, b, y, n), l2=0)
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-6)
    rated = evalica.elo(xs, ys, won, initial=1500, base=10, scale=400, k=16).scores
    np.testing.assert_allclose(online_elo(a, b, y, n, k=16), rated.loc[names].to_numpy(), atol=1e-6)


def test_choix_strengths(season: Any) -> None:
    choix = pytest.importorskip("choix")
    a, b, y, n = season
    decided = y != 0.5
    pairs = [
        (int(i), int(j)) if v == 1 else (int(j), int(i))
        for i, j, v in zip(a[decided], b[decided], y[decided], strict=True)
    ]
    theirs = choix.ilsr_pairwise(n, pairs, alpha=0, tol=1e-12)
    ours = fit_strengths(wins_table(a[decided], b[decided], y[decided], n), l2=0)
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-6)


def test_temperature_is_the_scalar_optimum() -> None:
    draw = np.random.default_rng(5)
    s = draw.normal(0, 2, 400)
    y = (draw.random(400) < 1 / (1 + np.exp(-0.7 * s))).astype(float)
    t = s * (2 * y - 1)
    best = minimize_scalar(lambda beta: -log_expit(beta * t).sum(), bracket=(0, 2), tol=1e-14).x
    found = fit_temperature(s, y)
    assert found.beta == pytest.approx(best, abs=1e-7)


def test_cohen_kappa() -> None:
    from sklearn.metrics import cohen_kappa_score

    draw = np.random.default_rng(6)
    x, y = draw.choice([0.0, 0.5, 1.0], 300), draw.choice([0.0, 0.5, 1.0], 300)
    y[:150] = x[:150]
    ours = cohen_kappa(np.append(x, np.nan), np.append(y, 1.0))
    assert ours == pytest.approx(cohen_kappa_score(2 * x, 2 * y))


def test_sandwich_by_brute_force(season: Any) -> None:
    a, b, y, n = season
    fit = bradley_terry(wins_table(a, b, y, n), l2=0.01)
    clusters = np.arange(len(a)) % 200
    gradient = np.zeros((200, n))
    p = 1 / (1 + np.exp(fit.theta[b] - fit.theta[a]))
    for k in range(len(a)):
        gradient[clusters[k], a[k]] += y[k] - p[k]
        gradient[clusters[k], b[k]] -= y[k] - p[k]
    hessian = np.full((n, n), 0.0)
    for k in range(len(a)):
        x = np.zeros(n)
        x[a[k]], x[b[k]] = 1, -1
        hessian += p[k] * (1 - p[k]) * np.outer(x, x)
    centre = np.eye(n) - 1 / n
    inverse = np.linalg.pinv(hessian + 0.02 * centre)
    expected = inverse @ (gradient.T @ gradient * 200 / 199) @ inverse
    np.testing.assert_allclose(sandwich(fit, a, b, y, clusters=clusters), expected, atol=1e-10)
