"""`abtest` that is killed at any moment loses no label and counts none twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge import abtest

#: Looks again and again, with one more label each time; what is known is in the labels' file.
_LOOKS = """
import sys
import polars as pl
from adjudge import abtest

rows, people, labels, store = sys.argv[1:]
truth = dict(pl.read_csv(people).iter_rows())
given = None
print("ready", flush=True)
while True:
    result = abtest(rows, a="old", b="new", store=store, labels=given)
    if result.finished:
        break
    with open(labels, "a") as file:
        for name in result.next[0].ids:
            file.write(f"{name},{truth[name]}\\n")
    given = pl.read_csv(labels).unique("id")
    print(len(result.counted), flush=True)
"""


@pytest.mark.crash
def test_a_killed_test_counts_each_label_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frames, people = [], dict[str, int]()
    for model, rate in (("old", 0.4), ("new", 0.55)):
        truth = (rng.random(150) < rate).astype(int)
        ids = [f"{model}-{q}" for q in range(150)]
        people.update(zip(ids, truth.tolist(), strict=True))
        judge = np.where(rng.random(150) < 0.8, truth, 1 - truth)
        columns = {"id": ids, "prompt_id": [f"q{q}" for q in range(150)], "judge": judge}
        frames.append(pl.DataFrame({**columns, "model": [model] * 150}))
    rows, truths, labels = (tmp_path / f"{name}.csv" for name in ("rows", "people", "labels"))
    pl.concat(frames).write_csv(rows)
    pl.DataFrame({"id": list(people), "label": list(people.values())}).write_csv(truths)
    labels.write_text("id,label\n", encoding="utf-8")
    store = tmp_path / "killed.db"
    command = [sys.executable, "-c", _LOOKS, *map(str, (rows, truths, labels, store))]
    chance = random.Random(1)
    for _ in range(6):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(chance.randint(1, 12)):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
    given = {"id": list(people), "label": list(people.values())}
    options = {"a": "old", "b": "new", "labels": given}
    after = abtest(rows, store=str(store), **options)
    whole = abtest(rows, store=str(tmp_path / "whole.db"), **options)
    assert after == whole
    assert len(set(after.counted)) == len(after.counted)
