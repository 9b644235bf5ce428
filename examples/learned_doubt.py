"""The numbers of docs/measurements.md on learned doubt: when it pays off, and what it must not do.

Run it: python examples/learned_doubt.py [repeats]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import minimize

from adjudge.selection import pac_threshold, scope_threshold
from adjudge.selection.doubts.evidence import Evidence, LearnedMargin, doubt_of, log_odds
from adjudge.selection.doubts.jury import jury_preference
from adjudge.statistics.ridge import HOME
from simulators import misled_judges, several_judges

ALPHA, SHARE, NEW = 0.10, 0.3, 1000
World = Callable[[int, int], tuple[Evidence, np.ndarray]]


def judges(
    made: Callable[..., tuple[np.ndarray, np.ndarray]], n: int, seed: int, **options: object
):
    """Several judges of the same pairs as evidence, and people's preference."""
    p, prefers_a = made(n, seed=seed, **options)
    return Evidence(judges=tuple(f"judge {j}" for j in range(p.shape[1])), p=p), prefers_a


def long_winded(n: int, seed: int) -> tuple[Evidence, np.ndarray]:
    """One judge that prefers long answers; people prefer them half as much."""
    rng = np.random.default_rng(seed)
    margin, ratio = rng.normal(size=n), rng.normal(size=n)
    odds = 2 * (margin + 0.9 * ratio + 0.5 * rng.normal(size=n))
    people = rng.random(n) < 1 / (1 + np.exp(-3 * (margin + 0.2 * ratio)))
    short = np.round(200 * np.exp(-0.8 * ratio / 2))
    long = np.round(200 * np.exp(0.8 * ratio / 2))
    p = 1 / (1 + np.exp(-odds))
    made = Evidence(judges=("judge",), p=p[:, None], length_a=long, length_b=short)
    return made, people.astype(np.int64)


def plain(n: int, seed: int) -> tuple[Evidence, np.ndarray]:
    """One judge whose odds contain all information."""
    rng = np.random.default_rng(seed)
    odds = 2 * rng.normal(size=n)
    people = rng.random(n) < 1 / (1 + np.exp(-1.3 * odds))
    return Evidence(judges=("judge",), p=1 / (1 + np.exp(-odds[:, None]))), people.astype(np.int64)


WORLDS: dict[str, World] = {
    "misled: three of four judges worse than a coin": partial(judges, misled_judges),
    "five judges, two of them poor": partial(judges, several_judges),
    "three good judges": partial(judges, several_judges, skills=(1.0, 0.9, 0.8), scales=(2, 2, 2)),
    "one judge that likes length": long_winded,
    "one judge, nothing to learn": plain,
}


def some(pairs: Evidence, rows: slice) -> Evidence:
    """The evidence of some of the pairs."""
    a, b = pairs.length_a, pairs.length_b
    return Evidence(
        judges=pairs.judges,
        p=pairs.p[rows],
        length_a=None if a is None else a[rows],
        length_b=None if b is None else b[rows],
    )


def outcome(margin: np.ndarray, prefers_a: np.ndarray, old: slice, rule: Callable) -> tuple:
    """Share of the new pairs accepted, and share of errors among them."""
    scores, errors = doubt_of(margin), ((margin > 0) != (prefers_a > 0)).astype(int)
    chosen = rule(scores[old], errors[old], alpha=ALPHA).accept(scores[-NEW:])
    return chosen.mean(), errors[-NEW:][chosen].mean() if chosen.any() else 0.0


def does_it_pay(repeats: int) -> None:
    """Coverage of new pairs: the best judge, the mean, and a jury learned from 30 %."""
    for rule in (scope_threshold, pac_threshold):
        name = rule.__name__.removesuffix("_threshold")
        print(f"\n1. Share accepted by {name} at alpha {ALPHA:g}; error share of the learned one.")
        print("   labels   best judge   mean   learned   error share   stays home   world")
        for title, world in WORLDS.items():
            for n in (100, 150, 300, 600):
                cells, home = [], 0
                for seed in range(repeats):
                    pairs, prefers_a = world(n + NEW, seed)
                    learning = round(SHARE * n)
                    first = slice(0, learning)
                    doubt = LearnedMargin.fit(some(pairs, first), prefers_a[first], seed=seed)
                    home += doubt.penalty == 1e4
                    odds = log_odds(pairs.p)
                    test = partial(outcome, prefers_a=prefers_a, rule=rule)
                    alone = [test(odds[:, j], old=slice(0, n))[0] for j in range(odds.shape[1])]
                    mean = test(odds.mean(axis=1), old=slice(0, n))[0]
                    learned = test(doubt.margins(pairs), old=slice(learning, n))
                    cells.append([*alone, mean, *learned])
                *alone, mean, share, risk = np.mean(cells, axis=0)
                print(
                    f"   {n:6}   {max(alone):10.2f}   {mean:4.2f}   {share:7.2f}   {risk:11.3f}   "
                    f"{home / repeats:10.2f}   {title}"
                )


def the_cut(repeats: int) -> None:
    """Log odds that are not clipped, clipped, and clipped with a tail that keeps their order."""
    juries = (
        jury_preference,
        partial(jury_preference, tail=0.0),
        partial(jury_preference, most_odds=np.log(1e6), tail=0.0),
    )
    print("\n2. Share accepted of a mean jury of four, 300 labels: log odds above 4.9 count")
    print("   a hundredth   nothing   whole (to ln 1e6)   world")
    for title, scale, sure in (
        ("one judge is sure of anything on one pair in ten", 2, 0.1),
        ("over-confident judges", 16, 0.0),
    ):
        cells = []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            odds = rng.normal(size=(1300, 1)) + 0.8 * rng.normal(size=(1300, 4))
            people = rng.random(1300) < 1 / (1 + np.exp(-2.5 * odds.mean(axis=1)))
            loud = rng.random(1300) < sure
            odds[:, 0] = np.where(loud, rng.choice([-12, 12], 1300), odds[:, 0])
            p = np.round(1 / (1 + np.exp(-scale * odds)), 6)
            margins = [log_odds(jury(p), 50) for jury in juries]
            cells.append([outcome(m, people, slice(0, 300), scope_threshold)[0] for m in margins])
        bent, cut, whole = np.mean(cells, axis=0)
        print(f"   {bent:11.2f}   {cut:7.2f}   {whole:17.2f}   {title}")


def the_sign(repeats: int) -> None:
    """The mean and its sign, with and without the rule that they must agree."""
    print("\n3. One judge with nothing to learn, 300 labels: what a free sign does (scope).")
    print("   alpha   accepted: free   bound   verdicts overturned: free   bound")
    for alpha in (0.10, 0.15):
        cells = []
        for seed in range(repeats):
            pairs, prefers_a = plain(300 + NEW, seed)
            mean = log_odds(pairs.p)[:, 0]
            x = np.column_stack([mean, np.sign(mean)])
            scales = np.sqrt((x[:90] ** 2).mean(axis=0))
            signed = x[:90] / scales * (2 * prefers_a[:90] - 1)[:, None]

            def loss(w: np.ndarray, u: np.ndarray = signed) -> float:
                return float(np.logaddexp(0, -u @ w).sum() + HOME / 2 * (w @ w))

            free = x / scales @ minimize(loss, np.zeros(2)).x
            bound = LearnedMargin.fit(some(pairs, slice(0, 90)), prefers_a[:90]).margins(pairs)
            row = []
            for margin in (free, bound):
                scores = doubt_of(margin)
                errors = ((margin > 0) != (prefers_a > 0)).astype(int)
                rule = scope_threshold(scores[90:300], errors[90:300], alpha=alpha)
                row += [rule.accept(scores[300:]).mean(), ((margin > 0) != (mean > 0)).mean()]
            cells.append(row)
        a, turned, b, kept = np.mean(cells, axis=0)
        print(f"   {alpha:5g}   {a:14.2f}   {b:5.2f}   {turned:25.3f}   {kept:5.3f}")


def same_labels(repeats: int) -> None:
    """Learning and calibrating on the same labels: the error share of new pairs, scope."""
    print("\n4. Ten useless judges and one fair one, 60 labels: learn and calibrate on the same.")
    shares = []
    for seed in range(repeats):
        p, prefers_a = several_judges(
            60 + NEW, skills=(1.2, *[0.0] * 10), scales=(1.0,) * 11, seed=seed
        )
        pairs = Evidence(judges=tuple(f"judge {j}" for j in range(11)), p=p)
        first = slice(0, 60)
        doubt = LearnedMargin.fit(some(pairs, first), prefers_a[first], seed=seed)
        shares.append(outcome(doubt.margins(pairs), prefers_a, first, scope_threshold)[1])
    error = np.std(shares) / np.sqrt(repeats)
    print(f"   mean share of errors {np.mean(shares):.3f} (+- {error:.3f}) at alpha {ALPHA:g}")


def main(repeats: int = 200) -> None:
    """Print everything."""
    does_it_pay(repeats)
    the_cut(repeats)
    the_sign(repeats)
    same_labels(repeats)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
