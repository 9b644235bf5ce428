"""1,000 splits x 5 alphas on 2,000 items: the split protocol against a sorted Python loop."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import bisect
import random
import time
from fractions import Fraction

import numpy as np

from adjudge.selection.guarantees.pac import exact_band
from adjudge.selection.splits import split_risks

ITEMS, SPLITS, LOOPED = 2_000, 1_000, 100
ALPHAS = (0.05, 0.10, 0.15, 0.20, 0.25)


def python_loop(rows: list[tuple[float, int]], splits: int) -> dict[float, tuple[float, float]]:
    """What a user would write: one sort per split, one pass over each half per alpha."""
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


def pac_loop(rows: list[tuple[float, int]], splits: int) -> dict[float, float]:
    """The same for pac with given boundaries: one pass per level, until no level is looser."""
    rng, half, totals = random.Random(0), len(rows) // 2, dict.fromkeys(ALPHAS, 0.0)
    bands = {alpha: allowed_errors(half, alpha) for alpha in ALPHAS}
    for _ in range(splits):
        rng.shuffle(rows)
        calibration, test = sorted(rows[:half]), rows[half:]
        for alpha, (since, allowed) in bands.items():
            at, threshold = 0, -1.0
            while True:
                errors, first, most = 0, half + 1, allowed[at]
                for k, (score, error) in enumerate(calibration, start=1):
                    errors += error
                    if k >= since[0]:
                        if errors <= most[k]:
                            threshold = score
                        elif first > half:
                            first = k
                looser = bisect.bisect_right(since, first) - 1
                if looser <= at:
                    break
                at = looser
            totals[alpha] += sum(score <= threshold for score, _ in test) / len(test)
    return {alpha: total / splits for alpha, total in totals.items()}


def allowed_errors(n: int, alpha: float) -> tuple[list[int], list[list[int]]]:
    """For each boundary of the band, from where it holds and what it allows at every rank."""
    band = exact_band(n, Fraction(str(alpha)), Fraction(1, 10))
    tables = [[-1] * (n + 1) for _ in band.boundaries]
    for table, boundary in zip(tables, band.boundaries, strict=True):
        for rank, errors in zip(boundary.ranks.tolist(), boundary.errors.tolist(), strict=True):
            table[rank:] = [errors] * (n + 1 - rank)
    return band.since.tolist(), tables


def time_pac(scores: np.ndarray, errors: np.ndarray, rows: list[tuple[float, int]]) -> None:
    """pac with and without computing its boundaries, compared with the loop."""
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        table = split_risks(scores, errors, alphas=ALPHAS, methods=["pac"], splits=SPLITS)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    looped = pac_loop(rows, LOOPED)
    slow, fast = (time.perf_counter() - start) * SPLITS / LOOPED, min(seconds)
    print(f"sorted Python loop for pac, boundaries given: {slow:.2f} s")
    print(
        f"split_risks, pac: {fast * 1e3:.1f} ms, {slow / fast:.0f} x faster (goal: 50); "
        f"the first time {seconds[0] * 1e3:.0f} ms, for the boundaries"
    )
    print("alpha  coverage loop / ours")
    for row in table:
        print(
            f"{float(row.alpha):5.2f}  {looped[float(row.alpha)]:.3f} / {row.coverages.mean():.3f}"
        )


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

    time_pac(scores, errors, rows)
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
