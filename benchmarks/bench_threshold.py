"""One threshold from ten million scores, as a multiple of a bare np.sort of the same scores."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np

from adjudge.selection import fdr_select, pac_threshold, scope_threshold

ROWS = 10_000_000
REPEATS = 5


def best(work: Callable[[], object]) -> float:
    """The fastest of a few runs, in seconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(ROWS)
    errors = (rng.random(ROWS) < 0.3 * scores).astype(np.int64)
    tied = np.round(scores, 3)
    base = best(lambda: np.sort(scores))
    print(f"np.sort of {ROWS:,} scores: {base:.3f} s")
    for labels in (3_000, 100_000):
        start = time.perf_counter()
        pac_threshold(scores[:labels], errors[:labels], alpha=0.1)
        seconds = time.perf_counter() - start
        print(f"pac of {labels:,} labels, boundaries computed: {seconds:.2f} s")
    for name, work in (
        ("scope", lambda: scope_threshold(scores, errors, alpha=0.1)),
        ("scope, 1,001 distinct scores", lambda: scope_threshold(tied, errors, alpha=0.1)),
        ("pac", lambda: pac_threshold(scores, errors, alpha=0.1)),
        ("fdr, batch of 100,000", lambda: fdr_select(scores, errors, scores[:100_000], alpha=0.1)),
    ):
        seconds = best(work)
        print(f"{name}: {seconds:.3f} s, {seconds / base:.1f} x np.sort (goal: within 4)")


if __name__ == "__main__":
    main()
