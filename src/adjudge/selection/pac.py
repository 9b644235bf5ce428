"""PAC: one threshold whose true error rate is at most alpha, with probability 1 - delta."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import rel_entr

from adjudge._stats import binomial_lower_tail
from adjudge._validation import BoolArray, IntArray, exact_level, paired
from adjudge.results.selection import Threshold
from adjudge.selection._rule import threshold_at
from adjudge.selection.blocks import SortedScores, sort_scores

#: Above this many rows an exact rational tail is slow, and a tie with delta no longer occurs in
#: practice; a tail that floats cannot tell from delta then counts as a failed test.
_RATIONAL_UP_TO = 4000
#: Steps along the table of allowed errors before tail and mass are computed afresh.
_WALK = 1024


def pac_threshold(
    scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction, delta: float | Fraction = 0.1
) -> Threshold:
    """The loosest threshold that an unbroken run of exact binomial tests allows.

    The distinct scores are tested from strict to loose, from the first that accepts enough rows
    to pass at all, (1 - alpha)^k <= delta. With E errors among k accepted rows a score passes if

        P(Binomial(k, alpha) <= E) <= delta;

    the first that fails ends the run (fixed-sequence testing, Bauer 1991), so delta is spent once.

    Where the guarantee stops: with probability at least 1 - delta over calibration sets of
    independent rows, P(error | accepted) <= alpha for new rows of the same kind. The proof needs
    rows beyond the point where the error rate among the accepted first exceeds alpha to be wrong
    at least alpha of the time themselves, which every score that ranks doubt at all fulfils, and
    an uninformative one too. For other shapes the candidates being observed scores costs at most
    the last row's own luck; tests/coverage measures it on adversarial ones. It says nothing about
    the share of errors in one particular batch.

    >>> pac_threshold([0.1] * 22, [0] * 22, alpha=0.1).accepts
    'all'
    >>> pac_threshold([0.1] * 21, [0] * 21, alpha=0.1).accepts
    'none'
    """
    level, failure = exact_level(alpha), exact_level(delta, "delta")
    ordered = sort_scores(*paired(scores, errors))
    return threshold_at(
        ordered, _run_of_tests(ordered, level, failure), method="pac", alpha=level, delta=failure
    )


def _run_of_tests(ordered: SortedScores, alpha: Fraction, delta: Fraction) -> int:
    """How many rows the run of passed tests accepts."""
    n, start = len(ordered.scores), fewest_rows(alpha, delta)
    if start > n:
        return 0
    rows, wrong = ordered.accepted(float(ordered.scores[start - 1]))
    if not _passes(np.array([wrong]), np.array([rows]), alpha, delta)[0]:
        return 0
    return ordered.first_failure(
        lambda errors, accepted: _passes(errors, accepted, alpha, delta), beyond=rows
    )


def _passes(errors: IntArray, rows: IntArray, alpha: Fraction, delta: Fraction) -> BoolArray:
    """P(Binomial(rows, alpha) <= errors) <= delta, elementwise."""
    level, failure = float(alpha), float(delta)
    # Chernoff: the tail is at most exp(-k KL(E/k, alpha)). Cheap, and clears nearly all tests of
    # a large sample, so that the exact tail is left for the few that are not clear.
    seen = errors / rows
    gap = rel_entr(seen, level) + rel_entr(1 - seen, 1 - level)
    passed = (seen < level) & (rows * gap > 1e-6 - math.log(failure))
    unclear = np.flatnonzero(~passed)
    tail = binomial_lower_tail(errors[unclear], rows[unclear], level)
    passed[unclear] = tail <= failure
    for i in unclear[np.abs(tail - failure) <= 1e-9 * failure]:
        passed[i] = _tail_passes(int(errors[i]), int(rows[i]), alpha, delta)
    return passed


def fewest_rows(alpha: Fraction, delta: Fraction) -> int:
    """The smallest k that can pass without any error: (1 - alpha)^k <= delta.

    >>> fewest_rows(Fraction(1, 10), Fraction(1, 10)), fewest_rows(Fraction(1, 2), Fraction(1, 2))
    (22, 1)
    """
    k = max(1, math.ceil(math.log(delta) / math.log1p(-float(alpha))))
    if k > _RATIONAL_UP_TO:
        return k
    while k > 1 and (1 - alpha) ** (k - 1) <= delta:
        k -= 1
    while (1 - alpha) ** k > delta:
        k += 1
    return k


def allowed_errors(rows: IntArray, alpha: Fraction, delta: Fraction) -> IntArray:
    """The most errors E among k rows with P(Binomial(k, alpha) <= E) <= delta; -1 for none.

    >>> allowed_errors(np.array([21, 22, 38, 52]), Fraction(1, 10), Fraction(1, 10))
    array([-1,  0,  1,  2])
    """
    return allowed_table(int(rows.max(initial=0)), alpha, delta)[rows]


@lru_cache(maxsize=8)
def allowed_table(most: int, alpha: Fraction, delta: Fraction) -> IntArray:
    """The allowed errors among 0, 1, ..., `most` rows, by walking along the boundary.

    One more row allows one more error or none, since with T(k, E) the tail and f(k, E) the mass,

        T(k + 1, E) = T(k, E) - alpha f(k, E),    T(k, E + 1) = T(k, E) + f(k, E + 1),

    so each row costs a few products. Where rounding could matter, the test itself decides.
    """
    allowed = np.full(most + 1, -1, dtype=np.int64)
    level, failure = float(alpha), float(delta)
    odds, k = level / (1 - level), fewest_rows(alpha, delta)
    found, errors, fresh = [], 0, False
    tail = mass = 0.0
    while k <= most:
        if not fresh or k % _WALK == 0:
            # Rounding grows with the steps since here: to about 1e-12 of the tail.
            mass = float(stats.binom.pmf(errors, k, level))
            tail = float(binomial_lower_tail(np.array(errors), np.array(k), level))
            fresh = True
        more = mass * (k - errors) / (errors + 1) * odds
        reach = tail + more
        if abs(reach - failure) <= 1e-7 * failure:
            passes = bool(_passes(np.array([errors + 1]), np.array([k]), alpha, delta)[0])
        else:
            passes = reach < failure
        if passes:
            errors, tail, mass = errors + 1, reach, more
        found.append(errors)
        k += 1
        tail -= level * mass
        mass *= (1 - level) * k / (k - errors)
    if found:
        allowed[-len(found) :] = found
    allowed.setflags(write=False)
    return allowed


def _tail_passes(errors: int, rows: int, alpha: Fraction, delta: Fraction) -> bool:
    """P(Binomial(rows, alpha) <= errors) <= delta in whole numbers."""
    if rows > _RATIONAL_UP_TO:
        return False
    a, b = alpha.numerator, alpha.denominator
    total = sum(math.comb(rows, i) * a**i * (b - a) ** (rows - i) for i in range(errors + 1))
    return bool(total * delta.denominator <= delta.numerator * b**rows)
