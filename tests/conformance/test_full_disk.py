"""A full disk and a folder that cannot be written: one line with the remedy, nothing overwritten.

RLIMIT_FSIZE makes the kernel refuse every byte beyond a size, as a quota does; /dev/full is always
full; a small tmpfs is a real disk without room.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from judge_runs import write_pairs
from tries import tried

from adjudge.cli import run
from adjudge.store import LabelEvent, check_store, use_store

JUDGE = ["judge", "pairs.jsonl", "--judge", "simulated:accuracy=0.8"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir() if "-shm" not in file.name}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 300 judged pairs, their store and a policy."""
    here = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        write_pairs(here / "pairs.jsonl", 300)
        assert run([*JUDGE, "--store", "s.db", "-o", "j.jsonl"]) == 0
        assert run(["calibrate", "j.jsonl", "--alpha", "0.2", "-o", "policy.json"]) == 0
    return here


@pytest.mark.attack("disks")
@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ([*JUDGE, "--store", ":memory:", "-o"], "new.jsonl"),
        ([*JUDGE, "--store", ":memory:", "-o"], "new.parquet"),
        (["select", "j.jsonl", "--policy", "policy.json", "-o"], "new.csv"),
        (["select", "j.jsonl", "--policy", "policy.json", "-o"], "new.csv.gz"),
        (["select", "j.jsonl", "--policy", "policy.json", "-o"], "new.parquet"),
        (["calibrate", "j.jsonl", "--alpha", "0.2", "-o"], "new.json"),
        (["evaluate", "j.jsonl", "--splits", "20", "--plot"], "new.png"),
        (["evaluate", "j.jsonl", "--splits", "20", "--plot"], "new.svg"),
        (["evaluate", "j.jsonl", "--splits", "20", "--plot"], "new.pdf"),
        (["report", ".", "-o"], "new.html"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_file_that_finds_no_room_is_named_and_the_old_one_stays(
    arguments: list[str], written: str, judged: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(judged)
    Path(written).write_text("what was there before")
    before = folder(judged)
    try:
        with room_for(2000):
            assert run([*arguments, written]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.splitlines()[-1] == (
            f"adjudge: {written}: not written: File too large; free space on the disk, or choose "
            "another one, and run the same command again"
        )
        assert "Traceback" not in said.err
        assert folder(judged) == before
    finally:
        Path(written).unlink()


@pytest.mark.attack("disks")
@pytest.mark.parametrize("size", [1000, 40_000, 220_000, 400_000])
def test_a_store_that_finds_no_room_keeps_what_it_has_and_the_run_resumes(
    size: int, judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(judged / "pairs.jsonl", tmp_path)
    # Small commits, of which the larger sizes have room for some.
    few = ["--concurrency", "8"]
    command = [*JUDGE, *few, "--store", "s.db", "-o", "o.jsonl", "--json"]
    with room_for(size):
        assert run(command) == 1
    said = capsys.readouterr()
    assert "free space on the disk and run the same command again" in said.err
    assert "Traceback" not in said.err
    assert not Path("o.jsonl").exists()
    # In this very process, whose claims of the failed run could not be given back.
    assert run(command) == 0
    summary = json.loads(capsys.readouterr().out)
    assert sum(summary["calls"].values()) + summary["reused"] == 600
    assert (size < 200_000) or summary["reused"] > 0
    assert Path("o.jsonl").read_bytes() == (judged / "j.jsonl").read_bytes()
    assert not check_store("s.db").damaged


@pytest.mark.attack("disks")
@pytest.mark.crash
def test_output_to_a_full_device_is_one_line(judged: Path) -> None:
    for more in ([], ["-o", "/dev/full"]):
        command = [sys.executable, "-m", "adjudge", "calibrate", "j.jsonl", "--alpha", "0.2"]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*command, *more], cwd=judged, stdout=full, stderr=subprocess.PIPE, text=True
            )
        tried()
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert "No space left on device; free space on the disk" in done.stderr


ON_SMALL_DISK = """
import os, subprocess, sys
disk, pairs, output = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], check=True)
os.chdir(disk)
judge = [sys.executable, "-m", "adjudge", "judge", pairs, "--judge", "simulated:accuracy=0.8"]
judge += ["--concurrency", "8", "--store", "s.db", "-o"]
first = subprocess.run([*judge, "o.jsonl"], capture_output=True, text=True)
print(first.returncode, sorted(os.listdir()), first.stderr)
subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
again = subprocess.run([*judge, output, "--json"], capture_output=True, text=True)
print(again.returncode, again.stdout, again.stderr)
"""


@pytest.mark.attack("disks")
@pytest.mark.crash
def test_a_small_disk_fills_up_and_the_run_resumes_once_there_is_room(
    judged: Path, tmp_path: Path
) -> None:
    """In a mount namespace of its own, which ends with the process."""
    output = judged.parent / "resumed.jsonl"
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", sys.executable, "-c", ON_SMALL_DISK,
         str(tmp_path), str(judged / "pairs.jsonl"), str(output)],
        capture_output=True, text=True,
    )  # fmt: skip
    if "Operation not permitted" in done.stderr:
        pytest.skip("this system lets no user mount a tmpfs in a namespace of their own")
    assert done.returncode == 0, done.stderr
    first, again = done.stdout.split("\n", 1)[0], done.stdout
    assert first.startswith("1 [")
    assert "o.jsonl" not in first
    assert "database or disk is full; free space on the disk and run the same" in done.stdout
    assert '"reused": 0,' not in again
    assert "Traceback" not in again
    assert output.read_bytes() == (judged / "j.jsonl").read_bytes()


ON_FULL_DISK = """
import os, subprocess, sys
disk, judged = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
os.chdir(judged)
commands = [
    ["calibrate", "j.jsonl", "--alpha", "0.2", "-o", f"{disk}/policy.json"],
    ["report", ".", "-o", f"{disk}/report.html"],
    ["label", "pairs.jsonl", "--store", "labels.db", "--export-only", "-o", f"{disk}/labels.csv"],
]
for command in commands:
    with open(command[-1], "w") as file:
        file.write("what was there before")
rest = os.open(f"{disk}/rest", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(rest, bytes(1000)):
        pass
except OSError:
    os.close(rest)
for command in commands:
    adjudge = [sys.executable, "-m", "adjudge", *command]
    done = subprocess.run(adjudge, capture_output=True, text=True)
    print(done.returncode, open(command[-1]).read(), done.stderr.splitlines()[-1])
print(sorted(os.listdir(disk)))
"""


@pytest.mark.attack("disks")
@pytest.mark.crash
def test_a_policy_a_report_and_labels_on_a_full_disk(judged: Path, tmp_path: Path) -> None:
    here = shutil.copytree(judged, tmp_path / "judged")
    (tmp_path / "disk").mkdir()
    with use_store(here / "labels.db") as store:
        click = LabelEvent(nonce="n", rater="ann", subject_id="0", action="label", label="A")
        store.add_label_event(click)
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", sys.executable, "-c", ON_FULL_DISK,
         str(tmp_path / "disk"), str(here)],
        capture_output=True, text=True,
    )  # fmt: skip
    if "Operation not permitted" in done.stderr:
        pytest.skip("this system lets no user mount a tmpfs in a namespace of their own")
    assert done.returncode == 0, done.stderr
    *lines, left = done.stdout.splitlines()
    assert left == "['labels.csv', 'policy.json', 'report.html', 'rest']", done.stdout
    tried(len(lines))
    for line in lines:
        assert line.startswith("1 what was there before adjudge: "), done.stdout
        assert "No space left on device; free space on the disk" in line


def without_root() -> None:
    """Permissions hold for root too, in the program that is started now."""
    import ctypes

    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.attack("disks")
@pytest.mark.crash
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*JUDGE, "--store", "s.db", "-o", "{free}/o.jsonl"], "s.db: attempt to write a readonly"),
        ([*JUDGE, "--store", "new.db", "-o", "{free}/o.jsonl"], "new.db: cannot be opened"),
        (["calibrate", "j.jsonl", "--alpha", "0.2", "-o", "p.json"], "p.json: Permission denied"),
        (["report", ".", "-o", "r.html"], "r.html: Permission denied"),
    ],
    ids=["store", "new store", "result", "report"],
)
def test_a_folder_that_cannot_be_written_is_one_line(
    arguments: list[str], words: str, judged: Path, tmp_path: Path
) -> None:
    locked = shutil.copytree(judged, tmp_path / "locked")
    before = folder(locked)
    for file in locked.iterdir():
        file.chmod(0o444)
    locked.chmod(0o555)
    free = tmp_path / "free"
    free.mkdir()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "adjudge", *(a.format(free=free) for a in arguments)],
            cwd=locked, capture_output=True, text=True,
            preexec_fn=without_root if os.getuid() == 0 else None,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stdout == ""
        assert words in done.stderr
        # What a run is about to do is said before it; the error is one line.
        said = done.stderr.removeprefix("300 pairs x 2 questions = 600 calls\n")
        assert len(said.splitlines()) == 1
        assert folder(locked) == before
    finally:
        locked.chmod(0o755)
