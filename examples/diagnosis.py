"""The numbers of docs/measurements.md: sets that learn the judge's scale, and the length test.

Run it: python examples/diagnosis.py [repeats]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit

from adjudge.diagnosis import ScoreSets
from adjudge.diagnosis.length import length_bias, verbosity_bias
from simulators import simulate_scores

ALPHA, MODELS = 0.1, 6


def sets_of(method: str, documents: int, shift: float, repeats: int) -> tuple[float, float]:
    """Mean size and coverage on 30 new documents; a judge `shift` points too generous."""
    rng = np.random.default_rng(7)
    sizes, covered = [], []
    for _ in range(repeats):
        frame = simulate_scores(
            documents=documents + 30, models=MODELS, judges={"judge": 0.6}, shift=shift, seed=rng
        ).frame
        judge = frame["judge_score"].to_numpy()
        human = frame.select("rater1", "rater2", "rater3").to_numpy()
        names = frame["doc_id"].to_numpy()
        new = np.arange(len(judge)) >= documents * MODELS
        sets = ScoreSets(alpha=ALPHA, method=method, seed=rng)
        sets.calibrate(judge[~new], human[~new], documents=names[~new])
        members = sets.predict(judge[new]).members
        truth = np.floor(human[new].mean(axis=1) + 0.5).astype(int) - 1
        sizes.append(members.sum(axis=1).mean())
        covered.append(members[np.arange(len(truth)), truth].mean())
    return float(np.mean(sizes)), float(np.mean(covered))


def score_sets(repeats: int) -> None:
    """Size and coverage by kind of set and number of labelled documents."""
    print(f"1. Score sets at alpha = {ALPHA}: mean size (coverage on new documents).")
    for shift in (0.0, 1.0):
        print(f"   judge {shift:g} points too generous")
        for documents in (20, 26, 60, 100, 200):
            cells = []
            for method in ("residual", "learned", "cross-fitted"):
                size, coverage = sets_of(method, documents, shift, repeats)
                cells.append(f"{method} {size:.2f} ({coverage:.3f})")
            print(f"   {documents:4d} documents: " + ", ".join(cells))


def length_pairs(rng: np.random.Generator, gamma: float, prompts: int) -> dict[str, object]:
    """Pairs of eight models, where better models write more, and the distance from a tie."""
    codes = np.repeat(np.arange(prompts), 2)
    n, theta = len(codes), rng.normal(0, 1, 8)
    a = rng.integers(0, 8, n)
    b = (a + rng.integers(1, 8, n)) % 8
    length_a, length_b = (300 * np.exp(0.3 * theta[m] + rng.normal(0, 0.5, n)) for m in (a, b))
    seen = 2 * (theta[a] - theta[b] + gamma * np.log2(length_a / length_b)) + rng.logistic(size=n)
    return {
        "p_a": expit(2 * seen),
        "length_a": length_a,
        "length_b": length_b,
        "models_a": a.tolist(),
        "models_b": b.tolist(),
        "clusters": codes,
    }


def length_power(repeats: int) -> None:
    """How often a length bias is detected: on near-tied pairs, and with models held fixed."""
    print("2. Length bias, 400 prompts of two pairs: share of draws in which it is detected,")
    print("   and the mean effect in points.")
    for gamma in (0.0, 0.1, 0.2, 0.3):
        rng = np.random.default_rng(3)
        near, fixed, effects, close = [], [], [], []
        for _ in range(repeats):
            drawn = length_pairs(rng, gamma, 400)
            p_a = np.asarray(drawn.pop("p_a"))
            lengths = drawn["length_a"], drawn["length_b"]
            tied = verbosity_bias(p_a - 0.5, *lengths, clusters=drawn["clusters"])
            bias = length_bias((p_a > 0.5).astype(float), **drawn)
            near.append(tied.biased)
            close.append(tied.n)
            fixed.append(bias.biased)
            effects.append(100 * bias.effect)
        print(
            f"   bias {gamma:g} per doubling: near-tied {np.mean(near):.2f} "
            f"({np.mean(close):.0f} of 800 pairs), models held fixed {np.mean(fixed):.2f} "
            f"(effect {np.mean(effects):+.1f})"
        )


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    score_sets(times)
    length_power(times)
