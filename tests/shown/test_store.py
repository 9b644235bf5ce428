"""What a check of a store shows: sound, damaged, rescued; and a copy of one."""

from __future__ import annotations

from dataclasses import replace

from adjudge.store.checking import StoreCheck, StoredTable
from adjudge.store.copying import CopiedTable, StoreCopy
from shown import assert_shown, html_lines, terminal_lines

SOUND = StoreCheck(
    store="adjudge.db",
    schema="0001_store",
    up_to_date=True,
    problems=(),
    tables=(
        StoredTable(table="judges", rows=1, damaged=0),
        StoredTable(table="calls", rows=1205, damaged=0),
        StoredTable(table="label_events", rows=80, damaged=0),
    ),
)
DAMAGED = replace(
    SOUND,
    up_to_date=False,
    problems=tuple(f"row {n} missing from index calls_by_key" for n in range(5)),
    tables=(
        StoredTable(table="judges", rows=1, damaged=0),
        StoredTable(table="calls", rows=1205, damaged=3, example="row 7: status is 'oj'"),
        StoredTable(table="label_events", rows=80, damaged=None, example="row 0: malformed"),
    ),
)


def test_a_sound_store() -> None:
    assert_shown(
        SOUND,
        [
            "adjudge.db: 1,205 calls and 80 label events, no damage detected",
            "schema | 0001_store | up to date",
            "table | rows | damaged",
            "judges | 1 | 0",
            "calls | 1,205 | 0",
            "label_events | 80 | 0",
        ],
    )
    assert not SOUND.damaged
    assert SOUND.to_frame()["rows"].to_list() == [1, 1205, 80]


def test_a_damaged_store_says_what_can_be_read_and_how_to_rescue_it() -> None:
    assert_shown(
        DAMAGED,
        [
            "bad: adjudge.db is damaged: 1,205 calls and 80 label events can be read",
            "Copy what can be read: adjudge store check adjudge.db --rescue NEW.db",
            "schema | 0001_store | older: a run that writes brings it up to date",
            "SQLite: row 0 missing from index calls_by_key",
            "SQLite: row 1 missing from index calls_by_key",
            "SQLite: row 2 missing from index calls_by_key",
            "and 2 more of this kind",
            "calls, row 7: status is 'oj'",
            "label_events, row 0: malformed",
            "table | rows | damaged",
            "judges | 1 | 0",
            "calls | 1,205 | 3",
            "label_events | 80 | –",
        ],
    )
    assert DAMAGED.damaged


def test_a_rescue_says_what_was_copied_and_what_happens_to_the_rest() -> None:
    rescued = replace(DAMAGED, rescued="new.db", rescued_rows=1286)
    assert html_lines(rescued)[1] == (
        "What is lost is asked again when you run the same command with the rescued store."
    )
    assert terminal_lines(rescued)[-1] == (
        "1,286 rows copied to new.db; use it with --store, and keep the damaged file"
    )


COPY = StoreCopy(
    source="adjudge.db",
    target="postgresql://db/judgments",
    tables=(
        CopiedTable(table="calls", added=1200, same=5, conflicts=0),
        CopiedTable(table="monitors", added=1, same=0, conflicts=0),
    ),
)


def test_a_copy() -> None:
    assert_shown(
        COPY,
        [
            "1,201 rows copied from adjudge.db to postgresql://db/judgments",
            "table | copied | there already | conflicts",
            "calls | 1,200 | 5 | 0",
            "monitors | 1 | 0 | 0",
        ],
    )


def test_a_copy_with_conflicts() -> None:
    torn = replace(COPY, tables=(replace(COPY.tables[0], conflicts=2), COPY.tables[1]))
    assert terminal_lines(torn)[:2] == [
        "1,201 rows copied from adjudge.db to postgresql://db/judgments; 2 conflicts",
        "postgresql://db/judgments has another row in their place, and keeps it.",
    ]
