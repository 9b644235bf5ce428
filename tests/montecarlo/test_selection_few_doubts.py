"""How often pac deploys a bad threshold if the protocol allows only a few doubts.

The thresholds are fixed before the labels and tested from strict to loose, each at delta. Judges
are made to break it: wrong just above alpha at the first threshold, or at a later one only.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from adjudge.selection import pac_threshold
from adjudge.selection.guarantees import Labels
from adjudge.selection.guarantees.pac import PAC, _last_in_sequence
from adjudge.selection.thresholds import Levels, order_by_lot

ALPHA, DELTA = Fraction(1, 10), Fraction(1, 10)
#: One chance in a thousand that any of the judges is above its band though all promises hold.
CHANCE = 1e-3
RUN = pytest.mark.parametrize(
    ("repeats", "n"),
    [(20_000, 150), *(pytest.param(50_000, n, marks=pytest.mark.montecarlo) for n in (60, 400))],
)
#: The share and the error rate of each doubt; the other rows have no verdict.
JUDGES = {
    "one, just bad": [(0.8, 0.1001)],
    "one, rare": [(0.25, 0.1001)],
    "two, both just bad": [(0.6, 0.1001), (0.2, 0.1001)],
    "two, the second makes it bad": [(0.5, 0.02), (0.3, 0.2337)],
    "two, the surest are wrong": [(0.2, 0.2), (0.6, 0.067)],
    "three, good, bad, good again": [(0.3, 0.05), (0.2, 0.18), (0.3, 0.02)],
    "four, the last makes it bad": [(0.3, 0.01), (0.2, 0.03), (0.2, 0.1), (0.2, 0.325)],
}


def draw(judge, n, repeats, rng):
    """Rows and errors below each doubt, one calibration set in each line."""
    shares, rates = np.transpose(judge)
    counts = rng.multinomial(n, [*shares, 1 - shares.sum()], size=repeats)[:, :-1]
    return counts.cumsum(axis=1), rng.binomial(counts, rates).cumsum(axis=1)


@RUN
def test_a_bad_threshold_is_deployed_in_at_most_delta_of_the_sets(repeats, n):
    most = stats.binom.isf(CHANCE / len(JUDGES), repeats, float(DELTA)) / repeats
    for number, (name, judge) in enumerate(JUDGES.items()):
        rows, errors = draw(judge, n, repeats, np.random.default_rng([n, number]))
        deployed = _last_in_sequence(rows, errors, ALPHA, DELTA)
        shares, rates = np.transpose(judge)
        bad = np.cumsum(shares * rates) / np.cumsum(shares) > float(ALPHA)
        # Of equal numbers of rows the strictest: no labelled row is in between.
        at = (rows < deployed[:, None]).sum(axis=1)
        failed = (deployed > 0) & bad[np.minimum(at, len(bad) - 1)]
        assert failed.mean() <= most, (name, failed.mean())


@RUN
def test_the_first_test_has_the_level_of_the_exact_binomial(repeats, n):
    rows, errors = draw(JUDGES["one, just bad"], n, repeats, np.random.default_rng(n))
    share = (_last_in_sequence(rows, errors, ALPHA, DELTA) > 0).mean()
    k = np.arange(1, n + 1)
    allowed = stats.binom.ppf(float(DELTA) * (1 - 1e-9), k, 0.1) - 1
    exact = (stats.binom.pmf(k, n, 0.8) * stats.binom.cdf(allowed, k, 0.1001)).sum()
    assert abs(share - exact) <= 4 * np.sqrt(exact * (1 - exact) / repeats)


@pytest.mark.parametrize("finer_by", ["errors last", "errors first", "noise"])
def test_ties_ordered_by_a_finer_doubt_keep_the_promise_of_the_band(finer_by):
    """Two tied doubts, both just bad; what a finer doubt knows of the errors must not matter."""
    repeats, n, levels = 2_000, 150, Levels(ALPHA, DELTA)
    rng, deployed = np.random.default_rng(len(finer_by)), 0
    pull = {"errors last": 1.0, "errors first": -1.0, "noise": 0.0}[finer_by]
    for _ in range(repeats):
        scores = rng.choice(2, size=n, p=[0.7, 0.3]).astype(float)
        errors = (rng.random(n) < 0.1001).astype(np.int64)
        finer = rng.normal(size=n) + pull * errors
        order = order_by_lot(scores, rng, finer)
        deployed += PAC.decide(Labels(scores, errors).take(order.rows), levels).accepts != "none"
    assert deployed <= stats.binom.isf(CHANCE, repeats, float(DELTA))


def test_it_accepts_more_than_the_band_with_one_and_two_doubts():
    rng = np.random.default_rng(0)
    for judge in ([(0.78, 0.05)], [(0.6, 0.035), (0.18, 0.09)]):
        shares, rates = np.transpose(judge)
        p, levels = [*shares, 1 - shares.sum()], np.append(rates, 1.0)
        band = fixed = 0
        for _ in range(200):
            scores = rng.choice(len(p), size=200, p=p)
            errors = rng.random(200) < levels[scores]
            band += pac_threshold(scores, errors, alpha=0.1).n_accepted
            fixed += pac_threshold(scores, errors, alpha=0.1, values=range(len(judge))).n_accepted
        assert fixed > 1.1 * band
