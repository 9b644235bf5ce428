"""Score sets cover as often as they promise, with few documents and rows that are all alike.

In each trial one random row of one new document is covered or not: a Bernoulli draw, so the count
of covered rows has an exact binomial band.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.diagnosis import ScoreSets
from adjudge.simulate.scores import simulate_scores


def _covered(
    trials: int,
    *,
    documents: int,
    models: int,
    likeness: float,
    alpha: float,
    method: str,
    weigh: str = "documents",
    target: str = "mean",
    seed: int = 0,
) -> tuple[int, float]:
    """Trials whose random row of the last document was covered, and the mean size of the sets."""
    rng = np.random.default_rng(seed)
    hits, sizes = 0, []
    for _ in range(trials):
        frame = simulate_scores(
            documents=documents + 1, models=models, likeness=likeness, rater_noise=0.4, seed=rng
        ).frame
        judge = np.array(
            frame["score_probs"].to_list()
            if method == "adaptive"
            else frame["judge_score"].to_list()
        )
        human = frame.select("rater1", "rater2", "rater3").to_numpy()
        new = np.arange(len(human)) >= documents * models
        sets = ScoreSets(
            alpha=alpha,
            method=method,  # type: ignore[arg-type]
            weigh=weigh,  # type: ignore[arg-type]
            target=target,
        ).calibrate(judge[~new], human[~new], documents=frame["doc_id"].to_numpy()[~new])
        predicted = sets.predict(judge[new])
        row = rng.integers(models)
        truth = (
            int(np.floor(human[new][row].mean() + 0.5))
            if target == "mean"
            else int(human[new][row][rng.integers(3)])
        )
        hits += bool(predicted.members[row, truth - 1])
        sizes.append(predicted.sizes.mean())
    return hits, float(np.mean(sizes))


CASES = [
    # documents, models, likeness, alpha, method, target
    (12, 8, 1.0, 0.1, "residual", "mean"),
    (12, 8, 1.0, 0.2, "residual", "rater"),
    (10, 12, 0.9, 0.2, "adaptive", "mean"),
    (9, 4, 0.5, 0.1, "adaptive", "rater"),
    (40, 1, 0.0, 0.05, "residual", "mean"),
    (25, 3, 0.7, 0.15, "residual", "rater"),
]


def _check(case: tuple[int, int, float, float, str, str], trials: int) -> None:
    documents, models, likeness, alpha, method, target = case
    hits, _ = _covered(
        trials,
        documents=documents,
        models=models,
        likeness=likeness,
        alpha=alpha,
        method=method,
        target=target,
    )
    assert hits >= binom.ppf(1e-4, trials, 1 - alpha)


@pytest.mark.parametrize("case", CASES)
def test_documents_cover_at_least_as_promised(
    case: tuple[int, int, float, float, str, str],
) -> None:
    _check(case, 250)


@pytest.mark.montecarlo
@pytest.mark.parametrize("case", CASES)
def test_documents_cover_at_least_as_promised_in_full(
    case: tuple[int, int, float, float, str, str],
) -> None:
    _check(case, 2500)


def test_nine_documents_are_the_fewest_that_say_anything_at_one_in_ten() -> None:
    _, few = _covered(20, documents=8, models=5, likeness=0.5, alpha=0.1, method="residual")
    _, enough = _covered(20, documents=9, models=5, likeness=0.5, alpha=0.1, method="residual")
    assert few == 5.0
    assert enough < 5.0


@pytest.mark.montecarlo
def test_rows_taken_for_independent_cover_too_little_when_they_are_alike() -> None:
    # The reason for weighing documents: the same data, calibrated row by row, breaks the promise.
    trials, alpha = 1500, 0.1
    rowwise, _ = _covered(
        trials,
        documents=5,
        models=12,
        likeness=1.0,
        alpha=alpha,
        method="adaptive",
        weigh="rows",
    )
    assert rowwise < binom.ppf(1e-4, trials, 1 - alpha)
