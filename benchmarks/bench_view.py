"""The viewer on a million judged pairs: seconds per request, and memory after many of them.

Each pair has three texts, 400 characters together, a label and a group. A request makes all that
the page gets: chips with their counts, fifty rows of the list, and one row. Seconds are processor
time of all threads, which a busy machine affects least. Goals: the first page
in less than a second after the file is read, filter and search in less than half a second, and
memory that does not grow with the number of requests.

    python benchmarks/bench_view.py [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.server.view_page import ViewPage
from adjudge.server.viewer import open_view

WORDS = ["alpha", "beta", "gamma", "delta", "python", "judge", "label", "error"]
FILLER = "lorem ipsum dolor sit amet consectetur adipiscing elit " * 3
REQUESTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("first page", {}),
    ("the same page again", {}),
    ("against people", {"only": "wrong"}),
    ("against people, one group", {"only": "wrong", "by.category": "math"}),
    ("search, many hits", {"find": "PYTHON"}),
    ("search, few hits", {"find": "999 python"}),
    ("search, then a chip", {"find": "999 python", "only": "wrong"}),
    ("most doubtful", {"order": "doubt"}),
    ("row 900,000 by its place", {"at": "900000"}),
    ("a row by its id", {"row": "pair-0777777"}),
)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.parquet"
        _write(path, rows)
        began = time.process_time()
        page = open_view([path], store=None)
        seconds = time.process_time() - began
        print(f"{rows:,} pairs: read and prepared in {seconds:.1f} s, memory {_memory():.0f} MB\n")
        for name, asked in REQUESTS:
            print(f"{name:<28}{_seconds(page.listing, asked):>8.3f} s")
        print(f"{'threshold, first':<28}{_seconds(page.threshold, {}):>8.3f} s")
        print(
            f"{'threshold, handle moved':<28}{_seconds(page.threshold, {'cut': '400000'}):>8.3f} s"
        )
        print(f"{'page to send, 300 rows':<28}{_seconds(page.static, {}):>8.3f} s")
        _ask_much(page)
        print(f"\nmemory after 300 more requests: {_memory():.0f} MB")


def _write(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    margin = rng.uniform(size=rows)
    number = pl.Series("n", np.arange(rows)).cast(pl.String).str.zfill(7)
    word = pl.Series("w", rng.choice(WORDS, rows))
    table = pl.DataFrame([number, word]).select(
        id=pl.format("pair-{}", "n"),
        prompt=pl.concat_str(pl.format("Question {} {} ", "n", "w"), pl.lit(FILLER[:100])),
        response_a=pl.concat_str(pl.lit(FILLER[:140]), "w"),
        response_b=pl.concat_str("w", pl.lit(FILLER[:140])),
    )
    table.with_columns(
        judge=pl.lit("bench-judge"),
        p_fwd=pl.Series(np.clip(margin + rng.normal(0, 0.1, rows), 0, 1)),
        p_rev=pl.Series(np.clip(margin + rng.normal(0, 0.1, rows), 0, 1)),
        label=pl.Series(np.where(rng.uniform(size=rows) < margin, "A", "B")),
        category=pl.Series(rng.choice(["math", "law", "code"], rows)),
    ).write_parquet(path)


def _seconds(call: Any, asked: dict[str, str]) -> float:
    began = time.process_time()
    call({"reader": "bench-reader", **asked})
    return time.process_time() - began


def _ask_much(page: ViewPage) -> None:
    rng = np.random.default_rng(1)
    for number in range(300):
        asked = {"at": str(rng.integers(1000)), "find": f"{number} {rng.choice(WORDS)}"}
        page.listing({"reader": f"reader-{number % 5}", **asked})


def _memory() -> float:
    """Megabytes of this process now, not at its peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1e3


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
