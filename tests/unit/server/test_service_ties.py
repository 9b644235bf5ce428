"""The judge service and answers without a letter: a tie and an answer off the letters abstain."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.judges.interface import Backend, Choice, Question
from adjudge.judges.judge import make_judge
from adjudge.judges.prompting import make_prompt
from adjudge.judges.protocols.preference import Preference
from adjudge.policy.result import Policy
from adjudge.records import Pair, Reply
from adjudge.selection import calibrate
from adjudge.server.service import JudgeService, Ruling

PAIR = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")
TIES = make_prompt("ties", "{prompt} {response_a} {response_b}\n--- answer ---\ntie: C\n")


class Letters(Backend):
    """Says the same of whichever response is response_a."""

    name = "letters:"
    wants: frozenset[type] = frozenset({Choice})

    def __init__(self, a: float, b: float, tie: float, mass: float) -> None:
        self._shares, self._mass = (a, b, tie), mass

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "letters"}

    async def ask(self, question: Question) -> Reply:
        a, b, tie = self._shares
        if question.order == "ba":
            a, b = b, a
        shares = {"A": a, "B": b, "C": tie}
        return Reply(
            status="ok",
            logprobs={name: math.log(p * self._mass) for name, p in shares.items()},
            answer_mass=self._mass,
        )


def policy(fingerprint: str, **options: Any) -> Policy:
    rows = {
        "id": range(60),
        "judge": "letters:",
        "protocol": "preference",
        "p_a": [0.95] * 60,
        "label": ["A"] * 60,
        "judge_fingerprint": fingerprint,
    }
    return calibrate(pl.DataFrame(rows), alpha=0.1, **options)


def rule(*shares: float, mass: float = 0.9, limit: float | None = 0.1) -> Ruling:
    protocol = Preference(prompt=TIES, min_answer_mass=0.0)
    judge = make_judge(Letters(*shares, mass), protocol)
    service = JudgeService(judge, policy(judge.fingerprint, min_answer_mass=limit))
    assert service.policy.accepts == "all"  # nothing but the verdict itself can abstain
    return asyncio.run(service.rule(PAIR))


def test_a_tie_is_never_accepted() -> None:
    assert rule(0.9, 0.05, 0.05).accepted
    ruling = rule(0.35, 0.05, 0.6)
    assert (ruling.accepted, ruling.reason, ruling.judgment.verdict) == (False, "judge tie", "tie")
    assert ruling.judgment.p_a == pytest.approx(0.65)


def test_the_policys_answer_mass_holds() -> None:
    ruling = rule(0.9, 0.05, 0.05, mass=0.03)
    assert (ruling.accepted, ruling.reason) == (False, "status off_answer")
    assert (ruling.judgment.status, ruling.judgment.p_a) == ("off_answer", None)
    assert rule(0.9, 0.05, 0.05, mass=0.03, limit=None).accepted
    assert rule(0.9, 0.05, 0.05, mass=0.03, limit=0.02).accepted


class Orders(Letters):
    """Says A with these probabilities, in the first and in the second order."""

    def __init__(self, first: float, second: float) -> None:
        self._p = {"ab": first, "ba": 1 - second}

    async def ask(self, question: Question) -> Reply:
        p = self._p[question.order]
        return Reply(status="ok", logprobs={"A": math.log(p), "B": math.log(1 - p)})


def orders_policy() -> Policy:
    rows = {
        "id": range(100),
        "judge": "letters:",
        "verdict_fwd": ["A"] * 100,
        "verdict_rev": ["A"] * 80 + ["B"] * 20,
        "label": ["A"] * 80 + ["B"] * 20,
    }
    return calibrate(pl.DataFrame(rows), alpha=0.1)


@pytest.mark.parametrize(
    ("first", "second", "verdict", "reason"),
    [(0.6, 0.7, "A", None), (0.1, 0.4, "B", None), (0.9, 0.2, None, "no verdict")],
)
def test_a_policy_of_verdicts_in_both_orders_reads_verdicts(
    first: float, second: float, verdict: str | None, reason: str | None
) -> None:
    service = JudgeService(make_judge(Orders(first, second), Preference()), orders_policy())
    ruling = asyncio.run(service.rule(PAIR))
    assert (ruling.verdict, ruling.accepted, ruling.reason) == (verdict, reason is None, reason)
    assert ruling.judgment.uncertainty == (0.0 if verdict else pytest.approx(math.log(2)))


def test_a_policy_of_verdicts_in_both_orders_needs_both_and_no_letter_for_ties() -> None:
    judge = make_judge(Letters(0.9, 0.05, 0.05, 0.9), Preference(prompt=TIES))
    with pytest.raises(ArgumentError, match="verdicts in both orders: ask in both, without"):
        asyncio.run(JudgeService(judge, orders_policy()).rule(PAIR))
