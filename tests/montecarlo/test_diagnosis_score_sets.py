"""Score sets cover as often as they promise, with few documents and rows that are all alike.

In each trial one random row of one new document is covered or not: a Bernoulli draw, so the count
of covered rows has an exact binomial band.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from adjudge.diagnosis import ScoreSets, diagnose_scores, ordinal_nonconformity
from adjudge.diagnosis.scores.nonconformity import document_quantiles, human_target, learn_scale
from simulators import simulate_scores


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
            method=method,
            weigh=weigh,
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
    (20, 8, 1.0, 0.1, "learned", "mean"),
    (26, 3, 0.8, 0.1, "auto", "rater"),
]
#: Those that take a third of a second at 250 trials.
QUICK = CASES[3:6]


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


@pytest.mark.parametrize("case", QUICK)
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


def _mean_excludes_zero(trials: int) -> int:
    """Trials whose interval of judge minus people excludes 0, the truth: documents differ alike."""
    rng = np.random.default_rng(8)
    documents, rows = 20, 4
    alarms = 0
    for _ in range(trials):
        signs = np.repeat(rng.choice([-1, 1], documents), rows)
        judge = 3 + signs * rng.integers(0, 3, documents * rows)
        report = diagnose_scores(
            {
                "id": list(range(len(judge))),
                "doc_id": np.repeat(np.arange(documents), rows).tolist(),
                "judge_score": judge.tolist(),
                "human_score": [3] * len(judge),
            },
            alphas=[0.1],
            sets="residual",
            splits=1,
        )
        interval = report.means[0].interval
        alarms += interval is not None and 0.0 not in interval
    return alarms


@pytest.mark.parametrize(
    "trials", [40, pytest.param(400, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)
def test_the_interval_of_the_mean_difference_keeps_its_level(trials: int) -> None:
    assert _mean_excludes_zero(trials) <= binom.ppf(1 - 1e-4, trials, 0.05)


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


# --- sets that learn, per criterion ----------------------------------------------------------


def _covered_per_criterion(trials: int, *, documents: int, method: str, alpha: float) -> list[int]:
    """Trials in which a random row of a new document was covered, for an easy and a hard criterion.

    Rows of a document err alike, the judge is a point too kind, and its scores are decimals.
    """
    rng = np.random.default_rng(12)
    hits = [0, 0]
    for _ in range(trials):
        frame = simulate_scores(
            documents=documents + 1,
            models=4,
            criteria={"easy": 0.5, "hard": 1.6},
            raters=1,
            likeness=0.9,
            shift=1.0,
            seed=rng,
        ).frame
        judge = np.array(frame["score_probs"].to_list()) @ np.arange(1, 6)
        human, document = frame["rater1"].to_numpy(), frame["doc_id"].to_numpy()
        criteria = np.array(frame["criterion"].to_list(), dtype=object)
        new = document == f"doc-{documents}"
        sets = ScoreSets(alpha=alpha, method=method, seed=rng)
        sets.calibrate(judge[~new], human[~new], documents=document[~new], groups=criteria[~new])
        for at, criterion in enumerate(("easy", "hard")):
            row = rng.choice(np.flatnonzero(new & (criteria == criterion)))
            members = sets.predict(judge[[row]], groups=criteria[[row]]).members
            hits[at] += bool(members[0, int(human[row]) - 1])
    return hits


@pytest.mark.parametrize(
    "trials", [120, pytest.param(1500, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)
def test_learned_sets_cover_each_criterion_of_documents_with_like_rows(trials: int) -> None:
    for hits in _covered_per_criterion(trials, documents=30, method="learned", alpha=0.15):
        assert hits >= binom.ppf(1e-4, trials, 0.85)


@pytest.mark.montecarlo
def test_cross_fitted_sets_keep_their_weaker_promise() -> None:
    trials, documents, alpha = 600, 40, 0.1
    promised = 1 - 2 * alpha - np.sqrt(2 / documents)
    hits = _covered_per_criterion(trials, documents=documents, method="cross-fitted", alpha=alpha)
    for covered in hits:
        assert covered >= binom.ppf(1e-4, trials, promised)
        # What is measured is near 1 - alpha, and no more than this is claimed for it.
        assert covered >= binom.ppf(1e-4, trials, 1 - alpha - 0.03)


@pytest.mark.montecarlo
def test_learning_and_calibrating_on_the_same_documents_covers_too_little() -> None:
    # The reason for two halves: a scale that fits its own documents looks surer than it is.
    rng = np.random.default_rng(4)
    trials, hits = 1500, 0
    for _ in range(trials):
        judge, human = rng.random(41), rng.integers(1, 6, 41)
        entries, documents = human_target(human[:40]), np.arange(40)
        learned = learn_scale(judge[:40], entries, documents, scale=(1, 5))
        values = ordinal_nonconformity(learned.table)
        scores = values[learned.cells(judge[:40]), human[:40] - 1]
        [limit] = document_quantiles(scores, documents, [Fraction(1, 10)])
        new = values[learned.cells(judge[40:])][0, human[40] - 1]
        hits += limit is None or new <= limit
    assert hits < binom.ppf(1e-4, trials, 0.9)
