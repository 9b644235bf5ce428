"""Leaderboards on which somebody won everything: intervals and rank ranges, before and now.

Before: Elo -+ z SE by the bootstrap, on the scale whose mean is 1500, and rank ranges by one step
of max-|t| over all pairs. Now: intervals of differences to a model that was not swept, by the
profile of the likelihood, and rank ranges by step-down tests (docs/ranking.md). Every pair meets
equally often. Coverage is over boards with a sweep and the models that were not swept; a false
difference is a board on which any of the models that are truly equal are called different.

Run it: python examples/clean_sweeps.py [boards]
"""

from __future__ import annotations

import sys

import numpy as np

from adjudge.data.battles import Battles
from adjudge.ranking import bradley_terry, rank_ranges
from adjudge.ranking.bradley_terry import Fit, bootstrap_strengths, wins_table
from adjudge.ranking.differences import choose_reference, difference_intervals
from adjudge.statistics.bradley_terry import dominance_groups

#: Strengths of the models, and battles of each pair.
WORLDS = {
    "one far above, 4 models, 20 each": ([4.5, 0.3, 0.0, -0.3], 20),
    "one far above, 4 models, 40 each": ([6.0, 1.0, 0.0, -1.0], 40),
    "one far above, 6 models, 30 each": ([6.0, 0.5, 0.25, 0.0, -0.25, -0.5], 30),
    "first and last far away, 6 models, 20 each": ([5.5, 1.0, 0.3, -0.3, -1.0, -5.5], 20),
    "spread, 6 models, 20 each": ([1.5, 0.9, 0.3, -0.3, -0.9, -1.5], 20),
    "equal, 6 models, 20 each": ([0.0] * 6, 20),
}


def draw_battles(
    theta: np.ndarray, per: int, rng: np.random.Generator
) -> tuple[Battles, np.ndarray]:
    """Every pair `per` times, and who won."""
    i, j = np.triu_indices(len(theta), 1)
    a, b = np.repeat(i, per), np.repeat(j, per)
    won = (rng.random(len(a)) < 1 / (1 + np.exp(theta[b] - theta[a]))).astype(float)
    return Battles(names=tuple(f"m{k}" for k in range(len(theta))), a=a, b=b), won


def one_step(fit: Fit, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank ranges by the quantile of max-|t| over all pairs.

    The error of a gap to a swept model is at least that of the penalised information.
    """
    theta, inverse = fit.theta, fit.inverse_information()
    won, lost = fit.wins.sum(axis=1) > 0, fit.wins.sum(axis=0) > 0
    swept = won ^ lost
    gaps = theta[:, None] - theta[None, :]
    resampled = drawn[:, :, None] - drawn[:, None, :]
    variances = np.diag(inverse)
    least = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * inverse, 0.0))
    se = np.maximum(resampled.std(axis=0, ddof=1), least * (swept[:, None] | swept[None, :]))
    se += np.eye(len(theta))
    largest = (np.abs(resampled - gaps) / se).max(axis=(1, 2))
    better = gaps > np.quantile(largest, 0.95) * se
    return 1 + better.sum(axis=0), len(theta) - better.sum(axis=1)


def simulate(theta: np.ndarray, per: int, boards: int, seed: int = 0) -> dict[str, float]:
    """Means over boards of coverage, size of the rank ranges, ranges held, false differences."""
    rng = np.random.default_rng(seed)
    seen: dict[str, list[float]] = {}
    best = 1 + (theta[None, :] > theta[:, None]).sum(axis=1)
    worst = (theta[None, :] >= theta[:, None]).sum(axis=1)
    for _ in range(boards):
        battles, won = draw_battles(theta, per, rng)
        fit = bradley_terry(wins_table(battles.a, battles.b, won, len(theta)))
        drawn = bootstrap_strengths(fit, battles, won, replicates=200, seed=rng)
        ranges = {
            "before": one_step(fit, drawn),
            "now": rank_ranges(fit.theta, None, wins=fit.wins),
        }
        for when, (low, high) in ranges.items():
            seen.setdefault(f"size {when}", []).append(float((high - low + 1).mean()))
            held = float(np.all((low <= worst) & (high >= best)))
            seen.setdefault(f"held {when}", []).append(held)
            if not theta.any():
                seen.setdefault(f"false {when}", []).append(float((low > 1).any()))
        if dominance_groups(fit.wins)[0] == 1:
            continue
        seen.setdefault("boards swept", []).append(1.0)
        reference = choose_reference(fit.wins, np.arange(len(theta)))
        low, high = difference_intervals(fit.wins, reference, 0.95)
        gap = theta - theta[reference]
        others = np.isfinite(low) & np.isfinite(high) & (np.arange(len(theta)) != reference)
        swept = ~others & (np.arange(len(theta)) != reference)
        covered = (low <= gap) & (gap <= high)
        seen.setdefault("cover now", []).extend(covered[others].astype(float))
        seen.setdefault("swept now", []).extend(covered[swept].astype(float))
        centred = np.abs(fit.theta - (theta - theta.mean())) <= 1.96 * drawn.std(axis=0, ddof=1)
        seen.setdefault("cover before", []).extend(centred[~swept].astype(float))
    swept_boards = float(len(seen.pop("boards swept", [])))
    means = {name: float(np.mean(values)) for name, values in seen.items()}
    return {**means, "boards swept": swept_boards}


def main() -> None:
    """The table."""
    boards = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    columns = ("cover", "swept", "size", "held", "false")
    print(f"{boards} boards each; before -> now\n")
    print(f"{'':44}" + "".join(f"{name:>16}" for name in columns))
    for name, (theta, per) in WORLDS.items():
        found = simulate(np.array(theta), per, boards)
        cells = []
        for column in columns:
            before, now = (found.get(f"{column} {when}") for when in ("before", "now"))
            left = "" if before is None else f"{before:.2f} -> "
            cells.append("-" if now is None else f"{left}{now:.2f}")
        print(f"{name:44}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
