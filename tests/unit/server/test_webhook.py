"""promptfoo's webhook: what it posts gets pass, score and reason, over the wire."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serving import ask, served, write_policy

from adjudge.errors import ArgumentError
from adjudge.records import Item, Pair
from adjudge.selection import read_policy
from adjudge.server.service import JudgeService, Ruling, make_service
from adjudge.server.webhook import AnswerVars, WebhookIn, outcome_of, read_case

#: Sure or not by the case's name, so that some cases are accepted and some are not.
JUDGE = "simulated:accuracy=0.85,noise=0.5,seed=3"
PATH = "/v1/promptfoo"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(tmp_path_factory.mktemp("webhook"), judge=JUDGE, about="grades")


@pytest.fixture(scope="module")
def port(policy: Path) -> Iterator[int]:
    with served(policy, judge=JUDGE) as taken:
        yield taken


def post(port: int, n: int = 0, query: str = "", **given: Any) -> tuple[int, Any]:
    """What promptfoo posts of case `n`."""
    context = {"prompt": f"What is {n} + 1?", "vars": {"id": f"q{n}"}}
    return ask(port, PATH + query, {"output": "it is 7", "context": context, **given})


def test_accepted_verdicts_decide_and_abstentions_count_as_the_address_says(port: int) -> None:
    seen = set()
    for n in range(25):
        _, as_grade = ask(
            port, "/v1/judge", {"id": f"q{n}", "prompt": f"What is {n} + 1?", "response": "it is 7"}
        )
        answers = {kind: post(port, n, f"?abstain={kind}") for kind in ("pass", "fail", "error")}
        if as_grade["accepted"]:
            passed = as_grade["verdict"] == "pass"
            seen.add(as_grade["verdict"])
            assert {status for status, _ in answers.values()} == {200}
            for _, body in answers.values():
                assert (body["pass"], body["score"]) == (passed, int(passed))
                assert body["reason"].startswith(f"{as_grade['verdict']}: accepted by scope")
                assert f"p_pass {as_grade['p_pass']:.3f}" in body["reason"]
            continue
        seen.add("abstained")
        said = f"abstained: too uncertain; the refused verdict is {as_grade['verdict']} (p_pass "
        for kind in ("pass", "fail"):
            status, body = answers[kind]
            assert (status, body["pass"], body["score"]) == (200, kind == "pass", kind == "pass")
            assert body["reason"].startswith(said)
        assert answers["error"][0] == 409
        assert answers["error"][1]["detail"].startswith(said)
        assert post(port, n) == answers["fail"]
    assert seen == {"pass", "fail", "abstained"}


def test_the_answer_has_promptfoos_names_alone(port: int) -> None:
    assert set(post(port)[1]) == {"pass", "score", "reason"}


@pytest.mark.parametrize(
    ("query", "given", "status", "detail"),
    [
        ("?abstain=maybe", {}, 422, "query.abstain: Input should be 'pass', 'fail' or 'error'"),
        ("", {"output": None}, 422, "body.output"),
        ("", {"context": {"vars": {}}}, 422, "body.context.prompt: Field required"),
        (
            "",
            {"output": [{"role": "user", "content": [{"type": "image_url"}]}]},
            422,
            "response = 'list': message 1 contains an image without bytes: give a path, a data",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(
    port: int, query: str, given: dict[str, Any], status: int, detail: str
) -> None:
    got, body = post(port, 0, query, **given)
    assert got == status
    assert body["detail"].startswith(detail)


def test_the_counters_see_the_webhook(port: int) -> None:
    before = outcomes(port)
    post(port)
    assert sum(outcomes(port).values()) == sum(before.values()) + 1


def outcomes(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        lines = page.read().decode().splitlines()
    counted = [line.rpartition(" ") for line in lines if line.startswith("adjudge_rulings_total")]
    return {name: float(value) for name, _, value in counted}


def grades_service(policy: Path) -> JudgeService:
    return make_service(read_policy(policy), JUDGE)


def test_a_case_of_single_answers_has_the_columns_a_judge_is_shown(policy: Path) -> None:
    columns = {"reference": 4, "context": {"page": 1}, "topic": "t", "id": 7, "human": "?"}
    chat = json.dumps([{"role": "system", "content": "Add."}, {"role": "user", "content": "2+2?"}])
    case = read_case(read_policy(policy), prompt=chat, response={"sum": 4}, columns=columns)
    assert case.subject == Item(
        id="7",
        prompt="[system]\nAdd.\n\n[user]\n2+2?",
        response='{"sum": 4}',
        extra={"topic": "t", "reference": "4", "context": '{"page": 1}'},
    )


def test_a_whole_number_stays_one() -> None:
    """YAML makes numbers of what looks like one: a reference of 4 must not be shown as 4.0."""
    context = {"prompt": "2 + 2?", "vars": {"reference": 4, "context": 0.5}}
    sent = WebhookIn[AnswerVars].model_validate({"output": 7, "context": context})
    assert repr((sent.output, sent.context.vars.reference, sent.context.vars.context)) == (
        "(7, 4, 0.5)"
    )


@pytest.mark.attack("decisions")
def test_a_case_without_an_id_is_named_by_all_of_its_words(policy: Path) -> None:
    known = read_policy(policy)
    cases = [
        {"prompt": "p", "response": "r", "columns": {}},
        {"prompt": "p", "response": "r", "columns": {"reference": "x"}},
        {"prompt": "p", "response": "s", "columns": {}},
    ]
    names = [read_case(known, **case).subject.id for case in [*cases, cases[0]]]
    assert len(set(names)) == 3
    assert names[0] == names[3]


def test_a_case_of_pairs_needs_the_other_answer(tmp_path: Path) -> None:
    policy = read_policy(write_policy(tmp_path, n=60))
    pair = read_case(policy, prompt="p", response="r", columns={"id": "1", "response_b": "s"})
    assert pair.subject == Pair(id="1", prompt="p", response_a="r", response_b="s")
    with pytest.raises(ArgumentError, match="response_b = None: this policy is about pairs"):
        read_case(policy, prompt="p", response="r", columns={})


async def ruling_of(service: JudgeService, n: int) -> Ruling:
    columns = {"id": f"q{n}"}
    case = read_case(service.policy, prompt="p", response="r", columns=columns)
    return await service.rule(case.subject)


def test_a_judge_that_failed_is_an_abstention_with_its_status(policy: Path) -> None:
    service = grades_service(policy)
    ruling = asyncio.run(ruling_of(service, 1))
    failed = replace(
        ruling,
        judgment=replace(ruling.judgment, status="unparsed", p_pass=None, uncertainty=None),
        verdict=None,
        accepted=False,
        reason="status unparsed",
    )
    outcome = outcome_of(failed, service)
    assert (outcome.passed, outcome.explanation) == (None, "abstained: status unparsed")
    assert outcome.details["p_pass"] is None
