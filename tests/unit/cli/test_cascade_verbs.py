"""A cascade through the command line: judge, plan, calibrate, judge --policy, select, report."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.simulate.pairs import simulate_pairs

JUDGES = [
    "simulated:accuracy=0.75,position_bias=0.1,noise=0.3,seed=1",
    "simulated:accuracy=0.85,position_bias=0,noise=0.2,seed=2",
    "simulated:accuracy=0.95,position_bias=0,noise=0.1,seed=3",
]


def write_pairs(path: Path, n: int, seed: int) -> Path:
    rows = [
        {"id": f"{seed}-{one.id}", "prompt": one.prompt, "response_a": one.response_a,
         "response_b": one.response_b, "label": one.label}
        for one in simulate_pairs(n, seed=seed)
    ]  # fmt: skip
    pl.DataFrame(rows).write_ndjson(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 judged pairs with a labels file of their own, a plan and a policy."""
    place = tmp_path_factory.mktemp("cascade")
    pairs = pl.read_ndjson(write_pairs(place / "old.jsonl", 400, 1))
    write_pairs(place / "new.jsonl", 120, 2)
    prices = {name: {"prompt": cost, "completion": 0} for name, cost in zip(
        JUDGES, (0.1, 0.5, 3.0), strict=True)}  # fmt: skip
    (place / "prices.json").write_text(json.dumps(prices))
    ask = [word for name in JUDGES for word in ("--judge", name)]
    judged = ["judge", place / "old.jsonl", *ask, "--prices", place / "prices.json"]
    assert call(*judged, "--store", place / "old.db", "-o", place / "old-rows.jsonl") == 0
    rows = pl.read_ndjson(place / "old-rows.jsonl")
    rows.drop("label").write_ndjson(place / "old-rows.jsonl")
    pairs.select("id", "label").write_csv(place / "labels.csv")
    given = [place / "old-rows.jsonl", "--labels", place / "labels.csv"]
    names = ",".join(JUDGES)
    plan = ["plan", "cascade", *given, "--cascade", names, "--plot", place / "plan.png"]
    assert call(*plan, "-o", place / "plan.json") == 0
    made = ["calibrate", *given, "--plan", place / "plan.json", "-o", place / "policy.json"]
    assert call(*made, "--store", place / "old.db") == 0
    return place


def call(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def calls_by_judge(folder: Path, name: str) -> list[int]:
    done = json.loads((folder / name).read_text())
    assert done["kind"] == "judging_cascade"
    return [sum(one["calls"].values()) for one in done["judges"]]


def test_the_strong_judge_is_called_only_where_it_is_needed(folder: Path) -> None:
    asked = ["judge", folder / "new.jsonl", "--policy", folder / "policy.json"]
    asked += ["--prices", folder / "prices.json", "--store", folder / "new.db"]
    asked += ["-o", folder / "rows.jsonl"]
    assert call(*asked, "--summary", folder / "run.json") == 0
    stages = json.loads((folder / "policy.json").read_text())["cascade"]["rule"]["stages"]
    rows = pl.read_ndjson(folder / "rows.jsonl")
    counts = [rows.filter(pl.col("judge") == stage["judge"]).height for stage in stages]
    assert counts[0] == 120 > counts[-1] > 0
    assert calls_by_judge(folder, "run.json") == [2 * n for n in counts]
    written = (folder / "rows.jsonl").read_bytes()
    assert call(*asked, "--summary", folder / "again.json") == 0
    assert calls_by_judge(folder, "again.json") == [0] * len(counts)
    assert (folder / "rows.jsonl").read_bytes() == written
    chosen = ["select", folder / "rows.jsonl", "--policy", folder / "policy.json", "-o",
              folder / "selected.jsonl", "--summary", folder / "selection.json"]  # fmt: skip
    assert call(*chosen) == 0
    selected = pl.read_ndjson(folder / "selected.jsonl")
    assert selected.height == 120
    accepted = selected.filter("accepted")
    assert accepted.height > 40
    assert (accepted["verdict"] != accepted["label"]).mean() < 0.2
    summary = json.loads((folder / "selection.json").read_text())
    assert [one["n"] for one in summary["stages"]][-1] == counts[-1]
    assert summary["cost"] == pytest.approx(rows["cost"].sum())
    assert call("report", folder, "-o", folder / "report.html") == 0
    page = (folder / "report.html").read_text()
    assert all(text in page for text in ("ends at 1", "was asked about", "ended"))


def test_costs_come_from_what_the_rows_cost(folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["cost_source"] == "dollars"
    rows = pl.read_ndjson(folder / "old-rows.jsonl")
    last = rows.filter(pl.col("judge") == JUDGES[-1])["cost"].mean()
    assert plan["alone"][-1]["cost"] == pytest.approx(last, rel=0.01)
    assert (folder / "plan.png").stat().st_size > 10_000


def test_a_policy_is_shown_and_verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("policy", "verify", folder / "policy.json") == 0
    assert call("policy", "show", folder / "policy.json") == 0
    assert "ended" in capsys.readouterr().out
    changed = json.loads((folder / "policy.json").read_text())
    changed["cascade"]["rule"]["tau"] = 0.4
    (folder / "changed.json").write_text(json.dumps(changed))
    assert call("policy", "verify", folder / "changed.json") == 2
    (folder / "changed.json").unlink()


def test_a_dry_run_says_that_it_is_an_upper_bound(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["judge", folder / "new.jsonl", "--policy", folder / "policy.json", "--dry-run"]
    assert call(*asked, "--store", folder / "none.db") == 0
    assert "at most" in capsys.readouterr().err
    assert not (folder / "none.db").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--judge", JUDGES[0], "--policy", "{policy}"], "not both"),
        ([], "name a judge"),
        (["--policy", "{policy}", "--protocol", "likelihood"], "were asked by preference"),
        (["--policy", "{policy}", "--reason"], "differs: protocol"),
    ],
)
def test_judges_that_are_not_the_policys_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    words = [word.format(policy=folder / "policy.json") for word in options]
    store = folder / "refused.db"
    assert call("judge", folder / "new.jsonl", *words, "--store", store, "--json") == 1
    assert message in capsys.readouterr().err
    assert not store.exists()


def test_a_policy_without_a_cascade_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.json"
    given = [folder / "old-rows.jsonl", "--labels", folder / "labels.csv", "--judge", JUDGES[2]]
    assert call("calibrate", *given, "-o", plain) == 0
    assert call("judge", folder / "new.jsonl", "--policy", plain, "--json") == 1
    assert "it has no cascade" in capsys.readouterr().err


def test_costs_that_are_no_numbers_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [folder / "old-rows.jsonl", "--labels", folder / "labels.csv"]
    assert call("plan", "cascade", *given, "--cascade", ",".join(JUDGES), "--costs", "1,x,3") == 1
    assert "give numbers, such as 1,5,30" in capsys.readouterr().err
