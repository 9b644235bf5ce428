"""What versions before judges had routes wrote is still good: nothing is asked again."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import read_policy, select
from adjudge.errors import PolicyMismatchError
from adjudge.judges import judge_pairs, make_judge, parse_judge, parse_protocol, plan_judging
from adjudge.judges.judge import by_route
from adjudge.records import Pair
from adjudge.server.service import by_policy_route

EARLIER = Path(__file__).with_name("earlier")
JUDGE = {"judge": "openai:judge-1", "base_url": "http://judge.example/vllm/v1"}


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The earlier store; no server answers at the judge's address."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-earlier-not-a-key")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    store = tmp_path / "store.db"
    store.write_bytes(gzip.decompress((EARLIER / "store.db.gz").read_bytes()))
    return store


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A vLLM that knows token ids, at the judge's address."""
    program = Path(__file__).parents[1] / "support" / "server_habits.py"
    server = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-earlier-not-a-key")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.stdout.readline().split()[1]}")
    yield
    server.terminate()
    server.communicate(timeout=10)


def test_an_earlier_store_is_resumed_and_its_policy_used(earlier: Path) -> None:
    pairs, policy = EARLIER / "pairs.jsonl", read_policy(EARLIER / "policy.json")
    plan = plan_judging(pairs, **JUDGE, store=earlier)
    assert (plan.to_ask, plan.unknown_parts) == (0, ())
    run = judge_pairs(pairs, **JUDGE, store=earlier)
    assert (run.summary.calls_made, run.summary.reused, run.summary.rows) == (0, 80, 40)
    assert run.summary.judge_fingerprint == policy.judge_fingerprints[0]
    assert "not compared" in run.summary.notes[0]
    chosen = select(run.judgments, policy=policy, store=earlier)
    assert chosen.summary.n_accepted == 40


def test_an_earlier_policy_holds_for_a_route_it_does_not_know_with_a_remark(
    vllm: None, tmp_path: Path
) -> None:
    pairs, policy = EARLIER / "pairs.jsonl", read_policy(EARLIER / "policy.json")
    store = tmp_path / "new.db"
    run = judge_pairs(pairs, **JUDGE, store=store)
    assert run.summary.fingerprint_parts["route"] == "logprob_token_ids"
    chosen = select(run.judgments, policy=policy, store=store)
    assert "did not keep route" in str(chosen)
    groups = tuple(
        replace(group, fingerprint_parts={**(group.fingerprint_parts or {}), "route": "another"})
        for group in policy.groups
    )
    with pytest.raises(PolicyMismatchError, match="differs: route"):
        select(run.judgments, policy=replace(policy, groups=groups), store=store)


def test_a_service_asks_by_the_route_of_its_policy() -> None:
    policy = read_policy(EARLIER / "policy.json")
    backend = parse_judge(JUDGE["judge"], base_url=JUDGE["base_url"])
    judge = make_judge(backend, parse_protocol("preference"))
    assert by_policy_route(policy, judge) is judge
    routed = by_route(judge)["top_logprobs 5"]
    groups = tuple(replace(g, judge_fingerprint=routed.fingerprint) for g in policy.groups)
    assert by_policy_route(replace(policy, groups=groups), judge) == routed
    (question, _) = judge.protocol.questions(Pair(id="1", prompt="", response_a="", response_b=""))
    assert backend.request_body(question)["top_logprobs"] == 5  # type: ignore[attr-defined]  # of OpenAIBackend
