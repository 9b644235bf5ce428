"""The gain of labels drawn among the surest rows, for pac and for scope (docs/measurements.md).

Run it: python examples/surest_labels.py [repeats]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from adjudge.policy.result import Rule
from adjudge.selection import pac_threshold, scope_threshold
from adjudge.selection.planning import cut_at
from adjudge.selection.thresholds import Threshold
from simulators import ScoredWorld, confidently_wrong, heavily_tied, informative, uninformative

ALPHA, DELTA = 0.1, 0.1
LABELS, POOL = 200, 2000
SHARES = (None, 0.4, 0.6, 0.8)
WORLDS = {
    "informative": informative(),
    "informative, better judge": informative(0.3),
    "informative, good judge": informative(0.22),
    "informative, very good judge": informative(0.12),
    "uninformative, errors 0.08": uninformative(0.08),
    "confidently wrong": confidently_wrong(),
    "ten distinct scores": heavily_tied(0.25, 10),
}


def stop(
    rule: Callable[..., Threshold],
    world: ScoredWorld,
    share: float | None,
    rng: np.random.Generator,
    **levels: float,
) -> float:
    """The threshold from 200 labels, drawn from all rows or below the cut of a pool."""
    scores, errors = world.draw(LABELS if share is None else POOL, rng)
    limit = 1.0
    if share is not None:
        limit = cut_at(scores, share)
        below = np.flatnonzero(Rule(accepts="below", threshold=limit).accept(scores))
        chosen = rng.permutation(below)[:LABELS]
        scores, errors = scores[chosen], errors[chosen]
    made = rule(scores, errors, alpha=ALPHA, **levels)
    if made.threshold is not None:
        return made.threshold
    return limit if made.accepts == "all" else 0.0


def main(repeats: int = 2000) -> None:
    """Print the table: mean share accepted, and how often the true error rate is above alpha."""
    heads = ["all rows" if share is None else f"surest {100 * share:.0f} %" for share in SHARES]
    for name, rule, levels in (
        ("pac", pac_threshold, {"delta": DELTA}),
        ("scope", scope_threshold, {}),
    ):
        print(f"| {name}: labels drawn among | " + " | ".join(heads) + " |")
        print("|---" * (len(SHARES) + 1) + "|")
        for title, world in WORLDS.items():
            cells = []
            for share in SHARES:
                rng = np.random.default_rng(7)
                ends = np.array([stop(rule, world, share, rng, **levels) for _ in range(repeats)])
                above = float(np.mean(world.error_rate(ends) > ALPHA))
                cells.append(f"{float(world.coverage(ends).mean()):.2f} ({above:.2f})")
            print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
        print()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
