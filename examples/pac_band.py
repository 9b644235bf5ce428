"""What pac accepts by the exact band, by its earlier rule, and at best (docs/measurements.md).

Run it: python examples/pac_band.py [repeats]
"""

from __future__ import annotations

import sys
from functools import lru_cache

import numpy as np

from adjudge.selection import pac_threshold
from adjudge.selection.guarantees.pac import most_errors
from simulators import (
    ScoredWorld,
    confidently_wrong,
    heavily_tied,
    informative,
    sawtooth,
    uninformative,
)

ALPHA, DELTA = 0.1, 0.1
SIZES = (200, 500, 1000, 3000)
WORLDS = {
    "informative": informative(),
    "informative, better judge": informative(0.3),
    "uninformative, errors 0.05": uninformative(0.05),
    "uninformative, errors 0.08": uninformative(0.08),
    "confidently wrong": confidently_wrong(),
    "surest 3 % wrong half the time, then 4 %": ScoredWorld("head", (0.5,) * 3 + (0.04,) * 97),
    "surest tenth wrong 12 %, then 4 %": ScoredWorld("tenth", (0.12,) * 10 + (0.04,) * 90),
    "sawtooth around 0.06": sawtooth(0.06),
    "five distinct scores": heavily_tied(0.3),
    "ten distinct scores": heavily_tied(0.25, 10),
    "six distinct scores, surest 12 % wrong": ScoredWorld(
        "tied head", (0.12, 0.04, 0.04, 0.05, 0.06, 0.2), tied=True
    ),
}


@lru_cache
def allowed(n: int, level: float) -> np.ndarray:
    """The maximum errors that a binomial test at this level accepts, at rank 0, 1, ..., n."""
    return np.concatenate(([-1], most_errors(np.arange(1, n + 1), ALPHA, level)))


def starts(n: int) -> list[int]:
    """The ranks at which the old rule started a run of tests, each with an equal share of delta."""
    ranks: list[int] = []
    while True:
        shares = len(ranks) + 1
        first = int(np.argmax(allowed(200, DELTA / shares) >= 0))
        if first * 4 ** (shares - 1) > n:
            return ranks
        ranks = [first * 4**i for i in range(shares)]


def old_rule(scores: np.ndarray, errors: np.ndarray) -> int:
    """Rows accepted by runs of binomial tests: a start adds its share, a failure removes all."""
    order = np.argsort(scores, kind="stable")
    s, wrong, n = scores[order], np.cumsum(errors[order]), len(scores)
    ranks, accepted, held, done = starts(n), 0, 0, 0
    for end in np.append(np.flatnonzero(s[1:] != s[:-1]) + 1, n).tolist():
        held += sum(done < rank <= end for rank in ranks)
        done = end
        if held and wrong[end - 1] <= allowed(n, DELTA * held / len(ranks))[end]:
            accepted = end
        else:
            held = 0
    return accepted


def coverage(world: ScoredWorld, scores: np.ndarray, rows: int) -> float:
    """The share of new rows that a threshold at the score of this rank accepts."""
    if rows in (0, len(scores)):
        return rows / len(scores)
    return float(world.coverage(np.sort(scores)[rows - 1]))


def at_best(world: ScoredWorld) -> float:
    """The largest share that can be accepted at a true error rate of alpha."""
    shares = np.linspace(0, 1, len(world.rates) + 1 if world.tied else 100_001)[1:]
    return float(shares[world.error_rate(shares) <= ALPHA + 1e-12].max(initial=0.0))


def accepted(world: ScoredWorld, n: int, repeats: int) -> list[float]:
    """Mean shares accepted with n labels: by the rule before, by the band."""
    rng = np.random.default_rng(n)
    drawn = [world.draw(n, rng) for _ in range(repeats)]
    new = [pac_threshold(s, e, alpha=ALPHA, delta=DELTA).n_accepted for s, e in drawn]
    return [
        float(np.mean([coverage(world, s, k) for (s, _), k in zip(drawn, rows, strict=True)]))
        for rows in ([old_rule(s, e) for s, e in drawn], new)
    ]


def main(repeats: int = 400) -> None:
    """Print the table."""
    sizes = " | ".join(f"{n:,}: before | band" for n in SIZES)
    print(f"| score | {sizes} | at best |")
    print("|---" * (2 * len(SIZES) + 2) + "|")
    means = []
    for name, world in WORLDS.items():
        row = [share for n in SIZES for share in accepted(world, n, repeats)]
        row.append(at_best(world))
        means.append(row)
        print(f"| {name} | " + " | ".join(f"{x:.2f}" for x in row) + " |", flush=True)
    print("| mean | " + " | ".join(f"{x:.2f}" for x in np.mean(means, axis=0)) + " |")
    before, band = accepted(WORLDS["informative"], 100, repeats)
    print(f"100 labels, informative: before {before:.2f}, band {band:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
