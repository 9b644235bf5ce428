"""`adjudge label` killed ten times while two raters work: every confirmed label is kept, once.

The raters do as the page does: each click has a name of its own (nonce) and is sent until the
server confirms it, to a server that somebody starts again on the same port.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from judge_runs import wait_for, write_pairs
from tries import tried

from adjudge.store import use_store
from adjudge.store.labels import LabelBook

PAIRS, KILLS = 400, 10
SIDES = {"left": {"ab": "A", "ba": "B"}, "right": {"ab": "B", "ba": "A"}}


class Rater(threading.Thread):
    """Labels every pair; `confirmed` is what the server said it kept."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name=name)
        self.address = address
        self.rng = random.Random(name)
        self.confirmed: dict[str, str] = {}
        self.sent_again = 0

    def run(self) -> None:
        while (item := self.call(f"/api/next?rater={self.name}")["item"]) is not None:
            side = self.rng.choice(("left", "right", "tie"))
            order = item["shown_order"]
            click = {"rater": self.name, "id": item["id"], "side": side, "shown_order": order,
                     "nonce": self.rng.randbytes(16).hex()}  # fmt: skip
            assert self.call("/api/label", click) == {"kept": item["id"]}
            assert item["id"] not in self.confirmed, "a pair that was answered came again"
            self.confirmed[item["id"]] = "tie" if side == "tie" else SIDES[side][order]
            time.sleep(self.rng.uniform(0, 0.02))

    def call(self, path: str, body: dict[str, str] | None = None) -> Any:
        request = urllib.request.Request(  # noqa: S310  (our own loopback server)
            self.address + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        while True:
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310  (as above)
                    return json.load(answer)
            except urllib.error.HTTPError as refusal:
                raise AssertionError(refusal.read()) from None
            except (OSError, http.client.HTTPException, ValueError):
                self.sent_again += body is not None
                time.sleep(0.02)


def start_label(pairs: Path, store: Path, port: int) -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "label", str(pairs), "--store", str(store), "--port",
         str(port), "--no-browser"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    line = server.stderr.readline()
    assert re.search(r"labelling page: http", line), line + server.stderr.read()
    return server


@pytest.mark.attack("labels")
@pytest.mark.crash
def test_ten_kills_lose_no_confirmed_label_and_count_none_twice(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", PAIRS)
    store = tmp_path / "labels.db"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    rng = random.Random(7)
    servers = [start_label(pairs, store, port)]
    request.addfinalizer(lambda: [server.kill() for server in servers])
    raters = [Rater(name, f"http://127.0.0.1:{port}") for name in ("ann", "bob")]
    for rater in raters:
        rater.daemon = True
        rater.start()
    for moment in sorted(rng.sample(range(2 * PAIRS - 60), KILLS)):
        wait_for(lambda least=moment: sum(len(r.confirmed) for r in raters) >= least, 60)
        time.sleep(rng.uniform(0, 0.03))
        servers[-1].kill()
        tried()
        servers[-1].communicate()
        servers.append(start_label(pairs, store, port))
    for rater in raters:
        rater.join(timeout=120)
        assert len(rater.confirmed) == PAIRS
    servers[-1].terminate()
    servers[-1].communicate(timeout=20)

    assert sum(rater.sent_again for rater in raters) > 0, "no kill met a click"
    with use_store(store, readonly=True) as kept:
        events = kept.label_events()
        answers = LabelBook(kept).answers()
    assert {event.action for event in events} == {"label"}
    assert max(Counter((event.rater, event.subject_id) for event in events).values()) == 1
    for rater in raters:
        said = {answer.subject_id: answer.label for answer in answers if answer.rater == rater.name}
        assert said == rater.confirmed
