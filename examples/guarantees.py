"""The numbers of docs/measurements.md: what scope, fdr and pac guarantee, and what they do not.

Run it: python examples/guarantees.py [repeats]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from adjudge.data.rows import one_row_per_cluster
from adjudge.selection import (
    fdr_select,
    pac_threshold,
    scope_threshold,
)
from simulators import (
    ScoredWorld,
    confidently_wrong,
    draw_clusters,
    heavily_tied,
    informative,
    sawtooth,
    uninformative,
)

ALPHA, DELTA, BATCH = 0.10, 0.10, 200


def true_rate(world: ScoredWorld, rule: object) -> float:
    """The true error rate of what a threshold accepts; 0 if it accepts nothing."""
    if rule.accepts == "none":
        return 0.0
    return float(world.error_rate(1.0 if rule.threshold is None else rule.threshold))


def share(accepted: np.ndarray, errors: np.ndarray) -> float:
    """The share of errors among the accepted of one batch."""
    return float(errors[accepted].mean()) if accepted.any() else 0.0


def draws(world: ScoredWorld, n: int, repeats: int, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Repeated draws of calibration scores and errors, and of a batch of new ones."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        s, e = world.draw(n + BATCH, rng)
        yield s[:n], e[:n], s[n:], e[n:]


def ratio_is_not_bounded(repeats: int) -> None:
    """An uninformative score with error rate 0.12: accepted rows are wrong 12 % of the time."""
    print("1. The ratio E[errors] / E[accepted] is not bounded by alpha = 0.10.")
    print("   Error rate 0.12 at every score; scope:")
    print("   labels   sets that accept   mean share   ratio")
    world = uninformative(0.12)
    for n in (50, 200, 400, 1000):
        wrong = accepted = feasible = 0
        shares = []
        for s, e, t, truth in draws(world, n, repeats, 1):
            rule = scope_threshold(s, e, alpha=ALPHA)
            chosen = rule.accept(t)
            feasible += rule.feasible
            wrong, accepted = wrong + int(truth[chosen].sum()), accepted + int(chosen.sum())
            shares.append(share(chosen, truth))
        print(
            f"   {n:6}   {feasible / repeats:16.2f}   {np.mean(shares):10.3f}   "
            f"{wrong / max(accepted, 1):5.3f}"
        )


def one_threshold_is_a_gamble(repeats: int) -> None:
    """How often the threshold a user deploys has a true error rate above alpha."""
    print("\n2. How often the true error rate of one threshold is above alpha (informative score).")
    print("   labels   scope: above   mean rate   coverage   pac: above   coverage")
    world = informative()
    for n in (100, 200, 400, 1000):
        rng = np.random.default_rng(2)
        rates, covered = {"scope": [], "pac": []}, {"scope": [], "pac": []}
        for _ in range(repeats):
            s, e = world.draw(n, rng)
            for name, rule in (
                ("scope", scope_threshold(s, e, alpha=ALPHA)),
                ("pac", pac_threshold(s, e, alpha=ALPHA, delta=DELTA)),
            ):
                rates[name].append(true_rate(world, rule))
                covered[name].append(rule.coverage)
        above = {name: float(np.mean(np.array(r) > ALPHA)) for name, r in rates.items()}
        print(
            f"   {n:6}   {above['scope']:12.2f}   {np.mean(rates['scope']):9.3f}   "
            f"{np.mean(covered['scope']):8.2f}   {above['pac']:10.2f}   "
            f"{np.mean(covered['pac']):8.2f}"
        )


def promises_hold(repeats: int) -> None:
    """Mean share of scope and fdr, and how often pac fails, in worlds of every shape."""
    print("\n3. The guarantees in every simulated world (200 labels, batches of 200).")
    print("   world               scope: mean share   fdr: mean share   pac: above alpha")
    worlds = (
        informative(), uninformative(0.05), uninformative(0.12), uninformative(0.25),
        confidently_wrong(), sawtooth(), heavily_tied(),
    )  # fmt: skip
    for world in worlds:
        scope, fdr, bad = [], [], 0
        for s, e, t, truth in draws(world, 200, repeats, 3):
            scope.append(share(scope_threshold(s, e, alpha=ALPHA).accept(t), truth))
            fdr.append(share(fdr_select(s, e, t, alpha=ALPHA).accepted, truth))
            bad += true_rate(world, pac_threshold(s, e, alpha=ALPHA, delta=DELTA)) > ALPHA + 1e-12
        print(
            f"   {world.name:18}  {np.mean(scope):17.3f}   {np.mean(fdr):15.3f}   "
            f"{bad / repeats:16.3f}"
        )


def prompts_repeat(repeats: int) -> None:
    """20 prompts with 10 equal rows each: treated as 200 rows, and as 20."""
    print("\n4. Repeated prompts: 20 prompts x 10 equal rows, error rate 0.20, scope.")
    rng = np.random.default_rng(4)
    world, by_row, by_prompt = uninformative(0.20), [], []
    for _ in range(repeats):
        s, e, prompt = draw_clusters(world, prompts=20, rows=10, seed=rng)
        kept = one_row_per_cluster(prompt, seed=rng)
        by_row.append(true_rate(world, scope_threshold(s, e, alpha=ALPHA)))
        by_prompt.append(true_rate(world, scope_threshold(s[kept], e[kept], alpha=ALPHA)))
    print(f"   rows treated as independent: mean share {np.mean(by_row):.3f}")
    print(f"   one random row per prompt: mean share {np.mean(by_prompt):.3f}")


def floats_decide_wrongly(repeats: int) -> None:
    """How often summing e_i - alpha in floats picks another threshold than exact arithmetic."""
    rng = np.random.default_rng(5)
    differs = 0
    for _ in range(repeats):
        n = int(rng.integers(20, 400))
        s, e = rng.random(n), (rng.random(n) < 0.07).astype(int)
        order = np.argsort(s)
        passing = np.flatnonzero(np.cumsum(e[order] - ALPHA) <= -1)
        summed = int(passing[-1]) + 1 if len(passing) else 0
        differs += summed != scope_threshold(s, e, alpha=ALPHA).n_accepted
    print(f"\n5. Float sums picked another threshold in {differs} of {repeats} calibration sets.")


def prompt_changed(repeats: int) -> None:
    """The prompt is changed after calibration: the judge becomes surer, not better."""
    print("\n6. A changed prompt: every doubt is halved, the errors stay (200 labels, scope).")
    rng = np.random.default_rng(6)
    world, before, after = informative(), [], []
    for _ in range(repeats):
        rule = scope_threshold(*world.draw(200, rng), alpha=ALPHA)
        t, truth = world.draw(BATCH, rng)
        before.append(share(rule.accept(t), truth))
        after.append(share(rule.accept(t / 2), truth))
    print(f"   same prompt: mean share {np.mean(before):.3f}; new prompt: {np.mean(after):.3f}")


def tries_until_accepted(repeats: int) -> None:
    """Labels are added, and the policy is calibrated again, until something is accepted."""
    print("\n7. The first of several calibrations on growing labels that accepts anything")
    print("   (noise scores, errors 0.101 for pac and 0.12 for scope):")
    print("   labels                pac: above alpha   pac at delta / tries   scope: mean share")
    plans = ([100], [100, 200], [50, 100, 150, 200], [*range(30, 201, 10)])
    for sizes in plans:
        rng = np.random.default_rng(7)
        above = {DELTA: 0, DELTA / len(sizes): 0}
        shares = []
        for _ in range(repeats):
            s, e = uninformative(0.101).draw(sizes[-1], rng)
            for delta in above:
                rules = (pac_threshold(s[:n], e[:n], alpha=ALPHA, delta=delta) for n in sizes)
                above[delta] += any(rule.accepts != "none" for rule in rules)
            s, e = uninformative(0.12).draw(sizes[-1], rng)
            tries = (scope_threshold(s[:n], e[:n], alpha=ALPHA) for n in sizes)
            shares.append(0.12 * any(rule.accepts != "none" for rule in tries))
        once, shared = above[DELTA] / repeats, above[DELTA / len(sizes)] / repeats
        labels = f"{sizes[0]} to {sizes[-1]} in {len(sizes)}" if len(sizes) > 1 else f"{sizes[0]}"
        print(f"   {labels:18} {once:19.3f} {shared:22.3f} {np.mean(shares):19.3f}")


def main(repeats: int = 2000) -> None:
    """Print everything."""
    ratio_is_not_bounded(repeats)
    one_threshold_is_a_gamble(repeats)
    promises_hold(repeats)
    prompts_repeat(repeats)
    floats_decide_wrongly(repeats)
    prompt_changed(repeats)
    tries_until_accepted(repeats)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
