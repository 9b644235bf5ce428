"""SQLite under real processes: what a kill leaves in the main file, Ctrl-C at a lock, exports."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from judge_runs import wait_for
from stores import fill_store

from adjudge.cli import run
from adjudge.store import use_store
from adjudge.store.labels import LabelBook

#: Saves a call every 20 ms and prints how many there are.
WRITER = """
import sys, time
sys.path.insert(0, {support!r})
from stores import keyed_call
from adjudge.store import open_store
store = open_store({place!r})
for n in range(10_000):
    store.save([keyed_call(n)])
    print(n + 1, flush=True)
    time.sleep(0.02)
"""


def start(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


@pytest.mark.attack("kills")
def test_a_killed_run_leaves_its_replies_in_the_main_file(tmp_path: Path) -> None:
    """Whoever then copies the main file alone, or removes the -wal file, loses about a second."""
    place = tmp_path / "s.db"
    support = str(Path(__file__).parents[2] / "support")
    writer = start(WRITER.format(support=support, place=str(place)))
    assert writer.stdout is not None
    saved = int(writer.stdout.readline())
    began = time.monotonic()
    while time.monotonic() - began < 4:
        saved = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    place.with_name("s.db-wal").unlink()
    place.with_name("s.db-shm").unlink(missing_ok=True)
    with closing(sqlite3.connect(place)) as db:
        [(left,)] = db.execute("SELECT COUNT(*) FROM calls").fetchall()
    assert left >= saved / 2


PAIRS = [{"id": f"p{n}", "prompt": "q", "response_a": "a", "response_b": "b"} for n in range(4)]


@pytest.fixture
def _pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text("\n".join(map(json.dumps, PAIRS)))
    Path("labels.csv").write_text("id,label,rater\np0,A,ann\n")
    with use_store("s.db") as store:
        LabelBook(store).add(
            nonce="nonce-one", rater="ann", subject_id="p1", label="B", shown_order="ab",
            sampled_by="random",
        )  # fmt: skip


def has_open(pid: int, name: str) -> bool:
    """Whether the process has a file of this name open."""
    files = Path(f"/proc/{pid}/fd")
    with suppress(FileNotFoundError):  # one was closed meanwhile
        return any(file.readlink().name == name for file in files.iterdir())
    return False


@pytest.mark.attack("kills")
@pytest.mark.usefixtures("_pairs")
@pytest.mark.parametrize(
    "command",
    [
        "label pairs.jsonl --import labels.csv --export-only",
        "judge pairs.jsonl --judge simulated: -o out.jsonl",
        "store copy s.db other.db",
    ],
)
def test_ctrl_c_ends_a_command_that_waits_for_a_lock(command: str) -> None:
    with use_store("other.db"):
        pass
    words = [*command.split(), *([] if "copy" in command else ["--store", "s.db"])]
    with closing(sqlite3.connect("s.db")) as db, closing(sqlite3.connect("other.db")) as other:
        for held in (db, other):
            held.execute("BEGIN IMMEDIATE")
        # Outside of the group of this process, as a shell starts it.
        waiting = subprocess.Popen(
            [sys.executable, "-m", "adjudge", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            held_file = "other.db" if "copy" in command else "s.db"
            wait_for(lambda: has_open(waiting.pid, held_file))
            time.sleep(1)  # now it waits
            assert waiting.poll() is None
            began = time.monotonic()
            waiting.send_signal(signal.SIGINT)
            _, said = waiting.communicate(timeout=20)
            assert time.monotonic() - began < 5
        finally:
            waiting.kill()
    assert waiting.returncode != 0
    assert "Traceback" not in said


@pytest.mark.usefixtures("_pairs")
def test_an_export_does_not_write_to_the_store(tmp_path: Path) -> None:
    before = Path("s.db").read_bytes()
    names = sorted(path.name for path in tmp_path.iterdir())
    exported = ["label", "pairs.jsonl", "--store", "s.db", "--export-only", "-o", "out.csv"]
    assert run(exported) == 0
    assert "p1,B,ann" in Path("out.csv").read_text()
    assert Path("s.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "out.csv"])


def test_a_store_that_is_being_written_can_be_copied(tmp_path: Path) -> None:
    """The way that docs/store.md names, while another session has the store open."""
    place = fill_store(tmp_path / "s.db")
    with use_store(place):
        assert run(["store", "copy", str(place), str(tmp_path / "backup.db")]) == 0
    assert run(["store", "check", str(tmp_path / "backup.db")]) == 0
