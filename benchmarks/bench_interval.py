"""Corrected intervals: one array call against a scalar loop over the same published formula.

Run: python benchmarks/bench_interval.py. Prints the ratio to the loop as published and to two
faster versions of it; loops are timed on a part and scaled.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from functools import partial
from math import sqrt

import numpy as np
from scipy.stats import norm

from adjudge.estimation import Counts, corrected_interval, profile_interval

RATES, REPLICATIONS, PART = np.linspace(0, 1, 21), 10_000, 20_000
N, M = 1000, 100


def scalar_interval(
    p: float, q0: float, q1: float, n: float, m0: float, m1: float, z: float | None = None
) -> tuple[float, float]:
    """Eq. 6 to 8 for one data set; without `z` it is computed each time, as published."""
    z = norm.ppf(0.975) if z is None else z
    n_, m0_, m1_ = n + z * z, m0 + 2, m1 + 2
    p_, q0_, q1_ = (n * p + z * z / 2) / n_, (m0 * q0 + 1) / m0_, (m1 * q1 + 1) / m1_
    theta = (p_ + q0_ - 1) / (q0_ + q1_ - 1)
    v0, v1 = q0_ * (1 - q0_) / m0_, q1_ * (1 - q1_) / m1_
    shift = 2 * z * z * (-(1 - theta) * v0 + theta * v1)
    se = sqrt(p_ * (1 - p_) / n_ + (1 - theta) ** 2 * v0 + theta**2 * v1) / (q0_ + q1_ - 1)
    centre = theta + shift
    return max(0.0, min(1.0, centre - z * se)), max(0.0, min(1.0, centre + z * se))


def main() -> None:
    rng, shape, rates = np.random.default_rng(0), (len(RATES), REPLICATIONS), RATES[:, None]
    k = rng.binomial(N, rates * 0.9 + (1 - rates) * 0.3, shape)
    c0, c1 = rng.binomial(M, 0.7, shape), rng.binomial(M, 0.9, shape)
    p, q0, q1 = k / N, c0 / M, c1 / M
    best = min(_timed(lambda: corrected_interval(p, q0, q1, N, M, M))[0] for _ in range(20))
    bounds = corrected_interval(p, q0, q1, N, M, M)
    print(f"corrected interval, {p.size:,} data sets: {best * 1e3:.1f} ms")

    z = float(norm.ppf(0.975))
    entries = list(zip(*(part.ravel()[:PART] for part in (p, q0, q1)), strict=True))
    plain = list(zip(*(part.ravel()[:PART].tolist() for part in (p, q0, q1)), strict=True))
    # The first is the formula as published; the others are faster versions of the loop.
    loops = (
        ("scalar loop, as published", lambda: [scalar_interval(*row, N, M, M) for row in entries]),
        ("quantile computed once", lambda: [scalar_interval(*row, N, M, M, z) for row in entries]),
        ("and plain floats", lambda: [scalar_interval(*row, N, M, M, z) for row in plain]),
    )
    for name, loop in loops:
        seconds, rows = min((_timed(loop) for _ in range(3)), key=lambda timed: timed[0])
        seconds *= p.size / PART
        print(f"{name} (scaled from {PART:,}): {seconds:.2f} s, ratio {seconds / best:,.0f}x")
    ours = np.stack([bounds.low.ravel()[:PART], bounds.high.ravel()[:PART]], axis=1)
    print(f"goal 300x; largest difference {np.abs(ours - np.array(rows)).max():.1e}")
    print("one profile interval (999 bootstraps per rate and fit), goal 50 ms:")
    for counts in (
        Counts(k=550, n=N, c0=70, m0=100, c1=9, m1=10),
        Counts(k=550, n=N, c0=70, m0=100, c1=90, m1=100),
        Counts(k=5000, n=10_000, c0=300, m0=500, c1=300, m1=500),
        Counts(k=7, n=60, c0=8, m0=10, c1=8, m1=10),
    ):
        seconds = min(_timed(partial(profile_interval, counts))[0] for _ in range(5))
        sizes = f"{counts.n:,} test rows, {counts.m0} and {counts.m1} labels"
        print(f"  {sizes}: {1e3 * seconds:.0f} ms")


def _timed(function):  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
