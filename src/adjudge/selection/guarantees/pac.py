"""PAC: one threshold whose true error rate is at most alpha, with probability 1 - delta."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import rel_entr

from adjudge._stats import binomial_lower_tail
from adjudge._text import level
from adjudge._validation import BoolArray, IntArray, exact_level
from adjudge.results.selection import Rule, Threshold
from adjudge.selection.guarantees.base import Guarantee, Labels
from adjudge.selection.split_counts import Levels, SplitCounts, SplitOutcome
from adjudge.selection.thresholds import SortedScores, sort_scores, threshold_at

#: Above this many rows an exact rational tail is slow, and a tie with delta no longer occurs in
#: practice; a tail that floats cannot tell from delta then counts as a failed test.
_RATIONAL_UP_TO = 4000
#: Steps along the table of allowed errors before tail and mass are computed afresh.
_WALK = 1024
#: Each run of tests begins at this many times the rank of the one before.
_APART = 4


def pac_threshold(
    scores: ArrayLike, errors: ArrayLike, *, alpha: float | Fraction, delta: float | Fraction = 0.1
) -> Threshold:
    """The loosest threshold that a run of exact binomial tests allows.

    The distinct scores are tested from strict to loose. With E errors among k accepted rows a
    score passes at level L if

        P(Binomial(k, alpha) <= E) <= L,

    and the first that fails ends the run. One error among the surest rows would end it for good,
    so runs begin at several ranks (`starts`), each with an equal share of delta; a run that is
    still unbroken at the next one takes its share along (the fallback procedure of Wiens 2003).

    Where the guarantee stops: with probability at least 1 - delta over calibration sets of
    independent rows, P(error | accepted) <= alpha for new rows of the same kind. Without ties the
    proof (docs/guarantees.md) holds for every relation of score and error; with ties it asks that
    rows beyond the point where the error rate among the accepted first exceeds alpha are wrong at
    least alpha of the time, and tests/montecarlo tries others. It says nothing about the share of
    errors in one particular batch.

    >>> pac_threshold([0.1] * 22, [0] * 22, alpha=0.1).accepts
    'all'
    >>> pac_threshold([0.1] * 21, [0] * 21, alpha=0.1).accepts
    'none'
    """
    level, failure = exact_level(alpha), exact_level(delta, "delta")
    ordered = sort_scores(scores, errors)
    return threshold_at(
        ordered, _runs_of_tests(ordered, level, failure), method="pac", alpha=level, delta=failure
    )


def starts(n: int, alpha: Fraction, delta: Fraction) -> list[int]:
    """The ranks at which a run of tests begins: k, 4k, 16k, ... up to n, whatever the errors are.

    k is the smallest that can pass with its share of delta, one share for each start.

    >>> tenth = Fraction(1, 10)
    >>> starts(100, tenth, tenth), starts(522, tenth, tenth), starts(3000, tenth, tenth)
    ([22], [29, 116], [36, 144, 576, 2304])
    """
    ranks: list[int] = []
    while True:
        shares = len(ranks) + 1
        first = fewest_rows(alpha, delta / shares)
        if first * _APART ** (shares - 1) > n:
            return ranks
        ranks = [first * _APART**i for i in range(shares)]


def _runs_of_tests(ordered: SortedScores, alpha: Fraction, delta: Fraction) -> int:
    """How many rows the last test that passed accepts."""
    ranks = starts(len(ordered.scores), alpha, delta)
    blocks = [ordered.accepted(float(ordered.scores[rank - 1])) for rank in ranks]
    accepted, level = 0, Fraction(0)
    for at, (rows, wrong) in enumerate(blocks):
        level += delta / len(blocks)
        following = blocks[at + 1][0] if at + 1 < len(blocks) else None
        if following == rows:
            continue
        test = partial(_passes, alpha=alpha, level=level)
        if not test(np.array([wrong]), np.array([rows]))[0]:
            level = Fraction(0)
            continue
        accepted, broken = ordered.first_failure(test, beyond=rows, until=following)
        if broken:
            level = Fraction(0)
    return accepted


def _passes(errors: IntArray, rows: IntArray, alpha: Fraction, level: Fraction) -> BoolArray:
    """P(Binomial(rows, alpha) <= errors) <= level, elementwise."""
    rate, failure = float(alpha), float(level)
    # Chernoff: the tail is at most exp(-k KL(E/k, alpha)). Cheap, and clears nearly all tests of
    # a large sample, so that the exact tail is left for the few that are not clear.
    seen = errors / rows
    gap = rel_entr(seen, rate) + rel_entr(1 - seen, 1 - rate)
    passed = (seen < rate) & (rows * gap > 1e-6 - math.log(failure))
    unclear = np.flatnonzero(~passed)
    tail = binomial_lower_tail(errors[unclear], rows[unclear], rate)
    passed[unclear] = tail <= failure
    for i in unclear[np.abs(tail - failure) <= 1e-9 * failure]:
        passed[i] = _tail_passes(int(errors[i]), int(rows[i]), alpha, level)
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


@lru_cache(maxsize=64)
def allowed_table(most: int, alpha: Fraction, delta: Fraction) -> IntArray:
    """The most errors E with P(Binomial(k, alpha) <= E) <= delta, for k = 0, 1, ..., `most`.

    -1 where not even 0 passes. Computed by walking along the boundary:
    one more row allows one more error or none, since with T(k, E) the tail and f(k, E) the mass,

        T(k + 1, E) = T(k, E) - alpha f(k, E),    T(k, E + 1) = T(k, E) + f(k, E + 1),

    so each row costs a few products. Where rounding could matter, the test itself decides.

    >>> allowed_table(52, Fraction(1, 10), Fraction(1, 10))[[21, 22, 38, 52]]
    array([-1,  0,  1,  2])
    """
    allowed = np.full(most + 1, -1, dtype=np.int64)
    level, failure = float(alpha), float(delta)
    odds, k = level / (1 - level), fewest_rows(alpha, delta)
    most_errors: list[int] = []
    errors, tail, mass = 0, 0.0, 0.0
    while k <= most:
        if not most_errors or k % _WALK == 0:
            # Rounding grows with the steps since here: to about 1e-12 of the tail.
            mass = float(stats.binom.pmf(errors, k, level))
            tail = float(binomial_lower_tail(np.array(errors), np.array(k), level))
        more = mass * (k - errors) / (errors + 1) * odds
        reach = tail + more
        if abs(reach - failure) <= 1e-7 * failure:
            passes = bool(_passes(np.array([errors + 1]), np.array([k]), alpha, delta)[0])
        else:
            passes = reach < failure
        if passes:
            errors, tail, mass = errors + 1, reach, more
        most_errors.append(errors)
        k += 1
        tail -= level * mass
        mass *= (1 - level) * k / (k - errors)
    if most_errors:
        allowed[-len(most_errors) :] = most_errors
    allowed.setflags(write=False)
    return allowed


def _tail_passes(errors: int, rows: int, alpha: Fraction, delta: Fraction) -> bool:
    """P(Binomial(rows, alpha) <= errors) <= delta in whole numbers."""
    if rows > _RATIONAL_UP_TO:
        return False
    a, b = alpha.numerator, alpha.denominator
    total = sum(math.comb(rows, i) * a**i * (b - a) ** (rows - i) for i in range(errors + 1))
    return bool(total * delta.denominator <= delta.numerator * b**rows)


def _cuts_over_splits(splits: SplitCounts, alpha: Fraction, delta: Fraction) -> IntArray:
    """The cut at which the last run of passed tests ends in each split; -1 where none passed."""
    table, rows, columns = splits.table, np.arange(len(splits.k)), len(splits.table.order)
    # Every split has as many calibration rows, so that runs begin at the same ranks in all.
    ranks = starts(int(splits.n_calibration[0]), alpha, delta)
    ends = [table.block_end[splits.column_of(np.full(len(rows), rank))] for rank in ranks]
    ends.append(np.full(len(rows), columns + 1))
    # The errors with a block are those before the next one: the counts of the following cut.
    k, errors = splits.with_block(), splits.errors[:, 1:]
    shares, cut = np.zeros(len(rows), np.int64), np.full(len(rows), -1)
    for end, following in pairwise(ends):
        most = int(splits.running[rows, np.minimum(following, columns) - 1].max())
        first = np.searchsorted(table.before, end)
        until = np.searchsorted(table.after, following)
        shares += 1
        # Two starts in one tie block are one test with both shares.
        tested = end < following
        for held in np.unique(shares[tested]):
            own = np.flatnonzero(tested & (shares == held))
            allowed = allowed_table(most, alpha, delta * int(held) / len(ranks))
            passed = splits.errors[own, first[own]] <= allowed[splits.running[own, end[own] - 1]]
            low, high = int(first[own].min()), int(until[own].max())
            column = np.arange(low, high)
            inside = (column >= first[own, None]) & (column < until[own, None])
            rows_with = np.where(inside, k[own, low:high], 0)
            failed = inside & (errors[own, low:high] > allowed[rows_with])
            broken = failed.any(axis=1)
            stop = np.where(broken, low + failed.argmax(axis=1) if low < high else 0, until[own])
            cut[own[passed]] = stop[passed]
            shares[own[~passed | broken]] = 0
    return cut


class Pac(Guarantee):
    """One threshold that holds with probability 1 - delta."""

    name = "pac"
    summary = "this threshold, with probability 1 - delta"
    assumption = "the labelled rows are an independent random sample of the rows to be judged"
    uses_delta = True

    def decide(self, labels: Labels, levels: Levels) -> Rule:
        return pac_threshold(
            labels.scores, labels.errors, alpha=levels.alpha, delta=levels.delta
        ).rule

    def fewest_labels(self, levels: Levels) -> int:
        return fewest_rows(levels.alpha, levels.delta)

    def promise(self, levels: Levels) -> str:
        return (
            f"with probability at least {level(float(1 - levels.delta))} over the labels drawn, "
            "the error rate of everything this rule will ever accept is at most "
            f"{level(float(levels.alpha))}"
        )

    def not_promised(self, levels: Levels) -> str:
        return "the share of errors in one particular batch, which scatters around that rate"

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.below_threshold(_cuts_over_splits(splits, levels.alpha, levels.delta))


PAC = Pac()
