"""Fixtures of all tests: an empty folder, a judge over HTTP, a PostgreSQL, the embedded weights."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from postgres import PostgresServer, programs, running_server
from schemas import check_written
from tries import pytest_addoption, pytest_configure, pytest_runtest_makereport

__all__ = ["pytest_addoption", "pytest_configure", "pytest_runtest_makereport"]

# A package to be installed, not tests; its modules need their entry points.
collect_ignore = ["plugin"]

# An example that takes long on a busy machine is no fault; the rest stays as it is (in CI seeded).
# `make fuzz` gives every property that names no number of examples 400, `make test` 30.
settings.register_profile("thorough", settings(), deadline=None, max_examples=400)
settings.register_profile("patient", settings(), deadline=None, max_examples=30)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def _own_folder(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Tests run in an empty folder: none may lean on a file of the checkout or leave one there.

    Nor in the user's own data folder, where batches under way are listed. Whatever results a test
    wrote follow their schemas.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(data_folder))
    yield
    check_written(tmp_path)


class JudgeServer:
    """tests/support/judge_server.py in a process of its own, and its controls."""

    def __init__(self) -> None:
        program = Path(__file__).parent / "support" / "judge_server.py"
        self.process = subprocess.Popen(
            [sys.executable, str(program)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], "the judge server did not start"
        self.root = f"http://127.0.0.1:{ready[1]}"
        self.base_url = f"{self.root}/v1"

    def script(self, *steps: str, **settings: Any) -> None:
        """What every request gets, step by step; `rules`, `latency_s` and so on by name."""
        self._post("script", {"default": list(steps) or ["ok"], **settings})

    def log(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._get("log")
        return rows

    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = self._get("counts")
        return counts

    def reset(self) -> None:
        self._post("reset", {})

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=10)

    def _get(self, name: str) -> Any:
        with urllib.request.urlopen(f"{self.root}/control/{name}", timeout=10) as answer:  # noqa: S310  (our own loopback server)
            return json.load(answer)

    def _post(self, name: str, body: dict[str, Any]) -> None:
        request = urllib.request.Request(  # noqa: S310  (our own loopback server)
            f"{self.root}/control/{name}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  (as above)
            answer.read()


@pytest.fixture(scope="session")
def judge_server_process() -> Iterator[JudgeServer]:
    server = JudgeServer()
    yield server
    server.close()


@pytest.fixture
def judge_server(judge_server_process: JudgeServer) -> JudgeServer:
    """A scriptable judge over HTTP that remembers nothing of the test before."""
    judge_server_process.reset()
    return judge_server_process


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of this worker's own, without the disk's delays; a test takes a new schema."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed (initdb, pg_ctl)")
    with running_server(fast=True) as server:
        yield server


@pytest.fixture(scope="session")
def embedded_weights() -> Path:
    """The real weights of the embedded judge, fetched once if they are not here.

    All embedded tests together may read 8,000 tokens: keep prompts short.
    """
    from adjudge.errors import BackendMissingError
    from adjudge.judges.weights import pull

    try:
        return pull("smollm2")
    except BackendMissingError as error:
        pytest.skip(f"no weights and no network: {error}")
