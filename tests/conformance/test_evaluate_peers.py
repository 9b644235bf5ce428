"""evaluate gives the numbers of scikit-learn and statsmodels, on files as people have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge import compare, evaluate
from adjudge.data import prepare_grades

sklearn_metrics = pytest.importorskip("sklearn.metrics")
proportion = pytest.importorskip("statsmodels.stats.proportion")

RUNNERS = Path(__file__).parents[1] / "fixtures" / "runner_logs"


def graded(n: int, seed: int, words: tuple[str, ...] = ("fail", "pass")) -> pl.DataFrame:
    """Answers with labels, and a judge that is right on about 80 %."""
    rng = np.random.default_rng(seed)
    human = rng.choice(len(words), n, p=np.linspace(1, 2, len(words)) / (1.5 * len(words)))
    other = (human + rng.integers(1, len(words), n)) % len(words)
    judge = np.where(rng.random(n) < 0.8, human, other)
    names = np.array(words)
    return pl.DataFrame(
        {"id": [f"row-{k}" for k in range(n)], "judge": names[judge], "human": names[human]}
    )


@pytest.mark.parametrize("words", [("fail", "pass"), ("angry", "calm", "neutral", "sad")])
@pytest.mark.parametrize("seed", [0, 1])
def test_matrix_kappa_shares_and_intervals(words: tuple[str, ...], seed: int) -> None:
    rows = graded(211, seed, words)
    result = evaluate(rows)
    [judge] = result.judges
    human, said = rows["human"].to_list(), rows["judge"].to_list()
    names = list(judge.names)
    expected = sklearn_metrics.confusion_matrix(human, said, labels=names)
    assert [row[:-1] for row in judge.matrix] == [tuple(row) for row in expected.tolist()]
    assert judge.n_no_verdict == 0
    assert judge.agreement == pytest.approx(sklearn_metrics.accuracy_score(human, said))
    assert judge.kappa == pytest.approx(sklearn_metrics.cohen_kappa_score(human, said))
    right = int(np.trace(expected))
    assert tuple(judge.interval or ()) == pytest.approx(
        proportion.proportion_confint(right, len(rows), method="beta")
    )
    recall = sklearn_metrics.recall_score(human, said, labels=names, average=None)
    precision = sklearn_metrics.precision_score(human, said, labels=names, average=None)
    for at, each in enumerate(judge.classes):
        assert each.share_of_people == pytest.approx(recall[at])
        assert each.share_of_judge == pytest.approx(precision[at])
        ends = proportion.proportion_confint(expected[at, at], expected[at].sum(), method="beta")
        assert tuple(each.interval or ()) == pytest.approx(ends)


def test_the_log_of_a_tool_gives_the_same_numbers() -> None:
    path = RUNNERS / "mlflow.json"
    rows = prepare_grades(path, needs_labels=False)
    labelled = ~np.isnan(rows.human)
    human = rows.human[labelled] > 0.5
    said = rows.judge[labelled] > 0.5
    [judge] = evaluate(path, splits=2).judges
    assert judge.n == len(human) == 3
    assert judge.agreement == pytest.approx(sklearn_metrics.accuracy_score(human, said))
    assert judge.kappa == pytest.approx(sklearn_metrics.cohen_kappa_score(human, said))


def test_scores_have_sklearns_quadratic_kappa_and_absolute_error() -> None:
    rng = np.random.default_rng(3)
    human = rng.integers(1, 6, 160)
    judge = np.clip(human + rng.integers(-1, 3, 160), 1, 5)
    rows = {"id": [*range(160)], "judge_score": judge, "human_score": human}
    [score] = evaluate(rows).scores
    expected = sklearn_metrics.cohen_kappa_score(human, judge, weights="quadratic")
    assert score.kappa == pytest.approx(expected)
    assert score.error == pytest.approx(sklearn_metrics.mean_absolute_error(human, judge))
    assert score.difference == pytest.approx(float(judge.mean() - human.mean()))


def test_several_judges_are_those_of_compare() -> None:
    frames = [
        graded(90, 5).with_columns(judge_name=pl.lit(name), judge=graded(90, seed)["judge"])
        for name, seed in (("one", 5), ("two", 6), ("three", 7))
    ]
    rows = pl.concat(frames).with_columns(
        p_pass=pl.when(pl.col("judge") == "pass").then(0.9).otherwise(0.1)
    )
    result = evaluate(rows.drop("p_pass"))
    other = compare(
        rows.select("id", "p_pass", "human", judge_name="judge_name"), judges=True, seed=0
    )
    assert result.best == other.best_judge
    assert set(result.can_be_best) == {s.name for s in other.systems if s.can_be_best}
    agreement = {judge.judge: judge.agreement for judge in result.judges}
    assert agreement == pytest.approx({s.name: s.mean for s in other.systems})
