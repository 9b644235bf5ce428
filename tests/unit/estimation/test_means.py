"""Means of scores: what people would give, next to the judge's, for all rows and for groups."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.cli.app import run
from adjudge.data import prepare_grades
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import ClassEstimate, MeanEstimate, estimate
from adjudge.statistics.clusters import codes_of, mean_interval
from adjudge.statistics.differences import labelled_mean


def scored(n: int = 600, labelled: int = 150) -> tuple[dict[str, list], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    people = rng.integers(1, 6, n)
    judge = np.minimum(people + rng.integers(0, 2, n), 5)
    human = [int(score) if at < labelled else None for at, score in enumerate(people)]
    return {"judge": judge.tolist(), "human": human, "model": ["x", "y"] * (n // 2)}, people, judge


def test_the_mean_that_people_would_give() -> None:
    rows, people, judge = scored()
    got = estimate(rows, labels_are_random=True)
    assert isinstance(got, MeanEstimate)
    [mean] = got.means
    labels = np.where(np.arange(600) < 150, people, np.nan)
    expected = labelled_mean(labels, judge.astype(float), ends=(1, 5))
    assert mean.estimate == pytest.approx(expected.estimate)
    assert mean.interval == expected.interval(0.95)
    assert mean.low < people.mean() < mean.high < mean.naive == pytest.approx(judge.mean())
    off = (judge - people)[:150].astype(float)
    assert mean.difference == pytest.approx(off.mean())
    assert mean.people == pytest.approx(people[:150].mean())
    ends = mean_interval(off, codes_of(None, 150), 0.95, bounds=(-1, 1))
    assert mean.difference_interval == ends
    assert (mean.n, mean.n_labels, got.warnings) == (600, 150, ())
    assert estimate(rows).warnings[0].startswith("the labels must be a random sample of the rows")
    by_model = estimate(rows, by="model", labels_are_random=True)
    assert [(mean.group, mean.n_labels) for mean in by_model.means] == [("x", 75), ("y", 75)]
    assert [part.name for part in by_model.intervals()] == ["x", "y"]


def test_all_labels_give_peoples_mean_and_assume_no_sample() -> None:
    rows, people, _ = scored(labelled=600)
    got = estimate(rows)
    assert got.means[0].estimate == pytest.approx(people.mean())
    assert got.warnings == ()
    assert not any("random sample" in text for text in got.assumptions)


def test_shares_of_each_score_if_a_method_is_named() -> None:
    rows, _, _ = scored()
    assert isinstance(estimate(rows, method="misclassification"), ClassEstimate)
    assert isinstance(estimate(prepare_grades(rows)), ClassEstimate)
    assert estimate(rows, positive="5").estimate is not None


def test_too_few_labels_are_no_mean_and_say_how_many() -> None:
    rows, _, judge = scored(labelled=20)
    got = estimate(rows)
    assert not got.estimated
    assert got.means[0].naive == pytest.approx(judge.mean())
    assert got.means[0].reason == "20 labelled rows: 30 or more are needed"
    assert "people's mean is not known: 20 labelled rows" in str(got)


@pytest.mark.parametrize(
    ("judge", "human"),
    [
        ([1, 0] * 20 + [1.5], [1, 0] * 20 + [1]),
        ([1, 0] * 20, [1, 0] * 19 + [3.5, 1]),
        ([2.5, 1e300] * 20, [3.5, 4.5] * 20),
    ],
)
def test_one_number_beyond_one_is_a_mistake_and_no_score(judge: list, human: list) -> None:
    with pytest.raises(DataError, match="is neither 0/1, a probability nor a class"):
        estimate(judge=judge, human=human)


def test_scores_against_labels_of_0_and_1_are_not_compared() -> None:
    got = estimate(judge=[1, 2, 3, 4, 5] * 20, human=[0, 1] * 50)
    assert not isinstance(got, MeanEstimate)


@pytest.mark.parametrize(
    "option", [{"pool": True, "by": "model"}, {"strata": "model"}, {"interval": "profile"}]
)
def test_options_of_rates_are_refused(option: dict) -> None:
    rows, _, _ = scored()
    with pytest.raises(ArgumentError, match="is for rates: leave it out"):
        estimate(rows, **option)


def test_labels_picked_by_a_plan_are_refused() -> None:
    rows, _, _ = scored()
    chances = [0.5 if label is not None else None for label in rows["human"]]
    plan = ["plan" if label is not None else None for label in rows["human"]]
    with pytest.raises(DataError, match="a mean needs labels of rows drawn at random"):
        estimate({**rows, "sampling_probability": chances, "sampled_by": plan})


def test_an_interval_below_a_limit_is_a_bad_finding(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, _, _ = scored()
    pl.DataFrame(rows).write_csv("rows.csv")
    assert run(["estimate", "rows.csv", "--fail-below", "2.5", "--plot", "m.png"]) == 0
    assert run(["estimate", "rows.csv", "--fail-below", "3.5"]) == 2
    assert "an interval reaches below 3.5" in capsys.readouterr().err


def scores_file(documents: int = 120, labelled: int = 60) -> tuple[pl.DataFrame, np.ndarray]:
    """Native scores of two models on documents, two raters on some of them; people's means."""
    rng = np.random.default_rng(4)
    people = rng.integers(1, 6, (documents, 2))
    rows = [
        {
            "doc_id": f"d{document}",
            "model": f"m{model}",
            "judge_score": min(int(score) + int(rng.integers(0, 2)), 5),
            "rater1": int(score) if document < labelled else None,
            "rater2": max(int(score) - 1, 1) if document < labelled else None,
        }
        for document, scores in enumerate(people)
        for model, score in enumerate(scores)
    ]
    return pl.DataFrame(rows), people


def test_native_scores_by_system_and_by_criterion() -> None:
    rows, people = scores_file()
    got = estimate(rows, by="model", labels_are_random=True)
    for at, mean in enumerate(got.means):
        # The mean of two raters is not rounded.
        raters = (people[:, at] + np.maximum(people[:, at] - 1, 1)) / 2
        labels = np.where(np.arange(120) < 60, raters, np.nan)
        judge = rows.filter(pl.col("model") == f"m{at}")["judge_score"].to_numpy().astype(float)
        ends = float(np.nanmin(labels)), 4.5
        assert mean.estimate == pytest.approx(labelled_mean(labels, judge, ends=ends).estimate)
        assert mean.naive == pytest.approx(judge.mean())
    [together] = estimate(rows, labels_are_random=True).means
    assert together.n_labels == 120
    two = pl.concat([rows.with_columns(criterion=pl.lit(name)) for name in ("fluency", "truth")])
    with pytest.raises(DataError, match="column criterion: has 2 criteria: fluency, truth"):
        estimate(two, labels_are_random=True)
    by_criterion = estimate(two, by="criterion", labels_are_random=True)
    assert [mean.estimate for mean in by_criterion.means] == [together.estimate] * 2
    assert "adjudge compare" not in str(by_criterion)
    with pytest.raises(DataError, match="column human: is missing"):
        estimate(rows.drop("rater1", "rater2"))


def test_answers_about_one_document_are_one_cluster() -> None:
    rows, people = scores_file()
    [together] = estimate(rows, labels_are_random=True).means
    raters = ((people + np.maximum(people - 1, 1)) / 2).mean(axis=1)
    both = rows["judge_score"].to_numpy().reshape(120, 2).mean(axis=1)
    labels = np.where(np.arange(120) < 60, raters, np.nan)
    expected = labelled_mean(labels, both, ends=(1, 4.5))
    assert together.interval == expected.interval(0.95)
