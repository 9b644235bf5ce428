"""The exact interval for the human rate of the rows themselves."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.estimation import VerdictCounts, estimate, rows_interval
from adjudge.estimation.exact_interval import MOST_LABELS, intervals_of
from adjudge.estimation.sample import make_sample


def chance(x: int, rows: int, ones: int, labelled: int) -> float:
    """Hypergeometric, by counting."""
    ways = comb(ones, x) * comb(rows - ones, labelled - x)
    return ways / comb(rows, labelled)


@pytest.mark.parametrize(
    ("rows0", "labelled0", "rows1", "labelled1"),
    [(9, 4, 14, 6), (12, 12, 8, 3), (0, 0, 20, 7), (5, 0, 12, 6)],
)
def test_every_truth_is_covered_as_often_as_promised(
    rows0: int, labelled0: int, rows1: int, labelled1: int
) -> None:
    """All outcomes of all truths are counted: no Monte Carlo error."""
    outcomes = list(product(range(labelled0 + 1), range(labelled1 + 1)))
    ends = {
        (x0, x1): rows_interval(
            VerdictCounts(rows0, labelled0, x0),
            VerdictCounts(rows1, labelled1, x1),
            confidence_level=0.9,
        )
        for x0, x1 in outcomes
    }
    for ones0, ones1 in product(range(rows0 + 1), range(rows1 + 1)):
        truth = (ones0 + ones1) / (rows0 + rows1)
        covered = sum(
            chance(x0, rows0, ones0, labelled0) * chance(x1, rows1, ones1, labelled1)
            for x0, x1 in outcomes
            if ends[x0, x1][0] - 1e-12 <= truth <= ends[x0, x1][1] + 1e-12
        )
        assert covered >= 0.9 - 1e-9


def test_cells_only_widen(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = VerdictCounts(300, 40, 6), VerdictCounts(500, 60, 51)
    exact = rows_interval(*counts)
    monkeypatch.setattr("adjudge.estimation.exact_interval._CELLS", 10)
    low, high = rows_interval(*counts)
    assert low < exact[0]
    assert exact[1] < high


def test_zeros_and_ones_exchanged_mirror_the_interval() -> None:
    low, high = rows_interval(VerdictCounts(90, 30, 4), VerdictCounts(110, 40, 33))
    other = rows_interval(VerdictCounts(90, 30, 26), VerdictCounts(110, 40, 7))
    assert (1 - high, 1 - low) == pytest.approx(other)


def test_all_labelled_is_known_and_a_useful_judge_narrows_it() -> None:
    assert rows_interval(VerdictCounts(40, 40, 3), VerdictCounts(60, 60, 57)) == (0.6, 0.6)
    low, high = rows_interval(VerdictCounts(400, 80, 8), VerdictCounts(600, 120, 108))
    alone = rows_interval(VerdictCounts(0, 0, 0), VerdictCounts(1000, 200, 116))
    assert high - low < 0.8 * (alone[1] - alone[0])


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ArgumentError, match="ones <= labelled <= rows"):
        rows_interval(VerdictCounts(4, 5, 1), VerdictCounts(4, 2, 1))
    with pytest.raises(ArgumentError, match="label some rows"):
        rows_interval(VerdictCounts(4, 0, 0), VerdictCounts(4, 0, 0))


def test_estimate_gives_it_for_a_random_sample_alone() -> None:
    rng = np.random.default_rng(5)
    human = (rng.random(400) < 0.6).astype(float)
    judge = np.where(rng.random(400) < 0.85, human, 1 - human)
    human[120:] = np.nan
    declared = estimate(judge=judge, human=human, labels_are_random=True)
    assert declared.estimate in declared.rows_interval
    [ends] = intervals_of([make_sample(judge, human)], confidence_level=0.95)
    assert (*declared.rows_interval,) == ends
    unknown = estimate(judge=judge, human=human)
    assert unknown.rows_interval is None
    # Probabilities are divided at one half.
    soft = estimate(judge=0.2 + 0.6 * judge, human=human, labels_are_random=True)
    assert soft.rows_interval == declared.rows_interval
    groups = estimate(
        judge=judge, human=human, by=["x", "y"] * 200, pool=True, labels_are_random=True
    )
    assert all(group.rows_interval is None for group in groups.groups)
    assert intervals_of([make_sample([1] * 9000, [1] * 9000)], confidence_level=0.95) == [None]
    assert MOST_LABELS < 9000
