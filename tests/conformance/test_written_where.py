"""What adjudge writes outside its folder, who can read what it writes, and whom it connects to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from all_verbs import VERBS
from judge_runs import write_pairs
from tries import tried

from adjudge.atomic import replacing
from adjudge.cli import run

SUPPORT = Path(__file__).parents[1] / "support"
JUDGE = ["judge", "pairs.jsonl", "--judge", "simulated:accuracy=0.8"]


def mode(path: str | Path) -> str:
    return oct(Path(path).stat().st_mode & 0o777)


@pytest.fixture
def usual_umask() -> Any:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.attack("modes")
@pytest.mark.usefixtures("usual_umask")
def test_files_in_a_shared_folder_are_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts and labels in /tmp: nobody else reads them. Elsewhere the umask decides."""
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.jsonl", 40)
    Path("shared").mkdir()
    Path("shared").chmod(0o1777)
    for folder, file, made in (("shared", "0o600", "0o700"), ("own", "0o644", "0o755")):
        store = ["--store", f"{folder}/s.db", "--summary", f"{folder}/s.json"]
        for suffix in (".jsonl", ".csv", ".parquet"):
            assert run([*JUDGE, *store, "-o", f"{folder}/j{suffix}"]) == 0
        policy = f"{folder}/new/policy.json"
        assert run(["calibrate", f"{folder}/j.jsonl", "--alpha", "0.5", "-o", policy]) == 0
        assert run(["report", f"{folder}/new", "-o", f"{folder}/r.html"]) == 0
        assert mode(f"{folder}/s.db") == "0o600"
        assert mode(f"{folder}/new") == made
        written = [path for path in Path(folder).iterdir() if path.suffix not in (".db", "")]
        assert {path.name: mode(path) for path in written} == {path.name: file for path in written}
        assert len(written) == 5
        tried(len(written))


@pytest.mark.attack("modes")
@pytest.mark.usefixtures("usual_umask")
def test_a_file_that_is_replaced_keeps_its_mode_and_is_never_wider_meanwhile(
    tmp_path: Path,
) -> None:
    path = tmp_path / "labels.csv"
    path.touch(0o640)
    path.chmod(0o640)
    with replacing(path) as partial:
        assert mode(partial) == "0o600"
        partial.write_text("id,label\n")
    assert (mode(path), path.read_text()) == ("0o640", "id,label\n")
    assert [file.name for file in tmp_path.iterdir()] == ["labels.csv"]


@pytest.mark.attack("modes")
def test_no_link_can_be_planted_for_the_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if its name were known: the file is made new, and a link is not followed."""
    monkeypatch.setattr("adjudge.atomic.secrets.token_hex", lambda _: "known")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".out.json.known.partial").symlink_to(victim)
    with pytest.raises(FileExistsError), replacing(tmp_path / "out.json") as partial:
        partial.write_text("written")
    assert victim.read_text() == "mine"


def watched(tmp_path: Path, program: Path, *arguments: str) -> list[tuple[str, str]]:
    """Run a program in FOLDER/here; its connections, processes, and writes outside that folder.

    Where the system allows it the program has no network, so code that is not Python has none.
    """
    here = tmp_path / "here"
    for folder in ("here", "home", "temp"):
        (tmp_path / folder).mkdir(exist_ok=True)
    log = tmp_path / "log"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temp"),
    }
    command = [sys.executable, str(SUPPORT / "watched.py"), str(log), str(program), *arguments]
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        command = [*alone, *command]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()]


def unexpected(events: list[tuple[str, str]], tmp_path: Path) -> list[tuple[str, str]]:
    """All but what matplotlib keeps about fonts, and the store in memory."""
    caches = (tmp_path / "home" / ".cache", tmp_path / "home" / ".config")
    fine = tuple(str(folder) for folder in (*caches, tmp_path / "here"))
    return [
        (event, what)
        for event, what in events
        if not what.startswith(fine) and not (event == "subprocess.Popen" and "'fc-list'" in what)
    ]


SHORT = """
import sys
from pathlib import Path
from adjudge.cli import run
from judge_runs import write_pairs
write_pairs(Path("pairs.jsonl"), 40)
for line in '''judge pairs.jsonl --judge simulated:accuracy=0.8 -o j.jsonl --store s.db
calibrate j.jsonl --alpha 0.5 -o policy.json
select j.jsonl --policy policy.json -o selected.csv
replies --store s.db
store check s.db
models list
report . -o report.html'''.splitlines():
    assert run(line.split()) in (0, 2), line
"""


@pytest.mark.attack("network")
def test_no_connection_is_opened_and_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n{SHORT}")
    tried(7)
    assert unexpected(watched(tmp_path, program), tmp_path) == []


@pytest.mark.attack("network")
@pytest.mark.crash
def test_nor_by_any_other_verb(tmp_path: Path) -> None:
    tried(len(VERBS.strip().splitlines()))
    events = watched(tmp_path, SUPPORT / "all_verbs.py", str(tmp_path / "here"))
    assert unexpected(events, tmp_path) == []


ASK = """
from adjudge.cli import run
asked = ["judge", "pairs.jsonl", "--judge", "openai:m", "--base-url", "{}", "-o", "j.jsonl"]
assert run(asked) == 0
"""


@pytest.mark.attack("network")
def test_a_judge_that_is_asked_over_http_is_the_only_connection(
    tmp_path: Path, judge_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_server.script("ok")
    (tmp_path / "here").mkdir()
    write_pairs(tmp_path / "here" / "pairs.jsonl", 5)
    program = tmp_path / "program.py"
    program.write_text(ASK.format(judge_server.base_url))
    log = tmp_path / "log"
    command = [sys.executable, str(SUPPORT / "watched.py"), str(log), str(program)]
    subprocess.run(command, cwd=tmp_path / "here", check=True, capture_output=True)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    connections = {what for event, what in events if event.startswith("socket.")}
    port = judge_server.base_url.rpartition(":")[2].partition("/")[0]
    assert connections == {f"('127.0.0.1', {port})"}
