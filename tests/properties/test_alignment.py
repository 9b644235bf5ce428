"""Parts and numbers of an alignment, whatever the labels are."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adjudge.alignment.align import measure_gain, questions_needed, smallest_gain
from adjudge.alignment.parts import PARTS, Labelled, assign
from adjudge.records import Pair

SHARES = st.tuples(st.integers(10, 80), st.integers(10, 80)).filter(lambda s: sum(s) <= 90)


def labelled(labels: str, questions: int) -> list[Labelled]:
    pair = Pair(id="p", prompt="q", response_a="a", response_b="b")
    return [Labelled(pair, label, str(at % questions)) for at, label in enumerate(labels)]


@given(
    labels=st.text("AB", min_size=1, max_size=80),
    questions=st.integers(1, 80),
    first=SHARES,
    seed=st.integers(0, 9),
    cut=st.integers(0, 80),
)
def test_parts_keep_their_shares_and_never_move(
    labels: str, questions: int, first: tuple[int, int], seed: int, cut: int
) -> None:
    shares = (*first, 100 - sum(first))
    rows = labelled(labels, questions)
    whole = assign(rows, shares, seed=seed, before={})
    assert whole == assign(rows[::-1], shares, seed=seed, before={})
    assert whole.keys() == {row.question for row in rows}
    by_label = {row.question: row.label for row in sorted(rows, key=lambda row: row.label)}
    for label in set(by_label.values()):
        counts = Counter(whole[name] for name, its in by_label.items() if its == label)
        total = counts.total()
        for part, share in zip(PARTS, shares, strict=True):
            assert abs(counts[part] - share * total / 100) < 2
    before = assign(rows[:cut], shares, seed=seed, before={})
    grown = assign(rows, shares, seed=seed, before=before)
    assert grown.keys() == whole.keys()
    assert before.items() <= grown.items()


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=60))
def test_a_gain_is_finite_and_its_interval_holds_its_centre(d: list[float]) -> None:
    gap = measure_gain(np.array(d))
    interval = gap.interval(0.95, 1.0)
    assert interval.low is not None
    assert interval.high is not None
    assert -1 <= interval.low < gap.centre < interval.high <= 1
    assert abs(gap.estimate - np.mean(d)) < 1e-12


@given(st.integers(2, 10**6), st.integers(1, 20))
def test_more_questions_show_smaller_gains(questions: int, looks: int) -> None:
    gain = smallest_gain(questions, looks)
    assert 0 < smallest_gain(questions + 1, looks) <= gain <= 1
    assert gain <= smallest_gain(questions, looks + 1)
    if gain < 1:
        assert math.isclose(questions_needed(gain, looks), questions, abs_tol=1.01)
