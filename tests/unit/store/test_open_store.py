"""Where a store is: a file, a URL, an object; opened to write, or only to be read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from calls import make_call

from adjudge import store as store_room
from adjudge.errors import ArgumentError, StoreError, StoreMissingError, StoreVersionError
from adjudge.plugins import Builtin, Registry
from adjudge.records import Label
from adjudge.store import (
    LabelEvent,
    SQLiteStore,
    open_store,
    read_judge_parts,
    store_name,
    tables,
    use_store,
)
from adjudge.store.labels import LabelBook
from adjudge.store.tables import LEDGER, MIGRATIONS, Migration


def remember(store: Any, fingerprint: str = "f") -> None:
    store.remember_judge(fingerprint, judge="openai:m", protocol="preference", parts={"model": "m"})


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("spelled", ["s.db", "sqlite:///s.db", "sqlite:///{here}/s.db"])
def test_a_path_and_a_url_name_the_same_store(spelled: str, tmp_path: Path) -> None:
    with use_store("s.db") as store:
        remember(store)
        known = store.store_id
    place = spelled.format(here=tmp_path)
    assert read_judge_parts(["f"], place) == {"f": {"model": "m"}}
    with use_store(place) as again:
        assert again.store_id == known
        assert again.name == place


@pytest.mark.parametrize("place", ["sqlite://s.db", "sqlite:///", "sqlite://"])
def test_a_url_without_a_file_is_refused(place: str) -> None:
    with pytest.raises(ArgumentError, match="write sqlite:///FILE"):
        open_store(place)


def test_an_unknown_scheme_is_refused_without_its_password() -> None:
    with pytest.raises(ArgumentError, match="choose one of sqlite") as refused:
        open_store("oracle://me:hunter2@db/judgments")
    assert "hunter2" not in str(refused.value)
    assert store_name("oracle://me:hunter2@db/judgments") == "oracle://db/judgments"


def test_a_store_of_another_kind_is_found_by_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere(SQLiteStore):
        def __init__(self, place: str, *, readonly: bool = False) -> None:
            super().__init__(place.partition("://")[2] + ".db", readonly=readonly)

    registry = Registry[Any]("store", "none", {"elsewhere": Builtin("unused:unused")})
    registry._loaded["elsewhere"] = Elsewhere
    monkeypatch.setattr(store_room, "STORES", registry)
    with use_store("elsewhere://here") as store:
        LabelBook(store).import_labels([Label(id="p1", label="A", rater="ann")])
    assert Path("here.db").exists()
    with use_store("elsewhere://here") as store:
        assert [answer.subject_id for answer in LabelBook(store).answers()] == ["p1"]


def test_reading_makes_nothing_writes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with use_store(place) as store:
        remember(store)
        store.save([make_call("k")])
    before = folder(tmp_path)
    with use_store(place, readonly=True) as store:
        assert store.judge_parts("f") == {"model": "m"}
        assert set(store.lookup_rows(["k", "other"])) == {"k"}
        assert store.label_events() == []
        assert store.latest_call_id() == 1
        assert folder(tmp_path) == before
    assert folder(tmp_path) == before


def test_a_store_opened_to_be_read_refuses_to_write(tmp_path: Path) -> None:
    open_store(tmp_path / "s.db").close()
    with use_store(tmp_path / "s.db", readonly=True) as store:
        with pytest.raises(StoreError, match="opened with readonly"):
            store.save([make_call("k")])
        with pytest.raises(StoreError, match="opened with readonly"):
            remember(store)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for place in (tmp_path / "none.db", tmp_path / "no folder" / "none.db", None):
        with pytest.raises(StoreMissingError):
            open_store(place, readonly=True)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreMissingError):
        open_store(tmp_path / "empty.db", readonly=True)
    assert read_judge_parts(["f"], tmp_path / "none.db") == {}
    assert read_judge_parts(["f"], None) == {}
    assert folder(tmp_path) == {"empty.db": b""}


def test_an_older_file_is_refused_to_readers_and_brought_up_to_date_by_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with use_store(tmp_path / "old.db") as store:
        remember(store)
        identity = store.store_id
    before = folder(tmp_path)
    later = Migration("0002_later", ("ALTER TABLE judges ADD COLUMN note TEXT",))
    monkeypatch.setattr(tables, "MIGRATIONS", (*MIGRATIONS, later))
    with pytest.raises(StoreVersionError, match=r"old\.db: written by an older adjudge; .*judge"):
        read_judge_parts(["f"], tmp_path / "old.db")
    assert folder(tmp_path) == before
    with use_store(tmp_path / "old.db") as store:
        assert store.judge_parts("f") == {"model": "m"}
    with use_store(tmp_path / "old.db", readonly=True) as store:
        assert (store.judge_parts("f"), store.store_id) == ({"model": "m"}, identity)


def test_a_newer_or_foreign_file_is_refused_to_readers_too(tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "new.db").close()
    with sqlite3.connect(tmp_path / "new.db") as db:
        db.execute(f"INSERT INTO {LEDGER} VALUES (99, '9999_later', 'then')")  # noqa: S608  (as above)
    db.close()
    with pytest.raises(StoreVersionError, match="newer adjudge"):
        read_judge_parts(["f"], tmp_path / "new.db")
    (tmp_path / "words.db").write_text("id,prompt\n" * 1000)
    with pytest.raises(StoreError, match="not an adjudge store"):
        read_judge_parts(["f"], tmp_path / "words.db")


def test_a_reader_sees_what_a_writer_adds_meanwhile(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    open_store(place).close()
    with use_store(place, readonly=True) as reader:
        assert reader.judge_parts("f") is None
        with use_store(place) as writer:
            remember(writer)
            assert reader.judge_parts("f") == {"model": "m"}
        assert reader.judge_parts("f") == {"model": "m"}


def test_an_open_store_is_used_and_left_open() -> None:
    with use_store("s.db") as store:
        with use_store(store) as same:
            assert same is store
            remember(same)
        assert read_judge_parts(["f"], store) == {"f": {"model": "m"}}
        assert store_name(store) == "s.db"


def test_a_label_is_on_the_disk_when_it_is_confirmed() -> None:
    """A power cut cannot be had in a test; what SQLite is asked for can be seen."""
    asked: list[str] = []
    with use_store("s.db") as store:
        assert isinstance(store, SQLiteStore)
        store._db.set_trace_callback(asked.append)
        store.add_label_event(LabelEvent(nonce="1", rater="ann", subject_id="p", action="skip"))
        words = [statement.split("label_events")[0].strip() for statement in asked]
        assert words == [
            "PRAGMA synchronous = FULL",
            "BEGIN IMMEDIATE",
            "INSERT INTO",
            "SELECT event FROM",
            "COMMIT",
            "PRAGMA synchronous = NORMAL",
        ]
        with store.transaction():
            store.add_label_event(LabelEvent(nonce="2", rater="ann", subject_id="q", action="skip"))
        assert len(store.label_events()) == 2


def test_every_store_has_an_id_of_its_own(tmp_path: Path) -> None:
    with use_store(tmp_path / "a.db") as a, use_store(tmp_path / "b.db") as b:
        assert a.store_id != b.store_id
        assert len(a.store_id or "") == 32
    with use_store(None) as memory:
        assert memory.store_id is None
    (tmp_path / "moved.db").write_bytes((tmp_path / "a.db").read_bytes())
    with use_store(tmp_path / "moved.db") as moved:
        assert moved.store_id == a.store_id
