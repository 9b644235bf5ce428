"""How often pac certifies a bad threshold, over shapes made to break it, tied and untied.

A shape is an error rate per stretch of scores, so that the true error rate below every threshold
is known. Every certified threshold is looked at, not only the one that is deployed. Calibration
sets are drawn in the order of their scores, ties already in a random order, many at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from adjudge.selection import pac_thresholds
from adjudge.selection.guarantees.pac import _step_down, crossing, exact_band

ALPHA, DELTA = 0.1, 0.1
#: One chance in a thousand that any of the shapes is above its band though all promises hold.
CHANCE = 1e-3
AT_ONCE = 500
RUN = pytest.mark.parametrize(
    "full", [False, pytest.param(True, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)


@dataclass(frozen=True)
class Shape:
    """Error rates between the edges of scores on [0, 1]; tied: one score for each stretch."""

    name: str
    edges: np.ndarray
    rates: np.ndarray
    tied: bool = False

    def is_bad(self, scores):
        """Whether the error rate below each score, taken as a threshold, is above alpha."""
        widths = np.diff(self.edges)
        excess = np.concatenate(([0.0], np.cumsum(widths * (self.rates - ALPHA))))
        return np.interp(scores, self.edges, excess) > 1e-13


def draw(shape, n, repeats, rng):
    """Sorted scores, their errors and where blocks end, one calibration set in each row."""
    gaps = rng.standard_exponential((repeats, n + 1)).cumsum(axis=1)
    scores = gaps[:, :-1] / gaps[:, -1:]
    stretch = np.searchsorted(shape.edges, scores, side="right") - 1
    errors = rng.random((repeats, n)) < shape.rates[stretch]
    scores = shape.edges[stretch + 1] if shape.tied else scores
    ends = np.ones((repeats, n), dtype=bool)
    ends[:, :-1] = scores[:, 1:] != scores[:, :-1]
    return scores, errors, ends


def certified(errors, band):
    """Which ranks are certified, ties or not, in every calibration set."""
    repeats, n = errors.shape
    counts = np.cumsum(errors, axis=1)
    most = int(counts[:, -1].max(initial=0))
    ranks = np.full((repeats, most + 1), n + 1)
    rows, at = np.nonzero(errors)
    ranks[rows, counts[rows, at] - 1] = at + 1

    def error_ranks(own, errors):
        return ranks[own[:, None], np.minimum(errors, most)]

    marks = np.zeros((repeats, n), dtype=bool)
    for own, boundary, _ in _step_down(repeats, error_ranks, band):
        at = np.searchsorted(boundary.ranks, np.arange(1, n + 1), side="right") - 1
        allowed = np.where(at < 0, -1, boundary.errors[np.maximum(at, 0)])
        marks[own] = counts[own] <= allowed
    return marks


def bad_sets(shape, n, repeats, seed):
    """How many calibration sets certify at least one bad threshold."""
    rng, band = np.random.default_rng(seed), exact_band(n, Fraction("0.1"), Fraction("0.1"))
    bad = 0
    for start in range(0, repeats, AT_ONCE):
        scores, errors, ends = draw(shape, n, min(AT_ONCE, repeats - start), rng)
        scores[:, -1] = 1.0  # a rule that accepts all of its labels accepts everything
        bad += int((certified(errors, band) & ends & shape.is_bad(scores)).any(axis=1).sum())
    return bad


# --- the shapes ------------------------------------------------------------------------------


def equal(rates, name, *, tied=False):
    return Shape(name, np.linspace(0, 1, len(rates) + 1), np.asarray(rates, dtype=float), tied)


def bumps(rng, count, tied):
    """Stretches that come back to alpha at their ends: bad inside, or good inside, in any order."""
    cuts = np.sort(rng.random(count - 1)) if count > 1 else np.array([])
    outer, edges, rates = np.concatenate(([0.0], cuts, [1.0])), [0.0], []
    for low, high in pairwise(outer):
        middle = low + (high - low) * rng.uniform(0.1, 0.9)
        early = min(1.0, ALPHA * (high - low) / (middle - low)) * rng.random()
        late = (ALPHA * (high - low) - early * (middle - low)) / (high - middle)
        if late > 1:
            early, late = ALPHA, ALPHA
        edges += [middle, high]
        rates += [early, late]
    nudged = np.minimum(np.array(rates) + 1e-6, 1.0)
    return Shape(f"{count} bumps", np.array(edges), nudged, tied)


def wrong_head(rng, tied):
    """The surest are often wrong, then a good middle that ends near alpha, then the rest."""
    head, rate, middle = rng.uniform(0.005, 0.3), rng.uniform(0.12, 1.0), rng.uniform(0.3, 0.95)
    middle = max(middle, head + 0.01)
    low = max(0.0, (ALPHA * middle - rate * head) / (middle - head)) + rng.choice([0, 1e-3, 0.01])
    rates = np.array([rate, low, rng.uniform(0.0, 0.4)])
    return Shape("wrong head", np.array([0.0, head, middle, 1.0]), rates, tied)


def late_turn(rng, tied):
    """Good for a while, then bad enough to be above alpha shortly before the end."""
    good, rate = rng.uniform(0.05, 0.8), rng.uniform(0.0, 0.095)
    turn = rng.uniform(good, 1.0)
    up = min(1.0, ALPHA + (ALPHA - rate) * good / max(turn - good, 0.02))
    pieces = np.array([0.0, good, max(turn, good + 0.02), 1.05])
    return Shape("late turn", pieces / pieces[-1], np.array([rate, up, rng.uniform(0, 0.3)]), tied)


def few_values(rng, values):
    """A handful of distinct scores with any shares, near alpha in all that matters."""
    edges = np.concatenate(([0.0], np.sort(rng.random(values - 1)), [1.0]))
    rates = np.clip(ALPHA + rng.normal(0, rng.choice([0.01, 0.05, 0.2]), values), 0, 1)
    return Shape(f"{values} values", edges, rates, tied=True)


def shapes():
    rng = np.random.default_rng(20)
    made = [
        equal([ALPHA + 1e-9] * values, f"flat, {values} values", tied=True)
        for values in (1, 2, 3, 5, 10, 20, 50)
    ]
    made.append(equal([ALPHA + 1e-9], "flat"))
    made += [equal([rate], f"flat {rate}") for rate in (0.101, 0.105, 0.11, 0.12, 0.15)]
    teeth = np.where(np.arange(100) % 5 == 0, 0.505, 0.0)
    made += [equal(teeth, "sawtooth"), equal(teeth, "sawtooth, tied", tied=True)]
    made.append(equal(teeth[::-1], "sawtooth, turned"))
    for tied in (False, True):
        made += [bumps(rng, int(rng.integers(1, 9)), tied) for _ in range(35)]
        made += [wrong_head(rng, tied) for _ in range(25)]
        made += [late_turn(rng, tied) for _ in range(25)]
    made += [few_values(rng, int(rng.integers(2, 51))) for _ in range(40)]
    return made


SHAPES = shapes()


@RUN
def test_a_bad_threshold_is_certified_at_most_delta_of_the_time(full):
    tried = SHAPES if full else SHAPES[::9]
    n_and_repeats = ((200, 5000), (900, 1000)) if full else ((200, 400),)
    assert len(SHAPES) >= 200
    worst = 0.0
    for n, repeats in n_and_repeats:
        limit = stats.binom.ppf(1 - CHANCE / (2 * len(SHAPES)), repeats, DELTA)
        for at, shape in enumerate(tried):
            bad = bad_sets(shape, n, repeats, [n, at])
            worst = max(worst, bad / repeats)
            assert bad <= limit, (shape, n, bad / repeats)
    # Shapes that never come near delta would prove nothing.
    assert worst > 0.7 * DELTA


@RUN
@pytest.mark.parametrize("n", [40, 200, 900])
def test_at_the_flat_law_the_programme_is_exact(n, full):
    repeats = 20_000 if full else 2000
    band = exact_band(n, Fraction("0.1"), Fraction("0.1"))
    chance = crossing(band.boundaries[0], 0.1)(0)
    bad = bad_sets(equal([ALPHA + 1e-9], "flat"), n, repeats, [n, 77])
    low, high = stats.binom.interval(1 - 1e-4, repeats, chance)
    assert low <= bad <= high


def test_the_sets_here_are_certified_as_users_rows_are():
    rng, band = np.random.default_rng(5), exact_band(150, Fraction("0.1"), Fraction("0.1"))
    for shape in (SHAPES[7], SHAPES[-1]):
        scores, errors, ends = draw(shape, 150, 30, rng)
        marks = certified(errors & (scores > 0.2), band) & ends
        for row in range(30):
            # The rows come in their random order already: nothing is left for the lot to decide.
            order = scores[row] if not shape.tied else np.arange(150.0)
            own = errors[row] & (scores[row] > 0.2)
            thresholds = pac_thresholds(order, own.astype(int), alpha=0.1)
            known = np.isin(order, thresholds) & ends[row]
            assert known.tolist() == marks[row].tolist()


@RUN
def test_one_fixed_seed_keeps_the_promise_with_ties(full):
    # Through the public function, rows as they come: its random order of ties is always the same.
    tied = [shape for shape in SHAPES if shape.tied][:: 1 if full else 12]
    repeats = 300 if full else 100
    limit = stats.binom.ppf(1 - CHANCE / len(SHAPES), repeats, DELTA)
    for at, shape in enumerate(tied):
        rng, bad = np.random.default_rng([at, 9]), 0
        for scores, errors in zip(*draw(shape, 120, repeats, rng)[:2], strict=True):
            order = rng.permutation(120)
            kept = pac_thresholds(scores[order], errors[order].astype(int), alpha=ALPHA, seed=0)
            bad += bool(shape.is_bad(np.where(kept == scores.max(), 1.0, kept)).any())
        assert bad <= limit, (shape, bad / repeats)
