"""Large files: time and peak memory of each verb at 0.1, 1 and 10 million rows, and how both grow.

Every verb runs as a command of its own on a Parquet file that also holds a long column of text
which nobody needs. Seconds are processor time (user and system) and wall time of that process;
`peak` is its highest resident memory (Linux), `columns` the bytes of the columns that the verb
uses, as polars holds them, and `of columns` what the peak is above that of ten thousand rows, as a
multiple of these. `growth` is the exponent of processor time from the size before, both less the
start of the command (what a hundred rows take): 1 is linear, and n log n is 1.07 at these sizes.

    python benchmarks/bench_scale.py [--rows 100000 1000000 10000000] [--verb evaluate ...]
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

#: What a command needs that has hardly anything to do: seconds, and memory. Ten thousand rows do
#: not tell the seconds, because exact bounds take longer with them than with a million.
FEWEST, FEW = 100, 10_000
MODELS = 130
_PROGRAM = """
import sys
from pathlib import Path
from adjudge.cli import run
code = run(sys.argv[1:])
print(Path("/proc/self/status").read_text(), file=sys.stderr)
sys.exit(code)
"""
_JUDGE = "judge {file} --judge simulated --store {folder}/store.db -o {folder}/judgments.jsonl"


@dataclass(frozen=True)
class Run:
    """What one command cost."""

    cpu: float
    wall: float
    peak: float


def judgments(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """One judge in both orders, every row labelled; people agree with it where it is sure."""
    import numpy as np
    import polars as pl

    p_fwd, p_rev = rng.beta(0.6, 0.6, (2, rows)).round(6)
    is_a = rng.random(rows) < (p_fwd + p_rev) / 2
    return pl.DataFrame(
        {
            "id": pl.select("pair-" + pl.int_range(rows).cast(pl.String)).to_series(),
            "judge": pl.repeat("bench-judge", rows, eager=True),
            "protocol": pl.repeat("preference", rows, eager=True),
            "status": pl.repeat("ok", rows, eager=True),
            "p_fwd": p_fwd,
            "p_rev": p_rev,
            "label": pl.Series(["B", "A"]).gather(is_a.astype(np.int64)),
        }
    )


def grades(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """A judge's 0 or 1 of every answer, and a person's of one in a hundred."""
    import numpy as np
    import polars as pl

    truth = rng.random(rows) < 0.7
    judge = np.where(rng.random(rows) < 0.85, truth, ~truth).astype(np.int64)
    asked = rng.random(rows) < 0.01
    human = pl.Series(np.where(asked, truth, -1)).replace(-1, None)
    ids = pl.select("answer-" + pl.int_range(rows).cast(pl.String)).to_series()
    return pl.DataFrame({"id": ids, "judge": judge, "human": human})


def battles(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Battles of models of normal strength, a tenth of them tied."""
    import numpy as np
    import polars as pl

    names = pl.Series([f"provider/model-name-{k:03d}" for k in range(MODELS)])
    theta = rng.normal(0, 1, MODELS)
    a = rng.integers(0, MODELS, rows)
    b = (a + rng.integers(1, MODELS, rows)) % MODELS
    u, p = rng.random(rows), 0.9 / (1 + np.exp(theta[b] - theta[a]))
    word = np.where(u < p, 0, np.where(u < 0.9, 1, 2))
    winner = pl.Series(["model_a", "model_b", "tie"]).gather(word)
    return pl.DataFrame({"model_a": names.gather(a), "model_b": names.gather(b), "winner": winner})


def biased(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Judgments with the two models and the lengths of their answers."""
    met = battles(rows, rng).select("model_a", "model_b")
    lengths = rng.gamma(3, 100, (2, rows)).round().astype("int64")
    sides = {"length_a": lengths[0], "length_b": lengths[1]}
    return judgments(rows, rng).hstack(met).with_columns(**sides)


def pairs(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Pairs of short texts."""
    import polars as pl

    number = pl.int_range(rows).cast(pl.String)
    return pl.select(
        id="pair-" + number,
        prompt="Question " + number + ": what is it?",
        response_a="It is " + number + ", as far as anybody knows.",
        response_b="Nobody knows what " + number + " is.",
    )


#: What each verb reads, and its command.
VERBS: dict[str, tuple[Callable[[int, np.random.Generator], pl.DataFrame], str]] = {
    "evaluate": (judgments, "evaluate {file} --splits 100 -o {folder}/evaluation.json"),
    "calibrate": (judgments, "calibrate {file} -o {folder}/policy.json"),
    "estimate": (grades, "estimate {file} -o {folder}/rate.json"),
    "rank": (battles, "rank {file} -o {folder}/ranking.json"),
    "diagnose bias": (biased, "diagnose bias {file} -o {folder}/bias.json"),
    "report": (judgments, "report {folder} -o {folder}/report.html"),
    "judge": (pairs, _JUDGE),
    "resume": (pairs, _JUDGE),
}
#: Done beforehand, in the same folder, and not counted.
BEFORE = {"report": "calibrate", "resume": "judge"}


def make(verb: str, rows: int, path: Path) -> None:
    """Write the verb's rows, with a column that nobody needs; print the bytes of those it uses."""
    import numpy as np
    import polars as pl

    frame = VERBS[verb][0](rows, np.random.default_rng(0))
    size = sum(held_bytes(column) for column in frame)
    if "prompt" not in frame.columns:
        long = pl.Series([f"Remark {k}. " + "Nobody reads this. " * 8 for k in range(1000)])
        frame = frame.with_columns(remark=long.gather(np.arange(rows) % 1000))
    frame.write_parquet(path)
    print(size)


def held_bytes(column: pl.Series) -> int:
    """What a column takes in memory: of a text 16 bytes, and all of it where it is above 12."""
    import polars as pl

    if column.dtype != pl.String:
        return int(column.estimated_size())
    length = column.str.len_bytes()
    return 16 * len(column) + int(length.filter(length > 12).sum())


def command(words: list[str]) -> list[str]:
    """`adjudge WORDS` as a process that states its peak memory at the end."""
    return [sys.executable, "-c", _PROGRAM, *words]


def peak_in(status: str) -> float:
    """The highest resident memory in MiB, in a text with the lines of /proc/PID/status.

    `getrusage` would also count the process that starts this one: its peak survives `exec`.
    """
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None, status
    return int(peak[1]) / 1024


def measure(words: list[str]) -> Run:
    """Run `adjudge WORDS` and wait for it; its own costs, not those of its parent."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command(words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):
        sys.exit(f"{' '.join(words)}\n{errors}")
    wall = time.perf_counter() - began
    return Run(used.ru_utime + used.ru_stime, wall, peak_in(errors))


def bench(verb: str, rows: int, place: Path) -> tuple[Run, float]:
    """The verb on so many rows, and the MiB of the columns that it uses."""
    folder = place / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / "rows.parquet"
    this = [sys.executable, __file__, "--make", verb, str(rows), str(file)]
    size = int(subprocess.run(this, check=True, capture_output=True).stdout) / 2**20
    for name in (BEFORE.get(verb), verb):
        if name is not None:
            words = VERBS[name][1].format(file=file, folder=folder).split()
            run = measure(words)
    return run, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--verb", nargs="+", choices=list(VERBS), default=list(VERBS)[:6])
    parser.add_argument("--folder", type=Path, help="where files are written and removed again")
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make[0], int(given.make[1]), Path(given.make[2]))
        return
    print(
        f"{'verb':<15}{'rows':>12}{'cpu s':>9}{'wall s':>9}{'growth':>8}"
        f"{'columns MiB':>13}{'peak MiB':>10}{'of columns':>12}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for verb in given.verb:
            start, _ = bench(verb, FEWEST, Path(folder))
            small, _ = bench(verb, FEW, Path(folder))
            before: tuple[int, float] | None = None
            for rows in given.rows:
                run, size = bench(verb, rows, Path(folder))
                cpu = max(run.cpu - start.cpu, 0.01)
                growth = ""
                if before is not None:
                    growth = f"{math.log(cpu / before[1]) / math.log(rows / before[0]):.2f}"
                before = rows, cpu
                print(
                    f"{verb:<15}{rows:>12,}{run.cpu:>9.1f}{run.wall:>9.1f}{growth:>8}"
                    f"{size:>13,.0f}{run.peak:>10,.0f}{(run.peak - small.peak) / size:>11.1f}x",
                    flush=True,
                )


if __name__ == "__main__":
    main()
