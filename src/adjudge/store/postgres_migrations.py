"""The tables of a PostgreSQL store, as an ordered list of named steps, as in `migrations`.

Text is TEXT, and JSON is text too, so that values are returned byte for byte.
"""

from __future__ import annotations

from adjudge.store.migrations import Migration

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
                created_at TEXT NOT NULL,
                raw TEXT
            )""",
            "CREATE INDEX calls_by_key ON calls (call_key, call_id)",
            # An owner lives while it holds its advisory lock, or has had no time to take it again
            # after the server was restarted.
            """CREATE TABLE owners (
                owner TEXT PRIMARY KEY,
                host TEXT NOT NULL,
                pid BIGINT NOT NULL,
                server_started TIMESTAMPTZ NOT NULL
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
