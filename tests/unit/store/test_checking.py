"""Checking a store: what it holds, what is damaged, what a rescue brings back; never a write."""

# ruff: noqa: S608  (the only names put into statements are tables of ours)
from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from calls import latest_replies
from stores import CALLS, fill_store, keyed_call, rows_of

from adjudge.errors import ArgumentError, StoreError, StoreMissingError, StoreVersionError
from adjudge.store import SQLiteStore, check_store, open_store, tables, use_store
from adjudge.store.tables import LEDGER, MIGRATIONS, Migration


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return fill_store(tmp_path_factory.mktemp("store") / "s.db").read_bytes()


def change(place: Path, statements: str) -> None:
    db = sqlite3.connect(place)
    db.executescript(statements)
    db.close()


def test_a_sound_store(tmp_path: Path) -> None:
    place = fill_store(tmp_path / "s.db")
    before = place.read_bytes()
    check = check_store(place)
    assert not check.damaged
    assert {table.table: table.rows for table in check.tables} == {
        "judges": 1, "calls": CALLS + 1, "label_events": 4, "store_identity": 1, "prompts": 0,
        "served": 0, "monitors": 0,
    }  # fmt: skip
    assert (check.schema, check.up_to_date) == (MIGRATIONS[-1].name, True)
    assert place.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]


def test_half_a_file_gives_its_half(whole: bytes, tmp_path: Path) -> None:
    place = tmp_path / "cut.db"
    place.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="malformed; `adjudge store check .*cut.db`"):
        open_store(place)
    check = check_store(place, rescue=tmp_path / "new.db")
    calls = next(table for table in check.tables if table.table == "calls")
    assert check.damaged
    assert CALLS / 4 < calls.rows < CALLS * 3 / 4
    with use_store(tmp_path / "new.db") as store:
        keys = [keyed_call(n).call_key for n in range(CALLS)]
        claim = store.claim(keys, retry=(), since=0)
        assert len(claim.done) == calls.rows
        assert len(claim.ours) == CALLS - calls.rows


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE calls SET status = 'oj' WHERE call_id = 7", "status is 'oj'"),
        ("UPDATE calls SET logprobs = '{\"A\":' WHERE call_id = 7", "Expecting value"),
        ("UPDATE calls SET repeat_index = 1 WHERE call_id = 7", "its key does not match"),
        ("UPDATE calls SET reply_text = CAST(x'41ff' AS TEXT) WHERE call_id = 7", "UTF-8"),
    ],
)
def test_a_damaged_row_is_counted_left_out_and_stops_whoever_needs_it(
    statement: str, fault: str, tmp_path: Path
) -> None:
    place = fill_store(tmp_path / "s.db")
    change(place, statement)
    check = check_store(place, rescue=tmp_path / "new.db")
    calls = next(table for table in check.tables if table.table == "calls")
    assert check.damaged
    assert (calls.rows, calls.damaged) == (CALLS, 1)
    assert calls.example is not None
    assert calls.example.startswith("row 7: ")
    assert fault in calls.example
    assert 7 not in [row[0] for row in rows_of(tmp_path / "new.db", "calls")]
    if "key" not in fault:  # the key itself is what a lookup trusts
        with use_store(place) as store, pytest.raises(StoreError, match="adjudge store check"):
            latest_replies(store, [keyed_call(6).call_key])


@pytest.mark.parametrize(
    "edit",
    ["logprobs = '{\"A\": -2.4, \"B\": -0.1}'", "reply_text = 'B'", "raw = raw || ' '",
     "answer_mass = 0.5", "status = 'refused'", "cached_tokens = 7"],
)  # fmt: skip
def test_an_edited_reply_is_counted_and_a_rescue_leaves_it_out(edit: str, tmp_path: Path) -> None:
    place = fill_store(tmp_path / "s.db")
    change(place, f"UPDATE calls SET {edit} WHERE call_id = 7")
    check = check_store(place, rescue=tmp_path / "new.db")
    calls = next(table for table in check.tables if table.table == "calls")
    assert (calls.rows, calls.damaged) == (CALLS, 1)
    assert calls.example == "row 7: it is not as it was written: it was edited, or a byte changed"
    assert 7 not in [row[0] for row in rows_of(tmp_path / "new.db", "calls")]


def test_calls_of_an_older_version_have_no_digest_and_are_sound(tmp_path: Path) -> None:
    place = fill_store(tmp_path / "s.db")
    change(place, "UPDATE calls SET digest = NULL")
    assert not check_store(place).damaged


def test_a_store_from_before_cached_tokens_is_sound_as_it_is_and_brought_up_to_date(
    tmp_path: Path,
) -> None:
    place = fill_store(tmp_path / "s.db")
    columns = "".join(
        f"ALTER TABLE calls DROP COLUMN {name};" for name in ("cached_tokens", "cache_write_tokens")
    )
    change(place, f"{columns} DELETE FROM {LEDGER} WHERE name = '0004_cached_tokens'")
    check = check_store(place)
    assert (check.damaged, check.up_to_date) == (False, False)
    with use_store(place) as store:
        assert latest_replies(store, [keyed_call(6).call_key])
    check = check_store(place)
    assert (check.damaged, check.up_to_date) == (False, True)


def test_a_rescue_keeps_identity_numbers_and_labels_that_were_taken_back(tmp_path: Path) -> None:
    place = fill_store(tmp_path / "s.db")
    check_store(place, rescue=tmp_path / "new.db")
    for table in ("judges", "calls", "label_events", "store_identity"):
        assert rows_of(tmp_path / "new.db", table) == rows_of(place, table)
    with pytest.raises(ArgumentError, match="this file exists"):
        check_store(place, rescue=tmp_path / "new.db")


def test_an_older_schema_is_checked_rescued_and_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = fill_store(tmp_path / "old.db")
    calls = rows_of(place, "calls")
    later = Migration("0009_later", ("ALTER TABLE calls ADD COLUMN later TEXT",))
    monkeypatch.setattr(tables, "MIGRATIONS", (*MIGRATIONS, later))
    check = check_store(place, rescue=tmp_path / "new.db")
    assert (check.damaged, check.up_to_date, check.schema) == (False, False, MIGRATIONS[-1].name)
    for opened in (place, tmp_path / "new.db"):
        with use_store(opened) as store:
            keys = [row[1] for row in calls]
            assert set(store.claim(keys, retry=(), since=0).done) == set(keys)
        assert check_store(opened).up_to_date
        assert rows_of(opened, "calls") == [(*row, None) for row in calls]


def test_what_is_no_store_of_ours_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "words.db").write_text("id,prompt\n" * 1000)
    (tmp_path / "empty.db").touch()
    change(tmp_path / "photos.db", "CREATE TABLE photos (name TEXT)")
    SQLiteStore(tmp_path / "newer.db").close()
    change(tmp_path / "newer.db", f"INSERT INTO {LEDGER} VALUES (99, '9999_later', 'then')")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for name, error, words in (
        ("none.db", StoreMissingError, "no such store"),
        ("empty.db", StoreMissingError, "no such store"),
        ("words.db", StoreError, "not an adjudge store"),
        ("photos.db", StoreError, "not a database of adjudge"),
        ("newer.db", StoreVersionError, "upgrade adjudge"),
    ):
        with pytest.raises(error, match=words):
            check_store(tmp_path / name, rescue=tmp_path / "new.db")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
