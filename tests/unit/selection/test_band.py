"""The band's crossing probabilities against walks that are counted one by one, in whole numbers."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import accumulate, product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.selection.guarantees import pac as band_module
from adjudge.selection.guarantees.pac import (
    Boundary,
    crossing,
    exact_band,
    fewest_rows,
    most_errors,
)

TENTH = Fraction(1, 10)


def allowed(boundary, n):
    """Errors allowed at rank 0, 1, ..., n; -1 where none are."""
    at = np.searchsorted(boundary.ranks, np.arange(n + 1), side="right") - 1
    return np.where(at < 0, -1, boundary.errors[np.maximum(at, 0)]).tolist()


def crossing_step_by_step(most, since, n, alpha):
    """P(W_k <= most[k] for some k >= since), exactly: every step, every state, whole numbers."""
    rise, flat = alpha.numerator, alpha.denominator - alpha.numerator
    alive, crossed = {0: 1}, 0
    for k in range(1, n + 1):
        after: dict[int, int] = {}
        for w, mass in alive.items():
            after[w] = after.get(w, 0) + mass * flat
            after[w + 1] = after.get(w + 1, 0) + mass * rise
        crossed *= alpha.denominator
        if k >= since:
            crossed += sum(mass for w, mass in after.items() if w <= most[k])
            after = {w: mass for w, mass in after.items() if w > most[k]}
        alive = after
    return Fraction(crossed, alpha.denominator**n)


@pytest.mark.parametrize("alpha", ["0.05", "0.3", "0.5", "0.9"])
def test_every_walk_of_twelve_steps(alpha):
    a, rng = Fraction(alpha), np.random.default_rng(1)
    for _ in range(6):
        ranks = np.sort(rng.choice(np.arange(1, 13), size=rng.integers(1, 5), replace=False))
        errors = np.sort(rng.choice(8, size=len(ranks), replace=False))
        boundary = Boundary(ranks, np.minimum(errors, ranks - 1))
        most, since = allowed(boundary, 12), int(rng.integers(0, 13))
        total = Fraction(0)
        for steps in product((0, 1), repeat=12):
            walk = np.cumsum(steps)
            if any(walk[k - 1] <= most[k] for k in range(max(since, 1), 13)):
                total += a ** int(walk[-1]) * (1 - a) ** int(12 - walk[-1])
        assert crossing(boundary, float(a))(since) == pytest.approx(float(total), rel=1e-12)
        assert crossing_step_by_step(most, since, 12, a) == total


@pytest.mark.parametrize(("steps", "alpha"), [(0, 0.1), (1, 0.1), (40, 0.97), (100_000, 0.001)])
def test_the_masses_of_many_steps_are_exact(steps, alpha):
    low, masses = band_module._masses(steps, alpha)
    expected = binom.pmf(np.arange(low, low + len(masses)), steps, alpha)
    assert np.abs(masses - expected).max() <= 1e-12 * expected.max()
    assert expected.sum() == pytest.approx(1, abs=1e-12)


def test_a_band_is_computed_without_the_slow_import_of_scipy_stats(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert exact_band.__wrapped__(30, TENTH, TENTH) is not None


@pytest.mark.parametrize(
    ("n", "alpha", "delta"),
    [(22, "0.1", "0.1"), (60, "0.05", "0.1"), (120, "0.1", "0.05"), (90, "0.5", "0.5"),
     (75, "0.3", "0.9"), (40, "0.97", "0.001"), (200, "0.123", "0.0333")],
)  # fmt: skip
def test_every_boundary_holds_from_its_rank_on_and_no_earlier(n, alpha, delta):
    a, d = Fraction(alpha), Fraction(delta)
    band = exact_band(n, a, d)
    assert band is not None
    for at in {0, 1, 7, len(band.boundaries) - 1} & set(range(len(band.boundaries))):
        most, since = allowed(band.boundaries[at], n), int(band.since[at])
        assert crossing_step_by_step(most, since, n, a) <= d
        if at:
            # A later start than needed would only cost coverage, which nothing else would notice.
            earlier = crossing_step_by_step(most, since - 1, n, a)
            assert earlier > d * (1 - Fraction(1, 10**8)) or since == band.since[at - 1]


@pytest.mark.parametrize(
    ("n", "alpha", "delta"), [(22, "0.1", "0.1"), (60, "0.05", "0.1"), (50, "0.3", "0.1")]
)
def test_the_first_level_is_the_largest(n, alpha, delta):
    a, d = Fraction(alpha), Fraction(delta)
    most = allowed(exact_band(n, a, d).boundaries[0], n)
    first = max(fewest_rows(a, d), -(-n // 20))
    tails = {
        k: list(accumulate(comb(k, i) * a**i * (1 - a) ** (k - i) for i in range(k)))
        for k in range(first, n + 1)
    }
    # The next level up is the smallest tail that the boundary does not allow yet.
    level = min(tails[k][most[k] + 1] for k in tails)
    looser = [-1] * first + [sum(tail <= level for tail in tails[k]) - 1 for k in tails]
    assert level > d or crossing_step_by_step(looser, first, n, a) > d


@pytest.mark.parametrize("alpha", ["0.001", "0.05", "0.25", "0.5", "0.97"])
@pytest.mark.parametrize("level", [1e-6, 0.02, 0.1, 0.51, 0.9])
def test_allowed_errors_are_the_most_that_pass(alpha, level):
    a, ranks = Fraction(alpha), np.arange(1, 90)
    for k, most in zip(ranks.tolist(), most_errors(ranks, float(a), level).tolist(), strict=True):
        tails = np.cumsum([float(comb(k, i) * a**i * (1 - a) ** (k - i)) for i in range(k)])
        assert most == np.count_nonzero(tails <= level * (1 + 1e-13)) - 1


def test_fewest_rows_say_something_alone_and_one_less_does_not():
    for alpha, delta in (("0.1", "0.1"), ("0.5", "0.5"), ("0.2", "0.64"), ("0.003", "0.05")):
        a, d = Fraction(alpha), Fraction(delta)
        least = fewest_rows(a, d)
        assert (1 - a) ** least < d
        assert least == 1 or (1 - a) ** (least - 1) >= d
        band = exact_band(least, a, d)
        assert band is not None
        assert band.boundaries[0].ranks.tolist() == [least]
        assert least == 1 or exact_band(least - 1, a, d) is None


def test_levels_rise_and_hold_ever_later():
    band = exact_band(700, TENTH, TENTH)
    assert (np.diff(band.since) >= 0).all()
    for strict, loose in zip(band.boundaries, band.boundaries[1:], strict=False):
        assert (np.array(allowed(strict, 700)) <= allowed(loose, 700)).all()
        assert loose.ranks[0] == strict.ranks[0] == band.since[0]
    assert band.loosest(np.array([0, int(band.since[0]), 701])).tolist() == [
        -1, int(np.flatnonzero(band.since == band.since[0])[-1]), len(band.boundaries) - 1,
    ]  # fmt: skip


def step_by_step_in_floats(boundary, n, alpha):
    most, mass, crossed = allowed(boundary, n), np.zeros(n + 2), 0.0
    mass[0] = 1.0
    for k in range(1, n + 1):
        mass[1:] = mass[1:] * (1 - alpha) + mass[:-1] * alpha
        mass[0] *= 1 - alpha
        crossed += mass[: most[k] + 1].sum()
        mass[: most[k] + 1] = 0
    return crossed


def test_many_rows_have_a_few_hundred_ranks():
    band = exact_band(6000, TENTH, TENTH)
    first = band.boundaries[0]
    assert len(first.ranks) <= 400
    crossed = step_by_step_in_floats(first, 6000, 0.1)
    assert crossing(first, 0.1)(0) == pytest.approx(crossed, rel=1e-9)
    assert 0.099 < crossed <= 0.1


def test_beyond_the_exact_the_union_bound_is_on_the_safe_side(monkeypatch):
    first = exact_band(1000, TENTH, TENTH).boundaries[0]
    exact = [crossing(first, 0.1)(rank) for rank in (0, 200, 555, 1000)]
    monkeypatch.setattr(band_module, "_EXACT_UP_TO", 10)
    added = [crossing(first, 0.1)(rank) for rank in (0, 200, 555, 1000)]
    assert all(above >= below for above, below in zip(added, exact, strict=True))
    assert added[-1] == pytest.approx(exact[-1], rel=1e-12)
