"""Means of scores: what people would give, next to the judge's, for all rows and for groups."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

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
    ends = mean_interval(off, codes_of(None, 150), 0.95, bounds=(-4, 4))
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
    assert "people's number is shown to be below 3.5" in capsys.readouterr().err
    assert run(["estimate", "rows.csv", "--fail-below", "3"]) == 3


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
    raters = ((people + np.maximum(people - 1, 1)) / 2).ravel()
    judge = rows["judge_score"].to_numpy().astype(float)
    documents = np.repeat(np.arange(120), 2)
    labels = np.where(documents < 60, raters, np.nan)
    expected = labelled_mean(labels, judge, ends=(1, 5), clusters=documents)
    assert together.interval == expected.interval(0.95)


def test_equal_labels_are_not_certain() -> None:
    """40 labels that are all 5, a judge from 3 to 5: before, [5.00, 5.00]."""
    judge = [3, 4, 5, 5] * 50
    rows = {"judge": judge, "human": [5] * 40 + [None] * 160}
    got = estimate(rows, labels_are_random=True)
    [mean] = got.means
    assert (mean.estimate, mean.high, mean.scale) == (5, 5, (3, 5))
    # Two pseudo labels, 3 and 5, next to 40 labels: shifted by 2/42, and by Student's t.
    error = math.sqrt(4 / (40 * 42))
    assert mean.low == pytest.approx(5 - 2 / 42 - stats.t.ppf(0.975, 38) * error)
    assert got.assumptions[0] == "no score outside 3 to 5"
    assert "Assumes: random labels, no score outside 3 to 5" in str(got)
    stated = estimate(rows, labels_are_random=True, scale=(1, 5))
    assert stated.means[0].scale == (1, 5)
    assert stated.low < got.low
    with pytest.raises(ArgumentError, match="scores go from 3 to 5: give a scale that contains"):
        estimate(rows, scale=(1, 4))
    with pytest.raises(ArgumentError, match="these rows are verdicts of 0 and 1: leave it out"):
        estimate({"judge": [1, 0] * 30, "human": [1, 0] * 30}, scale=(1, 5))
    constant = estimate({"judge": [5] * 60, "human": [5] * 40 + [None] * 20})
    assert not constant.estimated
    assert "every score of people and the judge is 5" in constant.means[0].reason
    assert estimate({"judge": [5] * 60, "human": [5] * 40 + [None] * 20}, scale=(1, 5)).low < 5


def test_mostly_equal_labels_in_the_middle_get_pseudo_labels_too() -> None:
    judge = np.tile([3.0, 4.0, 5.0], 100)
    labels = np.where(np.arange(300) < 150, 4.0, np.nan)
    assert labelled_mean(labels, judge, ends=(1, 5)).standard_error > 0.01


def test_a_mean_of_clusters_is_of_rows() -> None:
    """Prompts of one row and of nine: before, the mean of their means, 3."""
    rows = {
        "judge": [5, *[2] * 9] * 60,
        "human": [5, *[1] * 9] * 60,
        "prompt": [prompt for each in range(60) for prompt in (f"s{each}", *[f"l{each}"] * 9)],
    }
    complete = estimate(rows, cluster="prompt")
    assert complete.estimate == pytest.approx(1.4)
    assert complete.naive == pytest.approx(2.3)
    assert complete.low < complete.estimate < complete.high
    rows["human"] = [label if at % 3 else None for at, label in enumerate(rows["human"])]
    some = estimate(rows, cluster="prompt", labels_are_random=True)
    alone = estimate(rows, cluster="none", labels_are_random=True)
    assert some.estimate == pytest.approx(alone.estimate)
    assert some.means[0].n == 600


def test_rows_that_are_repeated_in_a_cluster_count_once() -> None:
    rng = np.random.default_rng(8)
    people = rng.integers(1, 6, 400).astype(float)
    judge = np.clip(people + rng.integers(-1, 2, 400), 1, 5)
    labels = np.where(np.arange(400) < 120, people, np.nan)
    one = labelled_mean(labels, judge, ends=(1, 5))
    four = labelled_mean(
        np.repeat(labels, 4), np.repeat(judge, 4), ends=(1, 5), clusters=np.repeat(range(400), 4)
    )
    assert four.estimate == pytest.approx(one.estimate, abs=1e-3)
    assert four.standard_error == pytest.approx(one.standard_error, rel=0.02)
    assert (four.freedom, four.n) == (118, 120)


@pytest.mark.parametrize("scores", [True, False])
def test_a_few_large_clusters_are_named(scores: bool) -> None:
    """Two of 40 prompts have most of the labels: Student's t has few degrees of freedom."""
    prompts = [prompt for prompt in range(40) for _ in range(60 if prompt < 2 else 2)]
    rng = np.random.default_rng(0)
    people = rng.integers(1, 6, len(prompts)) if scores else rng.integers(0, 2, len(prompts))
    rows = {"judge": people, "human": people, "prompt": prompts}
    large = estimate(rows, cluster="prompt")
    [text] = [text for text in large.warnings if "large clusters" in text]
    assert text.startswith("a few large clusters have most of the labels, which count like 5 equal")
    alike = {name: values[118:] for name, values in rows.items()}
    assert estimate(alike, cluster="prompt").warnings == ()
