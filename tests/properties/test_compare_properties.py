"""`compare` gives a finite result or a clear error, whatever the rows are."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge import compare
from adjudge.errors import AdjudgeError

numbers = st.sampled_from([0.0, 1.0]) | st.floats(0, 1) | st.floats(-1e6, 1e6)
cells = st.tuples(numbers, st.none() | numbers)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=8),
    st.integers(1, 40),
    st.sampled_from([0.8, 0.95]),
    st.booleans(),
)
def test_any_scores(questions, times: int, level: float, paired: bool) -> None:
    rows = [
        {
            "id": f"{system}-{n}-{again}",
            "prompt_id": f"{n}-{again}" if paired else f"{system}-{n}-{again}",
            "model": system,
            "judge": judge,
            "human": human,
        }
        for again in range(times)
        for n, question in enumerate(questions)
        for system, (judge, human) in zip("ab", question, strict=True)
    ]
    try:
        result = compare(rows, a="a", b="b", confidence_level=level)
    except AdjudgeError:
        return
    result.to_json()
    assert str(result)
    pair = result.difference
    for gap in (pair.judge, pair.people):
        if gap is not None and gap.interval is not None:
            assert gap.low <= gap.high
            assert result.measure == "scores" or -1 <= gap.low <= gap.high <= 1
        elif gap is not None:
            assert gap.reason
