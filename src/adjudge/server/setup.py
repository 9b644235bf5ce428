"""A judge service from the user's options: a policy, a judge, and how the judge is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from adjudge.errors import ArgumentError
from adjudge.judges.criteria import read_criteria
from adjudge.judges.fingerprint import make_judge
from adjudge.judges.prompting import read_prompt
from adjudge.judges.spec import PROTOCOLS, parse_judge, parse_protocol
from adjudge.policy.result import Policy
from adjudge.server.service import JudgeService


class JudgeOptions(TypedDict, total=False):
    """How the judge is asked: the options of `make_service`, for callers that pass them on."""

    protocol: str | None
    base_url: str | None
    prompt: str | Path | None
    criteria: str | Path | None
    reason: bool
    samples: int | None
    max_tokens: int | None
    concurrency: int | None


def make_service(
    policy: Policy,
    judge: str | None = None,
    *,
    protocol: str | None = None,
    base_url: str | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    reason: bool = False,
    samples: int | None = None,
    max_tokens: int | None = None,
    concurrency: int | None = None,
) -> JudgeService:
    """The judge with the policy; a judge other than the policy's is refused.

    Options are those of `adjudge judge`; the protocol is the policy's unless given. For the policy
    of a cascade, leave out `judge`.
    """
    cascade = policy.cascade
    if (judge is None) == (cascade is None):
        remedy = "leave it out: the policy's cascade names its judges"
        if judge is None:
            remedy = f"name the policy's judge, {policy.groups[0].judge}: --judge (judge=)"
        raise ArgumentError("judge", judge, remedy)
    specs = [judge] if judge is not None else [] if cascade is None else cascade.rule.judges
    if protocol is None:
        own = policy.groups[0].protocol if cascade is None else cascade.rule.stages[0].protocol
        protocol = own if own and own in PROTOCOLS else "preference"
    asked: dict[str, object] = {"samples": samples, "max_tokens": max_tokens}
    asked["prompt"] = None if prompt is None else read_prompt(prompt)
    asked["criteria"] = None if criteria is None else read_criteria(criteria)
    asked["reason"] = reason or None
    if "min_answer_mass" in PROTOCOLS.load(protocol).options:
        # As calibrated; a policy from before this limit existed has none.
        asked["min_answer_mass"] = policy.min_answer_mass or 0.0
    judges = [
        make_judge(
            parse_judge(spec, base_url=base_url, concurrency=concurrency),
            parse_protocol(protocol, **asked),
        )
        for spec in specs
    ]
    return JudgeService(judges, policy, concurrency=concurrency)
