"""Conformal sets on a Likert scale."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from adjudge.diagnosis import ScoreSets, advise, ordinal_nonconformity
from adjudge.diagnosis.scores.nonconformity import document_quantiles, human_target, round_half_up
from adjudge.errors import ArgumentError


def test_rows_that_are_documents_have_the_quantile_of_equation_two() -> None:
    scores = np.array([3.0, 0.0, 1.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0])  # n = 9
    levels = [Fraction(1, 10), Fraction(1, 5), Fraction(1, 20)]
    # ceil(0.9 * 10) = 9: the largest; ceil(0.8 * 10) = 8: the second largest; 10 > 9: none.
    assert document_quantiles(scores, np.arange(9), levels) == (3.0, 2.0, None)
    rowwise = ScoreSets(alpha=0.2, method="residual", weigh="rows")
    rowwise.calibrate([3] * 9, [3, 3, 4, 5, 4, 3, 3, 4, 3], documents=["one"] * 9)
    assert rowwise.quantile() == 1.0


def test_documents_weigh_alike_however_many_rows_they_have() -> None:
    # Nine documents; the one that is off has a hundred rows, the others one each.
    scores = np.array([0.0] * 8 + [4.0] * 100)
    documents = np.array([*range(8), *[8] * 100])
    assert document_quantiles(scores, documents, [Fraction(1, 5)]) == (0.0,)
    assert document_quantiles(scores, np.arange(108), [Fraction(1, 5)]) == (4.0,)


def test_the_boundary_is_met_exactly_for_rows_in_thirds() -> None:
    # Nine documents of three rows: weight 9/10 is needed at alpha 0.1, and all 27 rows give it.
    scores = np.arange(27.0)
    documents = np.repeat(np.arange(9), 3)
    assert document_quantiles(scores, documents, [Fraction(1, 10)]) == (26.0,)
    assert document_quantiles(scores, documents, [Fraction(1, 10) + Fraction(1, 30)]) == (25.0,)


def test_row_counts_without_a_small_common_multiple_stay_exact() -> None:
    sizes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67]
    documents = np.repeat(np.arange(len(sizes)), sizes)
    scores = documents.astype(float)
    # Each document counts 1/20, so the 19th is reached at exactly 0.95.
    assert document_quantiles(scores, documents, [Fraction(1, 20)]) == (18.0,)
    assert document_quantiles(scores, documents, [Fraction(1, 10)]) == (17.0,)


def test_too_few_documents_give_the_whole_scale() -> None:
    sets = ScoreSets(alpha=0.1).calibrate([3] * 80, [3] * 80, documents=[k % 8 for k in range(80)])
    assert sets.quantile() is None
    predicted = sets.predict([1, 3, 5])
    assert predicted.sizes.tolist() == [5, 5, 5]
    assert predicted.advice.tolist() == ["human"] * 3


def test_sets_are_equation_three_and_cut_by_the_ends() -> None:
    sets = ScoreSets(alpha=0.5, method="residual").calibrate(
        [3, 3, 3], [4, 4, 4], documents=[1, 2, 3]
    )
    predicted = sets.predict([1, 3, 5, 2.5])
    assert predicted.sizes.tolist() == [2, 3, 2, 2]
    assert predicted.low.tolist() == [1, 2, 4, 2]
    assert predicted.high.tolist() == [2, 4, 5, 3]


def test_groups_have_their_own_quantile_and_an_unknown_one_the_whole_scale() -> None:
    judge, human = [3] * 20, [3] * 10 + [5] * 10
    sets = ScoreSets(alpha=0.2, method="residual").calibrate(
        judge, human, documents=list(range(20)), groups=["easy"] * 10 + ["hard"] * 10
    )
    assert (sets.quantile("easy"), sets.quantile("hard")) == (0.0, 2.0)
    predicted = sets.predict([3, 3, 3], groups=["easy", "hard", "new"])
    assert predicted.sizes.tolist() == [1, 5, 5]


def test_a_random_rater_weighs_one_over_r() -> None:
    # Four documents, one row each: three raters say 3, 3, 5. A third of the weight is off.
    ratings = [[3, 3, 5]] * 4
    rater = partial(ScoreSets, method="residual", target="rater")
    sets = rater(alpha=0.5).calibrate([3] * 4, ratings, documents=range(4))
    # 4 * 2/3 of 5 documents = 0.533 lies at 0
    assert sets.quantile() == 0.0
    sets = rater(alpha=0.4).calibrate([3] * 4, ratings, documents=range(4))
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
    # An empty set says nothing that could be trusted.
    assert advise([0]).tolist() == ["human"]
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
        (lambda: human_target([3.5], target="rater"), "integer scores"),
    ],
)
def test_what_cannot_be_used_is_refused(call: object, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        call()  # type: ignore[operator]


# --- sets that learn the judge's scale -------------------------------------------------------


def test_learned_sets_are_where_people_score_not_where_the_judge_does() -> None:
    # Where the judge gives 4 people give 2, where it gives 5 they give 4 or 5.
    judge = [4.0, 5.0, 5.0] * 40
    human = [2, 4, 5] * 40
    documents = np.repeat(np.arange(40), 3)
    sets = ScoreSets(alpha=0.1).calibrate(judge, human, documents=documents)
    assert sets.rule == "learned"
    predicted = sets.predict([4.0, 5.0])
    assert (predicted.low.tolist(), predicted.high.tolist()) == ([2, 4], [2, 5])
    residual = ScoreSets(alpha=0.1, method="residual").calibrate(judge, human, documents=documents)
    assert residual.predict([4.0, 5.0]).sizes.tolist() == [4, 3]


@pytest.mark.parametrize("method", ["learned", "cross-fitted"])
def test_a_judge_can_have_decimals_and_a_scale_of_its_own(method: str) -> None:
    rng = np.random.default_rng(3)
    documents = np.repeat(np.arange(100), 5)
    quality = rng.normal(3, 1, 500)
    human = np.clip(np.rint(quality), 1, 5)
    sets = ScoreSets(alpha=0.1, method=method)
    sets.calibrate(1000 * quality, human, documents=documents)
    assert len(np.unique(1000 * quality)) == 500
    low, high = sets.predict([0.0, 6000.0, 2987.6]), sets.predict([-9e9, 9e9])
    assert low.members[0, 0]
    assert low.members[1, 4]
    assert low.members[2, 2]
    assert (low.sizes <= 3).all()
    # Beyond all scores seen: like the nearest.
    assert high.members[0, 0]
    assert high.members[1, 4]


def test_documents_alone_decide_whether_the_scale_is_learned() -> None:
    rng = np.random.default_rng(0)
    for documents, rule in ((25, "residual"), (26, "learned")):
        for _ in range(3):
            judge, human = rng.integers(1, 6, (2, documents))
            sets = ScoreSets(alpha=0.1).calibrate(judge, human, documents=range(documents))
            assert sets.rule == rule
    # The group with the fewest decides for all: none gets the whole scale for want of documents.
    groups = ["often"] * 40 + ["rare"] * 20
    sets = ScoreSets(alpha=0.1).calibrate([3] * 60, [3] * 60, documents=range(60), groups=groups)
    assert sets.rule == "residual"
    # Row by row it is the paper's way, and its sets.
    assert ScoreSets(alpha=0.1, weigh="rows").calibrate([3] * 60, [3] * 60).rule == "residual"


def test_a_document_never_calibrates_what_it_taught() -> None:
    # Each document has a judge score of its own, which names its human score: learned and
    # calibrated on the same rows this would look certain.
    rng = np.random.default_rng(5)
    judge, human = rng.permutation(400) / 100, rng.integers(1, 6, 400)
    for method in ("learned", "cross-fitted"):
        sets = ScoreSets(alpha=0.1, method=method)
        sets.calibrate(judge, human, documents=range(400))
        assert sets.predict(judge).sizes.mean() > 4


def test_rows_of_one_document_teach_and_calibrate_together() -> None:
    # 13 documents of many rows: four teach, nine calibrate, and 12 are too few.
    for documents, whole in ((13, False), (12, True)):
        rows = np.repeat(np.arange(documents), 30)
        sets = ScoreSets(alpha=0.1, method="learned")
        sets.calibrate(np.full(len(rows), 3), np.full(len(rows), 3), documents=rows)
        assert (sets.quantile() is None) == whole


def test_the_same_seed_gives_the_same_sets_and_another_seed_other_halves() -> None:
    rng = np.random.default_rng(1)
    judge, human = rng.integers(1, 6, (2, 120))
    for method in ("learned", "cross-fitted"):
        members = [
            ScoreSets(alpha=0.2, method=method, seed=seed)
            .calibrate(judge, human, documents=np.repeat(np.arange(60), 2))
            .predict(range(1, 6))
            .members.tolist()
            for seed in (1, 1, 2, 3, 4)
        ]
        assert members[0] == members[1]
        assert any(other != members[0] for other in members[2:])


def test_a_long_human_scale_is_smoothed_over_its_scores() -> None:
    rng = np.random.default_rng(2)
    quality = rng.uniform(10, 90, 300)
    human = np.rint(np.clip(quality + rng.normal(0, 3, 300), 0, 100))
    sets = ScoreSets(alpha=0.1, scale=(0, 100), method="learned")
    sets.calibrate(quality, human, documents=range(300))
    predicted = sets.predict([20.0, 50.0, 80.0])
    assert (predicted.sizes < 40).all()
    assert all(predicted.members[at, score] for at, score in enumerate((20, 50, 80)))


def test_a_score_outside_the_scale_is_named_by_its_row() -> None:
    with pytest.raises(ArgumentError, match=r"human score of row 3 = 6.*the scale is 1 to 5"):
        human_target([[2], [5], [6]])
