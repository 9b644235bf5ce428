"""One judge under one policy: a pair in, a verdict or an abstention out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.errors import ArgumentError, InputError, PolicyMismatchError
from adjudge.judges.fingerprint import differing_parts
from adjudge.judges.interface import Judge, KnowsSubject, Question, Reply
from adjudge.records import MEASURED, Judgment, Pair
from adjudge.results.selection import Policy, PolicyGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the service says of one pair. `reason` says why it was not accepted."""

    judgment: Judgment
    accepted: bool
    reason: str | None


class JudgeService:
    """A started backend, its protocol and the policy its verdicts are held to."""

    def __init__(self, judge: Judge, policy: Policy, *, concurrency: int | None = None) -> None:
        check_servable(policy)
        self.judge = judge
        self.policy = policy
        self.policy_id = hashlib.sha256(policy.to_json(indent=None).encode()).hexdigest()[:16]
        self.groups = matching_groups(policy, judge)
        self._knowing = judge.backend if isinstance(judge.backend, KnowsSubject) else None
        self._slots = asyncio.Semaphore(concurrency or judge.backend.concurrency)

    async def start(self) -> None:
        """Load weights, open connections."""
        await self.judge.backend.start()

    async def close(self) -> None:
        """Free what `start` took."""
        await self.judge.backend.close()

    def group_for(self, name: str | None) -> PolicyGroup:
        """The rule for a request; a policy made by group needs the group's name."""
        if self.policy.by is None:
            return self.groups[None]
        if name is None:
            raise ArgumentError("group", None, f"this policy holds by {self.policy.by}: name it")
        if name not in self.groups:
            known = ", ".join(sorted(str(group) for group in self.groups))
            raise ArgumentError("group", name, f"the policy knows {known}")
        return self.groups[name]

    async def rule(self, pair: Pair, *, group: str | None = None) -> Ruling:
        """Ask in every order the protocol needs, then accept or abstain."""
        rule = self.group_for(group)
        protocol = self.judge.protocol
        questions = protocol.questions(pair)
        replies = await asyncio.gather(*(self._ask(pair, question) for question in questions))
        rows = protocol.judge(pair, replies)
        if len(rows) != 1 or not isinstance(rows[0], Judgment):
            raise ArgumentError("protocol", protocol.name, "serve one with one verdict per pair")
        return decide(rows[0], rule)

    async def rule_many(self, pairs: Sequence[Pair], groups: Sequence[str | None]) -> list[Ruling]:
        """Several pairs at once, in their order."""
        return await asyncio.gather(
            *(self.rule(pair, group=group) for pair, group in zip(pairs, groups, strict=True))
        )

    async def _ask(self, pair: Pair, question: Question) -> Reply:
        async with self._slots:
            if self._knowing is not None:
                return await self._knowing.ask_about(pair, question)
            return await self.judge.backend.ask(question)


def decide(judgment: Judgment, rule: PolicyGroup) -> Ruling:
    """Accept when the doubt is at most the threshold; never without a verdict."""
    if judgment.status not in MEASURED or judgment.uncertainty is None:
        reason = f"no measurement: {judgment.status}"
        return Ruling(judgment=judgment, accepted=False, reason=reason)
    if judgment.verdict is None:
        return Ruling(judgment=judgment, accepted=False, reason="no verdict: both sides are even")
    if rule.accepts == "all":
        return Ruling(judgment=judgment, accepted=True, reason=None)
    if rule.threshold is None:
        return Ruling(judgment=judgment, accepted=False, reason="the policy accepts nothing")
    accepted = judgment.uncertainty <= rule.threshold
    above = None if accepted else "uncertainty above the threshold"
    return Ruling(judgment=judgment, accepted=accepted, reason=above)


def check_servable(policy: Policy) -> None:
    """Refuse what cannot be promised item by item."""
    if policy.guarantee == "fdr":
        raise InputError(
            "guarantee fdr holds for a batch decided together, not item by item; "
            "calibrate with --guarantee pac or scope to serve"
        )
    if policy.jury is not None:
        raise InputError("a jury's policy needs several judges; serve takes one")


def matching_groups(policy: Policy, judge: Judge) -> dict[str | None, PolicyGroup]:
    """The policy's rules for this judge, or a refusal that says which part differs."""
    own = [group for group in policy.groups if group.judge_fingerprint == judge.fingerprint]
    if own:
        return {group.group: group for group in own}
    for group in policy.groups:
        if group.fingerprint_parts is not None:
            differs = differing_parts(dict(group.fingerprint_parts), judge.fingerprint_parts)
            raise PolicyMismatchError(
                f"the policy was made for another judge or prompt (differs: {', '.join(differs)}); "
                "calibrate on judgments of this one",
                differs=differs,
            )
    named = [
        group
        for group in policy.groups
        if group.judge_fingerprint is None
        and group.judge == judge.backend.name
        and group.protocol in (None, judge.protocol.name)
    ]
    if not named:
        made_for = ", ".join(sorted({group.judge for group in policy.groups}))
        raise PolicyMismatchError(
            f"the policy was made for {made_for}, not for {judge.backend.name} by "
            f"{judge.protocol.name}; calibrate on judgments of this one",
            differs=("judge",),
        )
    return {group.group: group for group in named}
