"""Boundaries, refusals and large inputs of the thresholds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.selection import fdr_select, pac_threshold, scope_threshold
from adjudge.selection.guarantees import Labels, find_guarantee
from adjudge.selection.guarantees.fdr import FDR, _rejections_without, weighted_fdr_select
from adjudge.selection.splits import split_risks
from adjudge.selection.thresholds import Levels, within_ratio


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


def test_comparisons_beyond_64_bits_stay_exact():
    level = Fraction("0.1234567890123456")
    whole = np.array([10**16, 10**16, 10**16])
    exact = 10**16 * level
    assert exact.denominator == 1
    part = np.array([int(exact) - 1, int(exact), int(exact) + 1])
    assert within_ratio(part, whole, level).tolist() == [True, True, False]


def test_heuristic_is_inclusive_at_one_minus_alpha():
    for sure, accepted in ((0.9, 1), (np.nextafter(0.9, 0), 0)):
        row = split_risks(
            [0.1, 0.1], [0, 0], confidence=[sure] * 2, methods=["heuristic"], alphas=[0.1]
        )[0]
        assert set(row.accepted.tolist()) == {accepted}


def test_an_empty_batch_is_no_error():
    chosen = fdr_select([0.1], [0], [], alpha=0.1)
    assert (chosen.n, chosen.n_accepted) == (0, 0)
    assert weighted_fdr_select([0.1], [0], [1], [], [], alpha=0.1).n_accepted == 0


def test_a_group_without_calibration_rows_is_never_accepted():
    """Its p-values are 1: not even an alpha next to 1 accepts any of its rows."""
    labels = Labels(np.full(99, 0.1), np.zeros(99, dtype=int))
    for alpha in (Fraction(1, 2), Fraction(999, 1000)):
        rules = [FDR.decide(labels, Levels(alpha))]
        accepted = FDR.accept_pooled(rules, np.full(9, 0.1), np.full(9, 1), Levels(alpha))
        assert not accepted.any()
        assert FDR.accept_pooled(rules, np.full(9, 0.1), np.full(9, 0), Levels(alpha)).all()


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


@pytest.mark.parametrize("seed", range(6))
def test_weighted_fdr_by_its_definition(seed):
    """p-values, and the rows that Benjamini-Hochberg rejects if j's p-value were 0, one by one."""
    rng = np.random.default_rng(seed)
    s, t = rng.integers(0, 8, 40) / 8, rng.integers(0, 8, 12) / 8
    e = (rng.random(40) < 0.3 * s).astype(int)
    w, v = rng.uniform(0.5, 2, 40), rng.uniform(0.5, 2, 12)
    mass = np.array([w[(e == 1) & (s <= score)].sum() for score in t])
    chosen = weighted_fdr_select(s, e, w, t, v, alpha=0.3)
    assert chosen.p_values == pytest.approx((mass + v) / (w.sum() + v))
    support = []
    for j in range(12):
        p = (mass + v[j] * (t[j] <= t)) / (w.sum() + v[j])
        p[j] = 0
        support.append(max(r for r in range(1, 13) if (p <= 0.3 * r / 12).sum() >= r))
    ours = _rejections_without(t, mass, v, float(w.sum()), Fraction(3, 10))
    assert ours.tolist() == support
    passed = chosen.p_values <= 0.3 * np.array(support) / 12
    assert chosen.accepted.tolist() == (passed & chosen.accepted).tolist()


@pytest.mark.parametrize("guarantee", ["scope", "pac"])
def test_a_resample_has_the_threshold_of_its_rows(guarantee):
    rng = np.random.default_rng(3)
    scores = np.sort(rng.integers(0, 12, 60) / 12)
    errors = (rng.random(60) < 0.3 * scores).astype(int)
    times = rng.multinomial(60, [1 / 60] * 60, size=30)
    rule = find_guarantee(guarantee)
    levels = Levels(Fraction(3, 10), Fraction(1, 10))
    accepted = rule.accept_over_resamples(Labels(scores, errors), times, levels)
    of_rows = {"scope": scope_threshold, "pac": pac_threshold}[guarantee]
    for row, drawn in zip(accepted, times, strict=True):
        chosen = of_rows(np.repeat(scores, drawn), np.repeat(errors, drawn), alpha=0.3)
        below = {"all": np.inf, "none": -1.0}.get(chosen.accepts, chosen.threshold)
        assert row.tolist() == (scores <= below).tolist()
