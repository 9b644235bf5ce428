"""The gate in front of a server: never wider than its limit, never stuck, never leaking room."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from adjudge.judges.flow import Limiter


def test_the_limit_halves_once_per_round_and_grows_by_one_per_round() -> None:
    gate = Limiter(16)
    for _ in range(10):
        gate.overloaded(0)  # ten requests of one round
    assert gate.limit == 8
    gate.overloaded(gate.cuts)
    assert gate.limit == 4
    for _ in range(4):
        gate.answered()
    assert gate.limit == pytest.approx(5, abs=0.1)
    for _ in range(10):
        gate.overloaded(gate.cuts)
    assert gate.limit == 1
    for _ in range(500):
        gate.answered()
    assert gate.limit == 16


@pytest.mark.parametrize("seed", range(5))
def test_never_more_inside_than_the_limit_and_everybody_gets_in(seed: int) -> None:
    rng = random.Random(seed)
    gate = Limiter(8)
    inside = 0
    passed = 0

    async def visitor() -> None:
        nonlocal inside, passed
        cuts = await gate.enter()
        inside += 1
        assert inside <= gate.in_flight <= gate.most
        try:
            await asyncio.sleep(rng.random() * 0.002)
        finally:
            inside -= 1
            gate.leave()
        if rng.random() < 0.2:
            gate.overloaded(cuts, rng.random() * 0.003)
        else:
            gate.answered()
        passed += 1

    async def run() -> int:
        tasks = [asyncio.create_task(visitor()) for _ in range(300)]
        await asyncio.sleep(0.005)
        gone = [task for task in tasks if rng.random() < 0.2 and task.cancel()]
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
        return len(gone)

    gone = asyncio.run(run())
    assert gone > 0
    assert passed + gone == 300
    assert gate.in_flight == 0


def test_a_pause_keeps_everybody_out_and_then_lets_them_in() -> None:
    gate = Limiter(4)

    async def run() -> list[float]:
        gate.overloaded(gate.cuts, 0.1)
        began = time.monotonic()

        async def visitor() -> float:
            await gate.enter()
            waited = time.monotonic() - began
            gate.leave()
            return waited

        return await asyncio.wait_for(asyncio.gather(*(visitor() for _ in range(10))), 5)

    waited = asyncio.run(run())
    assert min(waited) >= 0.099


def test_a_visitor_cancelled_in_the_moment_it_is_let_in_gives_its_room_back() -> None:
    async def run() -> Limiter:
        gate = Limiter(1)
        await gate.enter()
        second = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        gate.leave()  # the room goes to the second
        second.cancel()  # before it has noticed
        with pytest.raises(asyncio.CancelledError):
            await second
        await asyncio.wait_for(gate.enter(), 1)
        return gate

    assert asyncio.run(run()).in_flight == 1
