"""promptfoo's webhook assertion, answered by a judge with a policy.

promptfoo posts `{output, context: {prompt, vars}}` and reads `{pass, score, reason}`. It has no
result for an abstention, so the assertion's address states what an abstention counts as:
`/v1/promptfoo?abstain=pass`, `fail` (the default) or `error`. The reason then begins with
"abstained". An error is an HTTP status. promptfoo also fails an inverted assertion (`not-webhook`)
by it, but shows only the status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from adjudge.errors import ArgumentError
from adjudge.server.cases import TEXT_LIMIT, Case, outcome_of, read_case
from adjudge.server.service import JudgeService, Ruling

#: The status of an abstention that counts as an error; no other error has it.
ABSTAINED = 409
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
    Field(description=f"What an abstention counts as; an error is status {ABSTAINED}."),
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
            raise HTTPException(ABSTAINED, outcome.explanation)
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
