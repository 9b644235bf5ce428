"""Every guarantee on a learned doubt, in worlds whose truth is a finite table.

Four judges say one of six probabilities each, and people prefer A with a probability that is known
for all 1,296 combinations. So the error rate of whatever a threshold accepts is a sum, not an
estimate. Bands as in test_selection_guarantees.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from adjudge.selection import fdr_select, pac_threshold, scope_threshold
from adjudge.selection.doubts.evidence import Evidence, LearnedMargin, doubt_of, log_odds

ALPHA, DELTA, LABELS, BATCH = 0.1, 0.1, 150, 60
STATES = np.array(list(product([0.02, 0.2, 0.4, 0.6, 0.8, 0.98], repeat=4)))
ODDS = log_odds(STATES)


def prefers_a(weights):
    return 1 / (1 + np.exp(-(ODDS @ np.asarray(weights))))


#: P(people prefer A) for every state.
WORLDS = {
    "clean": prefers_a((0.6, 0.6, 0.6, 0.6)),
    "misled": prefers_a((1.6, -0.5, -0.6, -0.8)),
    "useless": prefers_a((0, 0, 0, 0)),
    # Right nine times in ten minus a little, however sure: any rule that accepts is above alpha.
    "flat": np.where(ODDS.sum(axis=1) == 0, 0.5, np.where(ODDS.sum(axis=1) > 0, 0.88, 0.12)),
}
RUN = pytest.mark.parametrize(
    "repeats", [30, pytest.param(1200, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)


def draw(truth, n, rng):
    state = rng.integers(0, len(STATES), n)
    return state, (rng.random(n) < truth[state]).astype(np.int64)


def learned_scores(state, label, rng):
    """Doubt of every state and its verdict, from labels that calibrate nothing."""
    judges = ("w", "x", "y", "z")
    learned = LearnedMargin.fit(Evidence(judges=judges, p=STATES[state]), label, seed=rng)
    margins = learned.margins(Evidence(judges=judges, p=STATES))
    return doubt_of(margins), margins


def share_wrong(accepted, errors):
    return float(errors[accepted].mean()) if accepted.any() else 0.0


def below(shares):
    shares = np.asarray(shares)
    return shares.mean() <= ALPHA + 4 * shares.std(ddof=1) / np.sqrt(len(shares))


@RUN
@pytest.mark.parametrize("name", WORLDS)
def test_scope_fdr_and_pac_keep_their_promises(name, repeats):
    truth, rng = WORLDS[name], np.random.default_rng([repeats, len(name)])
    scope, fdr, bad = [], [], 0
    for _ in range(repeats):
        doubts, margins = learned_scores(*draw(truth, round(0.3 * LABELS), rng), rng)
        state, label = draw(truth, round(0.7 * LABELS), rng)
        scores = doubts[state]
        errors = np.where(margins[state] > 0, 1 - label, label)
        new, word = draw(truth, BATCH, rng)
        wrong = np.where(margins[new] > 0, 1 - word, word)
        rule = scope_threshold(scores, errors, alpha=ALPHA)
        scope.append(share_wrong(rule.accept(doubts[new]), wrong))
        batch = fdr_select(scores, errors, doubts[new], alpha=ALPHA).accepted
        fdr.append(share_wrong(batch, wrong))
        accepted = pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA).accept(doubts)
        risk = np.where(margins > 0, 1 - truth, truth)
        bad += share_wrong(accepted, risk) > ALPHA + 1e-12
    assert below(scope)
    assert below(fdr)
    assert bad <= stats.binom.ppf(1 - 1e-5, repeats, DELTA)


@RUN
def test_it_is_not_vacuous(repeats):
    """In the misled world the learned doubt is accepted where the mean of the judges is not."""
    truth, rng = WORLDS["misled"], np.random.default_rng(5)
    learned, mean = [], []
    for _ in range(repeats):
        doubts, margins = learned_scores(*draw(truth, round(0.3 * LABELS), rng), rng)
        state, label = draw(truth, LABELS, rng)
        own = ODDS.mean(axis=1)
        for rates, score, side, rows in (
            (learned, doubts, margins, slice(round(0.3 * LABELS), None)),
            (mean, doubt_of(own), own, slice(None)),
        ):
            errors = np.where(side[state] > 0, 1 - label, label)[rows]
            rule = scope_threshold(score[state][rows], errors, alpha=ALPHA)
            rates.append(rule.accept(score).mean())
    assert np.mean(learned) > np.mean(mean) + 0.3
