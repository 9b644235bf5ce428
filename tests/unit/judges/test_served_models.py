"""A server whose model changes: kept with every reply, counted, and never inside one row.

The server is a process of its own, over HTTP, and names another model in the second run.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from judge_runs import finish, kept, start, wait_for, write_pairs

from adjudge.cli import run as run_command
from adjudge.data import write_rows
from adjudge.judges import JudgingRun, judge_pairs, plan_judging
from adjudge.judges.flow import Progress, Stop
from adjudge.judges.transcript import read_replies
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store

PAIRS = simulate_pairs(6, seed=4)
OLD, NEW = "gpt-x-2024", "gpt-x-2025"
BOTH = f"{OLD} and {NEW}"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for maker in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{maker}_API_KEY", "k" * 20)
    # Progress after every reply, so that a run can be stopped at an exact call.
    monkeypatch.setattr("adjudge.judges.runner._SHOW_EVERY_S", 0.0)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "s.db")
    return str(request.getfixturevalue("postgres_server").url())


def ask(server: Any, place: str, model: str, **options: Any) -> JudgingRun:
    server.script("ok", named={"model": model})
    asked = {"judge": "openai:gpt-x", "store": place, "base_url": server.base_url, **options}
    return judge_pairs(PAIRS, **asked)


def stopped(server: Any, place: str, calls: int, **options: Any) -> JudgingRun:
    """A run of the old model that ends after so many calls, inside a row."""
    stop = Stop()

    def watch(now: Progress) -> None:
        if now.made >= calls:
            stop.request("max_cost")

    how: dict[str, Any] = {"concurrency": 1, "stop": stop, "progress": watch}
    run = ask(server, place, OLD, **how, **options)
    assert sum(run.summary.calls.values()) == calls
    return run


@pytest.mark.attack("two models")
@pytest.mark.parametrize(
    ("options", "calls", "each"),
    [
        ({}, 5, 1),
        ({"judge": "anthropic:m", "samples": 3}, 4, 4),
    ],
    ids=["letters", "samples"],
)
def test_a_row_of_two_models_is_an_error_and_the_same_command_asks_the_older_again(
    judge_server: Any, place: str, options: dict[str, Any], calls: int, each: int
) -> None:
    stopped(judge_server, place, calls, **options)
    planned = {"judge": "openai:gpt-x", "base_url": judge_server.base_url, "store": place}
    to_ask = plan_judging(PAIRS, **{**planned, **options}).to_ask
    run = ask(judge_server, place, NEW, **options)
    whole = (calls - each) // 2
    assert run.summary.statuses == {"ok": 5, "error": 1}
    assert run.summary.served_models == {BOTH: 1, NEW: 5 - whole, **({OLD: whole} if whole else {})}
    assert "several models answered: " in str(run.summary)
    assert sum(run.summary.calls.values()) == to_ask
    assert plan_judging(PAIRS, **{**planned, **options}).to_ask == each
    before = judge_server.counts()["requests"]
    again = ask(judge_server, place, NEW, **options)
    assert judge_server.counts()["requests"] - before == each
    assert again.summary.statuses == {"ok": 6}
    assert again.summary.served_models == {NEW: 6 - whole, **({OLD: whole} if whole else {})}
    asked = sum(again.summary.calls.values())
    assert asked + again.summary.reused == len(PAIRS) * 2 * options.get("samples", 1)
    with use_store(place, readonly=True) as store:
        assert store.latest_call_id() == calls + to_ask + each, "no reply is lost"
    assert not ask(judge_server, place, NEW, **options).summary.calls


@pytest.mark.attack("two models")
def test_a_row_of_two_models_of_one_run_is_an_error_and_the_next_run_asks_it_again(
    judge_server: Any, place: str
) -> None:
    # The server changes its model during one run, inside a row.
    judge_server.script("ok", named=[{"model": OLD}] * 3 + [{"model": NEW}])
    how: dict[str, Any] = {
        "judge": "openai:gpt-x",
        "store": place,
        "base_url": judge_server.base_url,
    }
    run = judge_pairs(PAIRS, concurrency=1, **how)
    mixed = run.judgments.filter(pl.col("served_model") == BOTH)
    assert mixed["status"].to_list() == ["error"]
    assert mixed["detail"].str.contains(f"answered by different models: {BOTH}").all()
    assert mixed.select("p_fwd", "p_rev", "p_a", "verdict", "uncertainty").row(0) == (None,) * 5
    assert run.summary.statuses == {"ok": 5, "error": 1}
    assert plan_judging(PAIRS, **how).to_ask == 1
    again = ask(judge_server, place, NEW)
    assert (sum(again.summary.calls.values()), again.summary.statuses) == (1, {"ok": 6})


@pytest.mark.attack("two models")
def test_a_batch_asks_them_again_too(judge_server: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    stopped(judge_server, place, 5)
    batch: dict[str, Any] = {"batch": True, "batch_folder": tmp_path / "batches", "poll_s": 0.05}
    assert ask(judge_server, place, NEW, **batch).summary.statuses == {"ok": 5, "error": 1}
    again = ask(judge_server, place, NEW, **batch)
    assert (sum(again.summary.calls.values()), again.summary.statuses) == (1, {"ok": 6})


@pytest.mark.attack("two models")
def test_a_killed_run_that_another_model_finishes(judge_server: Any, tmp_path: Path) -> None:
    pairs, store, output = write_pairs(tmp_path / "p.jsonl", 60), tmp_path / "s.db", tmp_path / "o"
    output = output.with_suffix(".jsonl")
    judge_server.script("ok", named={"model": OLD}, latency_s=0.05)
    run = start(judge_server.base_url, pairs, store, output, "--concurrency", "3")
    wait_for(lambda: kept(store) > 20)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    judge_server.script("ok", named={"model": NEW})
    mixed = finish(start(judge_server.base_url, pairs, store, output))["statuses"].get("error", 0)
    assert mixed <= 3, "rows of two models: at most those in flight"
    summary = finish(start(judge_server.base_url, pairs, store, output))
    rows = pl.read_ndjson(output)
    assert set(rows["served_model"]) == {OLD, NEW}
    assert summary["statuses"] == {"ok": 60}
    assert sum(summary["served_models"].values()) == 60


def test_the_model_and_the_fingerprint_are_kept_with_each_reply(
    judge_server: Any, place: str
) -> None:
    named = {"model": NEW, "system_fingerprint": "fp_44709d6fcb"}
    judge_server.script("ok", named=named)
    how: dict[str, Any] = {"base_url": judge_server.base_url, "store": place}
    pairs = simulate_pairs(9, seed=4)
    run = judge_pairs(pairs[:6], judge="openai:gpt-x", **how)
    assert run.summary.served_models == {NEW: 6}
    assert list(run.summary.servers) == ["fp_44709d6fcb"]
    assert "warning" not in str(run.summary)
    shown = read_replies(store=place)
    assert {(reply.served_model, reply.server) for reply in shown.replies} == {
        (NEW, "fp_44709d6fcb")
    }
    judge_server.script("ok", named={**named, "system_fingerprint": "fp_other"})
    changed = judge_pairs(pairs, judge="openai:gpt-x", **how).summary
    assert changed.statuses == {"ok": 9}, "another configuration is not another model"
    assert "warning: several servers: fp_44709d6fcb (6 rows), fp_other (3 rows)" in str(changed)


@pytest.mark.attack("two models")
@pytest.mark.parametrize("model", [7, {"name": "m"}, "\0", "", None, "a\nb"])
def test_a_model_that_is_no_name_is_not_kept(judge_server: Any, model: object) -> None:
    judge_server.script("ok", named={"model": model})
    run = judge_pairs(PAIRS, judge="openai:gpt-x", base_url=judge_server.base_url, store=None)
    assert run.summary.statuses == {"ok": 6}
    assert run.summary.served_models == {}
    assert "served_model" not in run.judgments.columns


def rows_of(models: list[str | None], kind: str) -> pl.DataFrame:
    numbers = [(7 * at) % 100 / 100 for at in range(200)]
    labels = [at % 3 > 0 for at in range(200)]
    common = {
        "id": [str(at) for at in range(200)],
        "protocol": "preference",
        "status": "ok",
        "judge_fingerprint": "f",
        "served_model": [models[at % len(models)] for at in range(200)],
    }
    if kind == "grades":
        human = [int(label) if at % 2 else None for at, label in enumerate(labels)]
        return pl.DataFrame({**common, "judge_name": "j", "p_pass": numbers, "human": human})
    words = ["A" if label else "B" for label in labels]
    sides = {"model_a": "x", "model_b": "y"}
    return pl.DataFrame({**common, **sides, "judge": "j", "p_a": numbers, "label": words})


@pytest.mark.attack("two models")
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("judgments", "calibrate FILE --alpha 0.3"),
        ("judgments", "evaluate FILE --splits 10"),
        ("judgments", "estimate FILE --model x"),
        ("grades", "calibrate FILE --alpha 0.3"),
        ("grades", "estimate FILE"),
    ],
)
def test_commands_that_read_rows_of_two_models_warn(
    kind: str, command: str, suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    warning = "several models answered for one judge"
    for models, warned in (([OLD, OLD, OLD, NEW], True), ([OLD, None], False), ([OLD], False)):
        path = tmp_path / f"rows-{len(models)}.{suffix}"
        write_rows(rows_of(models, kind), path)
        assert run_command(command.replace("FILE", str(path)).split()) in (0, 2)
        printed = capfd.readouterr().err
        assert (warning in printed) is warned, printed
        if warned:
            assert f"{OLD} (150 rows), {NEW} (50 rows)" in printed


def test_two_judges_of_one_file_are_two_models_without_a_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = rows_of([OLD], "judgments")
    second = rows_of([NEW], "judgments").with_columns(
        judge=pl.lit("k"), judge_fingerprint=pl.lit("g")
    )
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in [*first.to_dicts(), *second.to_dicts()])
    )
    assert run_command(["evaluate", str(path), "--splits", "10"]) == 0
    assert "several models" not in capfd.readouterr().err
