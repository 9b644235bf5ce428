"""A finite result or a clear error, for whatever judgments come."""

from __future__ import annotations

import json

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.errors import InputError
from adjudge.selection import calibrate, evaluate_doubt, plan_selection, select

PROBABILITY = st.one_of(
    st.none(), st.sampled_from((0.0, 0.5, 1.0, 1e-300, 0.3, 0.7)), st.floats(0, 1)
)
ROW = st.fixed_dictionaries(
    {
        "p_a": PROBABILITY,
        "label": st.sampled_from(("A", "B", "tie", None)),
        "prompt_id": st.sampled_from(("p", "q", None)),
        "language": st.sampled_from(("en", "fr", None)),
        "w": st.sampled_from((0.5, 1.0, 3.0)),
    }
)
SETTINGS = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def frame_of(rows):
    schema = {
        "p_a": pl.Float64, "label": pl.String, "prompt_id": pl.String, "language": pl.String,
        "w": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema).with_row_index("id")


def result_or_line(call):
    """What the call gives, or None after a refusal of one line."""
    try:
        return call()
    except InputError as error:
        message = str(error)
    assert message
    assert "\n" not in message
    return None


@SETTINGS
@given(
    st.lists(ROW, max_size=40),
    st.lists(ROW, max_size=15),
    st.sampled_from(("scope", "fdr", "pac")),
    st.sampled_from((0.05, 0.3, 0.9)),
    st.sampled_from((None, "language")),
    st.sampled_from(("drop", "error")),
    st.sampled_from(("refuse", "pool")),
    st.booleans(),
)
def test_calibrate_and_select(old, new, guarantee, alpha, by, ties, small, weighted):
    weights = "w" if weighted and guarantee == "fdr" else None
    policy = result_or_line(
        lambda: calibrate(
            frame_of(old),
            alpha=alpha,
            guarantee=guarantee,
            by=by,
            ties=ties,
            small_groups=small,
            weights=weights,
        )
    )
    if policy is None:
        return
    json.loads(policy.to_json())
    assert 0 <= policy.coverage <= 1
    assert 0 <= policy.empirical_risk <= 1
    assert policy.n_accepted <= policy.n_calibration
    done = result_or_line(lambda: select(frame_of(new), policy))
    if done is None:
        assert not new
        return
    json.loads(done.summary.to_json())
    assert done.rows.height == len(new)
    assert done.summary.n_accepted == done.rows["accepted"].sum()
    accepted = done.rows.filter("accepted")
    assert accepted["verdict"].null_count() == 0
    assert done.summary.n - done.summary.n_accepted == sum(done.summary.dropped.values())


@SETTINGS
@given(st.lists(ROW, max_size=40), st.sampled_from(("drop", "error")))
def test_evaluate(rows, ties):
    seen = result_or_line(
        lambda: evaluate_doubt(frame_of(rows), ties=ties, splits=4, alphas=[0.1, 0.5])
    )
    if seen is None:
        return
    json.loads(seen.to_json())
    for row in seen.methods:
        assert 0 <= row.coverage <= 1
        assert 0 <= row.risk <= 1
        assert 0 <= row.share_above <= 1


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ROW, min_size=10, max_size=60))
def test_plan(rows):
    plan = result_or_line(lambda: plan_selection(frame_of(rows), alpha=0.3, repeats=3))
    if plan is not None:
        json.loads(plan.to_json())
