"""Every kind of rows, read and prepared as an analysis gets it, and a plain read by polars.

The plain read checks nothing. Seconds are processor time for a million rows, the best of three
alternating readings. To see what a change costs, run it on both trees in turn.

    python benchmarks/bench_kinds.py [ROWS] [KIND ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge import data

TIMES = 3


def main(rows: int, kinds: list[str]) -> None:
    print(f"{'kind':<14}{'file':<9}{'adjudge':>9}{'polars':>9}{'ratio':>8}   (s per million rows)")
    with tempfile.TemporaryDirectory() as folder:
        for kind, (make, read) in KINDS.items():
            if kinds and kind not in kinds:
                continue
            frame = make(np.random.default_rng(0), rows)
            for suffix, plain in (("csv", pl.read_csv), ("parquet", pl.read_parquet)):
                path = data.write_rows(frame, Path(folder) / f"{kind}.{suffix}")
                seconds = [(time_of(read, path), time_of(plain, path)) for _ in range(TIMES)]
                ours, theirs = (min(column) * 1e6 / rows for column in zip(*seconds, strict=True))
                print(f"{kind:<14}{suffix:<9}{ours:>9.3f}{theirs:>9.3f}{ours / theirs:>8.1f}")


def time_of(read: Callable[[Path], Any], path: Path) -> float:
    began = time.process_time()
    read(path)
    return time.process_time() - began


def ids(n: int) -> list[str]:
    return [f"row-{i:07d}" for i in range(n)]


def grades(rng: np.random.Generator, n: int) -> pl.DataFrame:
    judge = rng.integers(0, 2, n)
    human = pl.Series(rng.integers(0, 2, n)).set(pl.Series(rng.random(n) > 0.2), None)
    status = ["ok"] * n
    columns: dict[str, Any] = {"id": ids(n), "judge": judge, "human": human, "status": status}
    return pl.DataFrame({**columns, "model": rng.choice(["old", "new"], n)})


def judgments(rng: np.random.Generator, n: int) -> pl.DataFrame:
    asked = {"id": ids(n), "judge": ["bench"] * n, "protocol": ["preference"] * n}
    answers = {"p_fwd": rng.random(n).round(6), "p_rev": rng.random(n).round(6)}
    label = rng.choice(["A", "B"], n)
    return pl.DataFrame({**asked, "status": ["ok"] * n, **answers, "label": label})


def scores(rng: np.random.Generator, n: int) -> pl.DataFrame:
    documents = [f"doc-{i // 10:06d}" for i in range(n)]
    given = {"judge_score": rng.integers(1, 6, n), "human_score": rng.integers(1, 6, n)}
    return pl.DataFrame({"id": ids(n), "doc_id": documents, "judge": ["bench"] * n, **given})


def battles(rng: np.random.Generator, n: int) -> pl.DataFrame:
    first = rng.integers(0, 50, n)
    second = (first + rng.integers(1, 50, n)) % 50
    models = {"model_a": [f"model-{i}" for i in first], "model_b": [f"model-{i}" for i in second]}
    winner = rng.choice(["model_a", "model_b", "tie"], n)
    given = {"score_a": rng.normal(size=n).round(4), "score_b": rng.normal(size=n).round(4)}
    return pl.DataFrame({"id": ids(n), **models, "winner": winner, **given})


def tournaments(rng: np.random.Generator, n: int) -> pl.DataFrame:
    pairs = np.array([(i, j) for i in range(8) for j in range(i)])
    model_a, model_b = pairs[np.arange(n) % len(pairs)].T
    documents = [f"doc-{i // len(pairs):06d}" for i in range(n)]
    models = {
        "model_a": [f"model-{i}" for i in model_a],
        "model_b": [f"model-{i}" for i in model_b],
    }
    return pl.DataFrame({"doc_id": documents, **models, "verdict": rng.choice(["A", "B"], n)})


def labels(rng: np.random.Generator, n: int) -> pl.DataFrame:
    made = {"rater": ["r1"] * n, "labelled_by": ["person"] * n, "sampled_by": ["random"] * n}
    return pl.DataFrame({"id": ids(n), "label": rng.choice(["A", "B"], n), **made})


def pairs(rng: np.random.Generator, n: int) -> pl.DataFrame:
    answers = {"response_a": [f"answer {i}" for i in range(n)], "response_b": ["another"] * n}
    return pl.DataFrame({"id": ids(n), "prompt": ["a question"] * n, **answers})


def read_stream(path: Path) -> int:
    return sum(1 for _ in data.iter_pairs(path))


KINDS: dict[str, tuple[Callable[..., pl.DataFrame], Callable[[Path], Any]]] = {
    "grades": (grades, data.prepare_grades),
    "judgments": (judgments, data.prepare_judgments),
    "scores": (scores, data.prepare_scores),
    "battles": (battles, data.prepare_battles),
    "tournaments": (tournaments, data.prepare_tournaments),
    "labels": (labels, data.read_labels),
    "pairs": (pairs, read_stream),
}


if __name__ == "__main__":
    numbers = [argument for argument in sys.argv[1:] if argument.isdigit()]
    named = [argument for argument in sys.argv[1:] if not argument.isdigit()]
    main(int(numbers[0]) if numbers else 1_000_000, named)
