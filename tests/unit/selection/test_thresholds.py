"""Boundaries, refusals and large inputs of the thresholds."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from adjudge.errors import ArgumentError
from adjudge.selection import (
    fdr_select,
    heuristic_accept,
    pac_threshold,
    pooled_fdr_select,
    scope_threshold,
    weighted_fdr_select,
)
from adjudge.selection import thresholds as thresholds_module
from adjudge.selection.guarantees.pac import allowed_table, fewest_rows, starts
from adjudge.selection.thresholds import at_most


def test_the_boundary_is_inclusive_and_exact():
    # 0.1 + 0.1 + ... summed in floats is not 3: E + 1 = alpha k must pass.
    for k, errors in ((10, 0), (20, 1), (30, 2), (1000, 99)):
        scores = np.arange(k + 50.0)
        wrong = np.r_[np.ones(errors), np.zeros(k - errors), np.ones(50)].astype(int)
        assert scope_threshold(scores, wrong, alpha=0.1).n_accepted == k
        short = np.delete(scores, k - 1), np.delete(wrong, k - 1)
        assert scope_threshold(*short, alpha=0.1).n_accepted < k


def test_ties_enter_together():
    scores, errors = [0.1] * 9 + [0.2, 0.2], [0] * 9 + [0, 1]
    assert scope_threshold(scores, errors, alpha=0.1).accepts == "none"
    assert scope_threshold(scores, [0] * 11, alpha=0.1).accepts == "all"


@pytest.mark.parametrize("bucket", [1, 2, 3, 7])
def test_buckets_change_nothing(monkeypatch, bucket):
    rng = np.random.default_rng(bucket)
    for _ in range(150):
        n = int(rng.integers(30, 250))
        s = rng.integers(0, rng.integers(3, 400), n).astype(float)
        e = (rng.random(n) < 0.25 * s / s.max()).astype(int)
        for rule in (scope_threshold, pac_threshold):
            monkeypatch.setattr(thresholds_module, "_BUCKET", 1024)
            whole = rule(s, e, alpha=0.15)
            monkeypatch.setattr(thresholds_module, "_BUCKET", bucket)
            assert rule(s, e, alpha=0.15) == whole


def test_comparisons_beyond_64_bits_stay_exact():
    level = Fraction("0.1234567890123456")
    whole = np.array([10**16, 10**16, 10**16])
    exact = 10**16 * level
    assert exact.denominator == 1
    part = np.array([int(exact) - 1, int(exact), int(exact) + 1])
    assert at_most(part, whole, level).tolist() == [True, True, False]


@pytest.mark.parametrize("alpha", ["0.05", "0.1", "0.3", "0.5"])
@pytest.mark.parametrize("delta", ["0.05", "0.1", "0.5"])
def test_allowed_errors_are_the_most_that_pass(alpha, delta):
    a, d = Fraction(alpha), Fraction(delta)
    allowed = allowed_table(89, a, d)
    assert len(allowed) == 90
    for k, most in enumerate(allowed.tolist()):
        tail, passing = Fraction(0), -1
        for errors in range(k):
            tail += comb(k, errors) * a**errors * (1 - a) ** (k - errors)
            if tail > d:
                break
            passing = errors
        assert most == passing
    assert fewest_rows(a, d) == int(np.argmax(allowed >= 0))


@pytest.mark.parametrize("alpha", ["0.001", "0.05", "0.25", "0.97"])
@pytest.mark.parametrize("delta", ["0.000001", "0.1", "0.9"])
def test_allowed_errors_among_many_rows_pass_and_one_more_would_not(alpha, delta):
    a, d = Fraction(alpha), Fraction(delta)
    rows = np.random.default_rng(5).integers(20_000, 150_000, size=200)
    allowed = allowed_table(int(rows.max()), a, d)[rows]
    assert (allowed >= 0).all()
    assert (stats.binom.cdf(allowed, rows, float(a)) <= float(d)).all()
    assert (stats.binom.cdf(allowed + 1, rows, float(a)) > float(d)).all()


def test_a_tail_equal_to_delta_passes():
    # P(Binomial(k, 1/2) <= (k - 1) / 2) is exactly one half for odd k.
    for k in (1, 21, 1001):
        assert allowed_table(k, Fraction(1, 2), Fraction(1, 2))[k] == (k - 1) // 2


def test_pac_stops_at_the_first_failure_though_looser_ones_would_pass():
    # 22 rows fail with an error; 78 right ones behind them do not reopen the run.
    scores = np.arange(100.0)
    errors = np.r_[np.ones(3), np.zeros(97)].astype(int)
    assert starts(100, Fraction(1, 10), Fraction(1, 10)) == [22]
    assert pac_threshold(scores, errors, alpha=0.1).accepts == "none"


def test_pac_begins_again_at_the_next_start():
    assert starts(522, Fraction(1, 10), Fraction(1, 10)) == [29, 116]
    scores = np.arange(522.0)
    at_29 = np.r_[np.ones(3), np.zeros(519)].astype(int)
    assert pac_threshold(scores, at_29, alpha=0.1).accepts == "all"
    # Failed at 29 and at 116: all 522 rows would pass and are not asked.
    at_both = np.r_[np.ones(12), np.zeros(510)].astype(int)
    assert pac_threshold(scores, at_both, alpha=0.1).accepts == "none"


def test_pac_takes_an_unbroken_share_along():
    # From rank 116 on: 117 rows may hold 6 errors at level 0.05, and 7 at 0.1.
    both, one = Fraction(1, 10), Fraction(1, 20)
    assert [int(allowed_table(117, both, x)[117]) for x in (one, both)] == [6, 7]
    errors = np.zeros(522, dtype=int)
    errors[[60, 75, 90, 103, 108, 115, 116]] = 1
    assert pac_threshold(np.arange(522.0), errors, alpha=0.1).accepts == "all"
    errors[[0, 60]] = 1, 0
    assert pac_threshold(np.arange(522.0), errors, alpha=0.1).n_accepted == 116


def test_heuristic_is_inclusive_at_one_minus_alpha():
    assert heuristic_accept([0.9, np.nextafter(0.9, 0)], alpha=0.1).tolist() == [True, False]


def test_an_empty_batch_is_no_error():
    chosen = fdr_select([0.1], [0], [], alpha=0.1)
    assert (chosen.n, chosen.n_accepted) == (0, 0)
    assert weighted_fdr_select([0.1], [0], [1], [], [], alpha=0.1).n_accepted == 0


def test_a_group_without_calibration_rows_is_never_accepted():
    chosen = pooled_fdr_select([0.1] * 99, [0] * 99, ["x"] * 99, [0.1] * 9, ["y"] * 9, alpha=0.5)
    assert chosen.n_accepted == 0
    assert set(chosen.p_values) == {1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scope_threshold([], [], alpha=0.1), "scores = []"),
        (lambda: scope_threshold([0.1, None], [0, 1], alpha=0.1), r"scores[1] = nan"),
        (lambda: scope_threshold([0.1], [2], alpha=0.1), "errors[0] = 2"),
        (lambda: scope_threshold([0.1, 0.2], [1], alpha=0.1), "one length"),
        (lambda: scope_threshold([0.1], [1], alpha=1), "alpha = 1"),
        (lambda: pac_threshold([0.1], [1], alpha=0.1, delta=0), "delta = 0"),
        (lambda: weighted_fdr_select([0.1], [1], [0], [1], [1], alpha=0.1), "weights[0] = 0"),
        (lambda: weighted_fdr_select([0.1], [1], [1], [1], [1, 1], alpha=0.1), "one length"),
        (lambda: pooled_fdr_select([0.1], [1], [], [1], ["x"], alpha=0.1), "one group per row"),
    ],
)
def test_refusals_name_argument_value_and_remedy(call, message):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_inputs_are_left_as_they_were():
    s, e = np.array([0.3, 0.1, 0.2]), np.array([0, 1, 0])
    scope_threshold(s, e, alpha=0.5)
    pac_threshold(s, e, alpha=0.5)
    assert s.tolist() == [0.3, 0.1, 0.2]
    assert e.tolist() == [0, 1, 0]


def test_results_print_and_serialise():
    rule = scope_threshold([0.1] * 30, [0] * 30, alpha=0.1)
    assert rule.to_dict()["kind"] == "threshold"
    assert "accepts every verdict" in str(rule)
    batch = fdr_select([0.1] * 30, [0] * 30, [0.1], alpha=0.1)
    assert batch.to_dict()["accepted"] == [True]
