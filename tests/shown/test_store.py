"""What a check of a store shows: sound, damaged, rescued; and a copy of one."""

from __future__ import annotations

from dataclasses import replace

from adjudge.store.checking import StoreCheck, StoredCalls, StoredTable
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
    ),
    calls=(
        StoredCalls(judge="openai:gpt-x", protocol="preference", status="error", calls=5),
        StoredCalls(judge="openai:gpt-x", protocol="preference", status="ok", calls=1200),
    ),
    labels=75,
    raters=2,
    claims_alive=24,
    claims_dead=8,
    claims_unknown=0,
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
    claims_unknown=2,
)


def test_a_sound_store() -> None:
    assert_shown(
        SOUND,
        [
            "adjudge.db: 1,205 calls and 75 labels, no damage detected",
            "schema | 0001_store | up to date",
            "labels | 75 | of 2 raters",
            "calls claimed by running processes | 24 | 8 of processes that have ended, free",
            "table | rows | damaged",
            "judges | 1 | 0",
            "calls | 1,205 | 0",
            "judge | protocol | status | calls",
            "openai:gpt-x | preference | error | 5",
            "openai:gpt-x | preference | ok | 1,200",
        ],
    )
    assert not SOUND.damaged
    assert SOUND.to_frame()["rows"].to_list() == [1, 1205]


def test_a_damaged_store_says_what_can_be_read_and_how_to_rescue_it() -> None:
    assert_shown(
        DAMAGED,
        [
            "bad: adjudge.db is damaged: 1,205 calls and 75 labels can be read",
            "Copy what can be read: adjudge store check adjudge.db --rescue NEW.db",
            "schema | 0001_store | older: a run that writes brings it up to date",
            "labels | 75 | of 2 raters",
            "calls claimed by running processes | 24"
            " | 8 of processes that have ended, free; 2 of other machines",
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
            "judge | protocol | status | calls",
            "openai:gpt-x | preference | error | 5",
            "openai:gpt-x | preference | ok | 1,200",
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
