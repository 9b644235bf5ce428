"""The SQLite store: its file, its migrations, its owners. What all stores do: test_stores.py."""

# ruff: noqa: S608  (the only name put into statements is a constant of ours)
from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from calls import make_call

from adjudge.errors import StoreError, StoreVersionError
from adjudge.store import SQLiteStore, open_store, tables
from adjudge.store.interface import Owner, state_of, this_host
from adjudge.store.tables import LEDGER, MIGRATIONS, KnownPrompt, Migration, pending

RETRY = frozenset({"error"})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(place: Path) -> Iterator[SQLiteStore]:
    opened = SQLiteStore(place)
    yield opened
    opened.close()


def plant_claim(place: Path, owner: Owner, heartbeat: float) -> None:
    with sqlite3.connect(place) as db:
        db.execute(
            "INSERT INTO owners VALUES (?, ?, ?, ?, ?)",
            (owner.owner, owner.host, owner.pid, owner.started, heartbeat),
        )
        db.execute("INSERT INTO claims VALUES ('a', ?)", (owner.owner,))
    db.close()


@pytest.mark.attack("clocks")
@pytest.mark.parametrize(("silent_s", "free"), [(30.0, False), (61.0, True)])
def test_an_owner_elsewhere_is_given_up_after_a_minute_of_silence(
    store: SQLiteStore, place: Path, silent_s: float, free: bool
) -> None:
    plant_claim(place, Owner("o", "elsewhere", 1, "x"), time.time() - silent_s)
    assert bool(store.claim(["a"], retry=RETRY, since=0).ours) == free


@pytest.mark.attack("clocks")
@pytest.mark.parametrize("ahead", [1, 59, 61, 3600, 86400, 10**7, 3 * 10**8])
def test_a_clock_set_back_keeps_no_claim_alive_for_long(
    store: SQLiteStore, place: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """The last sign of an owner elsewhere is ahead of the clock, which was set back."""
    now = [100.0]
    monkeypatch.setattr("adjudge.store.sqlite.time.monotonic", lambda: now[0])
    plant_claim(place, Owner("o", "elsewhere", 1, "x"), time.time() + ahead)
    for seconds in (0, 30, 30):
        now[0] += seconds
        assert store.claim(["a"], retry=RETRY, since=0).busy == {"a"}
    with sqlite3.connect(place) as db:
        db.execute("UPDATE owners SET heartbeat = heartbeat + 10 WHERE owner = 'o'")
    db.close()
    for seconds in (10, 59):
        now[0] += seconds
        assert store.claim(["a"], retry=RETRY, since=0).busy == {"a"}
    now[0] += 2
    assert store.claim(["a"], retry=RETRY, since=0).ours == {"a"}


def test_an_owner_that_lives_keeps_its_claims_however_silent(
    store: SQLiteStore, place: Path
) -> None:
    plant_claim(place, Owner.here(), time.time() - 3600)
    assert store.claim(["a"], retry=RETRY, since=0).busy == {"a"}


def test_a_process_number_used_again_is_not_the_old_owner(store: SQLiteStore, place: Path) -> None:
    me = Owner.here()
    earlier = repr(psutil.Process().create_time() - 60)
    plant_claim(place, Owner("o", me.host, me.pid, earlier), time.time())
    assert store.claim(["a"], retry=RETRY, since=0).ours == {"a"}


def test_this_process_is_alive_and_says_when_it_began() -> None:
    me = Owner.here()
    assert state_of(me) == "alive"
    assert me.host == this_host()


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"started": "another boot"}, "dead"),
        ({"started": "a tick later"}, "dead"),
        ({"started": "by the clock"}, "alive"),
        ({"started": "by the clock, a minute earlier"}, "dead"),
        ({"started": "by the clock, set by a second"}, "alive"),
        ({"started": "written by another version"}, "unknown"),
        ({"host": "elsewhere"}, "unknown"),
        ({"pid": 2**22 + 1}, "dead"),
    ],
)
def test_what_can_be_seen_of_an_owner(change: dict[str, Any], state: str) -> None:
    """On Linux a start is ticks since this boot; elsewhere, and in older stores, clock time."""
    me = Owner.here()
    boot, _, ticks = me.started.partition(":")
    clock = psutil.Process().create_time()
    spelled = {
        "another boot": f"another:{ticks}",
        "a tick later": f"{boot}:{int(ticks) + 1}",
        "by the clock": repr(clock),
        "by the clock, a minute earlier": repr(clock - 60),
        "by the clock, set by a second": repr(clock + 1),
    }
    fields = {name: spelled.get(value, value) for name, value in change.items()}
    assert state_of(replace(me, **fields)) == state


@pytest.mark.attack("clocks")
@pytest.mark.parametrize("moved", [-3e8, -86400, -3600, -2, 2, 3600, 86400, 3e8])
def test_setting_the_clock_ends_no_owner(monkeypatch: pytest.MonkeyPatch, moved: float) -> None:
    """What psutil calls the start of a process moves with the clock; ours must not."""
    me = Owner.here()
    create_time = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: create_time(self) + moved)
    assert state_of(me) == "alive"
    assert Owner.here().started == me.started


def test_the_claims_of_an_owner_that_could_not_give_them_back_are_free(
    store: SQLiteStore, place: Path
) -> None:
    """The disk was full when a run in this very process ended; the next run waits for nobody."""
    first = SQLiteStore(place)
    assert first.claim(["a"], retry=RETRY, since=0).ours == {"a"}
    first._db.execute("PRAGMA query_only = ON")
    first.close()
    db = sqlite3.connect(place)
    assert db.execute("SELECT COUNT(*) FROM claims").fetchone() == (1,)
    db.close()
    assert store.claim(["a"], retry=RETRY, since=0).ours == {"a"}


@pytest.mark.parametrize("kept", [None, "{", "[]", b"\xff"])
@pytest.mark.parametrize("table", ["judges", "prompts"])
def test_a_damaged_judge_or_prompt_is_named_with_its_remedy(
    store: SQLiteStore, place: Path, table: str, kept: object
) -> None:
    store.remember_judge("f", judge="openai:m", protocol="preference", parts={"model": "m"})
    store.remember_prompt("s", KnownPrompt("mine", "{prompt}", {}))
    with closing(sqlite3.connect(place)) as other, other:
        # As a damaged page gives it: what the schema rules out.
        other.execute("PRAGMA writable_schema = ON")
        other.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
    with closing(sqlite3.connect(place)) as other, other:
        column = {"judges": "parts", "prompts": "answer"}[table]
        other.execute(f"UPDATE {table} SET {column} = ?", (kept,))
    with pytest.raises(StoreError, match=f"a row of {table} is damaged; .*adjudge store check"):
        getattr(store, table)()


def test_an_older_file_opens_and_is_brought_up_to_date(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls stay answered, each missing step is taken once, and in order."""
    store = SQLiteStore(place)
    (key,) = store.claim(["k"], retry=RETRY, since=0).ours
    store.save([make_call(key)])
    store.close()
    steps = [
        Migration(f"000{n}_later", (f"ALTER TABLE calls ADD COLUMN later_{n} TEXT",))
        for n in (8, 9)
    ]
    monkeypatch.setattr(tables, "MIGRATIONS", (*MIGRATIONS, *steps))
    for _ in range(2):
        store = SQLiteStore(place)
        assert set(store.claim([key], retry=RETRY, since=0).done) == {key}
        store.close()
    with closing(sqlite3.connect(place)) as db:
        names = [name for (name,) in db.execute(f"SELECT name FROM {LEDGER} ORDER BY position")]
        columns = [row[1] for row in db.execute("PRAGMA table_info(calls)")]
    assert names == [*(step.name for step in MIGRATIONS), "0008_later", "0009_later"]
    assert columns[-2:] == ["later_8", "later_9"]


def test_a_newer_file_is_refused_untouched(place: Path) -> None:
    SQLiteStore(place).close()
    db = sqlite3.connect(place)
    db.execute(f"INSERT INTO {LEDGER} VALUES (99, '9999_from_the_future', 'then')")
    db.commit()
    db.close()
    before = place.read_bytes()
    with pytest.raises(StoreVersionError, match="newer adjudge .*9999_from_the_future.*upgrade"):
        SQLiteStore(place)
    assert place.read_bytes() == before


def test_migrations_out_of_order_are_not_guessed_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MIGRATIONS", (*MIGRATIONS, Migration("0002_later", ())))
    with pytest.raises(StoreError, match="out of order"):
        pending(["0002_later"], "x.db")


def test_a_database_of_another_kind_is_left_alone(place: Path) -> None:
    db = sqlite3.connect(place)
    db.execute("CREATE TABLE photos (name TEXT)")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="not a database of adjudge"):
        SQLiteStore(place)


def test_a_file_that_is_no_database_is_refused(place: Path) -> None:
    place.write_text("id,prompt\n" * 1000)
    with pytest.raises(StoreError, match="not an adjudge store"):
        SQLiteStore(place)


def test_a_schema_that_is_not_utf8_is_damaged_in_one_line(place: Path) -> None:
    SQLiteStore(place).close()
    place.write_bytes(place.read_bytes().replace(b"CREATE TABLE", b"CREATE \x83ABLE", 1))
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"not UTF-8; .*adjudge store check"):
            SQLiteStore(place, readonly=readonly)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        SQLiteStore(tmp_path / "file" / "store.db")


def test_a_store_in_memory_is_forgotten() -> None:
    store = open_store(None)
    store.save([make_call("k")])
    assert set(store.lookup_rows(["k"])) == {"k"}
    store.close()
    another = open_store(None)
    assert another.lookup_rows(["k"]) == {}
    another.close()
