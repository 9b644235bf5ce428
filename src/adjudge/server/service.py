"""One judge with one policy: a pair or an answer in, a verdict or an abstention out."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from adjudge.data.files import open_regular
from adjudge.errors import ArgumentError, DataError, InputError
from adjudge.judges.criteria import read_criteria
from adjudge.judges.interface import Judge, Question
from adjudge.judges.judge import (
    PROTOCOLS,
    make_judge,
    parse_judge,
    parse_protocol,
    refuse_images,
)
from adjudge.judges.prompting import read_prompt
from adjudge.judges.rows import models_of
from adjudge.policy.result import Policy, PolicyGroup, names_of, own_cuts
from adjudge.records import Grade, Judgment, Reply, Subject
from adjudge.selection.doubts.base import (
    Decision,
    is_by_orders,
    load_doubt,
    read_orders,
    verdict_of,
)
from adjudge.selection.guarantees import all_guarantees, find_guarantee
from adjudge.selection.selecting import reason_to_abstain
from adjudge.selection.verifying import check_about, levels_of, read_policy
from adjudge.statistics.entropy import INFINITE_DOUBT

_log = logging.getLogger("adjudge.server")
#: The state of the policy's file.
FileState = Literal["unchanged", "changed", "missing"]


class PolicyFile:
    """The policy as read at the start. It is not read again, but a change is reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Before the policy is read, so that a change in between is detected.
        self._digest = self._read()
        self.policy = read_policy(path)
        self._seen: tuple[int, int, int] | None = None
        self._same = True

    def state(self) -> FileState:
        """Whether the file is unchanged; its content is read again only if it was written."""
        try:
            file = self.path.stat()
        except OSError:
            return "missing"
        version = (file.st_ino, file.st_size, file.st_mtime_ns)
        if self._seen != version:
            self._seen = version
            self._same = self._read() == self._digest
        return "unchanged" if self._same else "changed"

    def _read(self) -> str | None:
        try:
            with open_regular(self.path) as file:  # a device could be read without end
                return hashlib.sha256(file.read()).hexdigest()
        except (OSError, DataError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is judged, with its values of the columns that the policy uses."""

    subject: Subject
    group: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The service's ruling on one subject; `group` names the rule, `reason` why it abstains.

    `verdict` is what was accepted or refused. If the policy learned its doubt, `judge_verdict` is
    the judge's own, for a cascade that of the first judge. `judgment` is then from the judge of
    `stage`, at which it ended, and `asked` counts the judges that were asked.
    """

    judgment: Judgment | Grade
    verdict: str | None
    judge_verdict: str | None
    learned_doubt: float | None
    accepted: bool
    reason: str | None
    group: str | None
    stage: str | None = None
    asked: int = 1

    def describe(self) -> dict[str, Any]:
        """The decision, with the field names of the judge API."""
        names = ("accepted", "verdict", "judge_verdict", "learned_doubt", "reason", "stage")
        return {name: getattr(self, name) for name in names}


def _refuse_columns(judge: Judge) -> None:
    """Refuse a prompt that names columns: a request has none."""
    named = judge.protocol.prompt_columns
    has = "prompt, response_a and response_b"
    unknown = () if named is None else named.names
    if judge.protocol.subjects == "items":
        has = "prompt, response, reference and context"
        unknown = tuple(name for name in unknown if name not in ("reference", "context"))
    if named is not None and unknown:
        listed = ", ".join(f"{{{name}}}" for name in unknown)
        remedy = f"serve a prompt without columns: a request has {has}"
        raise DataError(named.prompt.name, f"names {listed}", remedy=remedy)


class JudgeService:
    """Started backends, their protocol and the policy for their verdicts.

    One judge, or those of a cascade, cheap to strong: each is asked only if those before it are not
    sure enough.
    """

    def __init__(
        self, judge: Judge | Sequence[Judge], policy: Policy, *, concurrency: int | None = None
    ) -> None:
        check_servable(policy)
        judges = (judge,) if isinstance(judge, Judge) else tuple(judge)
        for asked in judges:
            check_about(policy, "grades" if asked.protocol.record is Grade else "pairs")
            _refuse_columns(asked)
        self._guarantee = find_guarantee(policy.guarantee)
        self._levels = levels_of(policy)
        self.policy = policy
        self.policy_id = hashlib.sha256(policy.to_json(indent=None).encode()).hexdigest()[:16]
        self._doubt = load_doubt(policy)
        self._by_orders = is_by_orders(policy)
        self._calibrated_on = frozenset(policy.calibrated_on.get("served_model", ()))
        self._other_models: set[str] = set()
        routed, rules = self._doubt.take_judges(policy, judges)
        self.judges = tuple(routed)
        self.rules = list(rules)
        cuts = [own_cuts(policy.cuts, rule.judge, rule.protocol) for rule in self.rules]
        if any(len(rule_cuts) < len(policy.cuts) for rule_cuts in cuts):
            raise InputError(
                f"the policy is valid among {names_of(policy.cuts)}, but serve asks one judge"
            )
        self._by_group = {name: rule for rule in self.rules for name in rule.covers}
        self._slots = [
            asyncio.Semaphore(concurrency or asked.backend.concurrency) for asked in self.judges
        ]

    @property
    def judge(self) -> Judge:
        """The judge of every request; for a cascade the first one."""
        return self.judges[0]

    async def start(self) -> None:
        """Load weights, open connections."""
        for judge in self.judges:
            await judge.backend.start()

    async def close(self) -> None:
        """Free the resources of `start`."""
        for judge in self.judges:
            await judge.backend.close()

    def rule_for(self, group: str | None) -> PolicyGroup | None:
        """The rule for a request's group; None if no label was of that group."""
        if self.policy.by is None:
            return self._by_group.get(None)  # one rule for all pairs
        if group is None:
            raise ArgumentError(
                "group", None, f"this policy is by {self.policy.by}: give its value"
            )
        return self._by_group.get(group)

    async def rule(
        self, subject: Subject, *, group: str | None = None, category: str | None = None
    ) -> Ruling:
        """Ask in every order the protocol needs, then accept or abstain."""
        rule = self.rule_for(group)
        column = self.policy.category
        if column is not None and category is None:
            raise ArgumentError(
                "category", None, f"this policy learned from {column}: give its value"
            )
        answers: list[tuple[Judge, Judgment | Grade]] = []
        decision: Decision | None = None
        while decision is None:
            stage = len(answers)
            answers.append((self.judges[stage], await self._measure(subject, stage)))
            decision = self._doubt.decide(self.policy, subject, category, answers)
        judge, judgment = answers[-1]
        accepted, reason = self._accept(decision, judgment, rule)
        learned = decision.measured and self._doubt.learned
        doubt = decision.doubt if learned and decision.doubt != INFINITE_DOUBT else None
        return Ruling(
            judgment=judgment,
            verdict=decision.verdict,
            judge_verdict=verdict_of(answers[0][1]) if self._doubt.overturns else None,
            learned_doubt=doubt,
            accepted=accepted,
            reason=reason,
            group=None if rule is None else rule.group,
            stage=judge.backend.name if self._doubt.stages else None,
            asked=len(answers),
        )

    def _accept(
        self, decision: Decision, judgment: Judgment | Grade, rule: PolicyGroup | None
    ) -> tuple[bool, str | None]:
        """Accept or abstain; never accept without a measurement, a verdict or a rule."""
        if not decision.measured:
            return False, f"status {decision.status}"
        below = all(
            cut.rule.accept(np.array([judgment.uncertainty]))[0] for cut in self.policy.cuts
        )
        accepted = False
        if decision.verdict not in (None, "tie") and rule is not None and below:
            score = np.array([decision.doubt])
            accepted = bool(self._guarantee.accept(rule.rule, score, self._levels)[0])
        return accepted, reason_to_abstain(
            accepted, verdict=decision.verdict, group=rule, beyond_cut=not below
        )

    async def _measure(self, subject: Subject, stage: int) -> Judgment | Grade:
        """One judge's judgment of a subject, asked in every order of the protocol."""
        protocol = self.judges[stage].protocol
        questions = protocol.questions(subject)
        refuse_images(self.judges[stage].backend, questions)
        replies = await self._ask_all(subject, questions, stage)
        rows = protocol.judge(subject, replies)
        if len(rows) != 1 or not isinstance(rows[0], Judgment | Grade):
            raise ArgumentError("protocol", protocol.name, "serve one with one verdict per request")
        row = self._with_model(rows[0], replies)
        least = self.policy.min_answer_mass
        mass = row.answer_mass
        if least is not None and mass is not None and mass < least:
            return _off_answer(row)
        if self._by_orders and isinstance(row, Judgment):
            return read_orders(row)
        return row

    def _with_model(self, row: Judgment | Grade, replies: Sequence[Reply]) -> Judgment | Grade:
        """The row with the model that answered; another than the policy's is logged once."""
        models = models_of(replies)
        if not models:
            return row
        served = " and ".join(models)
        unlike = bool(self._calibrated_on) and served not in self._calibrated_on
        if unlike and served not in self._other_models:
            self._other_models.add(served)
            expected = ", ".join(sorted(self._calibrated_on))
            _log.warning(
                "%s answered, but the policy was calibrated on answers of %s: its promise is about "
                "that; to test whether the judge changed: adjudge monitor judge",
                *(served, expected),
            )
        return replace(row, extra={**row.extra, "served_model": served})

    async def rule_many(self, cases: Sequence[Case]) -> list[Ruling]:
        """Several subjects in parallel, returned in their order."""
        rulings = [self.rule(c.subject, group=c.group, category=c.category) for c in cases]
        if len(rulings) == 1:  # the usual request, without its own task
            return [await rulings[0]]
        return await asyncio.gather(*rulings)

    async def _ask_all(
        self, subject: Subject, questions: Sequence[Question], stage: int
    ) -> list[Reply]:
        """All questions together: the first here, the others in their own tasks."""
        first, *others = questions
        tasks = [asyncio.create_task(self._ask(subject, other, stage)) for other in others]
        try:
            return [await self._ask(subject, first, stage), *[await task for task in tasks]]
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _ask(self, subject: Subject, question: Question, stage: int) -> Reply:
        async with self._slots[stage]:
            return await self.judges[stage].backend.ask_about(subject, question)


def _off_answer(judgment: Judgment | Grade) -> Judgment | Grade:
    """The row without its numbers, as `mark_off_answer` leaves it."""
    of_pair = ("p_fwd", "p_rev", "p_a", "p_tie", "uncertainty", "verdict")
    of_answer = ("p_pass", "judge", "uncertainty")
    names = of_answer if isinstance(judgment, Grade) else of_pair
    numbers: dict[str, Any] = dict.fromkeys(names)
    return replace(judgment, status="off_answer", **numbers)


def check_servable(policy: Policy) -> None:
    """Refuse a policy whose guarantee does not hold item by item."""
    if find_guarantee(policy.guarantee).per_batch:
        others = " or ".join(other.name for other in all_guarantees() if not other.per_batch)
        raise InputError(
            f"guarantee {policy.guarantee} holds for a batch decided together, not item by item; "
            f"calibrate with --guarantee {others} to serve"
        )
    if (obstacle := load_doubt(policy).not_servable) is not None:
        raise InputError(obstacle)


class JudgeOptions(TypedDict, total=False):
    """How the judge is asked.

    Args:
        protocol: How the judge is asked. Default: the policy's protocol.
        base_url: Another OpenAI-compatible server.
        prompt: Your own prompt file.
        criteria: Your own criteria or rubric, as for `adjudge judge`.
        reason: Let the judge write reasons before its verdict (preference, criterion, grade).
        samples: Samples per order.
        max_tokens: Maximum tokens of a written answer; raise it if the judge reasons.
        concurrency: Maximum questions in flight.
    """

    protocol: str | None
    base_url: str | None
    prompt: str | Path | None
    criteria: str | Path | None
    reason: bool
    samples: int | None
    max_tokens: int | None
    concurrency: int | None


def make_service(
    policy: Policy, judge: str | None = None, **options: Unpack[JudgeOptions]
) -> JudgeService:
    """The judge with the policy; a judge other than the policy's is refused.

    Args:
        policy: The policy that calibrate wrote.
        judge: The judge, as for `adjudge judge`. Default: the judges of a cascade.
        **options: How the judge is asked: see `JudgeOptions`.
    """
    stages = load_doubt(policy).stages
    if (judge is None) != bool(stages):
        remedy = "leave it out: the policy's cascade names its judges"
        if judge is None:
            remedy = f"name the policy's judge, {policy.groups[0].judge}: --judge (judge=)"
        raise ArgumentError("judge", judge, remedy)
    specs = [stage.judge for stage in stages] if judge is None else [judge]
    if (protocol := options.get("protocol")) is None:
        calibrated = (stages or policy.groups)[0].protocol or ""
        protocol = calibrated if calibrated in PROTOCOLS else "preference"
    prompt = options.get("prompt")
    criteria = options.get("criteria")
    asking: dict[str, object] = {
        "samples": options.get("samples"),
        "max_tokens": options.get("max_tokens"),
        "prompt": None if prompt is None else read_prompt(prompt),
        "criteria": None if criteria is None else read_criteria(criteria),
        "reason": options.get("reason") or None,
    }
    if "min_answer_mass" in PROTOCOLS.load(protocol).options:
        # As calibrated; a policy from before this limit existed has none.
        asking["min_answer_mass"] = policy.min_answer_mass or 0.0
    base_url = options.get("base_url")
    concurrency = options.get("concurrency")
    judges = [
        make_judge(
            parse_judge(spec, base_url=base_url, concurrency=concurrency),
            parse_protocol(protocol, **asking),
        )
        for spec in specs
    ]
    return JudgeService(judges, policy, concurrency=concurrency)
