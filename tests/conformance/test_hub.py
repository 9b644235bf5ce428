"""Data sets by name: polars' own reader asks the hub's real addresses, answered on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hub_server import FIXTURES

GRADES = pl.DataFrame(
    {
        "id": [f"q{n}" for n in range(40)],
        "judge": [int(n % 4 > 0) for n in range(40)],
        "human": [int(n % 5 > 0) for n in range(40)],
    }
)


class Hub:
    """The hub's process; its requests are read when it has ended."""

    def __init__(self, folder: Path) -> None:
        server = Path(__file__).parents[1] / "support" / "hub_server.py"
        command = [sys.executable, str(server), str(folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = self._process.stdout.readline().split()[1]
        self.folder = folder

    def add(self, part: str, rows: pl.DataFrame) -> None:
        file = self.folder / "owner" / "name" / part / "0000.parquet"
        file.parent.mkdir(parents=True)
        rows.write_parquet(file)

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        proxy = {"HTTPS_PROXY": f"http://127.0.0.1:{self.port}", "NO_PROXY": ""}
        trusted = {"SSL_CERT_FILE": str(FIXTURES / "ca.pem")}
        return subprocess.run(
            [sys.executable, "-m", "adjudge", *command],
            env={**os.environ, **proxy, **trusted, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def requests(self) -> list[str]:
        """All that were made. The hub has ended then."""
        self._process.terminate()
        with self._process as ended:
            assert ended.stdout is not None
            return ended.stdout.read().splitlines()

    def close(self) -> None:
        if self._process.poll() is None:
            self.requests()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = Hub(tmp_path / "hub")
    (tmp_path / "hub").mkdir()
    yield hub
    hub.close()


def test_a_data_set_by_name_gives_the_numbers_of_its_file(hub: Hub, tmp_path: Path) -> None:
    hub.add("default/train", GRADES.head(20))
    hub.add("default/test", GRADES.tail(20))
    GRADES.tail(20).write_parquet(tmp_path / "test.parquet")
    named = hub.run("evaluate", "hf://datasets/owner/name:test", "--json", HF_TOKEN="hf_secret")
    assert named.returncode == 0, named.stderr
    local = hub.run("evaluate", str(tmp_path / "test.parquet"), "--json")
    assert json.loads(named.stdout)["judges"] == json.loads(local.stdout)["judges"]
    assert "hf://datasets/owner/name:test: fetched" in named.stderr
    assert "hf_secret" not in named.stdout + named.stderr
    asked = [line.split(" ", 1) for line in hub.requests()]
    assert {path for path, _ in asked} == {
        "/api/datasets/owner/name/tree/~parquet/?recursive=true",
        "/datasets/owner/name/resolve/~parquet/default/test/0000.parquet",
    }
    assert {key for _, key in asked} == {"Bearer hf_secret"}


def test_a_data_set_of_one_part_needs_no_split(hub: Hub) -> None:
    hub.add("default/train", GRADES)
    done = hub.run("estimate", "hf://datasets/owner/name", "--json")
    assert done.returncode == 0, done.stderr
    rate = json.loads(done.stdout)["estimate"]
    assert rate == pytest.approx(GRADES["human"].mean())


def test_several_parts_are_named_and_each_name_works(hub: Hub) -> None:
    hub.add("easy/train", GRADES.head(30))
    hub.add("hard/train", GRADES.tail(10).with_columns(level=pl.lit("hard")))
    asked = hub.run("estimate", "hf://datasets/owner/name:train")
    assert asked.returncode == 1
    names = ("hf://datasets/owner/name/easy:train", "hf://datasets/owner/name/hard:train")
    assert f"has 2 parts; name one: {', '.join(names)}" in asked.stderr
    rows = []
    for name in names:
        done = hub.run("estimate", name, "--json")
        assert done.returncode == 0, done.stderr
        rows.append(json.loads(done.stdout)["n_both"] + json.loads(done.stdout)["n_test"])
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("hf://datasets/owner/name:nope", "cannot be fetched"),
        ("hf://datasets/owner/other:train", "cannot be fetched"),
        ("hf://datasets/owner", "write hf://datasets/OWNER/NAME:SPLIT"),
        ("hf://spaces/owner/name:train", "write hf://datasets/OWNER/NAME:SPLIT"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(hub: Hub, address: str, message: str) -> None:
    hub.add("default/train", GRADES)
    done = hub.run("estimate", address)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_a_network_it_says_so_soon(hub: Hub) -> None:
    done = hub.run("estimate", "hf://datasets/owner/name:train", HTTPS_PROXY="http://127.0.0.1:9")
    assert done.returncode == 1
    assert "check the name, the split and the network" in done.stderr


def test_a_file_on_this_machine_asks_nobody(hub: Hub, tmp_path: Path) -> None:
    GRADES.write_parquet(tmp_path / "rows.parquet")
    assert hub.run("estimate", str(tmp_path / "rows.parquet")).returncode == 0
    assert hub.requests() == []
