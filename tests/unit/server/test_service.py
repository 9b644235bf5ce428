"""The judge service: a real process, a real policy, requests over the wire."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from serving import JUDGE, served, write_policy

from adjudge.cli import run
from adjudge.data import write_result
from adjudge.errors import ArgumentError, InputError, JudgeRefusedError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Question
from adjudge.judges.judge import make_judge, parse_judge, parse_protocol
from adjudge.judges.judging import judge_pairs
from adjudge.records import Reply, Subject
from adjudge.selection import Learned, calibrate, read_policy, select
from adjudge.server.judge_app import judge_app
from adjudge.server.service import JudgeService, PolicyFile
from adjudge.simulate.pairs import simulate_pairs

FIELDS = ("id", "prompt", "response_a", "response_b")
PAIR = {"prompt": "What is 1 + 1?", "response_a": "2", "response_b": "3"}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def port(policy: Path) -> Iterator[int]:
    with served(policy) as taken:
        yield taken


def ask(
    port: int, path: str, body: Any = None, *, raw: bytes | None = None,
    kind: str = "application/json",
) -> tuple[int, Any]:  # fmt: skip
    content = raw if raw is not None else None if body is None else json.dumps(body).encode()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(
            "GET" if content is None else "POST",
            path,
            body=content,
            headers={"Content-Type": kind},
        )
        answer = connection.getresponse()
        text = answer.read().decode()
        is_json = "json" in (answer.getheader("content-type") or "")
        return answer.status, json.loads(text) if is_json else text


def test_rulings_follow_the_policy(port: int, policy: Path) -> None:
    threshold = read_policy(policy).threshold
    assert threshold is not None
    pairs = [{**PAIR, "id": f"p{i}", "prompt": f"What is {i} + 1?"} for i in range(60)]
    status, message = ask(port, "/v1/judge/batch", {"pairs": pairs})
    assert status == 200
    assert [ruling["id"] for ruling in message["rulings"]] == [pair["id"] for pair in pairs]
    outcomes = set()
    for ruling in message["rulings"]:
        assert ruling["accepted"] == (ruling["uncertainty"] <= threshold)
        assert (ruling["reason"] is None) == ruling["accepted"]
        assert ruling["verdict"] == ("A" if ruling["p_a"] > 0.5 else "B")
        assert ruling["guarantee"] == "scope"
        outcomes.add(ruling["accepted"])
    assert outcomes == {True, False}


def test_answers_have_the_fields_of_the_schema(port: int) -> None:
    """`make crash` has schemathesis make requests up."""
    _, schema = ask(port, "/openapi.json")
    for path, body in (
        ("/v1/judge", PAIR),
        ("/v1/judge", {"prompt": 1}),
        ("/v1/judge/batch", {"pairs": [PAIR]}),
        ("/v1/policy", None),
    ):
        status, answer = ask(port, path, body)
        told = schema["paths"][path]["get" if body is None else "post"]["responses"][str(status)]
        name = told["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        described = schema["components"]["schemas"][name]
        assert set(described.get("required", ())) <= set(answer) <= set(described["properties"])


def test_the_page_lists_every_route_and_its_examples_work(port: int) -> None:
    status, page = ask(port, "/docs")
    assert (status, page) == ask(port, "/")
    assert ask(port, "/docs.css")[0] == status == 200
    _, schema = ask(port, "/openapi.json")
    for path, methods in schema["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    # It loads nothing from elsewhere, and runs nothing.
    assert "<script" not in page
    for text in ("Whether the policy accepts the verdict.", "list of PairIn</td><td>Two answers"):
        assert text in page
    webhook = {"prompt": "What is 2 + 2?", "vars": {"response_b": "5"}}
    assert json.dumps({"output": "4", "context": webhook}) in unescape(page)
    assert re.findall(r'(?:src|href)="([^"]+)"', page) == ["/docs.css", "/openapi.json"]
    shown = re.findall(r"<pre>curl -s http://[^/]+(\S+) .*? -d '(.*?)'</pre>", unescape(page))
    assert [path for path, _ in shown][:2] == ["/v1/judge", "/v1/judge/batch"]
    for path, body in shown[:2]:
        assert ask(port, path, json.loads(body))[0] == 200


def test_one_pair_and_a_batch_agree(port: int) -> None:
    _, one = ask(port, "/v1/judge", PAIR)
    _, many = ask(port, "/v1/judge/batch", {"pairs": [PAIR]})
    assert many["rulings"] == [one]


def test_an_output_of_promptfoo_is_compared_with_the_other_answer(port: int) -> None:
    seen = set()
    for n in range(20):
        pair = {"id": f"w{n}", "prompt": "Best?", "response_a": "this", "response_b": "that"}
        _, ruling = ask(port, "/v1/judge", pair)
        variables = {"id": f"w{n}", "response_b": "that"}
        sent = {"output": "this", "context": {"prompt": "Best?", "vars": variables}}
        status, answer = ask(port, "/v1/promptfoo?abstain=pass", sent)
        assert status == 200
        assert answer["pass"] == (ruling["verdict"] == "A" or not ruling["accepted"])
        words = {"A": "better than", "B": "worse than"}[ruling["verdict"]] + " the other answer"
        assert words in answer["reason"]
        seen.add((answer["pass"], ruling["accepted"]))
    assert seen == {(True, True), (False, True), (True, False)}
    status, answer = ask(port, "/v1/promptfoo", {"output": "x", "context": {"prompt": "y"}})
    assert (status, answer["detail"]) == (422, "body.context.vars: Field required")


def test_the_policy_is_told_with_what_it_does_not_promise(port: int) -> None:
    _, message = ask(port, "/v1/policy")
    _, ruling = ask(port, "/v1/judge", PAIR)
    assert message["policy_id"] == ruling["policy_id"]
    assert message["promise"]
    assert message["not_promised"]
    assert message["assumptions"]


def test_a_group_is_decided_by_its_rule_and_a_small_one_by_the_shared_rule(tmp_path: Path) -> None:
    write_policy(tmp_path)
    judged = pl.read_ndjson(tmp_path / "judgments.jsonl").with_row_index("n")
    language = pl.when(pl.col("n") < 4).then(pl.lit("la")).when(pl.col("n") < 9)
    by_language = judged.with_columns(language=language.then(pl.lit("he")).otherwise(pl.lit("en")))
    made = calibrate(by_language.drop("n"), alpha=0.1, by="language", small_groups="pool", seed=0)
    policy = write_result(made, tmp_path / "by.json")
    with served(policy) as port:
        _, message = ask(port, "/v1/policy")
        assert [(g["group"], g["values"]) for g in message["groups"]] == [
            ("en", ["en"]),
            ("(small groups)", ["la", "he"]),
        ]
        rules = {}
        for language_sent in ("en", "la", "he", "xx"):
            pairs = [{**PAIR, "prompt": f"{i}?", "group": language_sent} for i in range(40)]
            status, message = ask(port, "/v1/judge/batch", {"pairs": pairs})
            assert status == 200
            rules[language_sent] = {ruling["group"] for ruling in message["rulings"]}
        assert rules == {
            "en": {"en"},
            "la": {"(small groups)"},
            "he": {"(small groups)"},
            "xx": {None},
        }
        assert not any(ruling["accepted"] for ruling in message["rulings"])
        assert {ruling["reason"] for ruling in message["rulings"]} == {"group not calibrated"}
        status, message = ask(port, "/v1/judge", PAIR)
        assert (status, message["detail"]) == (
            422, "group = None: this policy is by language: give its value"
        )  # fmt: skip


def test_a_learned_doubt_is_that_of_select(tmp_path: Path) -> None:
    """Same pair, same judge: the service and `select` have the same score to the last bit."""
    pairs = simulate_pairs(200, seed=1)
    rows = pl.DataFrame([{name: getattr(one, name) for name in FIELDS} for one in pairs])
    judge_pairs(pairs, judge=JUDGE, output=tmp_path / "j.jsonl", store=":memory:")
    judged = pl.read_ndjson(tmp_path / "j.jsonl").with_columns(
        kind=pl.when(pl.int_range(200) % 2 == 0).then(pl.lit("code")).otherwise(pl.lit("math"))
    )
    options = {"alpha": 0.25, "doubt": Learned(category="kind")}
    policy = calibrate(judged, pairs=rows, **options)
    assert {"sign x order gap", "length ratio", "sign x category code"} <= set(policy.doubt.columns)
    chosen = select(judged.drop("label"), policy, pairs=rows).rows
    judge = make_judge(parse_judge(JUDGE), parse_protocol("preference"))
    service = JudgeService(judge, policy)
    for at in (0, 1, 50, 199):
        row = chosen.row(at, named=True)
        ruling = asyncio.run(service.rule(pairs[at], category=row["kind"]))
        assert (ruling.verdict, ruling.learned_doubt, ruling.accepted) == (
            row["verdict"], row["learned_doubt"], row["accepted"]
        )  # fmt: skip
        assert ruling.judge_verdict == ruling.judgment.verdict == row["judge_verdict"]
        assert ruling.judgment.p_a == row["p_a"]
    with pytest.raises(ArgumentError, match="learned from kind: give its value"):
        asyncio.run(service.rule(pairs[0]))
    numbers = judged.with_columns(length_a=pl.lit(3), length_b=pl.int_range(1, 201))
    with pytest.raises(InputError, match="needs the columns length_a and length_b"):
        JudgeService(judge, calibrate(numbers, **options))


def test_a_policy_without_groups_has_one_rule_for_all(port: int) -> None:
    status, message = ask(port, "/v1/judge", {**PAIR, "group": "en"})
    assert (status, message) == ask(port, "/v1/judge", PAIR)
    assert message["group"] is None


def test_metrics_count_what_was_ruled(port: int) -> None:
    def total() -> float:
        _, text = ask(port, "/metrics")
        lines = [line for line in text.splitlines() if line.startswith("adjudge_rulings_total")]
        return sum(float(line.split()[-1]) for line in lines)

    before = total()
    ask(port, "/v1/judge", PAIR)
    assert total() == before + 1
    assert ask(port, "/healthz")[1]["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({**PAIR, "prompt": ""}, 422),
        ({**PAIR, "prompt": 5}, 422),
        ({**PAIR, "unknown": 1}, 422),
        ({**PAIR, "response_a": "x" * 200_001}, 422),
        ({**PAIR, "response_a": "x" * 5_000_000}, 413),
        ([PAIR], 422),
    ],
)
def test_bad_requests_get_one_line(port: int, body: Any, status: int) -> None:
    code, message = ask(port, "/v1/judge", body)
    assert code == status
    assert "\n" not in message["detail"]
    assert "x" * 100 not in message["detail"]


def test_too_large_a_batch_is_refused(port: int) -> None:
    status, message = ask(port, "/v1/judge/batch", {"pairs": [PAIR] * 65})
    assert status == 422
    assert "64" in message["detail"]


@pytest.mark.parametrize("raw", [b"{", b"\xff", b"", b"[" * 100_000, b'{"prompt": NaN}'])
def test_what_is_no_json_is_refused(port: int, raw: bytes) -> None:
    status, message = ask(port, "/v1/judge", raw=raw)
    assert status in {400, 422}
    assert "Traceback" not in message["detail"]


@pytest.mark.parametrize(
    "raw",
    [json.dumps(PAIR).encode(), json.dumps(PAIR | {"id": "e\0\u00e9", "group": "x"}).encode(),
     b" \r\n" + json.dumps(PAIR).encode() + b"\t", json.dumps(PAIR).encode("utf-16"),
     b"\xef\xbb\xbf" + json.dumps(PAIR).encode(), b'{"prompt": 1, ' + json.dumps(PAIR).encode()[1:],
     json.dumps(PAIR).encode()[:-1] + b', "prompt": "the second counts"}', b"null", b"{}", b"{",
     json.dumps(PAIR).encode()[:-1] + b', "id": null}', json.dumps(PAIR).encode() + b" {}",
     json.dumps(PAIR).encode()[:-1] + b', "group": NaN}',
     json.dumps({**PAIR, "prompt": ""}).encode(),
     json.dumps(PAIR).encode().replace(b"1 + 1", b"\xff"),
     json.dumps(PAIR).encode().replace(b"1 + 1", b"\\ud800"),
     json.dumps(PAIR).encode().replace(b"1 + 1", b"a\nb"), json.dumps([PAIR]).encode()],
)  # fmt: skip
def test_the_short_way_answers_as_the_route_does(port: int, raw: bytes) -> None:
    """With a parameter in its type, the same body is read by the framework's route."""
    short = ask(port, "/v1/judge", raw=raw)
    assert short == ask(port, "/v1/judge", raw=raw, kind="application/json; charset=utf-8")


class Broken(SimulatedBackend):
    """Fails on the second question, after the first was asked."""

    trouble: Exception

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        await asyncio.sleep(0)
        if question.order == "ba":
            raise self.trouble
        return await super().ask_about(subject, question)


@pytest.mark.parametrize(
    ("trouble", "status", "detail"),
    [(JudgeRefusedError("no key"), 502, "the judge cannot be asked; see the server's log"),
     (ArgumentError("group", None, "name it"), 422, "group = None: name it"),
     (RuntimeError("a bug"), 500, "unexpected error; see the server's log")],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
def test_a_judge_that_fails_is_told_in_one_line(
    policy: Path, trouble: Exception, status: int, detail: str, kind: str
) -> None:
    backend = Broken.parse(JUDGE.partition(":")[2])
    backend.trouble = trouble
    service = JudgeService(make_judge(backend, parse_protocol("preference")), read_policy(policy))
    app = judge_app(service, PolicyFile(policy), host="127.0.0.1", port=80)
    body = json.dumps(PAIR).encode()
    headers = {"host": "127.0.0.1", "content-type": kind, "content-length": str(len(body))}
    scope = {
        "type": "http", "method": "POST", "path": "/v1/judge", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def post() -> None:
        with suppress(RuntimeError):  # which the framework raises again, for the server's log
            await app(scope, receive, send)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(post())
    assert sent[0]["status"] == status
    assert json.loads(sent[1]["body"]) == {"detail": detail}


def test_slow_and_concurrent_clients_leave_it_serving(port: int) -> None:
    slow = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(
                f"POST /v1/judge HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                "Content-Length: 100\r\n\r\n{".encode()
            )
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: ask(port, "/v1/judge", PAIR)[0], range(64)))
        assert answers == [200] * 64
    finally:
        for connection in slow:
            connection.close()


Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The one line that serving a policy ends with."""

    def serve(policy: Path, *options: str) -> str:
        assert run(["serve", "--policy", str(policy), "--port", "0", *options]) == 1
        [message] = capsys.readouterr().err.splitlines()
        return message

    return serve


def test_a_batch_guarantee_is_not_served(tmp_path: Path, refused: Refused) -> None:
    message = refused(write_policy(tmp_path, guarantee="fdr"), "--judge", JUDGE)
    assert "calibrate with --guarantee scope or pac" in message


def test_a_policy_of_another_judge_is_not_served(policy: Path, refused: Refused) -> None:
    message = refused(policy, "--judge", "simulated:accuracy=0.7")
    assert "accuracy=0.85" in message
    assert "name the policy's judge, simulated:accuracy=0.85" in refused(policy)


def test_the_network_needs_a_token(
    policy: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADJUDGE_TOKEN", raising=False)
    assert "ADJUDGE_TOKEN" in refused(policy, "--judge", JUDGE, "--host", "0.0.0.0")


def test_a_prompt_that_names_columns_is_not_served(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{prompt} {response_a} {response_b} {reference}")
    words = ["serve", "--policy", str(policy), "--judge", JUDGE, "--prompt", str(prompt)]
    assert run(words) == 1
    assert "mine.txt: names {reference}; serve a prompt without columns" in capsys.readouterr().err
