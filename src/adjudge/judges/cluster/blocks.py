"""Map blocks of any work over the workers of a cluster, for large bootstraps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from adjudge.judges.cluster.connection import RayCluster
from adjudge.judges.flow import Stop
from adjudge.judges.run import run_to_end

Block = TypeVar("Block")
Outcome = TypeVar("Outcome")


def map_blocks(
    work: Callable[[Block], Outcome],
    blocks: Sequence[Block],
    *,
    workers: int | None = None,
    ray_address: str | None = None,
) -> list[Outcome]:
    """`work` of every block, in their order, by several workers in parallel.

    If a worker dies, its block is done again elsewhere. `work` depends only on its block, so the
    results do not depend on the number of workers.
    """
    cluster = RayCluster(ray_address, workers=workers)
    try:
        run_to_end(cluster.join(), Stop())
        return cluster.map(work, blocks)
    finally:
        cluster.leave()
