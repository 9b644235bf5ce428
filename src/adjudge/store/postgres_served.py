"""Human labels, served decisions, and the states of monitors, in a PostgreSQL database.

Labels and served rows are numbered in the order of their commits: a writer holds the lock of their
table until its commit. Otherwise a check of numbered audits could later see a new number among
those it has counted.
"""

# ruff: noqa: S608  (what is put into statements here is column names, no values)
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from adjudge.store.columns import (
    EVENT,
    EVENT_COLUMNS,
    SERVED,
    SERVED_COLUMNS,
    decode_served,
    event_of,
    served_of,
)
from adjudge.store.interface import LabelEvent, Served
from adjudge.store.postgres_database import PostgresDatabase
from adjudge.store.tables import PAGE


class PostgresServed(PostgresDatabase):
    """The tables of labels, served decisions and monitors. `Store` documents each method."""

    def add_label_event(self, event: LabelEvent) -> int:
        """Store one click."""
        values = event_of(event)

        def add() -> int:
            with self.transaction():
                self._lock_until_commit("label_events")
                self._all(
                    f"INSERT INTO label_events ({EVENT}) VALUES {self._marks(values)}"
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
        kept = [served_of(row) for row in rows]

        def add() -> frozenset[str]:
            with self.transaction():
                self._lock_until_commit("served")
                # WITH ORDINALITY: numbers follow the order of serving in every query plan.
                new = self._all(
                    f"INSERT INTO served ({SERVED}) SELECT r, s, a, d, c, t"
                    " FROM unnest(%s::text[], %s::text[], %s::int[], %s::int[], %s::text[],"
                    " %s::float8[]) WITH ORDINALITY AS given (r, s, a, d, c, t, position)"
                    " ORDER BY position"
                    " ON CONFLICT (rules_id, subject_id) DO NOTHING RETURNING subject_id",
                    [list(column) for column in zip(*kept, strict=True)],
                )
            return frozenset(name for (name,) in new)

        return self._patiently(add) if kept else frozenset()

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
