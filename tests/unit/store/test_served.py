"""What a service keeps in a store: decisions, audits and the states of monitors."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import rows_of

from adjudge.errors import StoreError
from adjudge.store import Served, check_store, is_store, open_store, use_store


def row(name: str, *, rules: str = "r", audited: bool = True, **content: object) -> Served:
    return Served(rules_id=rules, subject_id=name, accepted=True, audited=audited, content=content)


def test_damage_is_seen_and_what_is_sound_is_rescued(tmp_path: Path) -> None:
    import sqlite3

    place = tmp_path / "s.db"
    with use_store(place) as store:
        store.add_served([row("x"), row("y")])
        store.keep_monitor("m", "{}")
    with sqlite3.connect(place) as db:
        db.execute("UPDATE served SET content = 'no' WHERE subject_id = 'x'")
    db.close()
    with use_store(place) as store, pytest.raises(StoreError, match="served row 1 is damaged"):
        store.audits("r")
    check = check_store(place, rescue=tmp_path / "new.db")
    damaged = {table.table: table.damaged for table in check.tables if table.damaged}
    assert damaged == {"served": 1}
    assert len(rows_of(tmp_path / "new.db", "served")) == 1
    assert len(rows_of(tmp_path / "new.db", "monitors")) == 1


def test_what_is_a_store(tmp_path: Path) -> None:
    open_store(tmp_path / "odd-name").close()
    (tmp_path / "rows.db").write_text("id\n1\n")
    assert is_store(tmp_path / "odd-name")
    assert is_store(str(tmp_path / "new.db"))
    assert not is_store(tmp_path / "rows.db")
    for name in ("begun.db", "begun.json"):  # another process has just made the file
        (tmp_path / name).touch()
    assert is_store(tmp_path / "begun.db")
    assert not is_store(tmp_path / "begun.json")
    assert not is_store("https://example.org/rows.csv")
    assert not is_store({"id": []})
