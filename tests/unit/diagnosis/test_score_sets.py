"""Conformal sets on a Likert scale."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from adjudge.diagnosis import ScoreSets, advise, ordinal_nonconformity
from adjudge.diagnosis.score_sets import document_quantiles, row_quantiles
from adjudge.diagnosis.targets import human_target, round_half_up
from adjudge.errors import ArgumentError


def test_row_quantile_is_equation_two() -> None:
    scores = np.array([3.0, 0.0, 1.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0])  # n = 9
    # ceil(0.9 * 10) = 9: the largest; ceil(0.8 * 10) = 8: the second largest
    assert row_quantiles(scores, [Fraction(1, 10), Fraction(1, 5)]) == [3.0, 2.0]
    # ceil(0.95 * 10) = 10 > 9: no finite quantile
    assert row_quantiles(scores, [Fraction(1, 20)]) == [None]


def test_one_row_per_document_is_the_row_quantile() -> None:
    rng = np.random.default_rng(0)
    alphas = [Fraction(1, 20), Fraction(1, 10), Fraction(1, 7), Fraction(1, 2)]
    for n in (1, 8, 9, 19, 20, 57):
        scores = rng.integers(0, 5, n).astype(float)
        assert document_quantiles(scores, np.arange(n), alphas) == row_quantiles(scores, alphas)


def test_documents_weigh_alike_however_many_rows_they_have() -> None:
    # Nine documents; the one that is off has a hundred rows, the others one each.
    scores = np.array([0.0] * 8 + [4.0] * 100)
    documents = np.array([*range(8), *[8] * 100])
    assert document_quantiles(scores, documents, [Fraction(1, 5)]) == [0.0]
    assert row_quantiles(scores, [Fraction(1, 5)]) == [4.0]


def test_the_boundary_is_met_exactly_for_rows_in_thirds() -> None:
    # Nine documents of three rows: weight 9/10 is needed at alpha 0.1, and all 27 rows give it.
    scores = np.arange(27.0)
    documents = np.repeat(np.arange(9), 3)
    assert document_quantiles(scores, documents, [Fraction(1, 10)]) == [26.0]
    assert document_quantiles(scores, documents, [Fraction(1, 10) + Fraction(1, 30)]) == [25.0]


def test_row_counts_without_a_small_common_multiple_stay_exact() -> None:
    sizes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67]
    documents = np.repeat(np.arange(len(sizes)), sizes)
    scores = documents.astype(float)
    # Each document counts 1/20, so the 19th is reached at exactly 0.95.
    assert document_quantiles(scores, documents, [Fraction(1, 20)]) == [18.0]
    assert document_quantiles(scores, documents, [Fraction(1, 10)]) == [17.0]


def test_too_few_documents_give_the_whole_scale() -> None:
    sets = ScoreSets(alpha=0.1).calibrate([3] * 80, [3] * 80, documents=[k % 8 for k in range(80)])
    assert sets.quantile() is None
    predicted = sets.predict([1, 3, 5])
    assert predicted.sizes.tolist() == [5, 5, 5]
    assert predicted.advice.tolist() == ["human"] * 3


def test_sets_are_equation_three_and_cut_by_the_ends() -> None:
    sets = ScoreSets(alpha=0.5).calibrate([3, 3, 3], [4, 4, 4], documents=[1, 2, 3])
    predicted = sets.predict([1, 3, 5, 2.5])
    assert predicted.sizes.tolist() == [2, 3, 2, 2]
    assert predicted.low.tolist() == [1, 2, 4, 2]
    assert predicted.high.tolist() == [2, 4, 5, 3]


def test_groups_have_their_own_quantile_and_an_unknown_one_the_whole_scale() -> None:
    judge, human = [3] * 20, [3] * 10 + [5] * 10
    sets = ScoreSets(alpha=0.2).calibrate(
        judge, human, documents=list(range(20)), groups=["easy"] * 10 + ["hard"] * 10
    )
    assert (sets.quantile("easy"), sets.quantile("hard")) == (0.0, 2.0)
    predicted = sets.predict([3, 3, 3], groups=["easy", "hard", "new"])
    assert predicted.sizes.tolist() == [1, 5, 5]


def test_a_random_rater_weighs_one_over_r() -> None:
    # Four documents, one row each: three raters say 3, 3, 5. A third of the weight is off.
    ratings = [[3, 3, 5]] * 4
    sets = ScoreSets(alpha=0.5, target="rater").calibrate([3] * 4, ratings, documents=range(4))
    # 4 * 2/3 of 5 documents = 0.533 lies at 0
    assert sets.quantile() == 0.0
    sets = ScoreSets(alpha=0.4, target="rater").calibrate([3] * 4, ratings, documents=range(4))
    assert sets.quantile() == 2.0


def test_rounded_means_round_halves_up() -> None:
    assert round_half_up(np.array([0.5, 1.5, 2.5, 3.49])).tolist() == [1, 2, 3, 3]
    target = human_target([[2, 3, np.nan], [np.nan] * 3, [1, 1, 2]])
    assert target.score.tolist() == [3, 1]
    assert target.row.tolist() == [0, 2]


def test_adaptive_sets_grow_from_the_likeliest_score() -> None:
    values = ordinal_nonconformity([[0.05, 0.15, 0.4, 0.3, 0.1]])
    assert values[0].round(6).tolist() == [0.95, 0.7, 0.0, 0.4, 0.85]


def test_adaptive_sets_are_wide_where_the_judge_is_torn() -> None:
    sharp, torn = [0.0, 0.0, 1.0, 0.0, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2]
    probs = [sharp, torn] * 15
    human = [3, 1, 3, 5] * 7 + [3, 4]
    sets = ScoreSets(alpha=0.2, method="adaptive").calibrate(probs, human, documents=range(30))
    predicted = sets.predict([sharp, torn])
    assert predicted.sizes[0] == 1
    assert predicted.sizes[1] >= 4


def test_advice_follows_the_paper() -> None:
    assert advise([1, 2, 3, 4, 5]).tolist() == ["trust", "trust", "look", "look", "human"]
    assert advise([2], scale=(0, 1)).tolist() == ["human"]
    assert advise([5], scale=(1, 10)).tolist() == ["look"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ScoreSets(alpha=0), "strictly between"),
        (lambda: ScoreSets(alpha=0.1, scale=(5, 1)), "lowest and highest"),
        (lambda: ScoreSets(alpha=0.1).predict([3]), "call calibrate"),
        (lambda: ScoreSets(alpha=0.1).calibrate([3], [3]), "name each row's document"),
        (lambda: ScoreSets(alpha=0.1).calibrate([7], [3], documents=[1]), "scale is 1 to 5"),
        (lambda: ScoreSets(alpha=0.1).calibrate([3], [9], documents=[1]), "scale is 1 to 5"),
        (lambda: ScoreSets(alpha=0.1).calibrate([3, 3], [3], documents=[1, 2]), "human has 1"),
        (lambda: ScoreSets(alpha=0.1).calibrate([3], [3], documents=[1, 2]), "documents has 2"),
        (lambda: ordinal_nonconformity([[0.5, 0.2]]), "sum to one"),
        (lambda: human_target([3.5], target="rater"), "whole scores"),
    ],
)
def test_what_cannot_be_used_is_refused(call: object, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        call()  # type: ignore[operator]
