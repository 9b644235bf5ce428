"""1,000 splits x 5 alphas on 2,000 items: the split protocol against a sorted Python loop."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import random
import time

import numpy as np

from adjudge.selection import split_risks

ITEMS, SPLITS, LOOPED = 2_000, 1_000, 100
ALPHAS = (0.05, 0.10, 0.15, 0.20, 0.25)


def python_loop(rows: list[tuple[float, int]], splits: int) -> dict[float, tuple[float, float]]:
    """What a user writes: per split one sort, per alpha one pass over each half."""
    rng = random.Random(0)
    totals = {alpha: [0.0, 0.0] for alpha in ALPHAS}
    half = len(rows) // 2
    for _ in range(splits):
        rng.shuffle(rows)
        calibration, test = sorted(rows[:half]), rows[half:]
        for alpha in ALPHAS:
            errors, threshold = 0, -1.0
            for k, (score, error) in enumerate(calibration, start=1):
                errors += error
                last = k == half or calibration[k][0] != score
                if last and errors + 1 <= alpha * k:
                    threshold = score
            accepted = [error for score, error in test if score <= threshold]
            totals[alpha][0] += len(accepted) / len(test)
            totals[alpha][1] += sum(accepted) / len(accepted) if accepted else 0.0
    return {alpha: (c / splits, r / splits) for alpha, (c, r) in totals.items()}


def main() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(ITEMS)
    errors = (rng.random(ITEMS) < 0.4 * scores).astype(np.int64)
    rows = list(zip(scores.tolist(), errors.tolist(), strict=True))

    start = time.perf_counter()
    looped = python_loop(rows, LOOPED)
    slow = (time.perf_counter() - start) * SPLITS / LOOPED

    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        table = split_risks(scores, errors, alphas=ALPHAS, methods=["scope"], splits=SPLITS)
        seconds.append(time.perf_counter() - start)
    fast = min(seconds)
    print(f"sorted Python loop: {slow:.2f} s ({LOOPED} splits timed, scaled to {SPLITS:,})")
    print(f"split_risks, scope: {fast * 1e3:.1f} ms, {slow / fast:.0f} x faster (goal: 50)")

    start = time.perf_counter()
    split_risks(scores, errors, alphas=ALPHAS, confidence=1 - scores / 2, splits=SPLITS)
    print(f"split_risks, all six methods: {(time.perf_counter() - start) * 1e3:.1f} ms")
    print("alpha  coverage loop / ours   risk loop / ours")
    for row in table:
        coverage, risk = looped[float(row.alpha)]
        print(
            f"{float(row.alpha):5.2f}  {coverage:.3f} / {row.coverages.mean():.3f}"
            f"          {risk:.3f} / {row.risks.mean():.3f}"
        )


if __name__ == "__main__":
    main()
