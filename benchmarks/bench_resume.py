"""A run that is killed half-way: how soon the same command makes its first new call.

`adjudge judge` with the simulated judge is killed with -9 after half of its calls, and started
again. The first new call is seen in the store by another connection. Its output is compared with
that of a run without interruption, and the finished run is started once more.

    python benchmarks/bench_resume.py [--pairs 100000]
"""

from __future__ import annotations

import argparse
import filecmp
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_scale import Run, command, measure, peak_in


def words_of(folder: Path, name: str) -> list[str]:
    store, output = folder / f"{name}.db", folder / f"{name}.jsonl"
    words = ["judge", folder / "rows.parquet", "--judge", "simulated", "--store", store]
    return [*map(str, words), "-o", str(output)]


def kept(store: Path) -> int:
    """The number of calls in a store, also while it is being made."""
    try:
        db = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10)
        try:
            return int(db.execute("SELECT COALESCE(MAX(call_id), 0) FROM calls").fetchone()[0])
        finally:
            db.close()
    except sqlite3.OperationalError:
        return 0


def run_until(words: list[str], store: Path, calls: int) -> Run:
    """Start a command, kill it once its store has more than so many calls; its costs until then."""
    began = time.perf_counter()
    process = subprocess.Popen(command(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while kept(store) <= calls:
        if process.poll() is not None:
            sys.exit(f"{' '.join(words)}\nended early, with exit code {process.returncode}")
        time.sleep(0.02)
    wall = time.perf_counter() - began
    peak = peak_in(Path(f"/proc/{process.pid}/status").read_text())
    process.kill()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = -9
    return Run(used.ru_utime + used.ru_stime, wall, peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where files are written and removed again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place)
        scale = str(Path(__file__).with_name("bench_scale.py"))
        rows = ["--make", "judge", str(given.pairs), str(folder / "rows.parquet")]
        subprocess.run([sys.executable, scale, *rows], check=True, capture_output=True)
        store = folder / "killed.db"
        words = words_of(folder, "killed")
        print(f"{given.pairs:,} pairs{'cpu s':>26}{'wall s':>9}{'peak MiB':>10}", flush=True)
        show("without interruption", measure(words_of(folder, "whole")))
        show("killed half-way", run_until(words, store, given.pairs))
        show("started again: first new call", run_until(words, store, kept(store)))
        show("started again: to the end", measure(words))
        show("finished, started again", measure(words))
        same = filecmp.cmp(folder / "whole.jsonl", folder / "killed.jsonl", shallow=False)
        print("same bytes" if same else "DIFFERENT BYTES")


def show(name: str, run: Run) -> None:
    print(f"{name:<32}{run.cpu:>9.1f}{run.wall:>9.1f}{run.peak:>10,.0f}", flush=True)


if __name__ == "__main__":
    main()
