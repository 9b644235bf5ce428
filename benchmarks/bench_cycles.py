"""3-cycles of one large tournament: closed form and matrix form against networkx.

networkx has no closed form; its triadic census visits neighbourhoods in Python. It is timed on a
tournament small enough to finish and scaled by n^3, the growth of its work. The counts are compared
on the tournament that both ran.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import networkx as nx
import numpy as np

from adjudge.diagnosis import count_cycles

MODELS, PEER_MODELS, REPEATS = 2000, 150, 5


def tournament(models: int, seed: int = 0) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).random((models, models)) < 0.5, 1)
    return upper | np.tril(~upper.T, -1)


def seconds(work: object, repeats: int = REPEATS) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()  # type: ignore[operator]
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    small = tournament(PEER_MODELS)
    graph = nx.from_numpy_array(small.astype(int), create_using=nx.DiGraph)
    census = nx.triadic_census(graph)
    assert census["030C"] == count_cycles(small).cycles
    peer = seconds(lambda: nx.triadic_census(graph), repeats=2)
    own_small = seconds(lambda: count_cycles(small))
    print(
        f"{PEER_MODELS} models: networkx {peer:.2f} s, adjudge {1000 * own_small:.2f} ms, "
        f"{peer / own_small:,.0f}x"
    )

    whole = tournament(MODELS)
    closed = seconds(lambda: count_cycles(whole))
    gaps = whole.copy()
    tied = np.triu(np.random.default_rng(1).random(gaps.shape) < 0.05, 1)
    gaps &= ~(tied | tied.T)
    matrix = seconds(lambda: count_cycles(gaps), repeats=3)
    scaled = peer * (MODELS / PEER_MODELS) ** 3
    print(
        f"{MODELS} models, complete: closed form {1000 * closed:.1f} ms; networkx scaled by n^3 "
        f"{scaled:,.0f} s, {scaled / closed:,.0f}x"
    )
    print(f"{MODELS} models, 5 % ties: matrix form {1000 * matrix:.0f} ms, {scaled / matrix:,.0f}x")


if __name__ == "__main__":
    main()
