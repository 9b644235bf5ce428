"""serve --audit-rate: what is served is kept, audits are drawn, labelled, checked and exported."""

from __future__ import annotations

import asyncio
import http.client
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from serving import JUDGE, ask, running, write_policy
from tries import tried

from adjudge.auditing import check_audits
from adjudge.cli import run
from adjudge.data import read_labels, read_result
from adjudge.judges import judge_pairs, make_judge, parse_judge, parse_protocol
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Question
from adjudge.monitoring.drawing import AuditCoin, read_served_audits
from adjudge.policy.audits import Monitor
from adjudge.records import Reply, Subject
from adjudge.selection import read_policy, select
from adjudge.server.audits import AuditTrail, MonitorMetrics
from adjudge.server.rounds import audits_of, queue_of, rows_of
from adjudge.server.service import Case, JudgeService
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import open_store, use_store
from adjudge.store.labels import LabelBook
from simulators import simulate_items

SECRET = "a secret for these tests"
PAIRS = simulate_pairs(60, seed=5)
FIELDS = ("id", "prompt", "response_a", "response_b")
BODIES = [{name: getattr(pair, name) for name in FIELDS} for pair in PAIRS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy, the store of a service that was killed, and what its /metrics said on the way.

    It was asked about 60 pairs, one of them twice and one without an id. Then a check said that all
    audits were wrong, and then its state was damaged.
    """
    folder = tmp_path_factory.mktemp("audits")
    write_policy(folder, n=250)
    policy, state = read_policy(folder / "policy.json"), folder / "state.json"
    with service(folder, "--state", str(state)) as port:
        assert ask(port, "/v1/judge/batch", {"pairs": BODIES[:30]})[0] == 200
        for body in [*BODIES[30:], BODIES[0], {k: v for k, v in BODIES[1].items() if k != "id"}]:
            assert ask(port, "/v1/judge", body)[0] == 200
        (folder / "served.txt").write_text(metrics(port))
        audits = read_served_audits(folder / "store.db").rows
        wrong = audits.select("id", label=pl.col("verdict").replace({"A": "B", "B": "A"}))
        check_audits(folder / "store.db", policy, labels=wrong[:-1], state=state)
        (folder / "checked.txt").write_text(metrics(port))
        whole = state.read_text()
        state.write_text(whole[:-40])
        (folder / "damaged.txt").write_text(metrics(port))
        state.write_text(whole)
    # It was killed: what it answered is in the log next to the store, and is not lost.
    open_store(folder / "store.db").close()
    return folder


@contextmanager
def service(folder: Path, *options: str) -> Iterator[int]:
    """The port of `adjudge serve --audit-rate 0.5` over the folder's policy."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AUDIT_SECRET", SECRET)
        with running(
            *("serve", "--policy", str(folder / "policy.json"), "--judge", JUDGE),
            *("--audit-rate", "0.5", "--secret-env", "AUDIT_SECRET"),
            *("--store", str(folder / "store.db"), *options),
        ) as started:
            yield started.port


def metrics(port: int) -> str:
    """The page that Prometheus reads."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


def expected_audits(folder: Path) -> list[str]:
    """What select and the coin say of the same pairs."""
    judged = judge_pairs(PAIRS, judge=JUDGE, store=None).judgments
    rows = select(judged, folder / "policy.json").rows
    coin = AuditCoin(0.5, SECRET)
    return [name for name in rows.filter("accepted")["id"].to_list() if coin.draws(name)]


def stored(folder: Path) -> tuple[list[str], tuple[int, int]]:
    rules = read_policy(folder / "policy.json").rules_id
    with use_store(folder / "store.db", readonly=True) as store:
        return [a.subject_id for a in store.audits(rules)], store.count_served(rules)


def test_the_store_has_every_id_once_and_the_audits_that_the_coin_draws(folder: Path) -> None:
    audits, (served, accepted) = stored(folder)
    named = [name for name in audits if not name.startswith("texts-")]
    expected = expected_audits(folder)
    assert sorted(named) == sorted(expected)
    assert named[-5:] == expected[-5:]  # served one by one: in that order
    assert served == 61
    assert 0 < len(expected) < accepted < served


@pytest.mark.attack("decisions")
def test_one_id_with_other_texts_is_another_decision(folder: Path, tmp_path: Path) -> None:
    """300 requests under one id: each is kept, accepted ones are audited at the rate."""
    (tmp_path / "policy.json").write_bytes((folder / "policy.json").read_bytes())
    bodies = [
        {"id": "request", "prompt": f"{pair.prompt} {i}", "response_a": pair.response_a}
        | {"response_b": pair.response_b}
        for i, pair in enumerate(PAIRS * 5)
    ]
    with service(tmp_path) as port:
        for start in range(0, 300, 60):
            batch = {"pairs": bodies[start : start + 60]}
            assert ask(port, "/v1/judge/batch", batch)[0] == 200
            tried(60)
        assert ask(port, "/v1/judge", bodies[0])[0] == 200  # the same again: not another decision
        page = metrics(port)
    audits, (served, accepted) = stored(tmp_path)
    assert served == 300
    assert len(set(audits)) == len(audits)
    assert 0.3 * accepted < len(audits) < 0.7 * accepted
    assert "adjudge_reused_ids_total 299.0" in page
    assert f"adjudge_audits_total {len(audits)}.0" in page
    coin = AuditCoin(0.5, SECRET)
    assert all(coin.draws(name) for name in audits)


def test_the_schema_gives_no_id_by_default(folder: Path) -> None:
    with service(folder) as port:
        status, api = ask(port, "/openapi.json")
        body = {name: value for name, value in BODIES[3].items() if name != "id"}
        first, second = (ask(port, "/v1/judge", {**body, "prompt": p})[1]["id"] for p in "xy")
    assert status == 200
    assert "default" not in api["components"]["schemas"]["PairIn"]["properties"]["id"]
    assert first != second
    assert first.startswith("texts-")


def test_the_metrics_count_what_was_accepted_and_audited(folder: Path) -> None:
    page = (folder / "served.txt").read_text()
    families = {
        family.name: {
            tuple(s.labels.values()): s.value for s in family.samples if "_created" not in s.name
        }
        for family in text_string_to_metric_families(page)
    }
    outcomes = families["adjudge_rulings"]
    assert outcomes["accepted",] + outcomes["abstained",] == 62
    assert families["adjudge_audits"] == {(): float(len(stored(folder)[0]))}
    assert "adjudge_monitor_readable 1.0" in page
    assert "adjudge_monitor_e_value" not in page


@pytest.fixture
def labelled(folder: Path, tmp_path: Path) -> Path:
    """A copy of the folder in which people have said that every audited verdict is wrong."""
    for name in ("store.db", "policy.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with use_store(tmp_path / "store.db") as store:
        audits = store.audits(read_policy(tmp_path / "policy.json").rules_id)
        book = LabelBook(store)
        for at, audit in enumerate(audits[:-1]):
            wrong = "B" if audit.content["verdict"] == "A" else "A"
            book.add(nonce=f"nonce-{at:04}", rater="ann", subject_id=audit.subject_id, label=wrong,
                     shown_order="ab", sampled_by="audit")  # fmt: skip
    return tmp_path


def test_a_check_reads_audits_labels_and_state_from_the_store(
    labelled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(labelled)
    command = ["monitor", "check", "store.db", "--policy", "policy.json", "--state", "store.db"]
    assert run(command) == 2
    first = capsys.readouterr().out
    assert first.startswith("ALARM at audit 4; the alarm limit is 0.15, not your alpha 0.10")
    assert run(command) == 2
    assert capsys.readouterr().out == first
    drawn = len(stored(labelled)[0])
    monitor = check_audits("store.db", "policy.json")
    assert (monitor.groups[0].n_drawn, monitor.groups[0].n_pending) == (drawn, 1)
    # The last one came when it was served: after 14 days it is missing.
    late = check_audits("store.db", "policy.json", now=max(monitor.pending_since.values()) + 15e5)
    assert late.outcomes[-1] == "missing"
    assert late.groups[0].worst.n == late.groups[0].rate.n + 1
    again = ["monitor", "recalibrate", "store.db", "--state", "store.db", "-o", "again.json"]
    assert run(again) == 2  # all of them were wrong
    policy = read_policy("again.json")
    assert (policy.n_calibration, policy.accepts) == (drawn - 4 - 1, "none")


def test_the_service_exports_the_last_check(folder: Path) -> None:
    monitor = read_result(folder / "state.json", Monitor)
    page = (folder / "checked.txt").read_text()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    [e] = families["adjudge_monitor_e_value"].samples
    assert (families["adjudge_monitor_e_value"].type, e.labels) == ("gauge", {"group": ""})
    assert e.value == pytest.approx(10 ** monitor.groups[0].rate.log10_e)
    assert families["adjudge_monitor_error_rate"].samples[0].value == 1.0
    assert families["adjudge_monitor_alarm"].samples[0].value == 1.0
    audits = {s.labels["outcome"]: s.value for s in families["adjudge_monitor_audits"].samples}
    assert (audits["drawn"], audits["pending"]) == (len(monitor.ids), 1)
    damaged = (folder / "damaged.txt").read_text()
    assert "adjudge_monitor_readable 0.0" in damaged
    assert "adjudge_monitor_e_value{" not in damaged


def test_groups_with_odd_names_are_escaped(folder: Path, tmp_path: Path) -> None:
    policy = read_policy(folder / "policy.json")
    name = 'a "quoted"\\name\nof two lines'
    rows = pl.DataFrame(
        {"id": ["x"], "drawn": [1], "p_a": [0.99], "label": ["B"], "topic": [name]}
    ).with_columns(judge=pl.lit(policy.groups[0].judge), protocol=pl.lit("preference"))
    state = tmp_path / "state.json"
    check_audits(rows, policy, by="topic", state=state)
    registry = CollectorRegistry()
    registry.register(MonitorMetrics(state, policy))
    page = generate_latest(registry).decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    groups = [s.labels["group"] for s in families["adjudge_monitor_e_value"].samples]
    assert groups == [name, "(new groups)"]
    # Without a counted audit there is no error rate: no sample, and never a zero.
    assert len(families["adjudge_monitor_error_rate"].samples) == 1
    other = replace(policy, alpha=0.2)
    registry = CollectorRegistry()
    registry.register(MonitorMetrics(state, other))
    assert "adjudge_monitor_e_value{" not in generate_latest(registry).decode()


def test_draw_and_label_take_the_queue_of_a_store(
    labelled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(labelled)
    assert run(["monitor", "draw", "store.db", "-o", "audits.jsonl"]) == 0
    drawn = len(stored(labelled)[0])
    assert f"{drawn} audits drawn; " in capsys.readouterr().out
    assert run(["label", "store.db", "--export-only", "-o", "labels.csv"]) == 0
    assert read_labels("labels.csv")["sampled_by"].to_list() == ["audit"] * (drawn - 1)
    assert run(["label", "audits.jsonl", "--store", "store.db", "--export-only"]) == 0
    names, _ = stored(labelled)
    for rows in (Path("store.db"), Path("audits.jsonl")):
        read = (
            audits_of(rows, print) if rows.suffix == ".db" else rows_of(rows, None, None, 0, print)
        )
        queue = queue_of(read[0], None, None, 0.3, 0, read[1], print)
        assert [(draw.id, draw.sampled_by) for draw in queue] == [(name, "audit") for name in names]
    asked = ["--policy", "policy.json", "--state", "s.json"]
    assert run(["monitor", "check", "audits.jsonl", "--labels", "labels.csv", *asked]) == 2
    from_store = check_audits("store.db", "policy.json")
    from_files = read_result("s.json", Monitor)
    assert from_files == from_store
    assert re.fullmatch(r"[0-9a-f]{16}", from_store.rules_id)


def test_audited_grades_are_kept_with_their_texts(tmp_path: Path) -> None:
    policy = read_policy(write_policy(tmp_path, n=120, about="grades", alpha=0.2))
    judge = make_judge(parse_judge(JUDGE), parse_protocol("grade"))
    items = simulate_items(12, seed=3)

    async def serve() -> int:
        service = JudgeService(judge, policy)
        trail = AuditTrail(AuditCoin(1, SECRET), service, tmp_path / "store.db")
        await service.start()
        await trail.start()
        rulings = await service.rule_many([Case(subject=one) for one in items])
        cases = [Case(subject=item) for item in items]
        new = await trail.keep(cases, rulings)
        again = await trail.keep(cases, rulings)
        await trail.close()
        await service.close()
        assert new == (sum(ruling.accepted for ruling in rulings), 0)
        assert again == (0, 0)
        return new.audits

    new = asyncio.run(serve())
    assert new > 0
    monitor = check_audits(tmp_path / "store.db", policy)
    assert (monitor.about, monitor.groups[0].n_pending) == ("grades", new)
    run_ = read_served_audits(tmp_path / "store.db")
    assert {"prompt", "response", "judge_name", "p_pass", "drawn_at"} <= set(run_.rows.columns)
    assert set(run_.rows["judge_name"]) == {policy.judges[0]}


def test_what_serve_refuses_before_it_serves(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["serve", "--policy", str(folder / "policy.json"), "--judge", JUDGE]
    for options, message in (
        (["--audit-rate", "0.1"], "secret_env = None: name a variable with a secret: --secret-env"),
        (
            ["--audit-rate", "0.1", "--secret-env", "NO_SECRET"],
            "no environment variable has this name",
        ),
        (["--audit-rate", "2", "--secret-env", "AUDIT_SECRET"], "audit_rate = 2.0: give a number"),
    ):
        monkeypatch.setenv("AUDIT_SECRET", SECRET)
        assert run([*command, *options]) == 1
        assert message in capsys.readouterr().err
    monkeypatch.setenv("AUDIT_SECRET", "short")
    assert run([*command, "--audit-rate", "0.1", "--secret-env", "AUDIT_SECRET"]) == 1
    assert "short" not in capsys.readouterr().err


class Moved(SimulatedBackend):
    """Answers as the model that its server names."""

    model: str

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        return replace(await super().ask_about(subject, question), served_model=self.model)


def test_another_served_model_than_the_policys_is_logged_once_and_stored(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = read_policy(folder / "policy.json")
    policy = replace(policy, calibrated_on={"served_model": ("m-1",)})
    backend = Moved.parse(JUDGE.partition(":")[2])
    service = JudgeService(make_judge(backend, parse_protocol("preference")), policy)
    trail = AuditTrail(AuditCoin(1, SECRET), service, tmp_path / "s.db")

    async def serve(models: list[str]) -> None:
        await trail.start()
        for model, pair in zip(models, PAIRS, strict=False):
            backend.model = model
            case = Case(subject=pair)
            await trail.keep([case], [await service.rule(pair)])
        await trail.close()

    asyncio.run(serve(["m-1"] * 20))
    assert "calibrated" not in caplog.text
    asyncio.run(serve(["m-1"] * 20 + ["m-2"] * 40))
    told = "m-2 answered, but the policy was calibrated on answers of m-1"
    assert caplog.text.count(told) == 1
    assert "to test whether the judge changed: adjudge monitor judge" in caplog.text
    audits = read_served_audits(tmp_path / "s.db").rows
    assert set(audits["served_model"]) == {"m-1", "m-2"}
    monitor = check_audits(tmp_path / "s.db", policy)
    remark = "served_model is m-2 in some rows, but the policy was calibrated on m-1"
    assert any(text.startswith(remark) for text in monitor.warnings)
