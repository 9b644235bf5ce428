"""A learned doubt on any pairs: finite, and mirrored when A and B are swapped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.selection.doubts.evidence import Evidence, LearnedMargin

#: Multiples of 2^-10: 1 - p is exact, so that a swapped pair is the mirror image to the last bit.
P = st.integers(0, 1024).map(lambda k: k / 1024)


@st.composite
def pairs(draw):
    n, judges = draw(st.integers(10, 40)), draw(st.integers(1, 4))
    rows = st.lists(P, min_size=n, max_size=n)
    lengths = st.lists(st.integers(0, 10**6).map(float), min_size=n, max_size=n)
    whole = draw(st.booleans())
    made = Evidence(
        judges=tuple("wxyz"[:judges]),
        p=np.array([draw(rows) for _ in range(judges)]).T,
        order_gaps=np.array([draw(lengths) for _ in range(judges)]).T / 1e5
        if draw(st.booleans())
        else None,
        length_a=np.array(draw(lengths)) if whole else None,
        length_b=np.array(draw(lengths)) if whole else None,
        category=draw(st.lists(st.sampled_from(["c", "d", None]), min_size=n, max_size=n)),
    )
    labels = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    swapped = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return made, labels, swapped


@given(pairs())
@settings(max_examples=25, deadline=None)
def test_a_swap_turns_verdicts_and_leaves_doubts(drawn):
    made, labels, swapped = drawn
    turned = replace(made, p=np.where(swapped[:, None], 1 - made.p, made.p))
    if made.length_a is not None:
        a, b = made.length_a, made.length_b
        turned = replace(turned, length_a=np.where(swapped, b, a), length_b=np.where(swapped, a, b))
    learned = LearnedMargin.fit(made, labels)
    again = LearnedMargin.fit(turned, np.where(swapped, 1 - labels, labels))
    assert (again.weights == learned.weights).all()
    margins, doubts = learned.predict(made)
    mirrored, same = again.predict(turned)
    assert (mirrored == np.where(swapped, -margins, margins)).all()
    assert (same == doubts).all()
    assert np.isfinite(margins).all()
    assert ((doubts >= 0) & (doubts <= 0.5)).all()
