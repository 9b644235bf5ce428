"""Attacks on both servers from outside: refused, with every header, and without a mark."""

from __future__ import annotations

import json
import random
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import HOSTILE_TEXTS, LONE_SURROGATE
from serving import JUDGE, Service, running, write_policy
from web_attacks import TRAVERSALS, Answer, read_answer, request, talk

TOKEN = "a-token-of-some-length"
CLICK = {"rater": "ann", "id": "0", "side": "left", "shown_order": "ab", "nonce": "12345678"}
PAIR = {"prompt": "q", "response_a": "a", "response_b": "b"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("attacks")
    rows = [{"id": str(i), **PAIR} for i in range(3)]
    (made / "pairs.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (made / "linked.html").symlink_to("/etc/passwd")
    write_policy(made)
    return made


@pytest.fixture(scope="module")
def label(folder: Path) -> Iterator[Service]:
    with running("label", "pairs.jsonl", "--no-browser", cwd=folder) as service:
        yield service


@pytest.fixture(scope="module")
def judge(folder: Path) -> Iterator[Service]:
    options = ("--policy", "policy.json", "--judge", JUDGE)
    with running("serve", *options, cwd=folder, token=TOKEN) as service:
        yield service


def said(service: Service, *given: Any, **headers: Any) -> Answer:
    """The answer to one request; every answer has the safety headers."""
    answer = talk(service.port, request(service.port, *given, **headers))
    assert answer is not None
    assert answer.missing_headers() == []
    return answer


def clicks(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "adjudge.db")) as store:
        return int(store.execute("select count(*) from label_events").fetchone()[0])


@pytest.mark.attack("other sites")
@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:PORT", 200), ("LOCALHOST:PORT", 200), ("[::1]:PORT", 200), ("127.0.0.1", 421),
     ("localhost", 421), ("localhost.:PORT", 421), ("127.0.0.1:1", 421), ("127.1:PORT", 421),
     ("evil.example:PORT", 421), ("localhost:PORT@evil.example", 421), ("", 421), (None, 400),
     ("127.0.0.1:PORT\r\nHost: evil.example", 400), ("localhost:PORT, evil.example", 421)],
)  # fmt: skip
def test_only_its_own_names_are_answered_for(label: Service, host: str | None, status: int) -> None:
    named = None if host is None else host.replace("PORT", str(label.port))
    assert said(label, "GET", "/healthz", Host=named).status == status


@pytest.mark.attack("other sites")
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:1"},
     {"Origin": "http://127.0.0.1:PORT\r\nOrigin: https://evil.example"},
     {"Origin": "https://127.0.0.1:PORT"}, {"Origin": "http://127.0.0.1:PORT.evil.example"},
     {"Origin": ""}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
     {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, {"Sec_Fetch_Site": "x"}],
)  # fmt: skip
def test_no_other_site_changes_anything(
    label: Service, folder: Path, headers: dict[str, str]
) -> None:
    before = clicks(folder)
    there = {name: value.replace("PORT", str(label.port)) for name, value in headers.items()}
    assert said(label, "POST", "/api/label", body=CLICK, **there).status == 403
    assert said(label, "GET", "/api/next?rater=ann", **there).status == 403
    assert said(label, "OPTIONS", "/api/label", **there).status == 403
    assert clicks(folder) == before


@pytest.mark.attack("other sites")
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_what_a_form_can_send_is_not_taken_for_json(
    label: Service, folder: Path, kind: str | None
) -> None:
    before = clicks(folder)
    sent = json.dumps(CLICK).encode()
    answer = said(label, "POST", "/api/label", body=sent, Content_Type=kind)
    assert answer.status == 422
    assert clicks(folder) == before


def test_a_followed_link_opens_the_page_under_a_strict_policy(label: Service) -> None:
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    answer = said(label, "GET", "/", **followed)
    assert answer.status == 200
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


@pytest.mark.parametrize("length", ["100000000", "9" * 40, "-1", "x"])
def test_a_body_that_announces_too_much_is_refused(label: Service, length: str) -> None:
    assert said(label, "POST", "/api/label", Content_Length=length).status in {400, 413}


def test_a_body_that_grows_too_large_is_refused(label: Service) -> None:
    chunks = (b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 100
    head = request(label.port, "POST", "/api/label", Transfer_Encoding="chunked")
    answer = talk(label.port, head + chunks)
    assert answer is not None
    assert answer.status == 413


def test_asking_for_a_pair_changes_nothing(label: Service, folder: Path) -> None:
    before = clicks(folder)
    assert said(label, "GET", "/api/next?rater=bob").status == 200
    assert clicks(folder) == before


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_file_but_the_page_is_served(label: Service, path: str) -> None:
    answer = said(label, "GET", path)
    assert answer.status in {400, 404}
    assert b"root:" not in answer.body


def test_another_method_is_not_allowed(label: Service, judge: Service) -> None:
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "BREW"):
        assert said(label, method, "/api/label").status == 405
    assert said(label, "GET", "/api/undo").status == 405
    assert said(label, "POST", "/", body={}).status == 405
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert said(judge, "GET", "/v1/judge", **bearer).status == 405
    assert said(judge, "POST", "/v1/judge/", body=PAIR, **bearer).status == 404  # no redirect


def test_every_route_of_the_service_is_behind_its_guard(judge: Service) -> None:
    """Those it lists itself: a route that is added is tried too."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    listed = json.loads(said(judge, "GET", "/openapi.json", **bearer).body)["paths"]
    routes = {(method.upper(), path) for path, held in listed.items() for method in held}
    assert {("POST", "/v1/promptfoo"), ("POST", "/v1/judge"), ("GET", "/metrics")} <= routes
    for method, path in routes - {("GET", "/healthz")}:
        body = {} if method == "POST" else b""
        assert said(judge, method, path, body=body).status == 401
        for other, status in (
            ({"Host": "evil.example"}, 421),
            ({"Origin": "http://evil.example"}, 403),
        ):
            assert said(judge, method, path, body=body, **bearer, **other).status == status


@pytest.mark.parametrize(
    "given",
    [None, "", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN}x",
     f"Bearer {TOKEN[:-1]}", f"bearer  {TOKEN}", f"Bearer {TOKEN.upper()}", "Bearer \xe9"],
)  # fmt: skip
def test_only_the_whole_token_opens_the_service(judge: Service, given: str | None) -> None:
    for path in ("/v1/policy", "/metrics", "/openapi.json"):
        answer = said(judge, "GET", path, Authorization=given)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    answer = said(judge, "POST", "/v1/judge", body=PAIR, Authorization=given)
    assert answer.status == 401
    assert said(judge, "GET", f"/v1/policy?token={TOKEN}", Authorization=given).status == 401


BROKEN = [
    b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 100_000,
    b"\xff" * 1000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"POST /api/label HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"POST /api/label HTTP/1.1\r\nHost: x\r\nContent-Length: \xd9\xa1\r\n\r\n",
    b"POST /api/label HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET / HTTP/1.1\nHost: x\x00\n\n",
]  # fmt: skip


@pytest.mark.attack("framing")
@pytest.mark.parametrize("sent", BROKEN)
def test_what_is_not_http_gets_the_same_headers(label: Service, sent: bytes) -> None:
    answer = talk(label.port, sent)
    assert answer is not None
    assert answer.missing_headers() == []
    assert answer.status in {400, 421}
    assert "\n" not in answer.detail
    assert said(label).status == 200


@pytest.mark.attack("framing")
def test_a_hidden_second_request_is_not_served(label: Service, folder: Path) -> None:
    """Both lengths given: whichever counts, the body of a request is never the next request."""
    before = clicks(folder)
    hidden = request(label.port, "POST", "/api/label", body=CLICK, Content_Type="application/json")
    outer = request(label.port, "POST", "/api/undo", body=b"0\r\n\r\n" + hidden,
                    Transfer_Encoding="chunked", Origin="https://evil.example")  # fmt: skip
    answer = talk(label.port, outer)
    assert answer is not None
    assert answer.status in {400, 403}
    assert answer.headers["connection"] == "close"
    assert clicks(folder) == before


@pytest.mark.attack("framing")
def test_two_ways_to_say_how_long_a_body_is(label: Service, folder: Path) -> None:
    before = clicks(folder)
    body = json.dumps(CLICK).encode()
    chunked = f"{len(body):x}".encode() + b"\r\n" + body + b"\r\n0\r\n\r\n"
    sent = request(label.port, "POST", "/api/label", body=chunked,
                   Content_Type="application/json", Transfer_Encoding="chunked")  # fmt: skip
    assert b"content-length" in sent.lower()
    answer = talk(label.port, sent)
    assert answer is not None
    assert answer.status == 400
    assert "not both" in answer.detail
    assert clicks(folder) == before


@pytest.mark.attack("framing")
@pytest.mark.parametrize("seed", range(40))
def test_lengths_that_contradict_each_other(label: Service, folder: Path, seed: int) -> None:
    """A label behind two, three or misspelled lengths of the body is never kept."""
    rng = random.Random(seed)
    before, body = clicks(folder), json.dumps(CLICK).encode()
    chunked = f"{len(body):x}".encode() + b"\r\n" + body + b"\r\n0\r\n\r\n"
    spelled = ["chunked", "Chunked", "chunked, identity", "identity, chunked", "x", "\tchunked"]
    lengths = [str(len(chunked)), "0", "+5", "0x10", f"{len(body)}, {len(body) + 1}", "1 2"]
    lines = [
        f"Transfer-Encoding: {rng.choice(spelled)}",
        f"Content-Length: {rng.choice(lengths)}",
        *rng.sample([f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"], 1),
    ]
    rng.shuffle(lines)
    sent = request(label.port, "POST", "/api/label", Content_Type="application/json")
    head = sent.partition(b"\r\n\r\n")[0] + "".join(f"\r\n{line}" for line in lines).encode()
    answer = talk(label.port, head + b"\r\n\r\n" + chunked)
    assert answer is None or 400 <= answer.status < 500
    assert clicks(folder) == before
    assert said(label).status == 200


BODIES: list[tuple[str, bytes, set[int]]] = [
    ("huge note", json.dumps({**CLICK, "note": "x" * 1_000_000}).encode(), {413}),
    ("unknown field", json.dumps({**CLICK, "note": "x"}).encode(), {422}),
    ("long field name", json.dumps({**CLICK, "n" * 10_000: 1}).encode(), {422}),
    ("many fields", json.dumps({**CLICK, **{str(i): i for i in range(1500)}}).encode(), {422}),
    ("wrong id", json.dumps({**CLICK, "id": "nobody"}).encode(), {409}),
    ("long id", json.dumps({**CLICK, "id": "x" * 1001}).encode(), {422}),
    ("number as id", json.dumps({**CLICK, "id": 0}).encode(), {422}),
    ("list as id", json.dumps({**CLICK, "id": ["0"]}).encode(), {422}),
    ("wrong side", json.dumps({**CLICK, "side": "A"}).encode(), {422}),
    ("side of an answer", json.dumps({**CLICK, "side": "pass"}).encode(), {409}),
    ("wrong order", json.dumps({**CLICK, "shown_order": "xy"}).encode(), {422}),
    ("no rater", json.dumps({**CLICK, "rater": "  "}).encode(), {422}),
    ("long rater", json.dumps({**CLICK, "rater": "x" * 81}).encode(), {422}),
    ("zero in rater", json.dumps({**CLICK, "rater": "a\x00b"}).encode(), {422}),
    ("escape in rater", json.dumps({**CLICK, "rater": "\x1b[2J"}).encode(), {422}),
    ("half a character", json.dumps({**CLICK, "rater": LONE_SURROGATE}).encode(), {400, 422}),
    ("half a character as id", json.dumps({**CLICK, "id": LONE_SURROGATE}).encode(), {400, 422}),
    ("half a field name", json.dumps({**CLICK, LONE_SURROGATE: 1}).encode(), {400, 422}),
    ("null nonce", json.dumps({**CLICK, "nonce": None}).encode(), {422}),
    ("short nonce", json.dumps({**CLICK, "nonce": "1"}).encode(), {422}),
    ("zero in nonce", json.dumps({**CLICK, "nonce": "1234567\x00"}).encode(), {422}),
    ("deep", b"[" * 15_000, {400, 422}),
    ("long number", b'{"rater": ' + b"9" * 10_000 + b"}", {400, 422}),
    ("not a number", b'{"rater": NaN, "nonce": Infinity}', {400, 422}),
    ("not UTF-8", b'{"rater": "\xff"}', {400, 422}),
    ("empty", b"", {422}),
]


@pytest.mark.parametrize(("name", "body", "expected"), BODIES, ids=[name for name, *_ in BODIES])
def test_a_hostile_rater_gets_one_line_and_leaves_the_store_alone(
    label: Service, folder: Path, name: str, body: bytes, expected: set[int]
) -> None:
    before = clicks(folder)
    for path in ("/api/label", "/api/undo"):
        answer = said(label, "POST", path, body=body, Content_Type="application/json")
        if path == "/api/label":
            assert answer.status in expected
        assert 400 <= answer.status < 500 or answer.status == 200
        assert len(answer.body) < 2_000
        assert b"Traceback" not in answer.body
    assert clicks(folder) == before


def test_a_reused_nonce_does_not_look_as_if_it_was_kept(label: Service, folder: Path) -> None:
    for number, status in (("1", 200), ("1", 200), ("2", 409)):
        shown = ["ab", "ba"]
        answers = [
            said(label, "POST", "/api/label",
                 body={**CLICK, "rater": "eve", "id": number, "shown_order": order,
                       "nonce": "used-before"})
            for order in shown
        ]  # fmt: skip
        # One of the two orders is the one that this rater was shown.
        assert status in {answer.status for answer in answers}
    with closing(sqlite3.connect(folder / "adjudge.db")) as store:
        kept = store.execute("select subject_id from label_events where rater = 'eve'").fetchall()
    assert kept == [("1",)]


def test_thousands_of_bad_requests_leave_it_serving(label: Service, folder: Path) -> None:
    before = clicks(folder)
    wrong = request(label.port, "POST", "/api/label", body={**CLICK, "id": "nobody"})

    def pester(_: int) -> int:
        with socket.create_connection(("127.0.0.1", label.port), timeout=30) as raw:
            raw.sendall(wrong * 100)
            received = b""
            while received.count(b"HTTP/1.1 409") < 100:
                piece = raw.recv(65536)
                if not piece:
                    break
                received += piece
            return received.count(b"HTTP/1.1 409")

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(pester, range(10))) == 1000
    assert clicks(folder) == before
    assert said(label).status == 200


@pytest.mark.attack("texts")
@pytest.mark.parametrize(("name", "text"), HOSTILE_TEXTS, ids=[name for name, _ in HOSTILE_TEXTS])
def test_hostile_texts_are_judged_as_text(judge: Service, name: str, text: str) -> None:
    body = {"prompt": text or "q", "response_a": text, "response_b": text, "id": text[:200],
            "group": text[:200]}  # fmt: skip
    answer = said(judge, "POST", "/v1/judge", body=body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["id"] == text[:200]


def test_a_replaced_policy_is_not_followed_but_told_and_nothing_secret_is_logged(
    folder: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.json"
    original = (folder / "policy.json").read_bytes()
    policy.write_bytes(original)
    secret = "a-text-that-nobody-should-log"
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    options = ("serve", "--policy", str(policy), "--judge", JUDGE)
    with running(*options, token=TOKEN) as service:

        def state(path: str = "/healthz") -> tuple[str, str]:
            told = json.loads(said(service, "GET", path, **bearer).body)
            return told["policy_id"], told["policy_file"]

        in_use, before = state()
        assert before == "unchanged"
        policy.write_bytes(original.replace(b'"alpha": 0.1', b'"alpha": 0.4'))
        assert state() == state("/v1/policy") == (in_use, "changed")
        body = {**PAIR, "prompt": secret}
        ruling = json.loads(said(service, "POST", "/v1/judge", body=body, **bearer).body)
        assert ruling["policy_id"] == in_use
        policy.unlink()
        assert state() == (in_use, "missing")
        policy.write_bytes(original)
        assert state() == (in_use, "unchanged")

        wrong = said(service, "POST", f"/v1/judge?{secret}", body={secret: 1}, **bearer)
        assert wrong.status == 422
        assert said(service, "GET", f"/{secret}?token={TOKEN}", **bearer).status == 404
        talk(service.port, f"{secret} {TOKEN}\r\n\r\n".encode())
        code, _, written = service.stop()
    assert code == 0
    assert "Invalid HTTP request" in written
    assert TOKEN not in written
    assert secret not in written


@pytest.mark.parametrize(
    ("number", "host"), [(signal.SIGINT, "::1"), (signal.SIGTERM, "127.0.0.9")]
)
def test_labelling_ends_at_a_signal_and_writes_the_labels_on_any_loopback_address(
    folder: Path, tmp_path: Path, number: int, host: str
) -> None:
    (tmp_path / "pairs.jsonl").write_bytes((folder / "pairs.jsonl").read_bytes())
    options = ("label", "pairs.jsonl", "--no-browser", "-o", "labels.csv", "--host", host)
    with running(*options, cwd=tmp_path) as service:
        names = (f"[{host}]" if ":" in host else host, "localhost")

        def ask(name: str, *given: Any, **options: Any) -> dict[str, Any]:
            sent = request(service.port, *given, Host=f"{name}:{service.port}", **options)
            answer = talk(service.port, sent, address=host)
            assert answer is not None
            assert answer.status == 200
            return dict(json.loads(answer.body))

        shown = ask(names[0], "GET", "/api/next?rater=ann")["item"]
        click = {**CLICK, "id": shown["id"], "shown_order": shown["shown_order"]}
        ask(names[1], "POST", "/api/label", body=click)
        with socket.create_connection((host, service.port)) as slow:
            sent = request(service.port, "POST", "/api/label", Content_Length="50",
                           Host=f"localhost:{service.port}")  # fmt: skip
            slow.sendall(sent)
            time.sleep(0.2)
            code, seconds, written = service.stop(number)
            stopped = read_answer(slow, 0)
    print(f"ended after {seconds:.2f} s")
    assert code == 0, written
    assert seconds < 10
    assert stopped is not None
    assert (stopped.status, stopped.detail) == (503, "the server is stopping")
    label = "A" if shown["shown_order"] == "ab" else "B"
    assert (
        (tmp_path / "labels.csv")
        .read_text()
        .splitlines()[1]
        .startswith(f"{shown['id']},{label},ann")
    )
