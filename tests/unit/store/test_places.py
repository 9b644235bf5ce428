"""A connection string that is no URL never becomes the name of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tries import tried

from adjudge.cli import run
from adjudge.cli.output import command_line, running
from adjudge.errors import ArgumentError
from adjudge.present.text import without_passwords
from adjudge.store import check_store, open_store, store_name

PLACES = [
    "host=db.example user=ann password=hunter2 dbname=evals",
    "dbname=evals password='hunter2 x'",
    "postgresql:/ann:hunter2@db.example/evals",
    "postgres:ann:hunter2@db.example/evals",
    "mysql:hunter2",
    "postgres//ann:hunter2@db.example/evals",
    "ann:hunter2@db.example/evals",
    "jdbc:postgresql://db.example/evals?user=ann&password=hunter2",
    "jdbc:sqlite://evals.db?key=hunter2",
    "PGPASSWORD=hunter2",
    "passphrase=hunter2",
    "sqlite:///evals.db?key=hunter2",
    "evals.db;api_key=hunter2",
]


@pytest.mark.attack("stores")
@pytest.mark.parametrize("place", [*PLACES, Path("postgresql://ann:hunter2@db.example/evals")])
def test_a_connection_string_is_refused_and_never_shown(
    place: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (open_store, check_store):
        with pytest.raises(ArgumentError, match="write postgresql://USER@HOST/DATABASE") as caught:
            call(place)
        assert "hunter2" not in str(caught.value)
    assert "hunter2" not in str(store_name(place))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.attack("stores")
@pytest.mark.parametrize("place", PLACES)
def test_no_verb_prints_or_writes_it(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("id,prompt,response_a,response_b\n1,p,a,b\n")
    Path("items.csv").write_text("id,prompt,response\n1,p,a\n")
    Path("j.csv").write_text("id,p_a,label\n" + "".join(f"{i},0.9,A\n" for i in range(60)))
    commands = [
        ["judge", "pairs.csv", "--judge", "simulated:", "-o", "out.jsonl", "--summary", "s.json"],
        ["calibrate", "j.csv", "--alpha", "0.1", "-o", "policy.json"],
        ["label", "items.csv", "--export-only", "-o", "labels.csv"],
        ["replies"],
    ]
    for command in commands:
        tried()
        run([*command, "--store", place])
    for command in (["store", "check"], ["label"], ["monitor", "draw"], ["store", "copy", "a.db"]):
        tried()
        run([*command, place])
    shown = capfd.readouterr()
    assert "hunter2" not in shown.out + shown.err
    for path in tmp_path.rglob("*"):
        assert "hunter2" not in str(path)
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def test_the_recorded_command_has_no_password() -> None:
    for place in PLACES[:3]:
        assert "hunter2" not in without_passwords(place)
    for place in PLACES:
        with running(["judge", "--store", place, f"--store={place}"]):
            assert "hunter2" not in str(command_line())


@pytest.mark.parametrize("place", ["my.db", "runs/a=b.db", "C:\\\\evals\\\\a.db", "user notes.db"])
def test_plain_files_are_stores(place: str, tmp_path: Path) -> None:
    assert store_name(place) == place
    path = tmp_path / place.replace("\\\\", "_").replace(":", "")
    path.parent.mkdir(exist_ok=True)
    open_store(path).close()
    assert path.exists()
