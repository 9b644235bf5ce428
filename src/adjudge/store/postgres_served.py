"""Human labels, served decisions, and the states of monitors, in a PostgreSQL database.

Labels and served rows are numbered in the order of their commits: a writer holds the lock of their
table until its commit. Otherwise a check of numbered audits could later see a new number among
those it has counted.
"""

# ruff: noqa: S608  (what is put into statements here is column names, no values)
from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator

from adjudge.store.columns import (
    EVENT,
    EVENT_COLUMNS,
    SERVED_COLUMNS,
    decode_served,
    event_of,
    now,
)
from adjudge.store.interface import LabelEvent, Served
from adjudge.store.postgres_database import PostgresDatabase

#: Rows per page: limits memory and the time for which others wait.
PAGE = 500


class PostgresServed(PostgresDatabase):
    """The tables of labels, served decisions and monitors. `Store` documents each method."""

    def add_label_event(self, event: LabelEvent) -> int:
        """Store one click."""
        values = event_of(event)
        marks = ", ".join(["%s"] * len(values))

        def add() -> int:
            with self.transaction():
                self._lock_until_commit("label_events")
                self._all(
                    f"INSERT INTO label_events ({EVENT}) VALUES ({marks})"
                    " ON CONFLICT (nonce) DO NOTHING",
                    values,
                )
                kept = self._all("SELECT event FROM label_events WHERE nonce = %s", values[:1])
            return int(kept[0][0])

        return self._patiently(add)

    def label_events(self, rater: str | None = None) -> list[LabelEvent]:
        rows = self._all(
            f"SELECT {', '.join(EVENT_COLUMNS)} FROM label_events"
            " WHERE %s::text IS NULL OR rater = %s ORDER BY event",
            (rater, rater),
        )
        return [LabelEvent(**dict(zip(EVENT_COLUMNS, row, strict=True))) for row in rows]

    def add_served(self, rows: Iterable[Served]) -> frozenset[str]:
        kept = [
            (row.rules_id, row.subject_id, int(row.accepted), int(row.audited),
             json.dumps(row.content, allow_nan=False), row.served_at or time.time())
            for row in rows
        ]  # fmt: skip

        def add() -> frozenset[str]:
            with self.transaction():
                self._lock_until_commit("served")
                # WITH ORDINALITY: numbers follow the order of serving in every query plan.
                new = self._all(
                    "INSERT INTO served (rules_id, subject_id, accepted, audited, content,"
                    " served_at) SELECT r, s, a, d, c, t FROM unnest(%s::text[], %s::text[],"
                    " %s::int[], %s::int[], %s::text[], %s::float8[])"
                    " WITH ORDINALITY AS given (r, s, a, d, c, t, position) ORDER BY position"
                    " ON CONFLICT (rules_id, subject_id) DO NOTHING RETURNING subject_id",
                    [list(column) for column in zip(*kept, strict=True)],
                )
            return frozenset(name for (name,) in new)

        return self._patiently(add) if kept else frozenset()

    def audits(self, rules_id: str) -> list[Served]:
        rows = self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE rules_id = %s AND audited = 1"
            " ORDER BY served",
            (rules_id,),
        )
        return [decode_served(row, self.name) for row in rows]

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        after = 0
        wanted = None if subject_ids is None else list(subject_ids)
        while rows := self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE served > %s"
            " AND (%s::text IS NULL OR rules_id = %s)"
            " AND (%s::text[] IS NULL OR subject_id = ANY(%s))"
            f" ORDER BY served LIMIT {PAGE}",
            (after, rules_id, rules_id, wanted, wanted),
        ):
            yield from (decode_served(row, self.name) for row in rows)
            after = rows[-1][0]

    def count_served(self, rules_id: str) -> tuple[int, int]:
        [(served, accepted)] = self._all(
            "SELECT COUNT(*), COALESCE(SUM(accepted), 0) FROM served WHERE rules_id = %s",
            (rules_id,),
        )
        return int(served), int(accepted)

    def served_rules(self) -> list[str]:
        rows = self._all("SELECT rules_id FROM served GROUP BY rules_id ORDER BY MAX(served)")
        return [name for (name,) in rows]

    def keep_monitor(self, name: str, state: str) -> None:
        self._all(
            "INSERT INTO monitors (name, state, saved_at) VALUES (%s, %s, %s) ON CONFLICT (name)"
            " DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at",
            (name, state, now()),
        )

    def monitors(self) -> dict[str, str]:
        return dict(sorted(self._all("SELECT name, state FROM monitors")))
