"""Every diagnosis ends in a finite result that can be shown, or in a clear error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.diagnosis import ScoreSets, agreement, diagnose_scores, ordinal_nonconformity
from adjudge.diagnosis.consistency import contradictions, position_bias
from adjudge.diagnosis.family import family_bias
from adjudge.diagnosis.length import verbosity_bias
from adjudge.diagnosis.prompts import prompt_change
from adjudge.diagnosis.reliability import reliability
from adjudge.diagnosis.scores.nonconformity import document_quantiles
from adjudge.errors import AdjudgeError
from adjudge.present.result import plain
from adjudge.records import Interval
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p

chance = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
length = st.integers(1, 25)


def _ordered(low: float | None, value: float | None, high: float | None) -> bool:
    if low is None or high is None or value is None:
        return True
    return low <= value + 1e-9 and value <= high + 1e-9


def _within(interval: Interval | None, value: float | None) -> bool:
    return interval is None or _ordered(interval.low, value, interval.high)


@given(st.data())
@settings(max_examples=120)
def test_position(data: st.DataObject) -> None:
    n = data.draw(length)
    forward, reverse = (data.draw(st.lists(chance, min_size=n, max_size=n)) for _ in range(2))
    clusters = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    try:
        bias = position_bias(forward, reverse, clusters=clusters, groups=clusters)
    except AdjudgeError:
        assert not any(
            f is not None and r is not None for f, r in zip(forward, reverse, strict=True)
        )
        return
    plain(bias)
    str(bias)
    assert _ordered(bias.low, bias.first_share, bias.high)
    assert _within(bias.flip_interval, bias.flip_share)
    mirrored = position_bias(
        [None if p is None else 1 - p for p in reverse],
        [None if p is None else 1 - p for p in forward],
        clusters=clusters,
    )
    # Naming the responses the other way round changes nothing about the slots.
    assert math.isclose(mirrored.first_share, bias.first_share, abs_tol=1e-12)


@given(st.data())
@settings(max_examples=50)
def test_verbosity_family_contradictions(data: st.DataObject) -> None:
    n = data.draw(length)

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    clusters = column(st.integers(0, 4))
    labels = column(st.sampled_from(["A", "B", "tie", None]))
    margin = column(st.one_of(st.none(), st.floats(-0.5, 0.5)))
    verbose = verbosity_bias(
        margin,
        column(st.integers(0, 9)),
        column(st.integers(0, 9)),
        clusters=clusters,
    )
    plain(verbose)
    str(verbose)
    assert _ordered(verbose.low, verbose.longer_share, verbose.high)
    family = family_bias(
        column(chance),
        column(chance),
        column(st.booleans()),
        column(st.booleans()),
        clusters=clusters,
    )
    plain(family)
    str(family)
    assert _ordered(family.low, family.excess, family.high)
    scores = st.one_of(st.none(), st.integers(1, 5))
    contrary = contradictions(labels, column(scores), column(scores), clusters=clusters)
    plain(contrary)
    str(contrary)
    assert _ordered(contrary.low, contrary.share, contrary.high)


@given(st.data())
@settings(max_examples=80)
def test_agreement(data: st.DataObject) -> None:
    n, raters = data.draw(length), data.draw(st.integers(1, 3))
    values = st.one_of(st.none(), st.integers(1, 5))
    judge = data.draw(st.lists(values, min_size=n, max_size=n))
    row = st.lists(values, min_size=raters, max_size=raters)
    human = data.draw(st.lists(row, min_size=n, max_size=n))
    clusters = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    level = data.draw(st.sampled_from(["nominal", "ordinal", "interval"]))
    try:
        bias = agreement(judge, human, level=level, clusters=clusters)
    except AdjudgeError:
        return
    plain(bias)
    str(bias)
    assert _within(bias.raw_interval, bias.raw)
    assert _within(bias.kappa_interval, bias.kappa)
    assert _within(bias.alpha_interval, bias.alpha)


@given(st.data())
@settings(max_examples=60)
def test_prompts(data: st.DataObject) -> None:
    n = data.draw(length)
    row = st.lists(st.integers(1, 5), max_size=3)
    first, second = (data.draw(st.lists(row, min_size=n, max_size=n)) for _ in range(2))
    clusters = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    try:
        change = prompt_change(first, second, scored=True, clusters=clusters)
    except AdjudgeError:
        assert not all(map(len, [*first, *second]))
        return
    assert _ordered(change.low, change.changed, change.high)
    assert _within(change.excess_interval, change.excess)
    assert _within(change.shift_interval, change.shift)
    back = prompt_change(second, first, scored=True, clusters=clusters)
    # Which prompt is called the first changes the sign of the shift, and nothing else.
    assert math.isclose(back.changed, change.changed, abs_tol=1e-12)
    assert change.shift is not None
    assert back.shift is not None
    assert math.isclose(back.shift, -change.shift, abs_tol=1e-12)
    assert back.shifted == change.shifted


@given(st.data())
@settings(max_examples=60)
def test_rank_correlation(data: st.DataObject) -> None:
    n = data.draw(length)
    x, y, clusters = (
        np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))) for _ in range(3)
    )
    value = spearman(x, y)
    low, high = spearman_interval(x, y, clusters)
    assert value is None or -1 <= value <= 1
    assert _ordered(low, value, high)
    p = spearman_p(value, n)
    assert (p is None) == (value is None)
    assert p is None or 0 <= p <= 1


@given(st.data())
@settings(max_examples=80)
def test_reliability(data: st.DataObject) -> None:
    n = data.draw(length)
    sure = data.draw(st.lists(st.floats(0.5, 1), min_size=n, max_size=n))
    right = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    clusters = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    bias = reliability(sure, right, clusters=clusters, replicates=20)
    plain(bias)
    str(bias)
    assert _ordered(bias.low, bias.over_confidence, bias.high)
    assert _within(bias.ece_interval, bias.ece_equal_mass)
    assert sum(entry.n for entry in bias.curve) == n


@given(st.data())
@settings(max_examples=150)
def test_the_document_quantile_is_the_smallest_that_reaches_its_level(data: st.DataObject) -> None:
    n = data.draw(length)
    scores = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=float)
    documents = np.array(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)))
    alpha = Fraction(data.draw(st.integers(1, 99)), 100)
    [bias] = document_quantiles(scores, documents, [alpha])
    names = set(documents.tolist())

    def weight(limit: float) -> Fraction:
        shares = [
            Fraction(int((scores[documents == d] <= limit).sum()), int((documents == d).sum()))
            for d in names
        ]
        return sum(shares, Fraction(0)) / (len(names) + 1)

    reaching = [value for value in np.unique(scores) if weight(value) >= 1 - alpha]
    assert bias == (reaching[0] if reaching else None)


@given(st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), min_size=1, max_size=8))
@settings(max_examples=100)
def test_adaptive_sets_are_intervals_around_the_likeliest_score(counts: list[list[int]]) -> None:
    probs = np.array([[c + 0.01 for c in row] for row in counts])
    probs /= probs.sum(axis=1, keepdims=True)
    values = ordinal_nonconformity(probs)
    for limit in np.unique(values):
        inside = values <= limit
        assert inside.any(axis=1).all()
        starts = (np.diff(inside.astype(int), axis=1, prepend=0) == 1).sum(axis=1)
        assert (starts == 1).all()
        assert inside[np.arange(len(probs)), probs.argmax(axis=1)].all()


@given(st.data())
@settings(max_examples=25)
def test_scores_of_any_shape(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    optional = st.one_of(st.none(), st.sampled_from([1.0, 2.0, 2.5, 3.0, 5.0]))
    frame = pl.DataFrame(
        {
            "id": [str(k) for k in range(n)],
            "doc_id": data.draw(
                st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=n, max_size=n)
            ),
            "model": [f"m{k}" for k in range(n)],
            "judge_score": pl.Series(
                data.draw(st.lists(optional, min_size=n, max_size=n)), dtype=pl.Float64
            ),
            "human_score": pl.Series(
                data.draw(st.lists(optional, min_size=n, max_size=n)), dtype=pl.Float64
            ),
        }
    )
    try:
        report = diagnose_scores(frame, splits=3, alphas=[0.3, 0.1])
    except AdjudgeError:
        return
    report.to_json()
    str(report)
    assert all(0 <= group.coverage <= 1 and 1 <= group.mean_size <= 5 for group in report.groups)


@given(st.data())
@settings(max_examples=60)
def test_sets_that_learn_are_intervals_and_shrink_with_alpha(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40))
    judge = data.draw(st.lists(st.floats(-5, 12), min_size=n, max_size=n))
    human = data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    documents = data.draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
    method = data.draw(st.sampled_from(["learned", "cross-fitted"]))
    inside = [
        ScoreSets(alpha=alpha, method=method)
        .calibrate(judge, human, documents=documents)
        .predict([*judge, 0.0, 99.0])
        .members
        for alpha in (0.05, 0.2, 0.5)
    ]
    for members in inside:
        starts = (np.diff(members.astype(int), axis=1, prepend=0) == 1).sum(axis=1)
        assert (starts == 1).all() if method == "learned" else (starts <= 1).all()
    assert (inside[0] >= inside[1]).all()
    assert (inside[1] >= inside[2]).all()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30))
@settings(max_examples=50)
def test_a_smaller_alpha_never_gives_smaller_sets(human: list[int]) -> None:
    judge, documents = [3] * len(human), list(range(len(human)))
    sizes = [
        ScoreSets(alpha=alpha, method="residual")
        .calibrate(judge, human, documents=documents)
        .predict([3])
        .sizes[0]
        for alpha in (0.05, 0.1, 0.3, 0.6)
    ]
    assert sizes == sorted(sizes, reverse=True)
