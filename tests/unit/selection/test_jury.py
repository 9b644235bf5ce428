"""The mean jury: mirrored exactly, finite, and cut where judges are over-confident."""

from __future__ import annotations

import numpy as np

from adjudge.selection.doubts.jury import jury_preference
from adjudge.selection.guarantees import scope_threshold
from adjudge.statistics.entropy import preference_entropy
from simulators import several_judges


def accepted(p, prefers_a, alpha=0.15):
    """What scope accepts of the second half after calibrating on the first."""
    s, e = preference_entropy(p), ((p > 0.5) != prefers_a).astype(int)
    half = len(p) // 2
    return scope_threshold(s[:half], e[:half], alpha=alpha).accept(s[half:]).mean()


def test_swapping_a_and_b_mirrors_the_jury_exactly():
    p = np.random.default_rng(1).random((80, 4)).round(3)
    assert (jury_preference(1 - p) == 1 - jury_preference(p)).all()


def test_the_surer_of_two_sure_pairs_stays_the_surer():
    # An over-confident judge is above 0.998 for most pairs; the order among those is its doubt.
    p = np.array([[0.999, 0.6], [0.9999, 0.6], [0.99999, 0.6]])
    assert (np.diff(jury_preference(p)) > 0).all()


def test_certain_probabilities_are_finite():
    p = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    assert np.isfinite(jury_preference(p)).all()
    assert jury_preference(p)[2] == 0.5


def test_the_cut_keeps_one_loud_judge_from_outvoting_the_others():
    # Three judges are sure of A as far as they ever are; the fourth says B with 0.9999.
    p = np.array([[0.93, 0.93, 0.93, 0.0001]])
    assert jury_preference(p)[0] > 0.5
    assert jury_preference(p, most_odds=30.0)[0] < 0.5


def test_a_mean_jury_accepts_more_than_its_best_judge_where_none_stands_out():
    rng = np.random.default_rng(5)
    juries, alone = [], []
    for _ in range(150):
        p, y = several_judges(400, skills=(1.0, 0.9, 0.8, 0.6), scales=(1, 6, 2.5, 6), seed=rng)
        juries.append(accepted(jury_preference(p), y))
        alone.append([accepted(p[:, j], y) for j in range(4)])
    assert np.mean(juries) > np.mean(alone, axis=0).max() + 0.05
