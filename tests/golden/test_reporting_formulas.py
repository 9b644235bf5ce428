"""Eq. 4 to 9 of the reporting paper, against the published formulas written out once more here.

The reference below is a transcription of the equations in exact rational arithmetic, with the one
square root at the end; it shares no code with the package.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from adjudge.estimation import (
    Counts,
    allocate,
    corrected_interval,
    corrected_rate,
    corrected_variance,
)

GRID = list(
    product(
        (Fraction(0), Fraction(1, 10), Fraction(11, 20), Fraction(9, 10), Fraction(1)),
        (Fraction(3, 5), Fraction(7, 10), Fraction(9, 10), Fraction(1)),
        (Fraction(3, 5), Fraction(9, 10), Fraction(1)),
        (1, 40, 1000),
        (1, 10, 100),
        (2, 100),
    )
)


def reference_rate(p: Fraction, q0: Fraction, q1: Fraction) -> Fraction:
    return (p + q0 - 1) / (q0 + q1 - 1)


def reference_variance(p, q0, q1, n, m0, m1) -> Fraction:
    t = reference_rate(p, q0, q1)
    top = p * (1 - p) / n + (1 - t) ** 2 * q0 * (1 - q0) / m0 + t**2 * q1 * (1 - q1) / m1
    return top / (q0 + q1 - 1) ** 2


def reference_interval(p, q0, q1, n, m0, m1, level) -> tuple[float, float]:
    z = Fraction(float(norm.ppf(1 - (1 - level) / 2)))
    n_, m0_, m1_ = n + z**2, m0 + 2, m1 + 2
    p_ = (n * p + z**2 / 2) / n_
    q0_, q1_ = (m0 * q0 + 1) / Fraction(m0_), (m1 * q1 + 1) / Fraction(m1_)
    t = (p_ + q0_ - 1) / (q0_ + q1_ - 1)
    d = 2 * z**2 * (-(1 - t) * q0_ * (1 - q0_) / m0_ + t * q1_ * (1 - q1_) / m1_)
    variance = p_ * (1 - p_) / n_ + (1 - t) ** 2 * q0_ * (1 - q0_) / m0_
    variance += t**2 * q1_ * (1 - q1_) / m1_
    se = math.sqrt(variance) / float(q0_ + q1_ - 1)
    ends = (float(t + d) - float(z) * se, float(t + d) + float(z) * se)
    return tuple(min(max(end, 0.0), 1.0) for end in ends)


def test_the_papers_example_number_by_number() -> None:
    assert corrected_rate(0.55, 0.7, 0.9).estimate == pytest.approx(0.25 / 0.6, abs=1e-12)
    expected = reference_interval(
        Fraction(11, 20), Fraction(7, 10), Fraction(9, 10), 1000, 100, 100, 0.95
    )
    low, high, informative = corrected_interval(0.55, 0.7, 0.9, 1000, 100, 100)
    assert informative
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-12)
    # Frozen, so that a change of both sides at once is seen too.
    assert float(low) == pytest.approx(0.3005595043455206, abs=1e-12)
    assert float(high) == pytest.approx(0.5229674313921099, abs=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_grid_equals_the_published_formulas(level: float) -> None:
    columns = np.array([[float(v) for v in row] for row in GRID]).T
    low, high, informative = corrected_interval(*columns, confidence_level=level)
    variance = corrected_variance(*columns)
    rate = corrected_rate(*columns[:3])
    raw = corrected_rate(*columns[:3], clipped=False)
    assert informative.all()
    for i, row in enumerate(GRID):
        assert (low[i], high[i]) == pytest.approx(reference_interval(*row, level), abs=1e-12)
        assert variance[i] == pytest.approx(float(reference_variance(*row)), abs=1e-12, rel=1e-12)
        exact = float(reference_rate(*row[:3]))
        assert raw.estimate[i] == pytest.approx(exact, abs=1e-12)
        assert rate.estimate[i] == min(max(raw.estimate[i], 0), 1)


def test_known_quality_is_equation_4() -> None:
    theta = np.linspace(0, 1, 11)
    p = theta * 0.9 + (1 - theta) * 0.3
    assert corrected_rate(p, 0.7, 0.9).estimate == pytest.approx(theta, abs=1e-12)


def test_a_coin_has_no_rate_whatever_the_rounding() -> None:
    for whole in range(1, 60):
        for part in range(whole + 1):
            counts = Counts(k=1, n=2, c0=part, m0=whole, c1=whole - part, m1=whole)
            assert not counts.informative


# Algorithm 1 worked by hand. Pilot 10: q~0 = (7+1)/12 = 2/3, q~1 = (9+1)/12 = 5/6, kappa = 2.
ALGORITHM_1 = [
    # p = 1/2: 200 / (1 + sqrt 2) = 82.84
    (200, 0.5, 10, 7, 9, (117, 83)),
    # p = 1/5: 200 / (1 + 4 sqrt 2) = 30.04
    (200, 0.2, 10, 7, 9, (170, 30)),
    # p = 1/50: 200 / (1 + 49 sqrt 2) = 2.84, below the pilot
    (200, 0.02, 10, 7, 9, (190, 10)),
    # p = 0 and p = 1: the pilot share only
    (200, 0.0, 10, 7, 9, (190, 10)),
    (200, 1.0, 10, 7, 9, (10, 190)),
    # equal pilots: kappa = 1, so m1 = m p
    (100, 0.3, 10, 8, 8, (70, 30)),
    # a faultless pilot still has kappa: (1 - 11/12)/(1 - 11/12) = 1
    (60, 0.5, 10, 10, 10, (30, 30)),
    # the whole budget is pilot
    (20, 0.9, 10, 3, 9, (10, 10)),
    # q~0 = 1/12, q~1 = 11/12: kappa = 11, 500 / (1 + 0.25 sqrt 11) = 273.35
    (500, 0.8, 10, 0, 10, (227, 273)),
]


@pytest.mark.parametrize(("budget", "p", "pilot", "c0", "c1", "expected"), ALGORITHM_1)
def test_algorithm_1_by_hand(budget, p, pilot, c0, c1, expected) -> None:
    got = allocate(budget, p=p, pilot=pilot, pilot_correct0=c0, pilot_correct1=c1)
    assert tuple(got) == expected


def test_blocks_change_nothing_and_sizes_may_vary_by_data_set() -> None:
    rng = np.random.default_rng(3)
    shape = (3, 12_001)
    m0, m1 = rng.integers(1, 200, shape[1]), rng.integers(1, 200, (3, 1))
    p, q0, q1 = rng.random(shape), rng.random(shape[1]), rng.random((3, 1))
    whole = corrected_interval(p, q0, q1, 500, m0, m1, confidence_level=0.9)
    assert [part.shape for part in whole] == [shape] * 3
    for i, j in zip(rng.integers(0, 3, 200), rng.integers(0, shape[1], 200), strict=True):
        row = corrected_interval(
            p[i, j], q0[j], q1[i, 0], 500, m0[j], m1[i, 0], confidence_level=0.9
        )
        assert [float(part) for part in row] == [float(part[i, j]) for part in whole]


def test_a_coin_is_one_in_floats_too() -> None:
    for m0, m1 in product(range(1, 31), repeat=2):
        c0, c1 = np.meshgrid(np.arange(m0 + 1), np.arange(m1 + 1))
        raw = c0 * m1 + c1 * m0 > m0 * m1
        adjusted = (c0 + 1) * (m1 + 2) + (c1 + 1) * (m0 + 2) > (m0 + 2) * (m1 + 2)
        got = corrected_interval(0.5, c0 / m0, c1 / m1, 100, m0, m1).informative
        assert np.array_equal(got, raw & adjusted)
