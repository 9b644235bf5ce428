"""A judge asked the same rows again: by HTTP, unchanged, changed in silence, stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from adjudge import check_audits, judge_pairs, monitor_judge, renew
from adjudge.cli import run
from adjudge.data import read_result, read_table, write_rows
from adjudge.errors import AdjudgeError, ArgumentError, DataError
from adjudge.judges.flow import Stop
from adjudge.monitoring import JudgeMonitor
from adjudge.policy.result import Policy
from adjudge.records import Pair

if TYPE_CHECKING:
    from conftest import JudgeServer

N = 60
JUDGE = "openai:m"


def pairs(n: int = N) -> list[Pair]:
    return [
        Pair(id=f"p{i}", prompt=f"question {i}", response_a=f"a {i}", response_b=f"b {i}")
        for i in range(n)
    ]


@pytest.fixture
def asked(judge_server: JudgeServer, tmp_path: Path) -> dict[str, Any]:
    return {
        "judge": JUDGE,
        "base_url": judge_server.base_url,
        "store": tmp_path / "store.db",
        "state": tmp_path / "judge.json",
    }


def test_an_unchanged_judge_raises_no_alarm_and_a_changed_one_does(
    judge_server: JudgeServer, asked: dict[str, Any]
) -> None:
    first = monitor_judge(pairs(), **asked)
    assert (len(first.anchors), first.rounds, first.alarm) == (N, (), False)
    # Both orders, in two passes.
    assert judge_server.counts()["requests"] == 4 * N
    for number in (1, 2):
        calm = monitor_judge(pairs(), **asked)
        assert (len(calm.rounds), calm.alarm) == (number, False)
        assert calm.rounds[-1].n_compared == N
        assert calm.rounds[-1].n_moved == 0
        # This judge answers the same every time: there is nothing to bet on.
        assert calm.rounds[-1].log10_e == pytest.approx(0.0)
    judge_server.script("another:0.3")
    changed = monitor_judge(pairs(), **asked)
    assert changed.alarm
    assert changed.rounds[-1].n_moved
    assert changed.rounds[-1].alarm_after
    assert changed.rounds[-1].delta == pytest.approx(0.025 / 12)
    # A raised alarm stays, also if the judge is as before again.
    judge_server.script("ok")
    assert monitor_judge(pairs(), **asked).alarm
    assert read_result(asked["state"], JudgeMonitor).alarm


def test_pass_one_is_what_judge_asked_and_every_round_is_asked_anew(
    judge_server: JudgeServer, asked: dict[str, Any]
) -> None:
    options = {name: asked[name] for name in ("judge", "base_url", "store")}
    judge_pairs(pairs(), **options)
    before = judge_server.counts()["requests"]
    monitor_judge(pairs(), **asked)
    after_first = judge_server.counts()["requests"]
    assert after_first - before == 2 * N  # one more pass: the other is in the store
    monitor_judge(pairs(), **asked)
    saved = asked["state"].read_bytes()
    monitor_judge(pairs(), **asked)
    assert judge_server.counts()["requests"] - after_first == 4 * N
    # An older copy of the state does not know the last round: it is not answered from the store.
    asked["state"].write_bytes(saved)
    third = monitor_judge(pairs(), **asked)
    assert [each.repeat for each in third.rounds] == [2, 4]
    assert judge_server.counts()["requests"] - after_first == 6 * N


def test_answers_asked_together_are_not_two_passes(
    judge_server: JudgeServer, asked: dict[str, Any]
) -> None:
    """`judge --repeats` asks the answers about a row side by side; one asked later is a pass."""
    options = {name: asked[name] for name in ("judge", "base_url", "store")}
    judge_pairs(pairs(), repeats=2, **options)
    before = judge_server.counts()["requests"]
    monitor_judge(pairs(), **asked)
    assert judge_server.counts()["requests"] - before == 2 * N
    calm = monitor_judge(pairs(), **asked)
    assert [each.repeat for each in calm.rounds] == [3]
    apart = {**asked, "store": asked["store"].with_name("apart.db"), "state": "apart.json"}
    for repeats in (1, 2):
        judge_pairs(pairs(), repeats=repeats, **{**options, "store": apart["store"]})
    before = judge_server.counts()["requests"]
    monitor_judge(pairs(), **apart)
    assert judge_server.counts()["requests"] == before


def test_a_new_state_after_an_alarm_begins_with_the_answers_of_the_alarm(
    judge_server: JudgeServer, asked: dict[str, Any]
) -> None:
    monitor_judge(pairs(), **asked)
    judge_server.script("another:0.3")
    assert monitor_judge(pairs(), **asked).alarm
    before = judge_server.counts()["requests"]
    again = {**asked, "state": asked["state"].with_name("again.json")}
    first = monitor_judge(pairs(), **again)
    assert judge_server.counts()["requests"] - before == 2 * N  # one pass; the other is the alarm's
    assert first.warnings == ("it begins with the last answers in the store, not with the first",)
    calm = monitor_judge(pairs(), **again)
    assert not calm.alarm
    assert calm.rounds[-1].n_moved == 0


def test_answers_and_renewal(
    judge_server: JudgeServer, asked: dict[str, Any], tmp_path: Path
) -> None:
    options = {name: asked[name] for name in ("judge", "base_url", "store")}
    rows = judge_pairs(pairs(), **options).judgments
    labels = {"id": rows["id"], "label": rows["verdict"], "sampled_by": ["random"] * N}
    policy = run_calibrate(rows, labels, tmp_path)
    monitor_judge(pairs(), **asked)
    calm = asked["state"].read_bytes()
    judge_server.script("another:0.4")
    answers = tmp_path / "answers.jsonl"
    monitor_judge(pairs(), output=answers, **asked)
    new = read_table(answers)
    assert "repeat" not in new.columns
    assert (new["verdict"] != rows["verdict"]).sum() > 5
    renewed = renew(answers, policy, asked["state"], labels=labels, times=2)
    assert renewed.n_calibration == N
    assert (renewed.delta, renewed.alpha) == (policy.delta and policy.delta / 2, policy.alpha)
    assert renewed.n_errors > policy.n_errors == 0
    assert "new answers about rows that calibrated before" in renewed.warnings[-1]
    # Without an alarm of the anchors nothing is renewed.
    asked["state"].write_bytes(calm)
    with pytest.raises(ArgumentError, match="keep the policy"):
        renew(answers, policy, asked["state"], labels=labels)
    audits = pl.DataFrame(
        {
            "id": [f"a{i}" for i in range(40)], "drawn": range(1, 41), "judge": rows["judge"][0],
            "protocol": "preference", "p_a": 0.99, "accepted": True, "label": "B",
        }
    )  # fmt: skip
    audited = check_audits(audits, policy)
    assert audited.alarm
    with pytest.raises(ArgumentError, match="label new rows at random"):
        renew(answers, policy, asked["state"], labels=labels, audits=audited)
    # The store of a service has the state of its audits, calm or not.
    right = audits.with_columns(label=pl.lit("A"))
    calm_store = tmp_path / "service.db"
    check_audits(right, policy, state=calm_store)
    assert monitor_judge(pairs(), **{**asked, "audits": calm_store}).changed == "judge"
    stream = monitor_judge(pairs(), **{**asked, "audits": audited, "state": asked["state"]})
    assert stream.changed == "judge, perhaps the stream too"


def run_calibrate(rows: pl.DataFrame, labels: dict[str, Any], folder: Path) -> Policy:
    from adjudge import calibrate

    return calibrate(rows, labels=labels, alpha=0.2, guarantee="pac")


def test_another_judge_other_rows_and_other_terms_are_refused(
    judge_server: JudgeServer, asked: dict[str, Any]
) -> None:
    monitor_judge(pairs(), **asked)
    with pytest.raises(ArgumentError, match="differs in model"):
        monitor_judge(pairs(), **{**asked, "judge": "openai:other"})
    with pytest.raises(ArgumentError, match="'p.*' is missing"):
        monitor_judge(pairs(N - 1), **asked)
    changed = [replace(pair, response_a="better") for pair in pairs()]
    with pytest.raises(ArgumentError, match="has another text"):
        monitor_judge(changed, **asked)
    with pytest.raises(ArgumentError, match="terms are chosen once"):
        monitor_judge(pairs(), delta=0.1, **asked)
    with pytest.raises(ArgumentError, match="terms are chosen once"):
        monitor_judge(pairs(), passes=3, **asked)
    with pytest.raises(ArgumentError, match="passes"):
        monitor_judge(pairs(), passes=1, **asked)
    with pytest.raises(ArgumentError, match="--state judge.json"):
        monitor_judge(pairs(), **{**asked, "state": None})
    with pytest.raises(ArgumentError, match="a check does not take it"):
        monitor_judge(pairs(), repeats=2, **asked)
    before = judge_server.counts()["requests"]
    with pytest.raises(ArgumentError, match="no state of monitor check"):
        monitor_judge(pairs(), audits=asked["state"].with_name("no.json"), **asked)
    assert judge_server.counts()["requests"] == before
    asked["state"].write_text(asked["state"].read_text().replace('"passes": 2', '"passes": 3'))
    with pytest.raises(DataError, match="digest"):
        monitor_judge(pairs(), **asked)


def test_failed_answers_are_counted_and_anchors_without_two_answers_left_out(
    judge_server: JudgeServer, asked: dict[str, Any]
) -> None:
    judge_server.script("ok", rules=[{"contains": "question 7", "steps": ["refusal"]}])
    first = monitor_judge(pairs(), **asked)
    assert len(first.anchors) == N - 1
    assert first.dropped == {"fewer than two usable answers": 1}
    judge_server.script("ok", rules=[{"contains": "question 8", "steps": ["refusal"]}])
    second = monitor_judge(pairs(), **asked)
    assert second.rounds[-1].n_compared == N - 2
    assert second.warnings == ("1 anchor had no usable answer now",)
    third = monitor_judge(pairs(N + 2), **asked)
    assert third.warnings[-1] == "2 rows added since the first call: asked, but not compared"
    judge_server.script("refusal")
    other = {**asked, "state": asked["state"].with_name("other.json"), "store": None}
    with pytest.raises(AdjudgeError):
        monitor_judge(pairs(), **other)


def test_a_killed_round_resumes_where_it_stopped(
    judge_server: JudgeServer, asked: dict[str, Any], tmp_path: Path
) -> None:
    rows = tmp_path / "pairs.jsonl"
    write_rows(pl.DataFrame([vars_of(pair) for pair in pairs()]), rows)
    words = [
        *("monitor", "judge", str(rows), "--judge", JUDGE, "--base-url", asked["base_url"]),
        *("--store", str(asked["store"]), "--state", str(asked["state"]), "--concurrency", "2"),
    ]
    assert run(words) == 0
    done = judge_server.counts()["requests"]
    judge_server.script("another:0.3", latency_s=0.05)
    prices = tmp_path / "prices.json"
    prices.write_text('{"m": {"prompt": 10, "completion": 10}}')
    words += ["--prices", str(prices)]
    command = [sys.executable, "-m", "adjudge", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while judge_server.counts()["requests"] < done + 20 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert read_result(asked["state"], JudgeMonitor).asking == 2
    judge_server.script("another:0.3")
    assert run([*words, "-o", str(tmp_path / "answers.jsonl")]) == 2
    state = read_result(asked["state"], JudgeMonitor)
    assert state.asking is None
    [done_again] = state.rounds
    assert done_again.repeat == 2
    # Of all replies of the round, not only of those after the kill.
    tokens = read_table(tmp_path / "answers.jsonl")["tokens"].sum()
    assert done_again.cost == pytest.approx(10 * tokens / 1e6)
    # At most the calls in flight were asked again.
    assert judge_server.counts()["requests"] - done <= 2 * N + 4


def test_passes_and_rounds_go_through_a_batch_service(
    judge_server: JudgeServer, asked: dict[str, Any], tmp_path: Path
) -> None:
    batched = {**asked, "batch": True, "batch_folder": tmp_path / "batches", "poll_s": 0.02}
    first = monitor_judge(pairs(), **batched)
    assert len(first.anchors) == N
    assert not monitor_judge(pairs(), **batched).alarm
    # A wait that ends before the batch: the round goes on with the same batch.
    judge_server.script("another:0.3", polls_needed=10_000)
    stop = Stop()
    with pytest.raises(AdjudgeError, match="run the same command again"):
        monitor_judge(pairs(), stop=stop, progress=lambda _: stop.interrupt(), **batched)
    judge_server.script("another:0.3", polls_needed=1)
    changed = monitor_judge(pairs(), **batched)
    assert changed.alarm
    assert [each.repeat for each in changed.rounds] == [2, 3]
    assert judge_server.counts()["requests"] == 2 * 4 * N


@pytest.mark.parametrize("repeats", [1, 2])
def test_calibrate_asks_for_a_second_pass_if_there_was_none(
    repeats: int, asked: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    options = {name: asked[name] for name in ("judge", "base_url", "store")}
    rows = judge_pairs(pairs(), repeats=repeats, **options).judgments
    write_rows(rows.with_columns(label="verdict", sampled_by=pl.lit("random")), "rows.jsonl")
    assert run(["calibrate", "rows.jsonl", "--alpha", "0.2", "-o", "policy.json"]) == 0
    command = "adjudge monitor judge ROWS --judge JUDGE --state judge.json"
    assert (command in capsys.readouterr().err) == (repeats == 1)


def vars_of(pair: Pair) -> dict[str, Any]:
    names = ("id", "prompt", "response_a", "response_b")
    return {name: getattr(pair, name) for name in names}


def test_the_command_line_says_what_comes_next(
    judge_server: JudgeServer, asked: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    rows = tmp_path / "pairs.jsonl"
    write_rows(pl.DataFrame([vars_of(pair) for pair in pairs()]), rows)
    words = [
        *("monitor", "judge", str(rows), "--judge", JUDGE, "--base-url", asked["base_url"]),
        *("--store", str(asked["store"]), "--state", str(asked["state"])),
    ]
    assert run(words) == 0
    said = capsys.readouterr()
    assert f"{N} anchors asked 2 times" in said.out
    assert "next: adjudge monitor judge" in said.out
    judge_server.script("another:0.3")
    picture = tmp_path / "evidence.png"
    assert run([*words, "-o", str(tmp_path / "new.jsonl"), "--plot", str(picture)]) == 2
    said = capsys.readouterr()
    assert "ALARM: the judge changed (round 1, after" in said.out
    assert "next: adjudge monitor renew" in said.out
    assert picture.stat().st_size > 1000
