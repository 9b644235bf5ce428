"""The monitor's false alarms, delays and intervals, against known truth and a plain reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plain_monitor import first_alarm
from scipy import stats

from adjudge.monitoring import log_evidence, running_interval
from adjudge.selection import pac_threshold

AUDITS, DELTA = 3000, 0.05


def alarm(errors: np.ndarray, limit: float, *, delta: float = DELTA) -> float:
    rung = np.flatnonzero(log_evidence(errors, limit=limit) >= -math.log(delta))
    return rung[0] + 1 if len(rung) else math.inf


def at_rates(rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(rates)) < rates).astype(int)


def wandering(rng: np.random.Generator, limit: float) -> np.ndarray:
    """A rate that moves up and down, at the limit at most."""
    return limit * np.clip(1 + np.cumsum(rng.normal(0, 0.02, AUDITS)), 0, 1)


@pytest.mark.parametrize(
    ("limit", "repeats"),
    [
        (0.1, 30),
        *(pytest.param(limit, 1000, marks=pytest.mark.montecarlo) for limit in (0.1, 0.15, 0.4)),
    ],
)
def test_false_alarms_at_the_limit_within_delta(limit: float, repeats: int) -> None:
    rng = np.random.default_rng([1, round(100 * limit)])
    rates = np.full(AUDITS, limit)
    rung = sum(alarm(at_rates(rates, rng), limit) < math.inf for _ in range(repeats))
    assert rung <= stats.binom.ppf(1 - 1e-5, repeats, DELTA)


@pytest.mark.montecarlo
def test_false_alarms_of_a_rate_that_wanders_below_the_limit() -> None:
    rng = np.random.default_rng(2)
    rung = sum(alarm(at_rates(wandering(rng, 0.1), rng), 0.1) < math.inf for _ in range(1000))
    assert rung <= stats.binom.ppf(1 - 1e-5, 1000, DELTA)


@pytest.mark.montecarlo
def test_an_adversary_who_sees_the_past_rings_no_oftener() -> None:
    """The rate is 0 until the evidence is high, and the limit then: still within delta."""
    rng = np.random.default_rng(3)
    repeats, limit = 200, 0.1
    rung = 0
    for _ in range(repeats):
        errors: list[int] = []
        level = 0.0
        for _ in range(20):
            rate = limit if level > -0.5 or rng.random() < 0.5 else 0.0
            errors += at_rates(np.full(50, rate), rng).tolist()
            level = float(log_evidence(errors, limit=limit)[-1])
        rung += alarm(np.array(errors), limit) < math.inf
    assert rung <= stats.binom.ppf(1 - 1e-5, repeats, DELTA)


@pytest.mark.parametrize(
    ("before", "change", "after"), [(0.2, 0, 0.2), (0.05, 500, 0.2), (0.1, 200, 0.4)]
)
@pytest.mark.parametrize("repeats", [2, pytest.param(200, marks=pytest.mark.montecarlo)])
def test_delays_are_those_of_the_plain_process(
    before: float, change: int, after: float, repeats: int
) -> None:
    rng = np.random.default_rng([4, change])
    rates = np.where(np.arange(1500) < change, before, after)
    for _ in range(repeats):
        errors = at_rates(rates, rng)
        plain = first_alarm(errors.tolist(), 0.1, DELTA, 1000)
        assert alarm(errors, 0.1) == (math.inf if plain is None else plain)


@pytest.mark.parametrize("repeats", [5, pytest.param(300, marks=pytest.mark.montecarlo)])
def test_the_interval_holds_at_all_audits_at_once_under_drift(repeats: int) -> None:
    rng = np.random.default_rng(5)
    audits = np.arange(1, 1501)
    k = audits[4::5]
    missed = 0
    for _ in range(repeats):
        rates = np.where(audits < rng.integers(1, 1500), 0.05, 0.25)
        wrong = np.cumsum(at_rates(rates, rng))[k - 1]
        low, high = running_interval(wrong, k, delta=0.1)
        mean = np.cumsum(rates)[k - 1] / k
        missed += bool(((mean < low) | (mean > high)).any())
    assert missed <= stats.binom.ppf(1 - 1e-5, repeats, 0.1)
    assert (high - low)[-1] < 0.12


@pytest.mark.parametrize("repeats", [10, pytest.param(1500, marks=pytest.mark.montecarlo)])
def test_audits_after_the_alarm_calibrate_with_the_guarantees_own_promise(repeats: int) -> None:
    """Score u is uniform below the old threshold; errors have probability u / 4, then u / 2.

    Accepting up to t then has the error rate t / 4: a threshold above 0.4 breaks alpha = 0.1.
    """
    rng = np.random.default_rng(6)
    old, n, change, broken = 0.6, 150, 200, 0
    for _ in range(repeats):
        scores = old * rng.random(6000)
        slope = np.where(np.arange(len(scores)) < change, 0.25, 0.5)
        errors = (rng.random(len(scores)) < slope * scores).astype(int)
        ring = alarm(errors, 0.1)
        assert ring < len(scores) - n
        sample = slice(int(ring), int(ring) + n)
        rule = pac_threshold(scores[sample], errors[sample], alpha=0.1, delta=0.1)
        reached = {"all": old, "none": 0.0}.get(rule.accepts, rule.threshold)
        assert reached is not None
        broken += reached > 0.4
    assert broken <= stats.binom.ppf(1 - 1e-5, repeats, 0.1)


@pytest.mark.montecarlo
def test_a_million_audits_stay_finite() -> None:
    for rate in (0.0, 0.1, 1.0):
        errors = at_rates(np.full(1_000_000, rate), np.random.default_rng(7))
        assert np.isfinite(log_evidence(errors, limit=0.1)).all()
    # Every bet won every time: the largest, ten times the odds, leads.
    won = 1_000_000 * math.log((10 / 9) / (1 + 10 / 9) / 0.1)
    assert log_evidence(errors, limit=0.1)[-1] == pytest.approx(won, rel=1e-4)
