"""Labels drawn among the surest rows: pac's promise holds below the cut, and coverage grows.

A pool is drawn from a world whose true error rate below every threshold is known; 200 labels are
drawn below the cut of the pool. The band is one chance in 100,000 of a binomial.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from adjudge.data import prepare_judgments
from adjudge.policy.result import Rule
from adjudge.selection import calibrate, pac_threshold, plan_labels
from adjudge.selection.planning import cut_at
from simulators import (
    ScoredWorld,
    confidently_wrong,
    heavily_tied,
    informative,
    sawtooth,
    uninformative,
)

ALPHA, DELTA, SHARE, LABELS, POOL = 0.1, 0.1, 0.6, 200, 1500
WORLDS = (
    informative(0.3),
    uninformative(0.1 + 1e-9),
    uninformative(0.12),
    confidently_wrong(),
    sawtooth(),
    # Bad up to the cut and a little beyond: all that the labels see is the flat law above alpha.
    ScoredWorld("bad to the cut", (0.101,) * 6 + (0.0,) * 4),
    heavily_tied(0.25, 5),
    ScoredWorld("tied and flat", (0.101,) * 7, tied=True),
)
RUN = pytest.mark.parametrize(
    "full", [False, pytest.param(True, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)


def most(repeats):
    return stats.binom.isf(1e-5, repeats, DELTA)


def threshold_of(rule, limit):
    """Where a rule stops: everything means up to the limit, nothing is below every score."""
    return {"all": limit, "none": 0.0}.get(rule.accepts, rule.threshold)


def draw_below_cut(world, rng):
    """200 labels among the surest share of a pool, and the cut."""
    scores, errors = world.draw(POOL, rng)
    cut = cut_at(scores, SHARE)
    below = np.flatnonzero(Rule(accepts="below", threshold=cut).accept(scores))
    chosen = rng.permutation(below)[:LABELS]
    return scores[chosen], errors[chosen], cut


@RUN
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_pac_keeps_its_promise_below_the_cut(world, full):
    repeats, rng = (4000 if full else 150), np.random.default_rng(1)
    bad = 0
    for _ in range(repeats):
        scores, errors, cut = draw_below_cut(world, rng)
        at = threshold_of(pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA), cut)
        assert at <= cut
        bad += bool(world.error_rate(at) > ALPHA)
    assert bad <= most(repeats)


@RUN
def test_labels_below_the_cut_buy_coverage(full):
    world, rng = informative(0.3), np.random.default_rng(2)
    plain, cut = [], []
    for _ in range(1000 if full else 60):
        scores, errors = world.draw(LABELS, rng)
        plain.append(threshold_of(pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA), 1.0))
        scores, errors, limit = draw_below_cut(world, rng)
        cut.append(threshold_of(pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA), limit))
    assert np.mean(world.coverage(np.array(cut))) > np.mean(world.coverage(np.array(plain))) + 0.05


@pytest.mark.montecarlo
@pytest.mark.parametrize(
    "world", [uninformative(0.101), heavily_tied(0.25, 5)], ids=lambda w: w.name
)
def test_the_verbs_keep_the_promise(world):
    repeats, rng, bad = 300, np.random.default_rng(3), 0
    for seed in range(repeats):
        scores, errors = world.draw(POOL, rng)
        rows = pl.DataFrame({"id": range(POOL), "p_a": [0.9] * POOL, "uncertainty": scores})
        truth = rows.select(
            pl.col("id").cast(pl.String), label=pl.Series(errors).replace_strict({0: "A", 1: "B"})
        )
        pool = prepare_judgments(rows)
        drawn = plan_labels(pool, surest=SHARE, n=LABELS, seed=seed).to_frame()
        labels = drawn.join(truth, on="id")
        policy = calibrate(rows, labels=labels, guarantee="pac", alpha=ALPHA, delta=DELTA)
        assert policy.accepts in ("below", "none")
        bad += bool(world.error_rate(policy.threshold or 0.0) > ALPHA)
    assert bad <= most(repeats)
