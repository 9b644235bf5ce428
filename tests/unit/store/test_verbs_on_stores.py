"""The whole way on both stores: judged, read, served, labelled, checked; the same comes out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from judge_runs import write_pairs
from serving import JUDGE, write_policy

from adjudge.cli import run
from adjudge.data import read_result
from adjudge.judges import make_judge, parse_judge, parse_protocol
from adjudge.monitoring.drawing import AuditCoin
from adjudge.policy.audits import Monitor
from adjudge.selection import read_policy
from adjudge.server.audits import AuditTrail
from adjudge.server.service import Case, JudgeService
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import read_judge_parts, store_name


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    return dict(json.loads(capsys.readouterr().out))


def test_a_run_and_its_replies_are_the_same_in_every_store(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(Path("pairs.jsonl"), 40)
    judge = ["judge", "pairs.jsonl", "--judge", JUDGE]
    assert run([*judge, "--store", "plain.db", "-o", "plain.jsonl"]) == 0
    first = said(capsys, *judge, "--store", place, "-o", "first.jsonl")
    again = said(capsys, *judge, "--store", place, "-o", "again.jsonl")
    assert (first["store"], first["reused"], again["reused"]) == (store_name(place), 0, 80)
    rows = Path("plain.jsonl").read_bytes()
    assert Path("first.jsonl").read_bytes() == Path("again.jsonl").read_bytes() == rows
    expected, replies = (
        said(capsys, "replies", "--store", store, "--raw", "--limit", "500")
        for store in ("plain.db", place)
    )
    for one in (expected, replies):
        for reply in one["replies"]:
            del reply["created_at"]
        del one["store"]
    assert replies == expected
    fingerprint = first["judge_fingerprint"]
    assert read_judge_parts([fingerprint], place) == read_judge_parts([fingerprint], "plain.db")
    plan = said(capsys, *judge, "--store", place, "--dry-run")
    assert (plan["kept"], plan["to_ask"]) == (80, 0)


def serve(place: str, pairs: list[Any]) -> None:
    policy = read_policy("policy.json")
    judge = make_judge(parse_judge(JUDGE), parse_protocol("preference"))

    async def answer() -> None:
        service = JudgeService(judge, policy)
        trail = AuditTrail(AuditCoin(1, "a secret for these tests"), service, place)
        await service.start()
        await trail.start()
        rulings = await service.rule_many([Case(subject=one) for one in pairs])
        cases = [Case(subject=pair) for pair in pairs]
        assert (await trail.keep(cases, rulings)).audits == sum(one.accepted for one in rulings)
        await trail.close()
        await service.close()

    asyncio.run(answer())


def test_audits_are_drawn_labelled_and_checked_in_every_store(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_policy(tmp_path, n=250)
    serve(place, simulate_pairs(40, seed=5))
    assert run(["monitor", "draw", place, "-o", "audits.csv"]) == 0
    audits = pl.read_csv("audits.csv")
    assert audits["drawn"].to_list() == list(range(1, audits.height + 1))
    state = ["--policy", "policy.json", "--state", place]
    pending = said(capsys, "monitor", "check", place, *state)
    assert pending["groups"][0]["n_pending"] == audits.height > 10
    wrong = audits.select("id", label=pl.col("verdict").replace({"A": "B", "B": "A"}))
    wrong.write_csv("labels.csv")
    assert run(["label", place, "--import", "labels.csv", "--export-only", "-o", "out.csv"]) == 0
    assert sorted(pl.read_csv("out.csv")["id"]) == sorted(audits["id"])
    assert run(["monitor", "check", place, *state, "-o", "monitor.json"]) == 2
    monitor = read_result("monitor.json", Monitor)
    assert monitor.alarm
    assert list(monitor.ids) == audits["id"].to_list()
    assert said(capsys, "monitor", "check", place, *state, code=2)["groups"][0]["alarm_at"] == (
        monitor.alarm_at
    )
