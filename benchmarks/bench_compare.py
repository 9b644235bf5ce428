"""All pairs of 100 systems on 10,000 questions: matrix products against a loop over scipy tests.

The loop runs `scipy.stats.ttest_rel` on every pair, and is timed on a tenth of them. The statistics
are compared on those. The last line is the whole command: reading, pairing, Holm, possibly best.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np
import polars as pl
from scipy.stats import ttest_rel

from adjudge import compare
from adjudge.statistics.differences import all_gaps

SYSTEMS, QUESTIONS, PART = 100, 10_000, 10


def main() -> None:
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(3, 1, (QUESTIONS, 1)) + rng.normal(0, 1, (QUESTIONS, SYSTEMS)), 2)
    pairs = list(zip(*np.triu_indices(SYSTEMS, 1), strict=True))
    start = time.perf_counter()
    gaps = all_gaps(scores, zero_one=False)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    peer = {(i, j): ttest_rel(scores[:, j], scores[:, i]).statistic for i, j in pairs[::PART]}
    loop = (time.perf_counter() - start) * PART
    ours_of = dict(zip(pairs, gaps, strict=True))
    worst = max(abs(ours_of[at].statistic - value) for at, value in peer.items())
    print(f"{len(pairs):,} pairs, {QUESTIONS:,} questions: {ours:.2f} s, loop {loop:.1f} s")
    print(f"{loop / ours:.0f} times as fast; statistics differ by {worst:.1e} at most")
    table = pl.DataFrame(
        {
            "id": [f"{s}-{q}" for q in range(QUESTIONS) for s in range(SYSTEMS)],
            "prompt_id": np.repeat(np.arange(QUESTIONS), SYSTEMS),
            "model": [f"system {s}" for s in range(SYSTEMS)] * QUESTIONS,
            "judge": scores.ravel(),
        }
    )
    start = time.perf_counter()
    result = compare(table)
    print(f"the whole comparison of a table in memory: {time.perf_counter() - start:.1f} s")
    print(f"{len(result.best)} can be best, {len(result.shown)} pairs differ")


if __name__ == "__main__":
    main()
