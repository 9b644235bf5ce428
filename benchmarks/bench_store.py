"""Rows saved per second, by one process and by four on one store: SQLite and PostgreSQL.

Every process claims its keys and saves their replies in groups of 256, as a run does; a reply has
about 0.9 kB. PostgreSQL is a new server in a temporary folder with its default settings, and it
writes to the disk. Its purpose is several machines, not speed on one.

    python benchmarks/bench_store.py [--rows 20000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from adjudge.hashing import call_key
from adjudge.records import Reply
from adjudge.store import Call, open_store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from postgres import programs, running_server

GROUP = 256
PLACE = "ADJUDGE_BENCH_STORE"
RAW = '{"choices": [{"logprobs": "' + "x" * 700 + '"}]}'
REPLY = Reply(status="ok", text="A", logprobs={"A": -0.1, "B": -2.4}, prompt_tokens=190, raw=RAW)


def make_call(process: int, n: int) -> Call:
    content = f"{process}-{n}"
    key = call_key("f" * 64, content, "ab", 0, "")
    return Call(
        call_key=key, judge_fingerprint="f" * 64, subject_id=f"pair-{n}", content_hash=content,
        order="ab", repeat=0, slot="", reply=REPLY,
    )  # fmt: skip


def save_rows(place: str, process: int, rows: int) -> None:
    """The work of one process; it waits for the start and reports its time."""
    store = open_store(place)
    calls = [make_call(process, n) for n in range(rows)]
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    for start in range(0, rows, GROUP):
        group = calls[start : start + GROUP]
        ours = store.claim([call.call_key for call in group], retry=(), since=0).ours
        store.save(call for call in group if call.call_key in ours)
    print(time.perf_counter() - began, flush=True)
    store.close()


def rows_per_second(place: str, *, processes: int, rows: int) -> float:
    """All processes together, from the first start to the last end."""
    command = [sys.executable, __file__, "--rows", str(rows // processes)]
    # In the environment: a URL with a password must not be in the list of processes.
    environment = {**os.environ, PLACE: place}
    workers = [
        subprocess.Popen(
            [*command, "--process", str(n)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for n in range(processes)
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    seconds = max(float(worker.communicate()[0]) for worker in workers)
    return rows / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.process is not None:
        save_rows(os.environ[PLACE], options.process, options.rows)
        return
    print(f"{options.rows:,} rows of 0.9 kB, rows per second")
    print(f"{'':12}{'1 process':>12}{'4 processes':>14}")
    with tempfile.TemporaryDirectory() as folder:
        measured = [
            rows_per_second(f"{folder}/{n}.db", processes=n, rows=options.rows) for n in (1, 4)
        ]
    print(f"{'SQLite':12}{measured[0]:12,.0f}{measured[1]:14,.0f}")
    if programs() is None:
        print("PostgreSQL is not installed")
        return
    with running_server() as server:
        measured = [rows_per_second(server.url(), processes=n, rows=options.rows) for n in (1, 4)]
    print(f"{'PostgreSQL':12}{measured[0]:12,.0f}{measured[1]:14,.0f}")


if __name__ == "__main__":
    main()
