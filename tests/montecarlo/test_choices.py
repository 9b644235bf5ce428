"""Choices among several responses: every guarantee keeps its promise where prompts are the rows.

A large pool of prompts is simulated and folded once; calibration sets and batches are drawn from
it, so that the pool is the truth. The same threshold taken from pairs does not keep the promise:
docs/measurements.md prints what is measured here.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from adjudge.policy.result import Rule
from adjudge.selection import fdr_select, pac_threshold, scope_threshold
from adjudge.selection.choices import prepare_choices
from adjudge.simulate.pairs import simulate_choices
from adjudge.statistics.entropy import preference_entropy
from adjudge.validation import FloatArray, IntArray

ALPHA, DELTA, LABELS, BATCH = 0.1, 0.1, 300, 200
WORLDS = {
    "three": {"responses": 3, "skill": 1.2},
    "four": {"responses": 4, "skill": 1.5},
    "four, missing": {"responses": 4, "skill": 1.5, "missing": 0.02},
    "six, weak judge": {"responses": 6, "skill": 0.8},
    "four, jury": {"responses": 4, "skill": 1.2, "noise": 0.8, "judges": 3},
}
RUN = pytest.mark.parametrize(
    "full", [False, pytest.param(True, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)


def pool_of(full: bool, **world) -> tuple[FloatArray, IntArray, FloatArray]:
    """Doubts, errors and whether there is a choice, of every prompt of a pool."""
    prompts = 20_000 if full else 1_500
    jury = () if world.get("judges", 1) > 1 else None
    frame = prepare_choices(simulate_choices(prompts, seed=11, **world), jury=jury).frame
    frame = frame.filter(pl.col("judge") == ("simulated" if jury is None else "jury"))
    wrong = (frame["verdict"] != frame["label"]).fill_null(True).to_numpy().astype(np.int64)
    said = frame["verdict"].is_not_null().to_numpy()
    return frame["uncertainty"].to_numpy(), wrong, said


@RUN
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_guarantee_keeps_its_promise_on_prompts(world, full):
    scores, errors, said = pool_of(full, **world)
    rng, repeats = np.random.default_rng(3), 1500 if full else 60
    shares: dict[str, list[float]] = {"scope": [], "fdr": []}
    broken = 0
    for _ in range(repeats):
        drawn = rng.choice(len(scores), LABELS + BATCH, replace=False)
        own, new = drawn[:LABELS], drawn[LABELS:]
        rule = scope_threshold(scores[own], errors[own], alpha=ALPHA)
        batch = fdr_select(scores[own], errors[own], scores[new], alpha=ALPHA)
        for name, accepted in (("scope", rule.accept(scores[new])), ("fdr", batch.accepted)):
            kept = accepted & said[new]
            shares[name].append(float(errors[new][kept].mean()) if kept.any() else 0.0)
        safe = pac_threshold(scores[own], errors[own], alpha=ALPHA, delta=DELTA)
        kept = safe.accept(scores) & said
        broken += bool(kept.any() and errors[kept].mean() > ALPHA)
    for name, measured in shares.items():
        slack = 4 * np.std(measured) / np.sqrt(repeats)
        assert np.mean(measured) <= ALPHA + slack, name
    assert broken <= stats.binom.isf(1e-5, repeats, DELTA)


@pytest.mark.parametrize(
    ("responses", "expected", "full"),
    [
        (4, 0.178, False),
        pytest.param(4, 0.178, True, marks=pytest.mark.montecarlo),
        pytest.param(8, 0.248, True, marks=pytest.mark.montecarlo),
    ],
)
def test_a_threshold_from_pairs_breaks_the_promise_on_choices(responses, expected, full):
    prompts, repeats = (20_000, 300) if full else (3_000, 60)
    rows = simulate_choices(prompts, responses=responses, seed=5)
    shape = (prompts, responses * (responses - 1) // 2)
    p = rows["p_a"].to_numpy().reshape(shape)
    wrong = ((p > 0.5) != (rows["label"] == "A").to_numpy().reshape(shape)).astype(np.int64)
    doubt = preference_entropy(p.ravel()).reshape(shape)
    frame = prepare_choices(rows).frame
    errors = (frame["verdict"] != frame["label"]).to_numpy().astype(np.int64)
    own_doubt = frame["uncertainty"].to_numpy()
    first, second = map(np.array, zip(*combinations(range(responses), 2), strict=True))
    wins = np.ones((prompts, responses, responses))
    wins[:, first, second], wins[:, second, first] = p, 1 - p
    least = 1 - wins[np.arange(prompts), wins.sum(axis=2).argmax(axis=1)].min(axis=1)
    # A choice passes where each of its comparisons would: all of them won, and sure enough.
    hardest = np.where(least < 0.5, preference_entropy(least), np.log(2) + 1)
    rng = np.random.default_rng(0)
    by_pairs, by_prompts, of_pairs = [], [], []
    for _ in range(repeats):
        drawn = rng.choice(prompts, 1500, replace=False)
        own, new = drawn[:500], drawn[500:]
        one = rng.integers(shape[1], size=500)  # one pair of each prompt, as calibrate draws
        pairs: Rule = scope_threshold(doubt[own, one], wrong[own, one], alpha=ALPHA).rule
        by_pairs.append(share(errors[new], pairs.accept(hardest[new])))
        of_pairs.append(share(wrong[new].ravel(), pairs.accept(doubt[new].ravel())))
        rule = scope_threshold(own_doubt[own], errors[own], alpha=ALPHA)
        by_prompts.append(share(errors[new], rule.accept(own_doubt[new])))
    assert np.mean(of_pairs) <= ALPHA + 0.005
    assert np.mean(by_prompts) <= ALPHA + 4 * np.std(by_prompts) / np.sqrt(repeats)
    assert np.mean(by_pairs) == pytest.approx(expected, abs=0.003 if full else 0.03)


def share(errors: IntArray, accepted) -> float:
    return float(errors[accepted].mean()) if accepted.any() else 0.0
