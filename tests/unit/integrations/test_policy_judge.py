"""A judge under a policy, asked from programs with and without an event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest
from serving import write_policy

from adjudge.errors import ArgumentError, JudgeError, PolicyMismatchError
from adjudge.integrations import missing_host
from adjudge.integrations.policy_judge import PolicyJudge
from adjudge.judges.judging import judge_pairs
from adjudge.selection import calibrate
from adjudge.server.service import Case
from adjudge.server.webhook import read_case
from simulators import simulate_items

JUDGE = "simulated:accuracy=0.85,noise=0.5,seed=3"
THREAD = "adjudge-policy-judge"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(tmp_path_factory.mktemp("hosted"), judge=JUDGE, about="grades")


def case(judge: PolicyJudge, n: int) -> Case:
    columns = {"id": f"q{n}"}
    return read_case(judge.policy, prompt=f"{n}?", response="yes", columns=columns)


def test_sync_and_async_callers_hear_the_same(policy: Path) -> None:
    judge = PolicyJudge(policy, JUDGE)
    waited = [judge.decide(case(judge, n)) for n in range(12)]

    async def ask_all() -> list[object]:
        futures = [judge.submit(case(judge, n)) for n in range(12)]
        return list(await asyncio.gather(*map(asyncio.wrap_future, futures)))

    # Two loops one after the other, as a host may have, and a call that blocks inside one.
    assert asyncio.run(ask_all()) == waited
    assert asyncio.run(ask_all()) == waited

    async def blocking() -> object:
        return judge.decide(case(judge, 0))

    assert asyncio.run(blocking()) == waited[0]
    assert {outcome.passed for outcome in waited} == {True, False, None}
    [rule] = judge.policy.groups
    named = {(one.details["judge"], one.details["judge_fingerprint"]) for one in waited}
    assert named == {(rule.judge, rule.judge_fingerprint)}
    judge.close()


def test_the_thread_ends_with_close_and_starts_again(policy: Path) -> None:
    judge = PolicyJudge(policy, JUDGE)
    assert not any(thread.name == THREAD for thread in threading.enumerate())
    before = judge.decide(case(judge, 1))
    assert any(thread.name == THREAD for thread in threading.enumerate())
    judge.close()
    assert not any(thread.name == THREAD for thread in threading.enumerate())
    assert judge.decide(case(judge, 1)) == before
    judge.close()


def test_a_backend_that_does_not_start_leaves_no_thread(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = PolicyJudge(policy, JUDGE)

    async def fail() -> None:
        raise JudgeError("no weights")

    with monkeypatch.context() as broken:
        broken.setattr(judge.service, "start", fail)
        for _ in range(2):
            with pytest.raises(JudgeError, match="no weights"):
                judge.decide(case(judge, 1))
            assert not any(thread.name == THREAD for thread in threading.enumerate())
    assert judge.decide(case(judge, 1)).explanation
    judge.close()


def test_another_judge_is_refused_before_anything_is_asked(policy: Path) -> None:
    with pytest.raises(PolicyMismatchError, match="accuracy"):
        PolicyJudge(policy, "simulated:accuracy=0.6,noise=0.5,seed=3")


def test_the_name_is_of_the_judge_and_the_policy(policy: Path, tmp_path: Path) -> None:
    other = PolicyJudge(write_policy(tmp_path, judge=JUDGE, about="grades", alpha=0.2), JUDGE)
    judge = PolicyJudge(policy, JUDGE)
    assert judge.name.startswith("simulated:accuracy=0.85,position_bias=0,noise=0.5,seed=3 under")
    assert judge.name != other.name


def test_a_policy_by_group_takes_the_cases_own_column(tmp_path: Path) -> None:
    items = [
        {
            "id": one.id,
            "prompt": one.prompt,
            "response": one.response,
            **one.extra,
            "topic": "xy"[i % 2],
        }
        for i, one in enumerate(simulate_items(400, seed=1))
    ]
    judged = judge_pairs(items, protocol="grade", judge=JUDGE, store=None).judgments
    judge = PolicyJudge(calibrate(judged, alpha=0.1, by="topic"), JUDGE)
    groups = []
    for topic in ("x", "y", "z"):
        asked = read_case(judge.policy, prompt="?", response="!", columns={"topic": topic})
        groups.append(judge.decide(asked).details["group"])
    assert groups == ["x", "y", None]
    with pytest.raises(ArgumentError, match="this policy is by topic: give its value"):
        judge.decide(case(judge, 1))
    judge.close()


@pytest.mark.parametrize(("module", "host"), [("inspect", "inspect-ai"), ("deepeval", "deepeval")])
def test_without_its_host_an_integration_says_in_one_line_what_to_install(
    module: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, host.replace("-", "_"), None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, f"adjudge.integrations.{module}", raising=False)
    with pytest.raises(ModuleNotFoundError) as missing:
        import_module(f"adjudge.integrations.{module}")
    assert str(missing.value) == (
        f"this module works inside {host}, which is not installed; pip install {host}"
    )
    assert missing.value.__suppress_context__


def test_another_missing_module_keeps_its_own_words() -> None:
    error = ModuleNotFoundError("No module named 'x'", name="x")
    assert missing_host(error, "pytest") is error
