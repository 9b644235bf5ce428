"""Reading a million judgments: adjudge's checked readers and a plain read of the same file.

The plain reads check nothing and derive nothing: no duplicate keys, no ranges, no ragged rows, no
entropy. The ratio is the cost of these checks. Seconds are processor time, the best of five
alternating readings, which a busy machine affects least. Goals: within 2x of polars for CSV and
Parquet, 3x for JSON lines. Then a public data set in the shape of LMArena's 140k, with a tenth as
many rows, compared with reading the file into Python rows without using them.

    python benchmarks/bench_reading.py [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from adjudge.data import read_judgments, read_public, write_rows
from bench_scale import peak_in


def main(rows: int) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "id": [f"pair-{i:07d}" for i in range(rows)],
            "judge": ["bench-judge"] * rows,
            "protocol": ["preference"] * rows,
            "status": ["ok"] * rows,
            "p_fwd": rng.random(rows).round(6),
            "p_rev": rng.random(rows).round(6),
            "label": rng.choice(["A", "B"], rows),
        }
    )
    print(f"{rows:,} judgments; seconds of processor time, best of 5\n")
    print(
        f"{'file':<12}{'MB':>7}{'adjudge':>10}{'polars':>10}{'pandas':>10}"
        f"{'to polars':>11}{'to pandas':>11}"
    )
    plain: dict[str, tuple[Callable[[Path], object], Callable[[Path], object] | None]] = {
        "csv": (pl.read_csv, pd.read_csv),
        "csv.gz": (pl.read_csv, pd.read_csv),
        "jsonl": (pl.read_ndjson, lambda path: pd.read_json(path, lines=True)),
        "parquet": (pl.read_parquet, None),
    }
    with tempfile.TemporaryDirectory() as folder:
        for suffix, (with_polars, with_pandas) in plain.items():
            path = write_rows(frame, Path(folder) / f"judgments.{suffix}")
            ours, polars = best_in_turn(read_judgments, with_polars, path)
            pandas = best(with_pandas, path) if with_pandas else None
            print(
                f"{suffix:<12}{path.stat().st_size / 1e6:>7.0f}{ours:>10.2f}{polars:>10.2f}"
                + (f"{pandas:>10.2f}" if pandas else f"{'-':>10}")
                + f"{ours / polars:>10.1f}x"
                + (f"{ours / pandas:>10.2f}x" if pandas else f"{'-':>11}")
            )
        path = write_rows(arena(rows // 10, rng), Path(folder) / "arena.parquet")
        plainly = best(lambda path: pl.read_parquet(path).to_dicts(), path)
        print(f"\n{rows // 10:,} LMArena votes, {path.stat().st_size / 1e6:.0f} MB of Parquet")
        print(f"  rows of Python       {plainly:>6.2f} s")
        for kind in ("battles", "pairs"):
            ours = best(partial(read_public, kind=kind), path)
            print(f"  read as {kind:<12} {ours:>6.2f} s  {ours / plainly:.2f}x")
    peak = peak_in(Path("/proc/self/status").read_text())
    print(f"\npeak memory of the whole run: {peak:,.0f} MiB")


def arena(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Votes on conversations of one question and two answers of 150 words each."""
    words = np.array([f"word{i}" for i in range(1000)])

    def said(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": [{"type": "text", "text": text, "image": None}]}

    texts = [" ".join(words[rng.integers(0, 1000, 150)]) for _ in range(512)]
    asked = [[said("user", text[:120]), said("assistant", text)] for text in texts]
    first, second = rng.integers(0, 512, (2, rows))
    answers = [[asked[i][0], asked[j][1]] for i, j in zip(first, second, strict=True)]
    return pl.DataFrame(
        {
            "id": [f"vote-{i}" for i in range(rows)],
            "model_a": [f"model-{i}" for i in rng.integers(0, 25, rows)],
            "model_b": [f"model-{i}" for i in rng.integers(25, 50, rows)],
            "winner": rng.choice(["model_a", "model_b", "tie", "both_bad"], rows),
            "evaluation_order": [1] * rows,
            "conversation_a": [asked[i] for i in first],
            "conversation_b": answers,
            "full_conversation": answers,
        }
    )


def best(read: Callable[[Path], object], path: Path) -> float:
    """The shortest of three readings, in seconds of processor time."""
    return min(spend(read, path) for _ in range(3))


def best_in_turn(
    one: Callable[[Path], object], other: Callable[[Path], object], path: Path
) -> tuple[float, float]:
    """The shortest of five readings of each, one after the other."""
    spent = [(spend(one, path), spend(other, path)) for _ in range(5)]
    return min(first for first, _ in spent), min(second for _, second in spent)


def spend(read: Callable[[Path], object], path: Path) -> float:
    """Processor time of one reading."""
    start = time.process_time()
    read(path)
    return time.process_time() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
