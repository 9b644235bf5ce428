"""Agreement with people."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge import evaluate
from adjudge.diagnosis import agreement
from adjudge.errors import ArgumentError
from adjudge.statistics.agreement import kappa_of_tables


def test_kappa_by_hand() -> None:
    # 20 A/A, 5 A/B, 10 B/A, 15 B/B: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    judge = ["A"] * 25 + ["B"] * 25
    human = ["A"] * 20 + ["B"] * 5 + ["A"] * 10 + ["B"] * 15
    result = agreement(judge, human)
    assert result.raw == pytest.approx(0.7)
    assert result.kappa == pytest.approx(0.4)
    assert result.kappa_interval is not None
    assert result.kappa_interval.low < 0.4 < result.kappa_interval.high
    # The textbook large-sample standard error of this kappa is 0.127.
    assert np.ptp([*result.kappa_interval]) / 2 / 1.96 == pytest.approx(0.127, abs=0.006)
    # Of several raters per row the interval is of a jackknife, with Student's quantile.
    twice = agreement(judge, [[label, label] for label in human])
    assert twice.kappa == pytest.approx(0.4)
    assert twice.kappa_interval is not None
    assert np.ptp([*twice.kappa_interval]) / 2 / 2.01 == pytest.approx(0.127, abs=0.006)


def test_few_rows_of_one_class_have_the_interval_of_evaluate() -> None:
    judge = ["a"] * 27 + ["b"] * 3
    human = ["a"] * 26 + ["b"] * 4
    result = agreement(judge, human)
    [evaluated] = evaluate({"judge": judge, "human": human}).judges
    assert result.kappa_interval == evaluated.kappa_interval
    assert result.kappa_interval is not None


def test_several_raters_weigh_one_over_r() -> None:
    result = agreement([1, 1], [[1, 1, 2], [1, None, None]])
    assert result.raw == pytest.approx((2 / 3 + 1) / 2)
    assert result.ceiling is not None
    assert result.ceiling.n == 1
    assert result.ceiling.raw == pytest.approx(1 / 3)  # of three pairs of raters, one agrees


def test_a_judge_above_the_human_ceiling_is_said_so() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    raters = np.where(rng.random((300, 3)) < 0.75, truth[:, None], 1 - truth[:, None])
    result = agreement(truth.tolist(), raters.tolist())
    assert result.ceiling is not None
    assert result.ceiling.raw == pytest.approx(0.75**2 + 0.25**2, abs=0.05)
    assert result.raw == pytest.approx(0.75, abs=0.05)
    assert result.ceiling.gap_interval is not None
    assert result.ceiling.gap_interval.high < 0
    assert "less often than a person agrees with the judge there" in str(result)


def test_missing_answers_are_counted() -> None:
    result = agreement(["A", None, "B", "A"], ["A", "A", None, "B"])
    assert result.n == 2
    assert result.dropped == {"no judge answer": 1, "no human label": 1}


def test_one_value_on_both_sides_leaves_kappa_undefined() -> None:
    result = agreement(["A"] * 10, ["A"] * 10)
    assert (result.raw, result.kappa, result.alpha) == (1.0, None, None)


def test_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    judge = np.repeat(rng.integers(0, 2, 30), 8).tolist()
    human = np.repeat(rng.integers(0, 2, 30), 8).tolist()
    alone = agreement(judge, human)
    alike = agreement(judge, human, clusters=np.repeat(np.arange(30), 8))
    assert alone.kappa_interval is not None
    assert alike.kappa_interval is not None
    assert alike.kappa_interval.low < alone.kappa_interval.low


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: agreement(["A"], ["A", "B"]), "one length"),
        (lambda: agreement(["A"], [None]), "label some"),
        (lambda: agreement(["A"], ["B"], level="ordinal"), "nominal"),
        (lambda: agreement([1.0, 2.0], [[1], [2, 3]]), "same number"),
    ],
)
def test_what_cannot_be_used_is_refused(call: object, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        call()  # type: ignore[operator]


def test_any_number_of_scores_agrees_as_its_table_does() -> None:
    rng = np.random.default_rng(4)
    human = rng.integers(1, 6, (90, 2)).astype(float)
    judge = np.clip(human.mean(axis=1) + rng.normal(0, 1, 90), 1, 5).round(2)
    both = agreement(judge.tolist(), human.tolist(), level="interval")
    values = np.unique([*judge, *human.ravel()])
    table = np.zeros((1, len(values), len(values)))
    for score, raters in zip(judge, human, strict=True):
        for rater in raters:
            table[0, np.searchsorted(values, score), np.searchsorted(values, rater)] += 0.5
    assert both.kappa == pytest.approx(kappa_of_tables(table, points=values)[0])
    fine = rng.normal(3, 1, 400)
    assert agreement(fine.tolist(), fine.tolist(), level="interval").kappa == 1.0
    with pytest.raises(ArgumentError, match="level='interval'"):
        agreement(fine.tolist(), fine.tolist(), level="ordinal")


def test_columns_of_text_are_counted_as_lists_are() -> None:
    judge = ["A", None, "B", "B", "A", "A"]
    human = ["A", "B", "B", "A", None, "A"]
    clusters = np.array([3, 0, 3, 1, 1, 2])
    as_lists = agreement(judge, human, clusters=clusters)
    assert agreement(pl.Series(judge), pl.Series(human), clusters=clusters) == as_lists
    assert as_lists.n == 4
    assert as_lists.clusters == 3


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_single_rows_are_counted_by_kind_and_give_the_same_numbers(level: str) -> None:
    """A second rater who never answers: then every row has its own table."""
    rng = np.random.default_rng(5)
    human = rng.integers(0, 250 if level == "interval" else 25, 400).tolist()
    judge = [
        value if right else 1 for value, right in zip(human, rng.random(400) < 0.7, strict=True)
    ]
    by_kind = agreement(judge, human, level=level)
    by_row = agreement(judge, [[value, None] for value in human], level=level)
    for field in ("raw", "kappa", "alpha"):
        assert getattr(by_row, field) == pytest.approx(getattr(by_kind, field), rel=1e-12)
    for field in ("kappa_interval", "alpha_interval"):
        assert list(getattr(by_row, field)) == pytest.approx(
            list(getattr(by_kind, field)), rel=1e-12
        )


def test_alpha_of_numbers_is_krippendorffs_by_all_pairs_of_values() -> None:
    judge, human = [1, 2, 3, 4, 4, 2], [1, 3, 3, 5, 4, 1]
    values = np.array([*judge, *human], dtype=float)
    apart = (values[:, None] - values[None, :]) ** 2
    by_chance = apart.sum() / (len(values) * (len(values) - 1))  # a value is not paired with itself
    observed = np.mean([(a - b) ** 2 for a, b in zip(judge, human, strict=True)])
    assert agreement(judge, human, level="interval").alpha == pytest.approx(
        1 - observed / by_chance
    )


def test_two_hundred_different_values_are_the_most_for_names() -> None:
    names = [f"v{i:03}" for i in range(200)]
    assert agreement(names, names).raw == 1
    with pytest.raises(ArgumentError, match="201 different values"):
        agreement([*names, "v200"], [*names, "v200"])


def test_people_without_an_interval_are_not_compared_with_the_judge() -> None:
    alone = agreement(["A", "B", "A"], [["A", "A"], ["B", None], ["A", None]])
    assert alone.ceiling is not None
    assert alone.ceiling.gap_interval is None
    assert alone.describe().endswith("two people agree on 100 % of 1 row")
