"""A policy holds for the route by which its judgments were asked, and no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import calibrate, select
from adjudge.errors import PolicyMismatchError
from adjudge.judges import judge_pairs, make_judge, parse_judge, parse_protocol
from adjudge.judges.judge import by_route
from adjudge.policy.result import Policy
from adjudge.records import Pair
from adjudge.selection.doubts.base import load_doubt
from adjudge.simulate.pairs import simulate_pairs

JUDGE = {"judge": "openai:judge-1", "base_url": "http://judge.example/vllm/v1"}
PAIRS = simulate_pairs(40, seed=1)


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A vLLM that knows token ids, at the judge's address."""
    program = Path(__file__).parents[1] / "support" / "server_habits.py"
    server = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-habits-not-a-key")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.stdout.readline().split()[1]}")
    yield
    server.terminate()
    server.communicate(timeout=10)


@pytest.fixture
def policy() -> Policy:
    judged = judge_pairs(PAIRS, judge="simulated:accuracy=0.95", store=None)
    return calibrate(judged.judgments, alpha=0.3)


def test_rows_by_another_route_are_refused(vllm: None, policy: Policy, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    run = judge_pairs(PAIRS, **JUDGE, store=store)
    parts = run.summary.fingerprint_parts
    assert parts["route"] == "logprob_token_ids"
    groups = tuple(
        replace(
            group,
            judge=run.summary.judge,
            judge_fingerprint="0" * 64,
            fingerprint_parts={**parts, "route": "another"},
        )
        for group in policy.groups
    )
    with pytest.raises(PolicyMismatchError, match="differs: route"):
        select(run.judgments, policy=replace(policy, groups=groups), store=store)


def test_a_service_asks_by_the_route_of_its_policy(policy: Policy) -> None:
    backend = parse_judge(JUDGE["judge"], base_url=JUDGE["base_url"])
    judge = make_judge(backend, parse_protocol("preference"))
    doubt = load_doubt(policy)
    named = [replace(group, judge=judge.backend.name) for group in policy.groups]
    policy = replace(policy, groups=tuple(replace(g, judge_fingerprint=None) for g in named))
    assert doubt.take_judges(policy, [judge])[0] == (judge,)
    routed = by_route(judge)["top_logprobs 5"]
    groups = tuple(replace(g, judge_fingerprint=routed.fingerprint) for g in policy.groups)
    assert doubt.take_judges(replace(policy, groups=groups), [judge])[0] == (routed,)
    (question, _) = judge.protocol.questions(Pair(id="1", prompt="", response_a="", response_b=""))
    assert backend.request_body(question)["top_logprobs"] == 5  # type: ignore[attr-defined]  # of OpenAIBackend
