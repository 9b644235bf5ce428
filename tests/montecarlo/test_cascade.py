"""Every guarantee on a cascade, failures included, in worlds whose truth is a finite table.

Three judges say one of four probabilities each, or fail, and people prefer A with a probability
that is known for all 125 combinations. Stages, weights and tau are learned from one sample,
calibrated on another; the error rate of whatever a threshold accepts is a sum, not an estimate.
Bands as in test_selection_guarantees.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from examples import load_example
from scipy import stats

from adjudge.selection import fdr_select, pac_threshold, scope_threshold
from adjudge.selection.cascade import stage_doubts, stop_at
from adjudge.selection.cascade_plan import Sheet, drop_stages
from adjudge.selection.doubts.evidence import Evidence, log_odds

ALPHA, DELTA, LABELS, BATCH = 0.1, 0.1, 200, 60
COSTS = np.array([1.0, 5.0, 30.0])
#: The largest finite doubt: a row whose last judge failed.
MUTE = 1e18
STATES = np.array(list(product([np.nan, 0.05, 0.3, 0.7, 0.95], repeat=3)))
ODDS = np.where(np.isnan(STATES), 0.0, log_odds(np.nan_to_num(STATES, nan=0.5)))


def prefers_a(weights):
    return 1 / (1 + np.exp(-(ODDS @ np.asarray(weights))))


#: P(people prefer A) for every state, and how often a judge fails.
WORLDS = {
    "better and better": (prefers_a((0.2, 0.5, 1.2)), (0.05, 0.05, 0.05)),
    "a useless cheap judge": (prefers_a((0.0, 0.5, 1.2)), (0.0, 0.0, 0.1)),
    "a cheap judge that misleads": (prefers_a((-0.8, 0.7, 1.0)), (0.3, 0.0, 0.0)),
    # Right seven times in eight, whatever is said: any rule that accepts is above alpha.
    "flat": (
        np.where(ODDS.sum(axis=1) == 0, 0.5, np.where(ODDS.sum(axis=1) > 0, 0.88, 0.12)),
        (0.1, 0.1, 0.1),
    ),
}
RUN = pytest.mark.parametrize(
    "repeats", [6, pytest.param(300, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)


def seen(p):
    names = tuple("xyz"[: p.shape[1]])
    return Evidence(judges=names, p=p)


class World:
    def __init__(self, name):
        self.truth, fails = WORLDS[name]
        each = [np.where(np.isnan(STATES[:, j]), fails[j], (1 - fails[j]) / 4) for j in range(3)]
        self.chance = np.prod(each, axis=0)

    def draw(self, n, rng):
        state = rng.choice(len(STATES), n, p=self.chance)
        return state, (rng.random(n) < self.truth[state]).astype(np.int64)


def plan(world, rng, n, *, candidates=False):
    """Judges, margins, doubts and costs of every state, from labels that calibrate nothing.

    With `candidates`, the way that accepts most of these labels: learned, label-free, or a jury.
    """
    state, label = world.draw(n, rng)

    @cache
    def sheet(kept):
        costs, evidence = COSTS[list(kept)], seen(STATES[state][:, kept])
        return Sheet.fit(evidence, label, units=np.arange(n), seed=0, costs=costs, alpha=ALPHA)

    kept, _ = drop_stages((0, 1, 2), sheet, ("x", "y", "z"))
    way, tau = sheet(kept), sheet(kept).largest_tau() or 0.0
    if candidates:
        ways = [(kept, way, tau)]
        for among in ((0, 1, 2), (0, 1)):
            costs, evidence = COSTS[list(among)], seen(STATES[state][:, among])
            plain = Sheet.plain(evidence, label, costs=costs, alpha=ALPHA)
            ways.append((among, plain, 0.0 if len(among) == 2 else plain.largest_tau() or 0.0))
        kept, way, tau = max(ways, key=lambda one: one[1].candidate("", (), one[2]).coverage)
    margins, doubts = stage_doubts(way.fitted, seen(STATES[:, kept]))
    stage = stop_at(doubts, tau)
    here = np.arange(len(STATES)), stage
    costs = np.cumsum(COSTS[list(kept)])[stage]
    return kept, margins[here], np.minimum(doubts[here], MUTE), costs


def share_wrong(accepted, errors):
    return float(errors[accepted].mean()) if accepted.any() else 0.0


def below(shares):
    shares = np.asarray(shares)
    return shares.mean() <= ALPHA + 4 * shares.std(ddof=1) / np.sqrt(len(shares))


@RUN
@pytest.mark.parametrize(
    ("name", "candidates"), [*((name, False) for name in WORLDS), ("better and better", True)]
)
def test_scope_fdr_and_pac_keep_their_promises(name, candidates, repeats):
    world, rng = World(name), np.random.default_rng([repeats, len(name)])
    scope, fdr, bad = [], [], 0
    for _ in range(repeats):
        _, margins, doubts, _ = plan(world, rng, round(0.3 * LABELS), candidates=candidates)
        mute = (doubts == MUTE) | (margins == 0)
        state, label = world.draw(round(0.7 * LABELS), rng)
        new, word = world.draw(BATCH, rng)
        scores = doubts[state]
        errors = (np.where(margins > 0, 1, 0)[state] != label) | mute[state]
        wrong = np.where(margins > 0, 1, 0)[new] != word
        errors = errors.astype(int)
        rule = scope_threshold(scores, errors, alpha=ALPHA)
        scope.append(share_wrong(rule.accept(doubts[new]) & ~mute[new], wrong))
        batch = fdr_select(scores, errors, doubts[new], alpha=ALPHA).accepted & ~mute[new]
        fdr.append(share_wrong(batch, wrong))
        accepted = pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA).accept(doubts) & ~mute
        risk = np.where(margins > 0, 1 - world.truth, world.truth)
        weight = world.chance * accepted
        bad += bool(weight.sum() > 0 and (weight @ risk) / weight.sum() > ALPHA + 1e-12)
    assert below(scope)
    assert below(fdr)
    assert bad <= stats.binom.ppf(1 - 1e-5, repeats, DELTA)


@RUN
def test_a_useless_cheap_judge_is_dropped(repeats):
    """By a plan from 100 rows."""
    world, rng = World("a useless cheap judge"), np.random.default_rng(5)
    dropped = [0 not in plan(world, rng, 100)[0] for _ in range(repeats)]
    assert np.mean(dropped) >= 0.7


@pytest.mark.montecarlo
def test_at_equal_coverage_a_cascade_costs_less_than_the_strong_judge():
    """The first world of examples/cascade.py at half the planned tau, under scope."""
    example = load_example("cascade")
    cells = [example.one_repeat(example.WORLDS[0], 300, seed) for seed in range(60)]
    strong, half = (
        np.array([one[name] for one in cells])
        for name in ("scope: strong alone", "scope: cascade, tau/2")
    )
    gap = half[:, 0] - strong[:, 0]
    assert gap.mean() > -0.01 - 4 * gap.std(ddof=1) / np.sqrt(60)
    assert half[:, 2].mean() < 0.9
