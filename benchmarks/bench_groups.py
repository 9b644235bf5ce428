"""A rate for each of many groups: growth of time and memory, and the ratio to one call a group.

Run: python benchmarks/bench_groups.py [--groups 1000 10000 100000]. Groups have ten rows, two of
them labelled. Each size runs in a process of its own, whose peak memory is printed; the loop of
calls is timed on a part in the same process and scaled. Times are processor time.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from adjudge import estimate
from bench_scale import peak_in

ROWS, PART = 10, 100
CASES = (
    ("verdicts", {"method": "misclassification"}),
    ("verdicts", {"method": "conditional", "labels_are_random": True}),
    ("verdicts", {"method": "misclassification", "pool": True}),
    ("probabilities", {"method": "ppi++", "labels_are_random": True}),
)


def draw(groups: int, scale: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Verdicts or probabilities, labels and names; the first two rows of a group have a label."""
    rng, n = np.random.default_rng(0), groups * ROWS
    truth = (rng.random(n) < 0.6).astype(float)
    judge = np.where(rng.random(n) < 0.85, truth, 1 - truth)
    if scale == "probabilities":
        judge = 0.8 * judge + 0.2 * rng.random(n)
    human = np.where(np.arange(n) % ROWS < 2, truth, np.nan)
    return judge, human, np.repeat(np.arange(groups), ROWS).astype(str)


def measure(groups: int) -> None:
    """All cases with this number of groups."""
    before = _peak()
    for scale, options in CASES:
        judge, human, names = draw(groups, scale)
        start = time.process_time()
        result = estimate(judge=judge, human=human, by=names, **options)
        seconds = time.process_time() - start
        start = time.process_time()
        str(result)
        view = time.process_time() - start
        assert len(result.groups) == groups
        del result
        alone = {name: value for name, value in options.items() if name != "pool"}
        start = time.process_time()
        for first in range(0, PART * ROWS, ROWS):
            rows = slice(first, first + ROWS)
            estimate(judge=judge[rows], human=human[rows], **alone)
        loop = (time.process_time() - start) / PART * groups
        print(
            f"{groups:>7,} groups, {scale:13} {' '.join(map(str, options.values())):24} "
            f"{seconds:6.2f} s, {seconds / groups * 1e6:4.0f} us a group, view {view:.2f} s, "
            f"peak {_peak():5.0f} MB (imports {before:.0f}), "
            f"one call a group {loop:6.1f} s, ratio {loop / seconds:.0f}x",
            flush=True,
        )


def _peak() -> float:
    return peak_in(Path("/proc/self/status").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    sizes = parser.parse_args().groups
    if len(sizes) == 1:
        measure(sizes[0])
        return
    for size in sizes:
        subprocess.run([sys.executable, __file__, "--groups", str(size)], check=True)


if __name__ == "__main__":
    main()
