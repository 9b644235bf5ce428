"""Test cases of other tools, and promptfoo's webhook assertion, answered by a judge with a policy.

With a policy about pairs, the answer under test is response_a and the column `response_b` is the
other answer; the case passes if the answer under test is better. promptfoo has no result for an
abstention, so the assertion's address states what it counts as: `/v1/promptfoo?abstain=pass`,
`fail` (the default) or `error`, which is an HTTP status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from adjudge.data.conversations import from_text
from adjudge.errors import ArgumentError
from adjudge.hashing import content_hash
from adjudge.images import NotTextError
from adjudge.judges.prompting import write_value
from adjudge.policy.result import Policy
from adjudge.present.text import number
from adjudge.records import ABSTAINED, Grade, Item, Judgment, Pair, Subject
from adjudge.server.service import Case as Case
from adjudge.server.service import JudgeService, Ruling

#: The maximum number of characters of a text; more than any judge's context.
TEXT_LIMIT = 200_000
#: Whether the answer under test passes by a verdict.
PASSES = {"pass": True, "fail": False, "A": True, "B": False}
#: Columns of a case that are not judged, or have their own field.
_NOT_JUDGED = ("id", "prompt", "response", "response_a", "response_b", "human", "label")
_SAYS = {
    "pass": "pass",
    "fail": "fail",
    "A": "better than the other answer",
    "B": "worse than the other answer",
    "tie": "as good as the other answer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a case. `passed` is None for an abstention; `explanation` has the reason."""

    passed: bool | None
    explanation: str
    details: Mapping[str, Any]


def read_case(
    policy: Policy, *, prompt: object, response: object, columns: Mapping[str, object]
) -> Case:
    """A case of another tool as the policy needs it; without a column `id`, a hash is its id.

    Lists of chat messages become conversations; other values that are not text become JSON.
    """
    question = _text(prompt, "prompt")
    answer = _text(response, "response")
    if question is None or answer is None:
        raise ArgumentError("response" if question else "prompt", None, "give its text")
    extra = {column: value for column, value in columns.items() if column not in _NOT_JUDGED}
    subject: Subject
    if policy.about == "pairs":
        other = _text(columns.get("response_b"), "response_b")
        if other is None:
            remedy = "this policy is about pairs: give the other answer in this column"
            raise ArgumentError("response_b", None, remedy)
        name = _id(columns, question, answer, other)
        subject = Pair(id=name, prompt=question, response_a=answer, response_b=other, extra=extra)
    else:
        shown = {column: _text(columns.get(column), column) for column in ("reference", "context")}
        name = _id(columns, question, answer, *(text or "" for text in shown.values()))
        subject = Item(id=name, prompt=question, response=answer, extra=extra | shown)
    return Case(
        subject=subject, group=_value(columns, policy.by), category=_value(columns, policy.category)
    )


def outcome_of(ruling: Ruling, service: JudgeService) -> Outcome:
    """The accepted verdict, or an abstention with its reason and the refused verdict."""
    judgment = ruling.judgment
    policy = service.policy
    judge = service.judges[ruling.asked - 1]  # of a cascade, the one at which it ended
    verdict = ruling.verdict
    name, p = probability_of(judgment)
    numbers = f"{name} {number(p)}, doubt {number(judgment.uncertainty)}"
    if ruling.accepted and verdict is not None:
        held = f"accepted by {policy.guarantee} at error level {policy.alpha:g}"
        explanation = f"{_SAYS[verdict]}: {held} ({numbers})"
    elif verdict is None:
        explanation = f"{ABSTAINED}: {ruling.reason}"
    else:
        refused = f"the refused verdict is {_SAYS[verdict]}"
        explanation = f"{ABSTAINED}: {ruling.reason}; {refused} ({numbers})"
    return Outcome(
        passed=PASSES[verdict] if ruling.accepted and verdict is not None else None,
        explanation=explanation,
        details={
            **describe_ruling(ruling, service),
            "judge": judge.backend.name,
            "protocol": judgment.protocol,
            "judge_fingerprint": judge.fingerprint,
        },
    )


def probability_of(judgment: Judgment | Grade) -> tuple[str, float | None]:
    """The name and the value of a judgment's probability."""
    return ("p_pass", judgment.p_pass) if isinstance(judgment, Grade) else ("p_a", judgment.p_a)


def describe_ruling(ruling: Ruling, service: JudgeService) -> dict[str, Any]:
    """A ruling and its rule, with the field names of the judge API."""
    judgment = ruling.judgment
    name, probability = probability_of(judgment)
    return {
        name: probability,
        "id": judgment.id,
        **ruling.describe(),
        "uncertainty": judgment.uncertainty,
        "status": judgment.status,
        "group": ruling.group,
        "judges_asked": ruling.asked,
        "guarantee": service.policy.guarantee,
        "policy_id": service.policy_id,
    }


def _text(value: object, name: str) -> str | None:
    if value is None:
        return None
    try:
        return from_text(value) if isinstance(value, str) else write_value(value)
    except NotTextError as error:
        raise ArgumentError(name, type(value).__name__, f"{error}: {error.remedy}") from None


def _value(columns: Mapping[str, object], name: str | None) -> str | None:
    value = None if name is None else columns.get(name)
    return None if value is None else write_value(value)


def _id(columns: Mapping[str, object], *words: str) -> str:
    return _value(columns, "id") or content_hash(words)[:16]


#: The status of an abstention that counts as an error; no other error has it.
ABSTAINED_CODE = 409
_Text = Annotated[str, Field(max_length=TEXT_LIMIT)]
_Words = _Text | dict[str, JsonValue] | list[JsonValue] | bool | int | float


class AnswerVars(BaseModel):
    """A test's variables: what a judge of single answers is shown; `id` names the case."""

    model_config = ConfigDict(extra="allow")
    reference: _Words | None = None
    context: _Words | None = None


class PairVars(BaseModel):
    """A test's variables: what a judge of pairs is shown; `id` names the case."""

    model_config = ConfigDict(extra="allow")
    response_b: Annotated[_Words, Field(description="The other answer.")]


Vars = TypeVar("Vars", AnswerVars, PairVars)


class WebhookContext(BaseModel, Generic[Vars]):
    """The prompt as it was sent, and the test's variables."""

    prompt: Annotated[str, Field(min_length=1, max_length=TEXT_LIMIT)]
    vars: Vars


class WebhookIn(BaseModel, Generic[Vars]):
    """The output under test and where it comes from."""

    output: _Words
    context: WebhookContext[Vars]


class WebhookOut(BaseModel):
    """Whether the assertion holds; `score` is the same as a number."""

    passed: Annotated[bool, Field(serialization_alias="pass")]
    score: Literal[0, 1]
    reason: str


Abstain = Annotated[
    Literal["pass", "fail", "error"],
    Field(description=f"What an abstention counts as; an error is status {ABSTAINED_CODE}."),
]


def add_webhook(
    app: FastAPI, service: JudgeService, rule: Callable[[Sequence[Case]], Awaitable[list[Ruling]]]
) -> None:
    """POST /v1/promptfoo, for pairs or single answers, by the service's policy."""

    async def answer(sent: WebhookIn[Vars], abstain: str) -> WebhookOut:
        columns = sent.context.vars.model_dump()
        try:
            case = read_case(
                service.policy, prompt=sent.context.prompt, response=sent.output, columns=columns
            )
        except ArgumentError as error:
            raise HTTPException(422, str(error)) from None
        outcome = outcome_of((await rule([case]))[0], service)
        if outcome.passed is None and abstain == "error":
            raise HTTPException(ABSTAINED_CODE, outcome.explanation)
        passed = abstain == "pass" if outcome.passed is None else outcome.passed
        return WebhookOut(passed=passed, score=1 if passed else 0, reason=outcome.explanation)

    if service.policy.about == "grades":

        @app.post("/v1/promptfoo")
        async def answer_case(sent: WebhookIn[AnswerVars], abstain: Abstain = "fail") -> WebhookOut:
            """A single answer, for promptfoo's webhook assertion."""
            return await answer(sent, abstain)

    else:

        @app.post("/v1/promptfoo")
        async def pair_case(sent: WebhookIn[PairVars], abstain: Abstain = "fail") -> WebhookOut:
            """An answer compared with another, for promptfoo's webhook assertion."""
            return await answer(sent, abstain)
