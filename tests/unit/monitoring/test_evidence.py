"""The e-process and the interval against the same thing written plainly, and at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plain_monitor import is_excluded, plain_evidence

from adjudge.errors import ArgumentError
from adjudge.monitoring import estimate_change, log_evidence, running_interval


@pytest.mark.parametrize(("limit", "horizon"), [(0.1, 1000), (0.15, 20), (0.6, 1.5)])
def test_the_evidence_is_the_plain_one(limit: float, horizon: float) -> None:
    errors = (np.random.default_rng(1).random(400) < 0.3).astype(int)
    ours = np.exp(log_evidence(errors, limit=limit, horizon=horizon))
    assert ours == pytest.approx(plain_evidence(errors.tolist(), limit, horizon), rel=1e-9)


def test_the_evidence_starts_at_one_and_is_fair_at_the_limit() -> None:
    limit = 0.25
    # Two audits, exactly: the mean over all outcomes is the e-value before, which is 1.
    paths = {
        e: math.exp(log_evidence([*e], limit=limit)[-1]) for e in ((0, 0), (0, 1), (1, 0), (1, 1))
    }
    chance = {e: math.prod(limit if one else 1 - limit for one in e) for e in paths}
    assert sum(chance[e] * paths[e] for e in paths) == pytest.approx(1)


def test_many_audits_stay_finite() -> None:
    half = 50_000  # a million are in tests/montecarlo
    errors = np.repeat([0, 1], half)
    logs = log_evidence(errors, limit=0.1)
    assert np.isfinite(logs).all()
    # The bet on ten times the odds wins most: ln(q / limit) for each error, as started at the
    # change, with the weight that was left for it by then.
    q = (10 / 9) / (1 + 10 / 9)
    won = half * math.log(q / 0.1) + half * math.log1p(-1 / 1000)
    assert logs[-1] == pytest.approx(won, rel=1e-3)
    low, high = running_interval([100_000], [1_000_000], delta=0.05)
    assert 0.0985 < low[0] < 0.1 < high[0] < 0.1015


@pytest.mark.parametrize(("errors", "audits"), [(0, 1), (0, 60), (3, 20), (20, 20), (9, 90)])
def test_the_interval_is_all_that_is_not_excluded(errors: int, audits: int) -> None:
    low, high = (float(end[0]) for end in running_interval([errors], [audits], delta=0.05))
    for m in np.linspace(0.001, 0.999, 100):
        assert is_excluded(m, errors, audits, 0.05) == (not low <= m <= high), (m, low, high)


def test_the_change_is_where_the_errors_begin() -> None:
    rng = np.random.default_rng(3)
    errors = np.concatenate([rng.random(500) < 0.05, rng.random(200) < 0.4]).astype(int)
    assert 480 < estimate_change(errors, limit=0.1) < 520
    assert estimate_change([1] * 20, limit=0.1) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_evidence([0, 2], limit=0.1), "errors[1] = 2.0: give 0 or 1"),
        (lambda: log_evidence([], limit=0.1), "errors = []: give at least one value"),
        (lambda: log_evidence([0], limit=1.0), "limit = 1.0: give a number strictly between"),
        (lambda: log_evidence([0], limit=0.1, horizon=1), "horizon = 1: give a number of audits"),
        (lambda: running_interval([3], [2], delta=0.05), "give errors among the audits"),
        (lambda: running_interval([1], [2, 3], delta=0.05), "give arrays of one length"),
    ],
)
def test_what_is_refused(call, message) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert message in str(caught.value)
