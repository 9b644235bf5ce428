"""Memory of a long run: 100,000 pairs from a file, judged by an instant server, stored and written.

Prints the resident memory of the process during the run. Flat means that the memory does not depend
on the number of pairs.

    python benchmarks/bench_memory.py [--pairs 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from adjudge.judges.flow import Progress
from adjudge.judges.judging import judge_pairs

PAGE = os.sysconf("SC_PAGE_SIZE")
WORDS = "the quick brown fox jumps over the lazy dog and then rests for a while in the shade. "


def resident_mb() -> float:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 2**20


def write_pairs(path: Path, count: int) -> None:
    """Pairs of about a kilobyte each."""
    with path.open("w") as out:
        for n in range(count):
            row = {
                "id": f"pair-{n}",
                "prompt": f"Question {n}: {WORDS}",
                "response_a": f"{n} {WORDS * 5}",
                "response_b": f"{n + 1} {WORDS * 5}",
            }
            out.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "none")
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("instant_server.py"))],
        stdout=subprocess.PIPE,
        text=True,
    )
    marks: list[tuple[int, float]] = []
    highest = 0.0
    ended = threading.Event()

    def watch_memory() -> None:
        nonlocal highest
        while not ended.wait(0.2):
            highest = max(highest, resident_mb())

    def note(now: Progress) -> None:
        tenth = 10 * now.done // max(now.total, 1)
        if tenth > len(marks):
            marks.append((now.done, resident_mb()))

    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            write_pairs(place / "pairs.jsonl", given.pairs)
            before = resident_mb()
            watcher = threading.Thread(target=watch_memory)
            watcher.start()
            began = time.perf_counter()
            done = judge_pairs(
                place / "pairs.jsonl",
                judge="openai:instant",
                base_url=url,
                store=place / "store.db",
                output=place / "rows.jsonl",
                progress=note,
            )
            elapsed = time.perf_counter() - began
            ended.set()
            watcher.join()
            kept = sum(file.stat().st_size for file in place.glob("store.db*")) / 2**20
    finally:
        server.terminate()
        server.wait()
    assert done.summary.statuses == {"ok": given.pairs}
    print(f"{given.pairs:,} pairs, {done.summary.calls_made:,} calls in {elapsed:.0f} s")
    print(f"store {kept:,.0f} MB on disk; resident before {before:.0f} MB")
    for calls, megabytes in marks:
        print(f"  after {calls:>9,} calls  {megabytes:6.0f} MB")
    print(
        f"highest {highest:.0f} MB, rows written; growth after the first tenth: "
        f"{highest - marks[0][1]:+.0f} MB"
    )


if __name__ == "__main__":
    main()
