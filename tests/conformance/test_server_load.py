"""A service under load and under attack: answers or honest refusals, in time, in bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from serving import Service, running, write_policy
from tries import tried
from web_attacks import Answer, request, talk

pytestmark = pytest.mark.crash

PAIR = {"prompt": "2+2?", "response_a": "4", "response_b": "5"}
JUDGE = "openai:test-model"
#: Seconds past its limit that an answer can take while both cores of a machine are busy.
SLACK = 8.0

Send = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


@dataclass
class Tally:
    """What the clients of one kind got, and how long the slowest waited."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0


class Crowd:
    """Clients of several kinds against one service, and the service's memory meanwhile."""

    def __init__(self, service: Service) -> None:
        self.port = service.port
        self.process = psutil.Process(service.process.pid)
        self.rest_mb = self.peak_mb = self._memory_mb()
        self.tallies: dict[str, Tally] = {}

    def _memory_mb(self) -> float:
        return float(self.process.memory_info().rss) / 1e6

    async def gather(self, **numbers: int) -> None:
        """So many clients of each kind, all at once, until each of them is answered."""
        tried(sum(numbers.values()))
        watch = asyncio.create_task(self._watch())
        clients = [getattr(self, kind)() for kind, number in numbers.items() for _ in range(number)]
        await asyncio.gather(*clients)
        watch.cancel()

    async def _watch(self) -> None:
        while True:
            self.peak_mb = max(self.peak_mb, self._memory_mb())
            await asyncio.sleep(0.02)

    async def _ask(self, kind: str, send: Send) -> None:
        """Send and read at once, as browsers do; note the status, or that the server hung up."""
        tally = self.tallies.setdefault(kind, Tally())
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        sending = asyncio.create_task(send(writer))
        try:
            outcome = await _status(reader)
        except (ConnectionError, asyncio.IncompleteReadError):
            outcome = "hung up"
        tally.outcomes[outcome] += 1
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()

    async def honest(self) -> None:
        for _ in range(5):
            await self._ask("honest", _all(request(self.port, "POST", "/v1/judge", body=PAIR)))

    async def patient(self) -> None:
        await self._ask("patient", _all(request(self.port, "POST", "/v1/judge", body=PAIR)))

    async def impatient(self) -> None:
        """Leaves before the answer."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request(self.port, "POST", "/v1/judge", body=PAIR))
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.close()

    async def large(self) -> None:
        """Within every limit, and near them all: 3.4 MB."""
        body = {"pairs": [dict.fromkeys(PAIR, "x" * 190_000)] * 6}
        await self._ask("large", _all(request(self.port, "POST", "/v1/judge/batch", body=body)))

    async def huge(self) -> None:
        async def send(writer: asyncio.StreamWriter) -> None:
            writer.write(request(self.port, "POST", "/v1/judge", Content_Length="50000000"))
            for _ in range(50):
                writer.write(b"x" * 1_000_000)
                await writer.drain()

        await self._ask("huge", send)

    async def endless(self) -> None:
        async def send(writer: asyncio.StreamWriter) -> None:
            writer.write(request(self.port, "POST", "/v1/judge", Transfer_Encoding="chunked"))
            while True:
                writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                await writer.drain()

        await self._ask("endless", send)

    async def slow_head(self) -> None:
        head = f"POST /v1/judge HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n".encode()
        await self._ask("slow_head", _drip(head, b"X-Slow: 1\r\n"))

    async def slow_body(self) -> None:
        head = request(self.port, "POST", "/v1/judge", Content_Length="5000")
        await self._ask("slow_body", _drip(head, b" "))


async def _status(reader: asyncio.StreamReader) -> str:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
    body = json.loads(await reader.readexactly(length))
    assert {"verdict", "rulings", "detail"} & body.keys(), body
    return head.split()[1]


def _all(content: bytes) -> Send:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()

    return send


def _drip(first: bytes, drop: bytes) -> Send:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.5)

    return send


@pytest.fixture(scope="module")
def policy(judge_server_process: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    judge_server_process.reset()
    folder = tmp_path_factory.mktemp("load")
    return write_policy(folder, judge=JUDGE, base_url=judge_server_process.base_url, n=60)


@pytest.fixture
def serve(policy: Path, judge_server: Any) -> Iterator[Callable[..., Any]]:
    """Starts the service of the scripted judge with options of its own."""

    def start(*options: str) -> Any:
        return running(
            "serve", "--policy", str(policy), "--judge", JUDGE,
            "--base-url", judge_server.base_url, *options,
        )  # fmt: skip

    yield start
    judge_server.script(latency_s=0.0)


def ask_once(service: Service) -> Answer:
    answer = talk(service.port, request(service.port, "POST", "/v1/judge", body=PAIR))
    assert answer is not None
    return answer


@pytest.mark.attack("connections")
def test_honest_clients_are_served_among_hostile_ones(
    serve: Callable[..., Any], judge_server: Any
) -> None:
    judge_server.script(latency_s=0.02)
    with serve() as service:
        crowd = Crowd(service)
        asyncio.run(crowd.gather(honest=20, large=1, huge=1, endless=1))
        assert crowd.tallies["honest"].outcomes == {"200": 100}
        assert crowd.tallies["large"].outcomes == {"200": 1}
        assert crowd.tallies["huge"].outcomes == crowd.tallies["endless"].outcomes == {"413": 1}


@pytest.mark.attack("connections")
def test_two_hundred_clients_at_once_among_every_kind_of_hostile_one(
    serve: Callable[..., Any], judge_server: Any
) -> None:
    judge_server.script(latency_s=0.05)
    with serve() as service:
        crowd = Crowd(service)
        asyncio.run(
            crowd.gather(honest=200, large=40, huge=20, endless=20, slow_head=100, slow_body=50)
        )
        print(f"memory: {crowd.rest_mb:.0f} MB at rest, {crowd.peak_mb:.0f} MB at most")
        for kind, tally in crowd.tallies.items():
            print(f"{kind}: {dict(tally.outcomes)}, slowest {tally.slowest:.1f} s")
        outcomes = {kind: tally.outcomes for kind, tally in crowd.tallies.items()}
        assert outcomes["honest"] == {"200": 1000}
        assert set(outcomes["large"]) == {"200", "503"}
        assert outcomes["huge"] == {"413": 20}
        assert set(outcomes["endless"]) <= {"413", "503"}
        assert outcomes["slow_head"] == {"408": 100}
        assert outcomes["slow_body"] == {"408": 50}
        assert max(crowd.tallies[kind].slowest for kind in ("slow_head", "slow_body")) < 10 + SLACK
        assert crowd.peak_mb - crowd.rest_mb < 300
        assert ask_once(service).status == 200


def test_a_slow_judge_is_given_up_and_costs_nothing_afterwards(
    serve: Callable[..., Any], judge_server: Any
) -> None:
    judge_server.script(latency_s=60)
    with serve("--timeout", "1", "--concurrency", "2") as service:
        crowd = Crowd(service)
        began = time.monotonic()
        asyncio.run(asyncio.wait_for(crowd.gather(impatient=20, patient=20), 60))
        assert crowd.tallies["patient"].outcomes == {"504": 20}
        assert time.monotonic() - began < 1 + SLACK
        # Two slots: the leavers' questions that wait for one are never asked.
        assert judge_server.counts()["requests"] <= 8
        judge_server.script(latency_s=0.0)
        assert ask_once(service).status == 200


def test_a_judge_that_is_down_is_an_abstention_or_a_timeout(
    tmp_path: Path, judge_server: Any
) -> None:
    program = Path(__file__).parents[1] / "support" / "judge_server.py"
    judge = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
    assert judge.stdout is not None
    base_url = f"http://127.0.0.1:{judge.stdout.readline().split()[1]}/v1"
    policy = write_policy(tmp_path, judge=JUDGE, base_url=base_url, n=60)
    judge.kill()
    judge.communicate()
    options = ("--policy", str(policy), "--judge", JUDGE, "--base-url", base_url, "--timeout", "2")
    with running("serve", *options) as service:
        answer = ask_once(service)
        assert answer.seconds < 2 + SLACK
        if answer.status == 200:
            ruling = json.loads(answer.body)
            assert (ruling["accepted"], ruling["verdict"]) == (False, None)
            assert ruling["reason"] == "status error"
        else:
            assert (answer.status, answer.detail) == (504, "no answer within the time limit")


async def stopped(service: Service, clients: int, *signals: int) -> tuple[list[str], float]:
    """Signals while so many requests are under way; the answers, and seconds until the end."""
    crowd = Crowd(service)
    asking = [asyncio.create_task(crowd.patient()) for _ in range(clients)]
    await asyncio.sleep(0.5)
    began = time.monotonic()
    for number in signals:
        service.process.send_signal(number)
        await asyncio.sleep(0.2)
    await asyncio.gather(*asking)
    await asyncio.to_thread(service.process.wait, 60)
    return sorted(crowd.tallies["patient"].outcomes.elements()), time.monotonic() - began


@pytest.mark.parametrize(
    ("latency", "options", "signals", "outcome"),
    [
        pytest.param(60, (), [signal.SIGTERM], "503", id="cut off"),
        pytest.param(0.9, (), [signal.SIGTERM], "200", id="finish"),
        *(
            pytest.param(60, ("--grace", "60"), [number] * 2, "503")
            for number in (signal.SIGTERM, signal.SIGINT)
        ),
    ],
)
def test_requests_under_way_at_a_stop_finish_or_are_told(
    serve: Callable[..., Any], judge_server: Any, latency: float, options: tuple[str, ...],
    signals: list[int], outcome: str,
) -> None:  # fmt: skip
    judge_server.script(latency_s=latency)
    with serve(*options) as service:
        outcomes, seconds = asyncio.run(stopped(service, 12, *signals))
        print(f"ended after {seconds:.2f} s")
        assert outcomes == [outcome] * 12
        assert seconds < 2 + SLACK
        assert service.process.returncode == 0
        written = service.process.stderr.read() if service.process.stderr else ""
        assert "Traceback" not in written


@pytest.mark.attack("connections")
def test_idle_connections_are_closed_and_do_not_lock_others_out_for_long(
    serve: Callable[..., Any],
) -> None:
    with serve() as service, contextlib.ExitStack() as stack:
        tried(700)
        for _ in range(700):
            idle = socket.create_connection(("127.0.0.1", service.port), timeout=30)
            stack.callback(idle.close)
        refused = talk(service.port, request(service.port))
        assert refused is None or refused.status == 503
        time.sleep(11)
        assert ask_once(service).status == 200
        descriptors = psutil.Process(service.process.pid).num_fds()
        assert descriptors < 100


@pytest.mark.attack("connections")
@pytest.mark.parametrize("verb", ["serve", "label"])
def test_a_thousand_connections_at_once_half_of_them_slow(
    serve: Callable[..., Any], tmp_path: Path, verb: str
) -> None:
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"id": "1", **PAIR}))
    label = partial(running, "label", "pairs.jsonl", "--no-browser", cwd=tmp_path)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (serve if verb == "serve" else label)() as service, contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        process = psutil.Process(service.process.pid)
        rest = process.memory_info().rss
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=30))
            for _ in range(1000)
        ]
        tried(len(clients))
        began = time.monotonic()
        refused = []
        while time.monotonic() - began < 10.5:
            for client in clients[::2]:
                with contextlib.suppress(OSError):
                    client.sendall(b"GET / HTTP/1.1\r\n" if not refused else b"X-Slow: 1\r\n")
            answer = talk(service.port, request(service.port))
            refused.append(None if answer is None else answer.status)
            time.sleep(0.5)
        time.sleep(1)
        answer = talk(service.port, request(service.port))
        grown = (process.memory_info().rss - rest) / 1e6
        print(f"{Counter(refused)}, then {answer and answer.status}, {grown:.0f} MB more")
        assert set(refused) <= {None, 503, 200}
        assert answer is not None
        assert answer.status == 200
        assert process.num_fds() < 100
        assert grown < 60
        assert service.stop()[0] == 0


@pytest.mark.attack("connections")
def test_two_hundred_clients_that_never_read_are_let_go(tmp_path: Path) -> None:
    """Answers of 1 MB each, five asked for at once on every connection."""
    row = {"id": "1", **PAIR, "prompt": "x" * 1_000_000}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row))
    with (
        running("label", "pairs.jsonl", "--no-browser", cwd=tmp_path) as service,
        contextlib.ExitStack() as stack,
    ):
        process = psutil.Process(service.process.pid)
        for number in range(200):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", service.port))
            client.sendall(request(service.port, "GET", f"/api/next?rater=r{number}") * 5)
        tried(200)
        peak, slowest, held = 0, 0.0, 200
        began = time.monotonic()
        while held > 50 and time.monotonic() - began < 120:
            answer = talk(service.port, request(service.port))
            assert answer is not None
            peak, slowest = max(peak, process.memory_info().rss), max(slowest, answer.seconds)
            held = process.num_fds()
            time.sleep(0.5)
        seconds = time.monotonic() - began
        print(f"all let go after {seconds:.0f} s, {peak / 1e6:.0f} MB at most, {slowest:.1f} s")
        assert held <= 50
        assert peak < 1.5e9
        assert service.stop()[0] == 0
