"""Newton on totals against a generic optimiser on single battles, and the symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize, root
from scipy.special import expit, log_expit

from adjudge.ranking.bradley_terry import bradley_terry, wins_table
from adjudge.statistics.bradley_terry import fit_against_anchors, fit_strengths, to_elo


@st.composite
def drawn_battles(draw: Any) -> tuple[Any, Any, Any, Any, int]:
    """Battles with hard, tied or soft targets and weights, from clean sweeps to even."""
    n = draw(st.integers(2, 7))
    size = draw(st.integers(1, 60))
    a = draw(arrays(np.int64, size, elements=st.integers(0, n - 1)))
    shift = draw(arrays(np.int64, size, elements=st.integers(1, n - 1)))
    kind = draw(st.sampled_from(["hard", "tied", "soft", "sweep"]))
    values = {
        "hard": st.sampled_from([0.0, 1.0]),
        "tied": st.sampled_from([0.0, 0.5, 1.0]),
        "soft": st.floats(0.0, 1.0, allow_subnormal=False),
        "sweep": st.just(1.0),
    }[kind]
    y = draw(arrays(np.float64, size, elements=values))
    w = draw(arrays(np.float64, size, elements=st.sampled_from([1.0, 0.25, 7.0])))
    return a, (a + shift) % n, y, w, n


def generic(a: Any, b: Any, y: Any, w: Any, n: int, l2: float) -> Any:
    """Eq. 1 battle by battle, by a trust-region method that knows nothing of pairs."""
    x = np.zeros((len(a), n))
    x[np.arange(len(a)), a] = 1
    x[np.arange(len(a)), b] -= 1

    def loss(theta: Any) -> float:
        d = x @ theta
        return float(-(w * (y * log_expit(d) + (1 - y) * log_expit(-d))).sum() + l2 * theta @ theta)

    def gradient(theta: Any) -> Any:
        return x.T @ (w * (expit(x @ theta) - y)) + 2 * l2 * theta

    def hessian(theta: Any) -> Any:
        p = expit(x @ theta)
        return (x * (w * p * (1 - p))[:, None]).T @ x + 2 * l2 * np.eye(n)

    near = minimize(loss, np.zeros(n), jac=gradient, hess=hessian, method="trust-exact").x
    # A minimiser stops where the loss is flat to rounding; a root finder goes on to the gradient.
    theta = root(gradient, near, jac=hessian, method="hybr", options={"xtol": 1e-14}).x
    assert np.abs(gradient(theta)).max() < 1e-11
    return theta


@settings(max_examples=80)
@given(drawn_battles(), st.sampled_from([0.01, 0.005, 1.0]))
def test_newton_is_the_generic_optimum(battles: Any, l2: float) -> None:
    a, b, y, w, n = battles
    theta = fit_strengths(wins_table(a, b, y, n, w), l2=l2)
    np.testing.assert_allclose(theta, generic(a, b, y, w, n, l2), atol=1e-8, rtol=0)


@settings(max_examples=40)
@given(drawn_battles(), st.randoms(use_true_random=False))
def test_names_order_and_sides_do_not_matter(battles: Any, random: Any) -> None:
    a, b, y, w, n = battles
    wins = wins_table(a, b, y, n, w)
    theta = fit_strengths(wins)
    moved = list(range(n))
    random.shuffle(moved)
    at = np.array(moved)
    np.testing.assert_allclose(fit_strengths(wins[np.ix_(at, at)]), theta[at], atol=1e-9)
    rows = list(range(len(a)))
    random.shuffle(rows)
    np.testing.assert_allclose(wins_table(a[rows], b[rows], y[rows], n, w[rows]), wins, atol=1e-12)
    # The same battle told from the other side.
    np.testing.assert_allclose(wins_table(b, a, 1 - y, n, w), wins, atol=1e-12)
    # Everybody's fortunes reversed.
    np.testing.assert_allclose(fit_strengths(wins.T), -theta, atol=1e-9)


@settings(max_examples=40)
@given(drawn_battles())
def test_every_fit_is_finite_and_centred(battles: Any) -> None:
    a, b, y, w, n = battles
    fit = bradley_terry(wins_table(a, b, y, n, w))
    assert np.isfinite(fit.elo).all()
    for component in np.unique(fit.structure.component):
        inside = fit.structure.component == component
        assert abs(fit.theta[inside].mean()) < 1e-9
    assert np.isfinite(fit.inverse_information()).all()


@settings(max_examples=40)
@given(
    arrays(np.float64, 5, elements=st.floats(0, 40)),
    arrays(np.float64, 5, elements=st.floats(-4, 4)),
    st.floats(0, 1),
)
def test_anchored_fit_solves_its_score_equation(counts: Any, anchors: Any, share: float) -> None:
    won = np.asarray(share * counts.sum())
    theta = fit_against_anchors(counts, won, anchors)
    left = won - (counts * expit(theta - anchors)).sum() - 0.02 * theta
    assert abs(float(left)) < 1e-7


def test_batches_are_the_single_fits() -> None:
    draw = np.random.default_rng(3)
    tables = draw.poisson(3, size=(9, 6, 6)).astype(float)
    together = fit_strengths(tables)
    for table, theta in zip(tables, together, strict=True):
        np.testing.assert_allclose(fit_strengths(table), theta, atol=1e-10)


@pytest.mark.parametrize("l2", [1e-8, 1e-4])
def test_a_chain_of_clean_sweeps_stays_finite(l2: float) -> None:
    theta = fit_strengths(np.triu(np.full((40, 40), 1000.0), 1), l2=l2)
    assert np.isfinite(to_elo(theta)).all()
    assert (np.diff(theta) < 0).all()
    assert abs(theta.mean()) < 1e-6
