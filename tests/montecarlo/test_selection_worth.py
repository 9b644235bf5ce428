"""What a threshold is worth: how often it is above alpha, and how many labels pac would need."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from adjudge.selection import Labels, Levels, pac_threshold
from adjudge.selection.guarantees import SCOPE, Guarantee
from adjudge.selection.guarantees.pac import PAC
from adjudge.selection.rules import resample_labels
from simulators import ScoredWorld, confidently_wrong, heavily_tied, informative, uninformative

LEVELS = Levels(Fraction(1, 10), Fraction(1, 10))
FULL = [
    pytest.param(False, id="short"),
    pytest.param(True, id="full", marks=pytest.mark.montecarlo),
]


def draw_sets(world: ScoredWorld, n: int, sets: int, seed: int) -> list[Labels]:
    """Calibration sets, each sorted by score."""
    scores, errors = world.draw((sets, n), seed)
    order = np.argsort(scores, axis=1, kind="stable")
    both = (np.take_along_axis(values, order, axis=1) for values in (scores, errors))
    return [Labels(*pair) for pair in zip(*both, strict=True)]


def true_share(world: ScoredWorld, sets: list[Labels]) -> float:
    """How often the scope threshold of a set has a true error rate above alpha."""
    rules = [SCOPE.decide(labels, LEVELS) for labels in sets]
    ends = [{"all": 1.0, "none": 0.0}.get(r.accepts, r.threshold) for r in rules]
    return float((world.error_rate(np.array(ends)) > 0.1).mean())


def estimates(sets: list[Labels]) -> np.ndarray:
    return np.array(
        [
            resample_labels(SCOPE, labels, np.ones(len(labels), bool), LEVELS, at).share_above
            for at, labels in enumerate(sets)
        ]
    )


@pytest.mark.parametrize("full", FULL)
@pytest.mark.parametrize("n", [75, 300])
@pytest.mark.parametrize("world", [informative(0.5), informative(0.3), confidently_wrong()])
def test_resamples_say_how_often_a_threshold_is_above(world, n, full):
    """Where doubt ranks errors: within 7 points of the truth on average."""
    sets, draws = (4000, 200) if full else (600, 12)
    truth = true_share(world, draw_sets(world, n, sets, seed=1))
    about = estimates(draw_sets(world, n, draws, seed=2))
    print(f"{world.name}, {n} labels: above {truth:.3f}, estimate {about.mean():.3f}")
    chance = 3 * np.sqrt(truth * (1 - truth) / sets + about.var() / draws)
    assert abs(about.mean() - truth) <= 0.07 + chance


@pytest.mark.parametrize("full", FULL)
@pytest.mark.parametrize("n", [75, 300])
@pytest.mark.parametrize("world", [informative(0.15), uninformative(0.05)])
def test_a_judge_that_is_never_above_is_called_so(world, n, full):
    """Its thresholds are above alpha in no sample; on held-out labels alone 25 % would seem so."""
    assert true_share(world, draw_sets(world, n, 400, seed=8)) <= 0.01
    about = estimates(draw_sets(world, n, 200 if full else 20, seed=9))
    print(f"{world.name}, {n} labels: above 0, estimate {about.mean():.3f}")
    assert about.mean() < 0.15


@pytest.mark.parametrize("full", FULL)
def test_resamples_are_too_close_to_one_half_if_doubt_says_nothing(full):
    """The stated limit: never above is called sometimes, mostly above is called half the time."""
    draws = 100 if full else 10
    below, above = uninformative(0.08), uninformative(0.12)
    assert true_share(below, draw_sets(below, 300, 50, seed=3)) == 0
    assert 0.03 < estimates(draw_sets(below, 300, draws, seed=4)).mean() < 0.4
    truth = true_share(above, draw_sets(above, 300, 400, seed=5))
    assert 0.3 < estimates(draw_sets(above, 300, draws, seed=6)).mean() < truth


def test_all_resamples_together_are_each_alone():
    rng = np.random.default_rng(0)
    for world in (informative(0.4), heavily_tied(), uninformative(0.02)):
        for labels in draw_sets(world, 40, 5, seed=7):
            drawn = rng.integers(0, 40, (30, 40))
            times = np.array([np.bincount(rows, minlength=40) for rows in drawn])
            together = SCOPE.accept_over_resamples(labels, times, LEVELS)
            assert (together == Guarantee.accept_over_resamples(SCOPE, labels, times, LEVELS)).all()


@pytest.mark.parametrize("seed", range(3))
def test_pac_accepts_as_much_with_about_as_many_labels_as_it_says(seed):
    """With each label repeated, the exact band accepts as much at 0.5 to 2 times that number."""
    n = 150
    (labels,) = draw_sets(informative(0.45), n, 1, seed)
    accepted = SCOPE.decide(labels, LEVELS).accept(labels.scores)
    rows, wrong = int(accepted.sum()), int(labels.errors[accepted].sum())
    needed = PAC.labels_needed(labels, rows, wrong, LEVELS)
    assert needed is not None
    assert needed > n
    enough = []
    for size in (needed // 2, 2 * needed):
        more = labels.take(np.arange(size) * n // size)
        rule = pac_threshold(more.scores, more.errors, alpha=LEVELS.alpha, delta=LEVELS.delta)
        enough.append(bool(rule.accept(labels.scores).sum() >= rows))
    assert enough == [False, True]


def test_labels_needed_can_be_unknown():
    many, few = (Labels(np.zeros(n), np.zeros(n, dtype=np.int64)) for n in (20_000, 30))
    assert PAC.labels_needed(many, 10_000, 999, LEVELS) is None
    assert PAC.labels_needed(few, 0, 0, LEVELS) is None
    assert SCOPE.labels_needed(few, 20, 1, LEVELS) is None


def test_fixed_thresholds_need_fewer_labels():
    """One test at delta instead of a band over all ranks: as many as the test needs."""
    free = Labels(np.zeros(100), np.zeros(100, dtype=np.int64))
    fixed = Labels(free.scores, free.errors, values=(0.0,))
    by_band, by_test = (PAC.labels_needed(labels, 80, 5, LEVELS) for labels in (free, fixed))
    assert by_test is not None
    assert by_band is not None
    assert by_test < by_band
    for times, accepts in ((0.9, "none"), (1.1, "below")):
        k = round(times * by_test * 0.8)
        scores = np.append(np.zeros(k), np.ones(k // 4))
        errors = np.append(np.arange(k) < k * 5 // 80, np.ones(k // 4)).astype(np.int64)
        assert pac_threshold(scores, errors, alpha=LEVELS.alpha, values=[0.0]).accepts == accepts


def test_only_some_of_many_labels_are_resampled():
    (labels,) = draw_sets(informative(0.4), 20_000, 1, seed=1)
    everywhere = np.ones(20_000, bool)
    first, again, other = (
        resample_labels(SCOPE, labels, everywhere, LEVELS, seed) for seed in (0, 0, 1)
    )
    assert (first.n, first.resamples) == (5_000, 500)
    assert first == again != other
