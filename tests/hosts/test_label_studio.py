"""Label Studio itself: its server takes tasks and config, and its export has all of them."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from integration_page import run_commands

from adjudge.cli import run

pytestmark = pytest.mark.hosts
TOKEN = "0123456789abcdef0123456789abcdef01234567"
#: Its first start makes a database, which takes minutes.
PATIENCE_S = 600


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    program = os.environ.get("LABEL_STUDIO")
    if program is None:
        pytest.skip("label-studio is not installed: make hosts")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environment = os.environ | {
        "COLLECT_ANALYTICS": "False",
        "LABEL_STUDIO_BASE_DATA_DIR": str(tmp_path / "label-studio"),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LATEST_VERSION_CHECK": "0",
    }
    command = [program, "start", "--no-browser", "--port", str(port)]
    command += ["--internal-host", "127.0.0.1"]
    command += ["--username", "a@b.co", "--password", "secret12345", "--user-token", TOKEN]
    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield wait_for(f"127.0.0.1:{port}", process, tmp_path / "server.log")
        finally:
            process.kill()
            process.wait()


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 1).close()
        except OSError:
            time.sleep(1)
        else:
            return address
    raise AssertionError(log.read_text()[-3000:])


def call(address: str, path: str, body: object = None) -> Any:
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection(address, timeout=120)) as connection:
        content = None if body is None else json.dumps(body).encode()
        connection.request("GET" if body is None else "POST", path, content, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status in (200, 201), text
        return json.loads(text)


def labelled(address: str, tasks: Path) -> list[dict[str, Any]]:
    """A project of these tasks, each answered with the first choice, as Label Studio exports it."""
    config = tasks.with_suffix(".xml").read_text()
    project = call(address, "/api/projects", {"title": tasks.stem, "label_config": config})["id"]
    place = f"/api/projects/{project}"
    sent = json.loads(tasks.read_text())
    assert call(address, f"{place}/import", sent)["task_count"] == len(sent)
    listed = call(address, f"/api/tasks?project={project}&page_size=100")["tasks"]
    assert [task["data"] for task in listed] == [task["data"] for task in sent]
    for task in listed:
        choice = task["data"].get("choices", [{"alias": "pass"}])[0]["alias"]
        value = {"choices": [choice]}
        answer = {"from_name": "label", "to_name": "prompt", "type": "choices", "value": value}
        call(address, f"/api/tasks/{task['id']}/annotations", {"result": [answer]})
    exported: list[dict[str, Any]] = call(
        address, f"/api/projects/{project}/export?exportType=JSON"
    )
    assert [task["data"] for task in exported] == [task["data"] for task in sent]
    return exported


def test_the_tasks_come_back_as_they_went_out(page_files: Path, server: str) -> None:
    run_commands("Label Studio")
    drawn = [task["data"]["sampled_by"] for task in labelled(server, page_files / "tasks.json")]
    assert set(drawn) == {"doubt", "random"}
    assert run(["label", "pairs.jsonl", "--label-studio", "pairs.json", "--limit", "10"]) == 0
    for task in labelled(server, page_files / "pairs.json"):
        [annotation] = task["annotations"]
        [answer] = annotation["result"]
        left = "response_a" if task["data"]["shown_order"] == "ab" else "response_b"
        assert answer["value"] == {"choices": [left]}
