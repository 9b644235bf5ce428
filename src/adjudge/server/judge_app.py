"""The judge as an HTTP service: POST /v1/judge, with its policy, health, metrics and OpenAPI.

The policy decides what it takes: pairs, or single answers that pass or fail. The usual request does
not need FastAPI's routing (`Shortcut`), which takes longer than deciding on a pair. All other
requests, and therefore all messages about invalid ones, are answered by the route of the same path.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import HTMLResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from adjudge.errors import ArgumentError, DataError, JudgeError, StoreError
from adjudge.hashing import content_hash
from adjudge.policy.result import PolicyGroup
from adjudge.records import About, Item, Pair, Verdict
from adjudge.server.api_page import STYLE, render_api_page
from adjudge.server.audits import AuditTrail, MonitorMetrics
from adjudge.server.guard import Guard, Limits, explain_in_one_line, replay
from adjudge.server.service import Case, FileState, JudgeService, PolicyFile, Ruling
from adjudge.server.webhook import ABSTAINED_CODE, TEXT_LIMIT, add_webhook, describe_ruling

#: The header of the usual request; any other spelling goes to the route.
_JSON = (b"content-type", b"application/json")


@dataclass(frozen=True)
class Shortcut:
    """ASGI middleware behind the guard, which passes the body on as one message.

    `answer` is the handler of the POST route at `path`, whose body is a `model`.
    """

    app: ASGIApp
    path: str
    model: type[BaseModel]
    answer: Callable[[Any], Awaitable[Response]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["path"] != self.path
            or scope["method"] != "POST"
            or [header for header in scope["headers"] if header[0] == _JSON[0]] != [_JSON]
        ):
            await self.app(scope, receive, send)
            return
        content = (await receive())["body"]
        try:
            body = self.model.model_validate_json(content)
        except ValidationError:
            await self.app(scope, replay(content), send)
            return
        try:
            response = await self.answer(body)
        except HTTPException as error:
            response = await http_exception_handler(Request(scope), error)
        await response(scope, receive, send)


_log = logging.getLogger("adjudge.server")

BATCH_LIMIT = 64
_VERDICT = "The verdict that is accepted or refused."
_JUDGE = "The judge's own, of a cascade the first judge's, if the policy learned its doubt."
PassOrFail = Literal["pass", "fail"]
TextField = Annotated[str, Field(max_length=TEXT_LIMIT)]


def _word(description: str) -> Any:
    return Field(None, max_length=200, description=description)


class SubjectIn(BaseModel):
    """The fields of every request."""

    model_config = ConfigDict(extra="forbid")
    prompt: Annotated[str, Field(min_length=1, max_length=TEXT_LIMIT)]
    id: str | None = _word("Your name for this request. Without one it is made from the texts.")
    group: str | None = _word(
        "The value of the column that the policy was calibrated by, if any. A value without labels "
        "is an abstention."
    )
    category: str | None = _word(
        "The value of the column that the policy's doubt learned from, if any. An unknown value "
        "has no effect."
    )

    def _case(self, subject: Pair | Item) -> Case:
        return Case(subject=subject, group=self.group, category=self.category)

    def _name(self, *texts: str | None) -> str:
        if self.id is not None:
            return self.id
        return f"texts-{content_hash(text or '' for text in texts)[:32]}"


class PairIn(SubjectIn):
    """Two answers to one prompt."""

    response_a: TextField
    response_b: TextField

    def case(self) -> Case:
        """The pair to be judged."""
        texts = {name: getattr(self, name) for name in ("prompt", "response_a", "response_b")}
        return self._case(Pair(id=self._name(*texts.values()), **texts))


class AnswerIn(SubjectIn):
    """One answer to one prompt, with a reference answer or context if there is one."""

    response: TextField
    reference: TextField | None = None
    context: TextField | None = None

    def case(self) -> Case:
        """The answer to be graded."""
        name = self._name(self.prompt, self.response, self.reference, self.context)
        extra = {"reference": self.reference, "context": self.context}
        return self._case(Item(id=name, prompt=self.prompt, response=self.response, extra=extra))


class BatchIn(BaseModel):
    """Several pairs, each decided separately."""

    model_config = ConfigDict(extra="forbid")
    pairs: Annotated[list[PairIn], Field(min_length=1, max_length=BATCH_LIMIT)]


class AnswersIn(BaseModel):
    """Several answers, each decided separately."""

    model_config = ConfigDict(extra="forbid")
    items: Annotated[list[AnswerIn], Field(min_length=1, max_length=BATCH_LIMIT)]


class Decision(BaseModel):
    """A decision and its rule."""

    id: str
    accepted: Annotated[bool, Field(description="Whether the policy accepts the verdict.")]
    uncertainty: Annotated[float | None, Field(description="The judge's doubt; null: no number.")]
    learned_doubt: float | None
    status: Annotated[str, Field(description="ok, censored, or why there is no number.")]
    reason: Annotated[str | None, Field(description="Why it is not accepted; null: it is.")]
    group: Annotated[
        str | None, Field(description="The policy's rule that decided; small groups share one.")
    ]
    stage: Annotated[
        str | None, Field(description="For a cascade: the judge at which the request ended.")
    ]
    judges_asked: Annotated[int, Field(description="More than one only for a cascade.")]
    guarantee: str
    policy_id: str


class RulingOut(Decision):
    """A verdict on a pair, or an abstention with its reason."""

    verdict: Annotated[Verdict | None, Field(description=_VERDICT)]
    judge_verdict: Annotated[Verdict | None, Field(description=_JUDGE)]
    p_a: Annotated[float | None, Field(description="Probability that response_a is better.")]


class GradeOut(Decision):
    """Pass or fail, or an abstention with its reason."""

    verdict: Annotated[PassOrFail | None, Field(description=_VERDICT)]
    judge_verdict: Annotated[PassOrFail | None, Field(description=_JUDGE)]
    p_pass: Annotated[float | None, Field(description="Probability that the answer passes.")]


class BatchOut(BaseModel):
    """The rulings, in the order of the request."""

    rulings: list[RulingOut]


class GradesOut(BaseModel):
    """The grades, in the order of the request."""

    rulings: list[GradeOut]


class Problem(BaseModel):
    """The error in one line."""

    detail: str


class HealthOut(BaseModel):
    """The service is up, with this policy."""

    status: Literal["ok"] = "ok"
    policy_id: str
    policy_file: FileState


class PolicyOut(BaseModel):
    """The current policy and its guarantee."""

    policy_id: str
    policy_file: FileState
    about: About
    guarantee: str
    alpha: float
    delta: float | None
    judge: str
    protocol: str
    judge_fingerprint: str
    promise: str
    not_promised: str
    worth: str
    others: str
    assumptions: list[str]
    by: str | None
    groups: list[dict[str, Any]]


_FAILURES = (400, 401, 403, 408, ABSTAINED_CODE, 413, 415, 421, 422, 500, 502, 503, 504)
_PROBLEMS: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in _FAILURES}
#: Rules on cases, and describes each ruling.
Describe = Callable[[Sequence[Case]], Awaitable[list[dict[str, Any]]]]


def judge_app(
    service: JudgeService,
    source: PolicyFile,
    *,
    host: str,
    port: int,
    token: str | None = None,
    limits: Limits | None = None,
    trail: AuditTrail | None = None,
    monitor: MonitorMetrics | None = None,
) -> Guard:
    """The ASGI application of one service, behind its guard.

    `trail` stores what is served and draws audits; `monitor` adds them to /metrics.
    """
    metrics = _Metrics()
    if monitor is not None:
        metrics.registry.register(monitor)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        if trail is not None:
            await trail.start()
        yield
        if trail is not None:
            await trail.close()
        await service.close()

    app = FastAPI(
        title="adjudge",
        summary="An LLM judge that abstains when its verdict cannot be trusted.",
        version="1",
        lifespan=lifespan,
        redirect_slashes=False,  # a redirect would repeat the host name that the client sent
        docs_url=None,  # the interactive page would load scripts from the network
        redoc_url=None,
        responses=_PROBLEMS,
    )

    async def rule(cases: Sequence[Case]) -> list[Ruling]:
        began = time.perf_counter()
        try:
            rulings = await service.rule_many(cases)
        except (ArgumentError, DataError) as error:
            raise HTTPException(422, str(error)) from None
        except JudgeError as error:
            _log.warning("the judge cannot be asked: %s", error)
            raise HTTPException(502, "the judge cannot be asked; see the server's log") from None
        if trail is not None:
            try:
                audits, reused_ids = await trail.keep(cases, rulings)
                metrics.audits.inc(audits)
                metrics.reused_ids.inc(reused_ids)
            except StoreError as error:
                # An accepted verdict that is not stored could never be audited.
                _log.warning("the verdict cannot be stored: %s", error)
                raise HTTPException(
                    503, "the verdict cannot be stored; see the server's log"
                ) from None
        metrics.saw(rulings, time.perf_counter() - began)
        return rulings

    async def describe(cases: Sequence[Case]) -> list[dict[str, Any]]:
        return [describe_ruling(ruling, service) for ruling in await rule(cases)]

    add_routes = _grade_answers if service.policy.about == "grades" else _judge_pairs
    add_routes(app, describe)
    add_webhook(app, service, rule)

    @app.get("/v1/policy")
    async def policy() -> PolicyOut:
        """The current policy."""
        return _policy(service, source)

    @app.get("/healthz")
    async def health() -> HealthOut:
        """Whether the service is up, and with which policy."""
        return HealthOut(policy_id=service.policy_id, policy_file=source.state())

    @app.get("/metrics", response_class=Response)
    async def metrics_page() -> Response:
        """Counters for Prometheus."""
        page = await asyncio.to_thread(generate_latest, metrics.registry)
        return Response(page, media_type=CONTENT_TYPE_LATEST)

    page = HTMLResponse(render_api_page(app.openapi(), address=f"http://{host}:{port}"))

    style = Response(STYLE, media_type="text/css")
    for path, answer in {"/": page, "/docs": page, "/docs.css": style}.items():
        app.router.routes.append(Route(path, answer, methods=["GET"]))
    explain_in_one_line(app)
    return Guard(app, host=host, port=port, token=token, limits=limits or Limits())


def _grade_answers(app: FastAPI, describe: Describe) -> None:
    """The routes of a policy about single answers."""

    @app.post("/v1/judge", response_model=GradeOut)
    async def grade(answer: AnswerIn) -> Response:
        """Grade one answer."""
        return _as_json(GradeOut(**(await describe([answer.case()]))[0]))

    app.add_middleware(Shortcut, path="/v1/judge", model=AnswerIn, answer=grade)

    @app.post("/v1/judge/batch", response_model=GradesOut)
    async def grade_batch(batch: AnswersIn) -> Response:
        """Grade several answers, each separately."""
        rulings = await describe([answer.case() for answer in batch.items])
        return _as_json(GradesOut(rulings=[GradeOut(**ruling) for ruling in rulings]))


def _judge_pairs(app: FastAPI, describe: Describe) -> None:
    """The routes of a policy about pairs."""

    @app.post("/v1/judge", response_model=RulingOut)
    async def judge(pair: PairIn) -> Response:
        """Judge one pair."""
        return _as_json(RulingOut(**(await describe([pair.case()]))[0]))

    app.add_middleware(Shortcut, path="/v1/judge", model=PairIn, answer=judge)

    @app.post("/v1/judge/batch", response_model=BatchOut)
    async def judge_batch(batch: BatchIn) -> Response:
        """Judge several pairs, each separately."""
        rulings = await describe([pair.case() for pair in batch.pairs])
        return _as_json(BatchOut(rulings=[RulingOut(**ruling) for ruling in rulings]))


class _Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        self.rulings = counter("adjudge_rulings", "Requests ruled on.", ["outcome"])
        self.statuses = counter("adjudge_judgments", "Judgments by status.", ["status"])
        ended = "Requests by the judge that they ended at (cascades)."
        self.stages = counter("adjudge_stages", ended, ["judge"])
        self.audits = counter("adjudge_audits", "Accepted verdicts drawn for an audit.")
        reused = "Requests whose id was used before with other texts (kept as id#hash)."
        self.reused_ids = counter("adjudge_reused_ids", reused)
        self.seconds = Histogram(
            "adjudge_request_seconds", "Time to rule on a request.", registry=self.registry
        )

    def saw(self, rulings: list[Ruling], seconds: float) -> None:
        for ruling in rulings:
            self.rulings.labels("accepted" if ruling.accepted else "abstained").inc()
            self.statuses.labels(ruling.judgment.status).inc()
            if ruling.stage is not None:
                self.stages.labels(ruling.stage).inc()
        self.seconds.observe(seconds)


def _as_json(answer: BaseModel) -> Response:
    """The answer as it is sent; it is already checked, so the framework does not check again."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _policy(service: JudgeService, source: PolicyFile) -> PolicyOut:
    policy = service.policy
    names = "about guarantee alpha delta promise not_promised worth others by"
    return PolicyOut(
        **{name: getattr(policy, name) for name in names.split()},
        policy_id=service.policy_id,
        policy_file=source.state(),
        judge=", ".join(judge.backend.name for judge in service.judges),
        protocol=service.judge.protocol.name,
        judge_fingerprint=", ".join(judge.fingerprint for judge in service.judges),
        assumptions=list(policy.assumptions),
        groups=[_describe_rule(group) for group in service.rules],
    )


def _describe_rule(group: PolicyGroup) -> dict[str, Any]:
    return {
        "group": group.group,
        "values": [value for value in group.covers if value is not None],
        "accepts": group.accepts,
        "threshold": group.threshold,
        "n_calibration": group.n_calibration,
        "coverage": group.coverage,
    }
