"""The whole chain on grades in real processes, from items to a report; labels come by HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest
from serving import ask, running

from simulators import simulate_items

N, LABELS, RATE = 300, 100, 0.7
JUDGE = "simulated:accuracy=0.9,seed=4"


def adjudge(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", *words],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.crash
def test_from_items_to_a_report(tmp_path: Path) -> None:
    items = simulate_items(N, seed=4, rate=RATE, labels=0)
    truth = {item.id: item.extra["truth"] for item in items}
    with (tmp_path / "items.jsonl").open("w") as file:
        for item in items:
            row = asdict(item)
            file.write(json.dumps(row | row.pop("extra")) + "\n")

    judged = adjudge(
        tmp_path, "judge", "items.jsonl", "--protocol", "grade", "--judge", JUDGE,
        "-o", "grades.jsonl", "--summary", "judging.json",
    )  # fmt: skip
    assert "300 items = 300 calls" in judged.stderr

    with running("label", "items.jsonl", "--no-browser", "-o", "labels.csv", cwd=tmp_path) as page:
        for turn in range(LABELS):
            name = ask(page.port, "/api/next?rater=ann")[1]["item"]["id"]
            side = "pass" if truth[name] else "fail"
            click = {"rater": "ann", "id": name, "side": side, "nonce": f"nonce-{turn:04}"}
            assert ask(page.port, "/api/label", click) == (200, {"kept": name})
        assert page.stop(signal.SIGINT)[0] == 0
    labels = pl.read_csv(tmp_path / "labels.csv")
    assert labels.height == LABELS
    assert set(labels["sampled_by"]) == {"random"}

    words = ("grades.jsonl", "--labels", "labels.csv")
    adjudge(tmp_path, "estimate", *words, "-o", "estimate.json")
    estimate = json.loads((tmp_path / "estimate.json").read_text())
    rate = sum(truth.values()) / N
    assert estimate["interval"]["low"] < rate < estimate["interval"]["high"]

    adjudge(tmp_path, "calibrate", *words, "--alpha", "0.1", "-o", "policy.json")
    assert json.loads((tmp_path / "policy.json").read_text())["about"] == "grades"
    adjudge(
        tmp_path, "select", "grades.jsonl", "--policy", "policy.json", "-o", "selected.jsonl",
        "--summary", "selection.json",
    )  # fmt: skip
    accepted = pl.read_ndjson(tmp_path / "selected.jsonl").filter("accepted")
    wrong = sum(truth[name] != judge for name, judge in accepted.select("id", "judge").rows())
    assert accepted.height > N / 3
    assert wrong / accepted.height < 0.15

    adjudge(tmp_path, "report", ".", "-o", "report.html")
    page_ = (tmp_path / "report.html").read_text()
    assert "Which verdicts can be trusted" in page_
    assert "The 10 most doubtful answers, most doubtful first" in page_
    assert "p(pass) = 0." in page_
