"""A finite result in [0, 1] or a clear refusal: whatever the rows."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.support.estimation_rows import METHODS

from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import (
    Counts,
    allocate,
    corrected_interval,
    estimate,
    plan_rate,
    profile_interval,
)
from adjudge.estimation.classes import ClassEstimate
from adjudge.estimation.groups import GroupedEstimate
from adjudge.estimation.means import MeanEstimate
from adjudge.estimation.rate import Estimate

verdict = st.sampled_from([0, 1])
label = st.sampled_from([0, 1, None])
rows = st.lists(st.tuples(verdict, label, st.sampled_from("abc")), min_size=1, max_size=40)


def honest(result: Estimate) -> None:
    """A number in [0, 1] with an interval around the unit, or a reason."""
    result.to_json()  # raises on NaN and infinity
    if result.estimate is None:
        assert result.reason
        assert result.low is None or (result.low, result.high) != (0, 1)
    else:
        assert result.reason is None
        assert (result.low, result.high) != (0, 1)
        assert 0 <= result.estimate <= 1
        assert 0 <= result.low <= result.high <= 1
        assert result.standard_error >= 0
    for one in result.alternatives:
        assert one.estimate is None or 0 <= one.low <= one.high <= 1


@settings(max_examples=100)
@given(rows, st.sampled_from(METHODS), st.booleans(), st.sampled_from([0.5, 0.95, 0.999]))
def test_any_rows_any_method(given_rows, method: str, clustered: bool, level: float) -> None:
    judge, human, group = zip(*given_rows, strict=True)
    result = estimate(
        judge=list(judge),
        human=list(human),
        method=method,
        cluster=list(group) if clustered else None,
        confidence_level=level,
    )
    assert isinstance(result, Estimate)
    honest(result)


@settings(max_examples=60)
@given(rows, st.booleans())
def test_any_groups_and_strata(given_rows, pool: bool) -> None:
    judge, human, group = (list(c) for c in zip(*given_rows, strict=True))
    grouped = estimate(judge=judge, human=human, by=group, pool=pool)
    for one in grouped.groups:
        honest(one)
    honest(estimate(judge=judge, human=human, strata=group))


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.floats(0, 1, allow_subnormal=False), label), min_size=1, max_size=30),
    st.sampled_from(["misclassification", "ppi++", "difference", "naive", "human-only"]),
)
def test_any_probabilities(given_rows, method: str) -> None:
    judge, human = zip(*given_rows, strict=True)
    honest(estimate(judge=list(judge), human=list(human), method=method))


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.sampled_from(["A", "B", "tie"]), st.sampled_from(["A", "B", "tie", None])),
        min_size=1,
        max_size=60,
    )
)
def test_any_classes(given_rows) -> None:
    judge, human = zip(*given_rows, strict=True)
    result = estimate(judge=list(judge), human=list(human))
    assert isinstance(result, ClassEstimate)
    result.to_json()
    assert result.estimated == (result.reason is None)
    for one in result.classes:
        assert one.estimate is None or 0 <= one.low <= one.high <= 1


@given(
    st.lists(
        st.tuples(
            st.integers(1, 5) | st.floats(-1e6, 1e6),
            st.none() | st.integers(1, 5) | st.floats(-1e6, 1e6),
            st.sampled_from("xy"),
        ),
        min_size=40,
        max_size=90,
    ),
    st.booleans(),
)
def test_any_scores(given_rows, grouped: bool) -> None:
    judge, human, group = (list(column) for column in zip(*given_rows, strict=True))
    try:
        result = estimate(judge=judge, human=human, by=group if grouped else None)
    except DataError:
        return
    result.to_json()
    if isinstance(result, MeanEstimate):
        assert result.estimated == all(mean.reason is None for mean in result.means)
        for mean in result.means:
            assert mean.estimate is None or mean.low <= mean.high
            assert mean.estimate is None or all(map(math.isfinite, (mean.estimate, mean.low)))


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(verdict, label, st.sampled_from([None, 0.01, 0.5, 1.0])), min_size=1, max_size=40
    ),
    st.sampled_from(["auto", "conditional", "misclassification"]),
)
def test_any_plan(given_rows, method: str) -> None:
    judge, human, chance = (list(c) for c in zip(*given_rows, strict=True))
    honest(estimate(judge=judge, human=human, sampling_probability=chance, method=method))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 0.3, None]), verdict, label, st.sampled_from("abcd"),
            st.sampled_from(["q1", "q2", "q3", None]),
        ),
        min_size=1,
        max_size=60,
    ),
    st.booleans(),
    st.integers(1, 4),
)  # fmt: skip
def test_any_judges(given_rows, share: bool, copies: int) -> None:
    """Also with few labels, without any, and with one judge's gaps."""
    a, b, human, model, question = (list(c) * copies for c in zip(*given_rows, strict=True))
    rows = {"a": a, "b": b, "human": human, "model": model, "prompt_id": question}
    try:
        result = estimate(rows, judges=["a", "b"], by="model", labels_are_random=True, share=share)
    except (ArgumentError, DataError) as error:
        event(type(error).__name__)
        return
    assert isinstance(result, GroupedEstimate)
    result.to_json()
    for one in result.rates:
        assert (one.estimate is None) == (one.reason is not None)
        assert one.estimate is None or 0 <= one.low <= one.high <= 1
        shared = one.shared_interval
        assert shared is None or 0 <= shared.low <= shared.high <= 1
    assert str(result)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**6),
    st.sampled_from([0.01, 0.1, 0.5, 1.0]),
)  # fmt: skip
def test_any_guess_has_a_plan_or_a_reason(p, q0, q1, n, width) -> None:
    plan = plan_rate(judge_rate=p, sensitivity=q1, specificity=q0, n_test=n, width=width)
    plan.to_json()
    assert plan.recommendation
    if plan.conditional_labels is not None:
        assert plan.conditional_width <= width
        assert plan.conditional_labels * min(s for s in (p, 1 - p) if s > 0) >= 10 - 1e-9


counted = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(max_examples=8)
@given(counted, counted, counted)
def test_any_counts_have_a_profile_interval(test, negative, positive) -> None:
    counts = Counts(
        k=test[0], n=test[1], c0=negative[0], m0=negative[1], c1=positive[0], m1=positive[1]
    )
    low, high = profile_interval(counts, replicates=99)
    assert 0 <= low <= high <= 1
    if counts.informative:
        best = (counts.p + counts.q0 - 1) / (counts.q0 + counts.q1 - 1)
        assert low <= min(max(best, 0), 1) <= high
    else:
        assert (low, high) == (0, 1)


@settings(max_examples=200)
@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 10**6),
    st.integers(1, 10**4),
    st.integers(1, 10**4),
)
def test_the_closed_form_never_leaves_the_unit(p, q0, q1, n, m0, m1) -> None:
    low, high, informative = corrected_interval(p, q0, q1, n, m0, m1)
    assert 0 <= low <= high <= 1
    assert not math.isnan(float(low))
    if not informative:
        assert (low, high) == (0, 1)


@given(
    st.integers(0, 50), st.integers(0, 500), st.floats(0, 1), st.integers(0, 50), st.integers(0, 50)
)
def test_algorithm_1_always_spends_the_budget(pilot, budget, p, c0, c1) -> None:
    try:
        m0, m1 = allocate(budget, p=p, pilot=pilot, pilot_correct0=c0, pilot_correct1=c1)
    except ArgumentError:
        assert budget < 2 * pilot or c0 > pilot or c1 > pilot
        return
    assert m0 + m1 == budget
    assert min(m0, m1) >= pilot


anything = st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=3), st.floats())


@given(st.lists(anything, max_size=8))
def test_any_column_is_read_or_refused_in_one_line(values: list[object]) -> None:
    text = ""
    try:
        text = estimate(judge=values, human=[None] * len(values)).to_json(indent=None)
    except (ArgumentError, DataError) as error:
        text = str(error)
    assert text
    assert "\n" not in text


def test_swapping_the_classes_mirrors_the_interval() -> None:
    rng = np.random.default_rng(0)
    judge = (rng.random(300) < 0.6).astype(int)
    human = [
        int(v) if i < 100 and rng.random() < 0.8 else (1 - int(v) if i < 100 else None)
        for i, v in enumerate(judge)
    ]
    one = estimate(judge=judge, human=human)
    other = estimate(judge=1 - judge, human=[None if h is None else 1 - h for h in human])
    assert other.estimate == 1 - one.estimate or abs(other.estimate + one.estimate - 1) < 1e-12
    assert abs(other.low + one.high - 1) < 1e-12
