"""What the three guarantees promise, against worlds whose truth is known.

Bands: a rate that is promised to be at most p may be seen above p only as often as a binomial
of that size allows (one chance in 100,000); a mean share may exceed alpha by four standard
errors. The short run is always on; the full one is marked montecarlo.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from adjudge.data.rows import one_row_per_cluster
from adjudge.selection import Labels, Levels, fdr_select, pac_threshold, scope_threshold
from adjudge.selection.guarantees.fdr import FDR, weighted_fdr_select
from simulators import (
    ScoredWorld,
    confidently_wrong,
    draw_clusters,
    heavily_tied,
    informative,
    sawtooth,
    uninformative,
)

LEVELS = Levels(Fraction(1, 10))
WORLDS = (
    informative(),
    uninformative(0.05),
    uninformative(0.11),
    uninformative(0.25),
    confidently_wrong(),
    sawtooth(),
    # Wrong only among the surest few, right everywhere else: passes by luck alone are possible
    # exactly where the first test is made.
    ScoredWorld("spike", (1.0,) + (0.0,) * 9),
    heavily_tied(),
)
SIZES = (10, 20, 50, 200)
BATCH = 60


def repeats(full: bool) -> int:
    return 6000 if full else 250


RUN = pytest.mark.parametrize(
    "full", [False, pytest.param(True, marks=pytest.mark.montecarlo)], ids=["short", "full"]
)
ALL_WORLDS = pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)


def below(shares: np.ndarray, alpha: float) -> bool:
    """Whether a mean share is at most alpha, give or take four standard errors."""
    spread = shares.std(ddof=1) / np.sqrt(len(shares))
    return bool(shares.mean() <= alpha + 4 * spread)


def at_most_often(violations: int, runs: int, rate: float) -> bool:
    return bool(violations <= stats.binom.ppf(1 - 1e-5, runs, rate))


def share_wrong(accepted: np.ndarray, errors: np.ndarray) -> float:
    return float(errors[accepted].mean()) if accepted.any() else 0.0


# --- fdr -------------------------------------------------------------------------------------


@RUN
@ALL_WORLDS
@pytest.mark.parametrize("n", SIZES)
def test_fdr_keeps_the_expected_share_of_errors(world, n, full):
    rng = np.random.default_rng([n, 1])
    alpha = 0.1 if n >= 50 else 0.25
    shares = np.empty(repeats(full))
    for i in range(len(shares)):
        s, e = world.draw(n + BATCH, rng)
        chosen = fdr_select(s[:n], e[:n], s[n:], alpha=alpha).accepted
        shares[i] = share_wrong(chosen, e[n:])
    assert below(shares, alpha)


@RUN
def test_fdr_is_not_vacuous(full):
    # The band would also pass a rule that never accepts.
    rng = np.random.default_rng(2)
    chosen = []
    for _ in range(repeats(full)):
        s, e = informative().draw(200 + BATCH, rng)
        chosen.append(fdr_select(s[:200], e[:200], s[200:], alpha=0.1).n_accepted / BATCH)
    assert np.mean(chosen) > 0.2


@RUN
def test_fdr_with_groups_keeps_each_group_and_pooled_keeps_the_whole(full):
    rng = np.random.default_rng(3)
    good, bad = informative(0.3), uninformative(0.3)
    per_group, pooled = [], []
    for _ in range(repeats(full)):
        s1, e1 = good.draw(80 + BATCH, rng)
        s2, e2 = bad.draw(40 + BATCH, rng)
        one = fdr_select(s1[:80], e1[:80], s1[80:], alpha=0.1).accepted
        two = fdr_select(s2[:40], e2[:40], s2[40:], alpha=0.1).accepted
        per_group.append((share_wrong(one, e1[80:]), share_wrong(two, e2[40:])))
        labels = Labels(s1[:80], e1[:80]), Labels(s2[:40], e2[:40])
        rules = [FDR.decide(of_group, LEVELS) for of_group in labels]
        groups = np.r_[np.zeros(BATCH), np.ones(BATCH)]
        both = FDR.accept_pooled(rules, np.r_[s1[80:], s2[40:]], groups, LEVELS)
        pooled.append(share_wrong(both, np.r_[e1[80:], e2[40:]]))
    shares = np.array(per_group)
    assert below(shares[:, 0], 0.1)
    assert below(shares[:, 1], 0.1)
    assert below(np.array(pooled), 0.1)


@RUN
@pytest.mark.parametrize("per_prompt", [1, 5])
def test_fdr_with_clusters_keeps_the_expected_share(per_prompt, full):
    rng = np.random.default_rng([4, per_prompt])
    shares = np.empty(repeats(full))
    for i in range(len(shares)):
        s, e, prompt = draw_clusters(informative(), prompts=100, rows=10, seed=rng)
        kept = one_row_per_cluster(prompt, seed=rng)
        t, truth, _ = draw_clusters(informative(), prompts=40, rows=per_prompt, seed=rng)
        shares[i] = share_wrong(fdr_select(s[kept], e[kept], t, alpha=0.1).accepted, truth)
    assert below(shares, 0.1)


@RUN
def test_weighted_fdr_keeps_the_share_under_the_shift_that_breaks_plain_fdr(full):
    # Old rows sit at easy pairs, new rows at hard ones: x ~ Beta(1, 3) turns into Beta(3, 1).
    # The score is blunt, so that the same score means more errors among the new rows.
    rng = np.random.default_rng(5)
    plain, weighted = [], []
    for _ in range(repeats(full)):
        x, y = rng.beta(1, 3, 300), rng.beta(3, 1, BATCH)
        s, t = 0.2 * x + rng.random(300), 0.2 * y + rng.random(BATCH)
        e, truth = rng.random(300) < 0.3 * x, rng.random(BATCH) < 0.3 * y
        w, v = (x / (1 - x)) ** 2 + 1e-9, (y / (1 - y)) ** 2 + 1e-9
        plain.append(share_wrong(fdr_select(s, e, t, alpha=0.15).accepted, truth))
        weighted.append(share_wrong(weighted_fdr_select(s, e, w, t, v, alpha=0.15).accepted, truth))
    assert below(np.array(weighted), 0.15)
    assert np.mean(plain) > 0.18


# --- pac -------------------------------------------------------------------------------------


def true_rate(world: ScoredWorld, rule) -> float:
    if rule.accepts == "none":
        return 0.0
    return float(world.error_rate(1.0 if rule.threshold is None else rule.threshold))


@RUN
@ALL_WORLDS
@pytest.mark.parametrize("n", [*SIZES, 1000])
def test_pac_deploys_a_bad_threshold_at_most_delta_of_the_time(world, n, full):
    rng = np.random.default_rng([n, 11])
    alpha = 0.1 if n >= 50 else 0.25
    runs = repeats(full)
    bad = 0
    for _ in range(runs):
        s, e = world.draw(n, rng)
        bad += true_rate(world, pac_threshold(s, e, alpha=alpha, delta=0.1)) > alpha + 1e-12
    assert at_most_often(bad, runs, 0.1)


@RUN
def test_pac_is_not_vacuous(full):
    rng = np.random.default_rng(12)
    world = informative(0.3)
    rules = [pac_threshold(*world.draw(400, rng), alpha=0.1) for _ in range(repeats(full))]
    assert np.mean([rule.coverage for rule in rules]) > 0.2


@RUN
def test_pac_forgives_errors_among_the_surest_rows(full):
    # Wrong half of the time on the surest hundredth, 2 % elsewhere: a run that could begin only
    # at the fewest rows of all would nearly always end there.
    rng = np.random.default_rng(15)
    world = ScoredWorld("bad top", (0.5,) + (0.02,) * 99)
    rules = [pac_threshold(*world.draw(2000, rng), alpha=0.1) for _ in range(repeats(full))]
    assert np.mean([rule.coverage for rule in rules]) > 0.9


@RUN
def test_pac_with_groups_spends_delta_once(full):
    rng = np.random.default_rng(13)
    worlds = (uninformative(0.11), informative(), sawtooth(), heavily_tied())
    runs = repeats(full)
    bad = 0
    for _ in range(runs):
        bad += any(
            true_rate(w, pac_threshold(*w.draw(100, rng), alpha=0.1, delta=0.1 / 4)) > 0.1 + 1e-12
            for w in worlds
        )
    assert at_most_often(bad, runs, 0.1)


@RUN
def test_pac_with_clusters_holds_and_without_them_it_does_not(full):
    world = uninformative(0.2)
    rng = np.random.default_rng(14)
    runs = repeats(full)
    by_row = by_prompt = 0
    for _ in range(runs):
        s, e, prompt = draw_clusters(world, prompts=30, rows=10, seed=rng)
        kept = one_row_per_cluster(prompt, seed=rng)
        by_row += pac_threshold(s, e, alpha=0.1).feasible
        by_prompt += pac_threshold(s[kept], e[kept], alpha=0.1).feasible
    assert at_most_often(by_prompt, runs, 0.1)
    assert by_row > 0.3 * runs


# --- scope -----------------------------------------------------------------------------------


@RUN
@ALL_WORLDS
@pytest.mark.parametrize("n", SIZES)
def test_scope_keeps_the_mean_share_over_calibration_sets(world, n, full):
    rng = np.random.default_rng([n, 21])
    alpha = 0.1 if n >= 50 else 0.25
    shares = np.empty(repeats(full))
    for i in range(len(shares)):
        s, e = world.draw(n + BATCH, rng)
        rule = scope_threshold(s[:n], e[:n], alpha=alpha)
        shares[i] = share_wrong(rule.accept(s[n:]), e[n:])
    assert below(shares, alpha)


@RUN
def test_scope_does_not_bound_the_ratio(full):
    """The counterexample: errors 0.12 whatever the score. Every rule that accepts has 0.12."""
    rng = np.random.default_rng(22)
    world, wrong, accepted, shares = uninformative(0.12), 0, 0, []
    for _ in range(repeats(full)):
        s, e = world.draw(200 + BATCH, rng)
        chosen = scope_threshold(s[:200], e[:200], alpha=0.1).accept(s[200:])
        wrong, accepted = wrong + e[200:][chosen].sum(), accepted + chosen.sum()
        shares.append(share_wrong(chosen, e[200:]))
    assert wrong / accepted > 0.105
    assert np.mean(shares) < 0.1


@RUN
def test_one_scope_threshold_is_often_above_alpha(full):
    """What a user who deploys one threshold really has: near a coin toss, and not 1 - delta."""
    rng = np.random.default_rng(23)
    world, runs = informative(), repeats(full)
    bad = sum(
        true_rate(world, scope_threshold(*world.draw(400, rng), alpha=0.1)) > 0.1
        for _ in range(runs)
    )
    assert 0.3 < bad / runs < 0.5


@RUN
def test_repeated_prompts_break_scope_and_one_row_per_prompt_mends_it(full):
    rng = np.random.default_rng(24)
    world, by_row, by_prompt = uninformative(0.2), [], []
    for _ in range(repeats(full)):
        s, e, prompt = draw_clusters(world, prompts=20, rows=10, seed=rng)
        kept = one_row_per_cluster(prompt, seed=rng)
        by_row.append(true_rate(world, scope_threshold(s, e, alpha=0.1)))
        by_prompt.append(true_rate(world, scope_threshold(s[kept], e[kept], alpha=0.1)))
    assert np.mean(by_row) > 0.15
    assert below(np.array(by_prompt), 0.1)


# --- several tries ---------------------------------------------------------------------------


@RUN
def test_a_second_try_breaks_pac_unless_both_share_delta(full):
    """Labels are added if nothing was accepted; any rule that accepts this noise is above alpha."""
    rng = np.random.default_rng(25)
    world, runs, sizes = uninformative(0.101), repeats(full), (100, 200)
    above = {0.1: 0, 0.05: 0}
    for _ in range(runs):
        s, e = world.draw(sizes[-1], rng)
        for delta in above:
            tries = (pac_threshold(s[:n], e[:n], alpha=0.1, delta=delta) for n in sizes)
            above[delta] += any(rule.accepts != "none" for rule in tries)
    assert at_most_often(above[0.05], runs, 0.1)
    assert above[0.1] > above[0.05]
    if full:  # 250 runs are too few to show it
        assert not at_most_often(above[0.1], runs, 0.1)
