"""A service or a check that is killed: no answered verdict is lost, no state is half written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from serving import JUDGE, ask, running, write_policy
from tries import tried

from adjudge import read_policy
from adjudge.data import read_result, write_rows
from adjudge.policy.audits import Monitor, read_monitor
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store

FIELDS = ("id", "prompt", "response_a", "response_b")


@pytest.mark.attack("labels")
@pytest.mark.crash
def test_what_a_killed_service_has_answered_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = write_policy(tmp_path, n=250)
    monkeypatch.setenv("AUDIT_SECRET", "a secret for these tests")
    bodies = [
        {name: getattr(pair, name) for name in FIELDS} for pair in simulate_pairs(3000, seed=9)
    ]
    answered: list[dict[str, object]] = []

    def send(body: dict[str, str]) -> None:
        try:
            status, answer = ask(service.port, "/v1/judge", body)
        except (OSError, HTTPException, json.JSONDecodeError):
            return  # killed before it answered
        assert status == 200
        answered.append(answer)

    with (
        running(
            *("serve", "--policy", str(policy), "--judge", JUDGE, "--audit-rate", "1"),
            *("--secret-env", "AUDIT_SECRET", "--store", str(tmp_path / "store.db")),
        ) as service,
        ThreadPoolExecutor(8) as clients,
    ):
        for body in bodies:
            clients.submit(send, body)
        while len(answered) < 60:
            time.sleep(0.01)
        service.process.send_signal(signal.SIGKILL)
    rules = read_policy(policy).rules_id
    with use_store(tmp_path / "store.db") as store:
        audits = {audit.subject_id: audit.content for audit in store.audits(rules)}
        served, _ = store.count_served(rules)
    accepted = [answer for answer in answered if answer["accepted"]]
    assert accepted
    for answer in accepted:
        assert audits[str(answer["id"])]["verdict"] == answer["verdict"]
    assert len(answered) <= served < len(bodies)


@pytest.mark.attack("monitors")
@pytest.mark.crash
def test_a_killed_check_leaves_a_whole_state(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, n=250)
    made = read_policy(policy)
    state, audits = tmp_path / "state.json", tmp_path / "audits.jsonl"
    group = made.groups[0]
    rows = [
        {
            "id": f"a{n}", "drawn": n + 1, "p_a": 0.99, "judge": group.judge,
            "protocol": group.protocol, "label": "AB"[n % 11 == 0],
        }
        for n in range(3000)
    ]  # fmt: skip
    command = [
        *(sys.executable, "-m", "adjudge", "monitor", "check", str(audits)),
        *("--policy", str(policy), "--state", str(state), "--json"),
    ]
    seen = 0
    began = time.monotonic()
    write_rows(rows[:100], audits)
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - began
    for step in range(12):
        write_rows(rows[: 100 + 200 * step], audits)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * (0.5 + 0.05 * step))
        process.kill()
        process.wait()
        tried()
        kept = len(read_result(state, Monitor).ids)
        assert kept >= seen
        seen = kept
    write_rows(rows, audits)
    subprocess.run(command, check=True, capture_output=True)
    assert len(read_result(state, Monitor).ids) == 3000


@pytest.mark.attack("monitors")
@pytest.mark.crash
@pytest.mark.parametrize("place", ["state.json", "state.db", "postgresql"])
def test_two_checks_at_once_count_every_audit_once(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Rounds of two processes, of which one knows more audits than the other."""
    policy = write_policy(tmp_path, n=250)
    made = read_policy(policy)
    group = made.groups[0]
    if place == "postgresql":
        place = request.getfixturevalue("postgres_server").url()
    rows = [
        {
            "id": f"a{n}", "drawn": n + 1, "p_a": 0.99, "judge": group.judge,
            "protocol": group.protocol, "label": "AB"[n % 13 == 0],
        }
        for n in range(600)
    ]  # fmt: skip
    for done in range(10):
        runs = []
        for name, more in (("few", 20), ("many", 40)):
            audits = tmp_path / f"{name}.jsonl"
            write_rows(rows[: 40 * done + more], audits)
            command = ["monitor", "check", str(audits), "--policy", str(policy), "--state", place]
            runs.append(
                subprocess.Popen(
                    [sys.executable, "-m", "adjudge", *command, "--json"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
        said = [run.communicate(timeout=120) for run in runs]
        tried()
        assert all(run.returncode in (0, 2) for run in runs), said
        last = read_monitor(place, made.rules_id)
        assert last is not None
        assert list(last.ids) == [f"a{n}" for n in range(40 * done + 40)]
