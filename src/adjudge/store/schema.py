"""The tables of a store, the same in every database, as an ordered list of named steps.

An older store is migrated when it is opened to write. A store with a step that this version does
not have was written by a newer adjudge. It is refused and not changed. Until the first release the
one step is edited in place; a released step is never edited.

Text is TEXT, and JSON is text too, so that values are returned byte for byte.
"""

# ruff: noqa: S608  (what is put into statements is our own names and times)
from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from adjudge.errors import StoreError, StoreVersionError

LEDGER = "adjudge_migrations"


def now() -> str:
    """The current time, as it is written into a store."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between databases: the serial key, and how an owner shows that it lives."""

    serial: str
    signs_of_life: str


@dataclass(frozen=True, slots=True)
class Migration:
    """One step, with places for the parts of a `Dialect` and for a new random id."""

    name: str
    statements: tuple[str, ...]

    def fill(self, dialect: Dialect, position: int) -> list[str]:
        """Its statements for one database, between those that make the ledger and write in it."""
        values = {
            "{serial}": dialect.serial,
            "{signs_of_life}": dialect.signs_of_life,
            "{store_id}": uuid.uuid4().hex,
        }
        ledger = (
            f"CREATE TABLE IF NOT EXISTS {LEDGER} ("
            "position INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
        )
        written = (
            f"INSERT INTO {LEDGER} (position, name, applied_at)"
            f" VALUES ({position}, '{self.name}', '{now()}')"
        )
        filled = [ledger, *self.statements, written]
        for place, value in values.items():
            filled = [statement.replace(place, value) for statement in filled]
        return filled


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "0001_store",
        (
            """CREATE TABLE judges (
                judge_fingerprint TEXT PRIMARY KEY,
                judge TEXT NOT NULL,
                protocol TEXT NOT NULL,
                parts TEXT NOT NULL,
                first_seen TEXT NOT NULL
            )""",
            """CREATE TABLE prompts (
                sha256 TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                text TEXT NOT NULL,
                answer TEXT NOT NULL
            )""",
            """CREATE TABLE calls (
                call_id {serial},
                call_key TEXT NOT NULL,
                judge_fingerprint TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                content_hash TEXT NOT NULL,
                shown_order TEXT,
                repeat_index BIGINT NOT NULL,
                slot TEXT NOT NULL,
                status TEXT NOT NULL,
                reply_text TEXT,
                logprobs TEXT,
                censored TEXT,
                counts TEXT,
                mean_logprob DOUBLE PRECISION,
                scored_tokens BIGINT,
                prompt_tokens BIGINT,
                completion_tokens BIGINT,
                latency_s DOUBLE PRECISION,
                error TEXT,
                answer_mass DOUBLE PRECISION,
                exact_mass INTEGER NOT NULL DEFAULT 0,
                cut_off INTEGER NOT NULL DEFAULT 0,
                server TEXT,
                served_model TEXT,
                created_at TEXT NOT NULL,
                raw TEXT
            )""",
            "CREATE INDEX calls_by_key ON calls (call_key, call_id)",
            """CREATE TABLE owners (
                owner TEXT PRIMARY KEY,
                host TEXT NOT NULL,
                pid BIGINT NOT NULL,
                {signs_of_life}
            )""",
            "CREATE TABLE claims (call_key TEXT PRIMARY KEY, owner TEXT NOT NULL)",
            """CREATE TABLE label_events (
                event {serial},
                nonce TEXT NOT NULL UNIQUE,
                rater TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                action TEXT NOT NULL CHECK (action IN ('label', 'skip', 'undo', 'recount')),
                label TEXT,
                shown_order TEXT CHECK (shown_order IN ('ab', 'ba')),
                sampled_by TEXT,
                comment TEXT,
                undoes BIGINT,
                created_at DOUBLE PRECISION NOT NULL
            )""",
            "CREATE INDEX label_events_by_rater ON label_events (rater, event)",
            """CREATE TABLE served (
                served {serial},
                rules_id TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                accepted INTEGER NOT NULL,
                audited INTEGER NOT NULL,
                content TEXT NOT NULL,
                served_at DOUBLE PRECISION NOT NULL,
                UNIQUE (rules_id, subject_id)
            )""",
            "CREATE INDEX audits_by_rules ON served (rules_id, audited, served)",
            """CREATE TABLE monitors (
                name TEXT PRIMARY KEY,
                state TEXT NOT NULL,
                saved_at TEXT NOT NULL
            )""",
            "CREATE TABLE store_identity (store_id TEXT PRIMARY KEY)",
            "INSERT INTO store_identity (store_id) VALUES ('{store_id}')",
        ),
    ),
)


def pending(
    applied: Sequence[str], place: str | Path, *, readonly: bool = False
) -> tuple[Migration, ...]:
    """The missing steps, given the steps of a store; a store that is only read must have all.

    >>> [step.name for step in pending([], "new.db")]
    ['0001_store']
    """
    names = [step.name for step in MIGRATIONS]
    unknown = [name for name in applied if name not in names]
    if unknown:
        raise StoreVersionError(
            f"{place}: written by a newer adjudge (it has {unknown[-1]}); "
            "upgrade adjudge or choose another store"
        )
    if list(applied) != names[: len(applied)]:
        raise StoreError(f"{place}: its migrations are out of order; restore it from a backup")
    missing = MIGRATIONS[len(applied) :]
    if readonly and missing:
        raise StoreVersionError(
            f"{place}: written by an older adjudge; a command that writes to it, such as judge, "
            "brings it up to date"
        )
    return missing
