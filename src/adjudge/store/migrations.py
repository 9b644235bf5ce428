"""The tables of an SQLite store, as an ordered list of named steps.

A released step is never edited. An older file is migrated when it is opened. A file with a step
that this version does not have was written by a newer adjudge. It is refused and not changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.errors import StoreError, StoreVersionError

LEDGER = "adjudge_migrations"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step.

    {serial} is replaced by the database's serial key, {store_id} by a new random id.
    """

    name: str
    statements: tuple[str, ...]

    def fill(self, serial: str) -> list[str]:
        """Its statements for one database, after the one that makes the ledger."""
        values = {"{serial}": serial, "{store_id}": uuid.uuid4().hex}
        ledger = (
            f"CREATE TABLE IF NOT EXISTS {LEDGER} ("
            "position INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
        )
        filled = [ledger, *self.statements]
        for place, value in values.items():
            filled = [statement.replace(place, value) for statement in filled]
        return filled


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "0001_judges_and_calls",
        (
            """CREATE TABLE judges (
                judge_fingerprint TEXT PRIMARY KEY,
                judge TEXT NOT NULL,
                protocol TEXT NOT NULL,
                parts TEXT NOT NULL,
                first_seen TEXT NOT NULL
            )""",
            """CREATE TABLE calls (
                call_id {serial},
                call_key TEXT NOT NULL,
                judge_fingerprint TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                content_hash TEXT NOT NULL,
                shown_order TEXT,
                repeat_index INTEGER NOT NULL,
                slot TEXT NOT NULL,
                status TEXT NOT NULL,
                reply_text TEXT,
                logprobs TEXT,
                censored TEXT,
                counts TEXT,
                mean_logprob DOUBLE PRECISION,
                scored_tokens INTEGER,
                prompt_tokens INTEGER,
                completion_tokens INTEGER,
                latency_s DOUBLE PRECISION,
                error TEXT,
                raw TEXT,
                created_at TEXT NOT NULL
            )""",
            "CREATE INDEX calls_by_key ON calls (call_key, call_id)",
        ),
    ),
    Migration(
        "0002_owners_and_claims",
        (
            """CREATE TABLE owners (
                owner TEXT PRIMARY KEY,
                host TEXT NOT NULL,
                pid INTEGER NOT NULL,
                started TEXT NOT NULL,
                heartbeat DOUBLE PRECISION NOT NULL
            )""",
            """CREATE TABLE claims (
                call_key TEXT PRIMARY KEY,
                owner TEXT NOT NULL
            )""",
        ),
    ),
    Migration(
        "0003_label_events",
        (
            """CREATE TABLE label_events (
                event {serial},
                nonce TEXT NOT NULL UNIQUE,
                rater TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                action TEXT NOT NULL CHECK (action IN ('label', 'skip', 'undo', 'recount')),
                label TEXT CHECK (label IN ('A', 'B', 'tie')),
                shown_order TEXT CHECK (shown_order IN ('ab', 'ba')),
                sampled_by TEXT CHECK (sampled_by IN ('random', 'plan', 'doubt')),
                undoes INTEGER,
                created_at DOUBLE PRECISION NOT NULL
            )""",
            "CREATE INDEX label_events_by_rater ON label_events (rater, event)",
        ),
    ),
    Migration(
        "0004_store_identity",
        (
            "CREATE TABLE store_identity (store_id TEXT PRIMARY KEY)",
            "INSERT INTO store_identity (store_id) VALUES ('{store_id}')",
        ),
    ),
    Migration(
        "0005_answer_mass_and_other_labels",
        (
            "ALTER TABLE calls ADD COLUMN answer_mass DOUBLE PRECISION",
            "ALTER TABLE calls ADD COLUMN exact_mass INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE calls ADD COLUMN cut_off INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE calls ADD COLUMN server TEXT",
            # The text of a prompt is ours or the user's, without the text being judged.
            """CREATE TABLE prompts (
                sha256 TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                text TEXT NOT NULL,
                answer TEXT NOT NULL
            )""",
            # Grades and scores are labels too, and there are more ways to draw rows: values are
            # checked when labels are added.
            "ALTER TABLE label_events RENAME TO old_label_events",
            "DROP INDEX label_events_by_rater",
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
                undoes INTEGER,
                created_at DOUBLE PRECISION NOT NULL
            )""",
            """INSERT INTO label_events (event, nonce, rater, subject_id, action, label,
                shown_order, sampled_by, undoes, created_at)
                SELECT event, nonce, rater, subject_id, action, label, shown_order, sampled_by,
                undoes, created_at FROM old_label_events ORDER BY event""",
            "DROP TABLE old_label_events",
            "CREATE INDEX label_events_by_rater ON label_events (rater, event)",
        ),
    ),
    Migration(
        "0006_served_and_monitors",
        (
            # Served decisions, by policy; an id is served and audited once.
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
        ),
    ),
)


def pending(
    applied: Sequence[str], place: str | Path, steps: tuple[Migration, ...] = MIGRATIONS
) -> tuple[Migration, ...]:
    """The missing steps, given the steps of a store.

    >>> [step.name for step in pending(["0001_judges_and_calls"], "old.db")]
    ['0002_owners_and_claims', '0003_label_events', '0004_store_identity',
    '0005_answer_mass_and_other_labels', '0006_served_and_monitors']
    """
    names = [step.name for step in steps]
    unknown = [name for name in applied if name not in names]
    if unknown:
        raise StoreVersionError(
            f"{place}: written by a newer adjudge (it has {unknown[-1]}); "
            "upgrade adjudge or choose another store"
        )
    if list(applied) != names[: len(applied)]:
        raise StoreError(f"{place}: its migrations are out of order; restore it from a backup")
    return steps[len(applied) :]
