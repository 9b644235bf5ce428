"""A cascade under audit: served stage by stage, kept, drawn, labelled, checked, exported."""

from __future__ import annotations

import asyncio
import http.client
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from serving import ask, running

from adjudge.auditing import check_audits
from adjudge.cli import run
from adjudge.data import write_result
from adjudge.errors import PolicyMismatchError
from adjudge.judges import judge_pairs, make_judge, parse_judge, parse_protocol
from adjudge.monitoring.drawing import AuditCoin, draw_audits, read_served_audits
from adjudge.policy.result import Policy
from adjudge.selection import Cascade, calibrate, select
from adjudge.selection.cascade_judging import judge_cascade
from adjudge.server.audits import AuditTrail
from adjudge.server.service import Case, JudgeService
from adjudge.simulate.pairs import simulate_pairs
from simulators import simulate_items

SECRET = "a secret for these tests"
STAGES = ["simulated:accuracy=0.75,seed=4,noise=0.2", "simulated:accuracy=0.95,seed=6,noise=0.2"]
# A request has no label for a simulated judge to look at.
NEW = [replace(pair, label=None) for pair in simulate_pairs(40, seed=5)]
OTHER = {"A": "B", "B": "A"}


def make_policy(about: str = "pairs") -> Policy:
    grades = about == "grades"
    subjects = simulate_items(300, seed=1) if grades else simulate_pairs(300, seed=1)
    protocol = "grade" if grades else "preference"
    rows = judge_pairs(subjects, judge=STAGES, protocol=protocol, store=None).judgments
    names = rows["judge_name" if grades else "judge"].unique(maintain_order=True).to_list()
    return calibrate(rows, doubt=Cascade(names, costs=(1, 30)), alpha=0.1)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return make_policy()


@pytest.fixture(scope="module")
def folder(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a service that was asked about 40 pairs; every audited verdict was wrong."""
    folder = tmp_path_factory.mktemp("cascade")
    write_result(policy, folder / "cascade.json")
    bodies = [
        {name: getattr(one, name) for name in ("id", "prompt", "response_a", "response_b")}
        for one in NEW
    ]
    hook = {"output": NEW[0].response_a, "context": {"prompt": NEW[0].prompt, "vars": {
        "response_b": NEW[0].response_b}}}  # fmt: skip
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AUDIT_SECRET", SECRET)
        with running(
            *("serve", "--policy", str(folder / "cascade.json"), "--audit-rate", "0.9"),
            *("--secret-env", "AUDIT_SECRET", "--store", str(folder / "s.db")),
            *("--state", str(folder / "s.db")),
        ) as service:
            status, batch = ask(service.port, "/v1/judge/batch", {"pairs": bodies})
            assert status == 200
            assert {one["judges_asked"] for one in batch["rulings"]} == {1, 2}
            assert ask(service.port, "/v1/promptfoo?abstain=pass", hook)[0] == 200
            audits = read_served_audits(folder / "s.db").rows
            labels = audits.select("id", label=pl.col("verdict").replace(OTHER))
            labels.write_csv(folder / "labels.csv")
            check_audits(folder / "s.db", policy, labels=labels, state=folder / "s.db")
            with closing(http.client.HTTPConnection("127.0.0.1", service.port)) as connection:
                connection.request("GET", "/metrics")
                (folder / "metrics.txt").write_bytes(connection.getresponse().read())
    return folder


def test_audits_of_a_cascade_are_of_the_judge_at_which_they_ended(
    folder: Path, policy: Policy
) -> None:
    rows = read_served_audits(folder / "s.db").rows
    own = {stage.judge: stage.judge_fingerprint for stage in policy.cascade.rule.stages}  # type: ignore[union-attr]
    assert dict(rows.select("judge", "judge_fingerprint").unique().rows()) == own
    assert rows["stage"].to_list() == rows["judge"].to_list()


def test_a_cascade_that_rang_is_exported_and_calibrates_on_other_labels(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    page = Path("metrics.txt").read_text()
    assert 'adjudge_monitor_alarm{group=""} 1.0' in page
    assert page.count("adjudge_stages_total{") == 2
    assert run(["monitor", "draw", "s.db", "-o", "audits.jsonl"]) == 0
    check = ["--labels", "labels.csv", "--policy", "cascade.json", "--state", "s.json"]
    assert run(["monitor", "check", "audits.jsonl", *check]) == 2
    assert "calibrate on rows labelled at random: the policy accepts by" in capsys.readouterr().out
    again = ["monitor", "recalibrate", "audits.jsonl", "--labels", "labels.csv"]
    again += ["--state", "s.json"]
    assert run(again) == 1
    error = capsys.readouterr().err.strip()
    assert error.endswith("calibrate on rows labelled at random")
    assert "\n" not in error


def test_what_select_wrote_for_a_cascade_is_audited_as_what_was_served(
    folder: Path, policy: Policy
) -> None:
    rows = select(judge_cascade(NEW, policy, store=None).judgments, policy).rows
    drawn = draw_audits(rows, audit_rate=0.9, secret=SECRET).rows
    wrong = drawn.with_columns(label=pl.col("verdict").replace(OTHER))
    monitor = check_audits(wrong, policy)
    assert monitor.groups[0].rate.error_rate == 1.0
    served = check_audits(folder / "s.db", policy)
    assert set(monitor.ids) == {name for name in served.ids if name.startswith("pair-")}
    for column in ("stage", "judge"):
        other = wrong.with_columns(pl.lit("another").alias(column))
        with pytest.raises(PolicyMismatchError, match="there are rows of another"):
            check_audits(other, policy)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_cascade_of_grades_is_audited_too(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    policy, place = make_policy("grades"), str(tmp_path / "s.db")
    if database == "postgresql":
        place = str(request.getfixturevalue("postgres_server").url())
    judges = [make_judge(parse_judge(one), parse_protocol("grade")) for one in STAGES]
    items = [replace(item, extra={}) for item in simulate_items(20, seed=3)]

    async def serve() -> list[bool]:
        service = JudgeService(judges, policy)
        trail = AuditTrail(AuditCoin(1, SECRET), service, place)
        await service.start()
        await trail.start()
        rulings = await service.rule_many([Case(subject=one) for one in items])
        await trail.keep([Case(subject=item) for item in items], rulings)
        await trail.close()
        await service.close()
        return [one.accepted for one in rulings]

    accepted = asyncio.run(serve())
    audits = read_served_audits(place).rows
    assert audits.height == sum(accepted) > 0
    assert "judge_verdict" in audits.columns
    assert audits["judge"].to_list() == [int(word == "pass") for word in audits["verdict"]]
    turned = pl.when(pl.col("verdict") == "pass").then(0).otherwise(1)
    for human, wrong in ((turned, 1.0), (1 - turned, 0.0)):
        labels = audits.select("id", human=human)
        monitor = check_audits(place, policy, labels=labels)
        assert monitor.groups[0].rate.error_rate == wrong
    rows = judge_cascade(items, policy, store=None).judgments
    drawn = draw_audits(select(rows, policy).rows, audit_rate=1, secret=SECRET).rows
    assert sorted(drawn["id"]) == sorted(audits["id"])
    assert check_audits(drawn.with_columns(human=1 - turned), policy).groups[0].rate.n_errors == 0
