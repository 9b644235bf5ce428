"""Load on `adjudge serve` with a simulated judge, on loopback: requests a second and p99.

The service runs in a process of its own; the peer is a bare FastAPI endpoint in another, with the
same event loop and HTTP parser, which validates the same fields and returns the same ones, all
constant. Every request is a new pair under an id of its own, and nothing is remembered between
them: the service builds two questions, asks the simulated judge both, decides, counts, and adds its
headers. No audits are drawn, so that nothing is kept. Both are loaded in turn, bounded in count and
time; nothing leaves loopback. The ratio by processor time is the steadier one on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import numpy as np
import psutil

JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"
PEER = """
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
app = FastAPI()
class Pair(BaseModel):
    id: str
    prompt: str
    response_a: str
    response_b: str
class Ruling(BaseModel):
    id: str
    accepted: bool
    uncertainty: float | None
    learned_doubt: float | None
    status: str
    reason: str | None
    group: str | None
    stage: str | None
    judges_asked: int
    guarantee: str
    policy_id: str
    verdict: str | None
    judge_verdict: str | None
    p_a: float | None
@app.post("/v1/judge")
async def judge(pair: Pair) -> Ruling:
    return Ruling(
        id=pair.id, accepted=True, uncertainty=0.2, learned_doubt=None, status="ok", reason=None,
        group=None, stage=None, judges_asked=1, guarantee="scope", policy_id="0123456789abcdef",
        verdict="A", judge_verdict=None, p_a=0.95,
    )
uvicorn.run(app, port=%d, log_level="error", access_log=False)
"""


def make_policy(folder: Path) -> Path:
    """A policy for the simulated judge, made by the commands that a user types."""
    run = [sys.executable, "-m", "adjudge"]
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import polars as pl

    from adjudge.data import write_rows
    from adjudge.simulate.pairs import simulate_pairs

    pairs = [
        {"id": p.id, "prompt": p.prompt, "response_a": p.response_a, "response_b": p.response_b,
         "label": p.label}
        for p in simulate_pairs(400, seed=1)
    ]  # fmt: skip
    write_rows(pl.DataFrame(pairs), folder / "pairs.jsonl")
    subprocess.run(
        [*run, "judge", "pairs.jsonl", "--judge", JUDGE, "-o", "judgments.jsonl"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        [*run, "calibrate", "judgments.jsonl", "--alpha", "0.1", "-o", "policy.json"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder / "policy.json"


class Target(NamedTuple):
    """A server under load: where it listens, and its process."""

    port: int
    process: int

    def processor_s(self) -> float:
        """The processor time it has taken so far."""
        times = psutil.Process(self.process).cpu_times()
        return float(times.user + times.system)


@contextmanager
def service(policy: Path) -> Iterator[Target]:
    """`adjudge serve` on a free port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "serve", "--policy", str(policy), "--judge", JUDGE,
         "--port", "0"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    found = re.search(r":(\d+)/", process.stderr.readline())
    assert found is not None
    try:
        yield Target(int(found.group(1)), process.pid)
    finally:
        process.kill()
        process.wait()


@contextmanager
def peer(port: int) -> Iterator[Target]:
    """The bare endpoint."""
    process = subprocess.Popen([sys.executable, "-c", PEER % port])
    time.sleep(2.0)
    try:
        yield Target(port, process.pid)
    finally:
        process.kill()
        process.wait()


async def load(port: int, *, requests: int, concurrency: int) -> tuple[float, np.ndarray]:
    """Requests a second, and the latency of each in milliseconds."""
    latencies: list[float] = []
    left = iter(range(requests))

    async def worker(session: aiohttp.ClientSession) -> None:
        for i in left:
            body = {"id": str(i), "prompt": f"What is {i} + 1?", "response_a": str(i + 1),
                    "response_b": str(i)}  # fmt: skip
            began = time.perf_counter()
            async with session.post(f"http://127.0.0.1:{port}/v1/judge", json=body) as answer:
                await answer.read()
                assert answer.status == 200, await answer.text()
            latencies.append(1000 * (time.perf_counter() - began))

    async with aiohttp.ClientSession() as session:
        for _ in range(100):
            try:
                async with session.get(f"http://127.0.0.1:{port}/openapi.json") as answer:
                    await answer.read()
                    break
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.1)
        began = time.perf_counter()
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
        elapsed = time.perf_counter() - began
    return requests / elapsed, np.array(latencies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="per round")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--concurrency", type=int, default=32)
    options = parser.parse_args()
    rates: dict[str, list[float]] = {}
    processor: dict[str, list[float]] = {}
    latencies: dict[str, list[np.ndarray]] = {}
    with tempfile.TemporaryDirectory() as folder:
        policy = make_policy(Path(folder))
        with service(policy) as own, peer(18477) as other:
            targets = {"adjudge serve": own, "bare FastAPI": other}
            # Alternating, so that other load affects both; the first round is a warm-up.
            for round_ in range(options.rounds + 1):
                for name, target in targets.items():
                    before = target.processor_s()
                    rate, ms = asyncio.run(
                        load(target.port, requests=options.requests,
                             concurrency=options.concurrency)
                    )  # fmt: skip
                    if round_:
                        rates.setdefault(name, []).append(rate)
                        processor.setdefault(name, []).append(target.processor_s() - before)
                        latencies.setdefault(name, []).append(ms)
    for name in rates:
        ms = np.concatenate(latencies[name])
        print(
            f"{name:<14} {np.median(rates[name]):8.0f} requests/s   median {np.median(ms):6.1f} ms"
            f"   p99 {np.quantile(ms, 0.99):6.1f} ms"
            f"   {1e6 * np.median(processor[name]) / options.requests:5.0f} us of processor each"
        )
    for words, shares in (
        ("by the clock", np.divide(rates["adjudge serve"], rates["bare FastAPI"])),
        ("by processor time", np.divide(processor["bare FastAPI"], processor["adjudge serve"])),
    ):
        print(
            f"ratio to the bare endpoint {words}: {np.median(shares):.2f}, by round "
            f"{shares.min():.2f} to {shares.max():.2f} (two simulated questions per request)"
        )


if __name__ == "__main__":
    main()
