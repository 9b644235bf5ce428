"""Whatever audits come: a finite result that can be written and read, or a clear error."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_monitor import plain_evidence

from adjudge import calibrate, check_audits
from adjudge.monitoring import log_evidence, running_interval
from adjudge.policy.audits import Monitor
from adjudge.present.kinds import from_dict

POLICY = calibrate({"id": range(40), "p_a": [0.9] * 40, "label": ["A"] * 40}, alpha=0.1)
LEVELS = st.floats(1e-6, 1 - 1e-6)
ERRORS = st.lists(st.integers(0, 1), min_size=1, max_size=60)


@given(errors=ERRORS, limit=st.floats(0.01, 0.9), horizon=st.floats(1.01, 1e6))
@settings(max_examples=20, deadline=None)
def test_evidence_is_the_plain_one_wherever_that_is_finite(errors, limit, horizon) -> None:
    ours = log_evidence(errors, limit=limit, horizon=horizon)
    plain = plain_evidence(errors, limit, horizon)
    assert np.isfinite(ours).all()
    # Where nearly everything is lost, the plain sum of unspent weights ends in rounding.
    for log, e in zip(ours, plain, strict=True):
        assert math.exp(log) == e or math.isclose(math.exp(log), e, rel_tol=1e-6, abs_tol=1e-12)


@given(errors=ERRORS, delta=LEVELS)
@settings(max_examples=20, deadline=None)
def test_intervals_contain_the_share_and_shrink_with_delta(errors, delta) -> None:
    k, wrong = np.arange(1, len(errors) + 1), np.cumsum(errors)
    low, high = running_interval(wrong, k, delta=delta)
    wide = running_interval(wrong, k, delta=delta / 2)
    assert (
        (low >= 0) & (low <= wrong / k + 1e-12) & (wrong / k <= high + 1e-12) & (high <= 1)
    ).all()
    assert ((wide[0] <= low + 1e-12) & (wide[1] >= high - 1e-12)).all()


@given(
    labels=st.lists(st.sampled_from(["A", "B", "tie", None]), min_size=1, max_size=30),
    cuts=st.lists(st.integers(1, 30), max_size=4),
    limit=LEVELS,
    delta=LEVELS,
    days=st.floats(0, 40),
)
@settings(max_examples=10, deadline=None)
def test_a_monitor_in_any_steps_can_be_written_read_and_shown(
    labels, cuts, limit, delta, days
) -> None:
    rows = pl.DataFrame(
        {
            "id": [f"a{i}" for i in range(len(labels))],
            "drawn": range(1, len(labels) + 1),
            "p_a": 0.9,
            "label": pl.Series(labels, dtype=pl.String),
        }
    )
    whole = check_audits(rows, POLICY, limit=limit, delta=delta, now=days * 86_400)
    assert from_dict(whole.to_dict(), Monitor, source="memory") == whole
    assert str(whole)
    [group] = whole.groups
    assert group.n_drawn == group.n_returned + group.n_pending + group.n_missing == len(labels)
    assert group.worst.n_errors >= group.rate.n_errors
    for outcome, label in zip(whole.outcomes, labels, strict=True):
        if outcome in ("right", "wrong", "tie"):
            assert outcome == {"A": "right", "B": "wrong", "tie": "tie"}[label]
