"""`adjudge judge` in processes of their own, to be killed and started again on one store."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adjudge.simulate.pairs import simulate_pairs

CONCURRENCY = 24


def write_pairs(path: Path, count: int) -> Path:
    with path.open("w") as out:
        for pair in simulate_pairs(count, seed=5):
            # The id is in the prompt too: no two pairs share their content by chance.
            row = {"id": pair.id, "prompt": f"{pair.id}: {pair.prompt}", "label": pair.label,
                   "response_a": pair.response_a, "response_b": pair.response_b}  # fmt: skip
            out.write(json.dumps(row) + "\n")
    return path


def start(
    base_url: str,
    pairs: Path,
    store: str | Path,
    output: Path,
    *options: str,
    judge: str = "openai:judge-1",
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "adjudge", "judge", str(pairs), "--judge", judge]
    command += ["--base-url", base_url, "--concurrency", str(CONCURRENCY)]
    command += ["--store", str(store), "-o", str(output), "--json", *options]
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "sk-test-not-a-real-key")
    environment = {**os.environ, **keys}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def finish(run: subprocess.Popen[str]) -> dict[str, Any]:
    said, remarks = run.communicate(timeout=120)
    assert run.returncode == 0, remarks
    return dict(json.loads(said))


def undisturbed_run(server: Any, pairs: Path) -> Path:
    """The rows of one process on SQLite that nothing happens to."""
    server.reset()
    server.script("ok", keep_log=False)
    output = pairs.with_name("whole.jsonl")
    finish(start(server.base_url, pairs, pairs.with_name("whole.db"), output))
    return output


def kept(store: Path) -> int:
    """Rows committed so far, read by another connection while the run goes on."""
    if not store.exists():
        return 0
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10)
    try:
        return int(db.execute("SELECT COUNT(*) FROM calls").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # The tables are not there yet.
    finally:
        db.close()


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.02)
