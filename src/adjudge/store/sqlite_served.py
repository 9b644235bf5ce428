"""Served decisions and the states of monitors, in an SQLite file."""

# ruff: noqa: S608  (what is put into statements here is column names, no values)
from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator

from adjudge.store.columns import SERVED_COLUMNS, decode_served, now
from adjudge.store.interface import Served
from adjudge.store.sqlite_file import SQLiteFile


class SQLiteServed(SQLiteFile):
    """The tables of served decisions and of monitors. `Store` documents each method."""

    def add_served(self, rows: Iterable[Served]) -> frozenset[str]:
        new = set()
        with self.transaction():
            for row in rows:
                values = (row.rules_id, row.subject_id, row.accepted, row.audited)
                kept = self._db.execute(
                    "INSERT INTO served (rules_id, subject_id, accepted, audited, content,"
                    " served_at) VALUES (?, ?, ?, ?, ?, ?)"
                    " ON CONFLICT (rules_id, subject_id) DO NOTHING",
                    (
                        *values,
                        json.dumps(row.content, allow_nan=False),
                        row.served_at or time.time(),
                    ),
                )
                if kept.rowcount:
                    new.add(row.subject_id)
        return frozenset(new)

    def audits(self, rules_id: str) -> list[Served]:
        if not self._all("PRAGMA table_info(served)"):
            return []  # an older file, opened with readonly
        rows = self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE rules_id = ? AND audited ORDER BY served",
            (rules_id,),
        )
        return [decode_served(row, self.name) for row in rows]

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        if not self._all("PRAGMA table_info(served)"):
            return
        wanted = [] if subject_ids is None else list(subject_ids)
        about = (
            "" if subject_ids is None else f" AND subject_id IN ({', '.join('?' * len(wanted))})"
        )
        under = "" if rules_id is None else " AND rules_id = ?"
        after = 0
        while rows := self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE served > ?{under}{about}"
            " ORDER BY served LIMIT 500",
            (after, *(() if rules_id is None else (rules_id,)), *wanted),
        ):
            yield from (decode_served(row, self.name) for row in rows)
            after = rows[-1][0]

    def count_served(self, rules_id: str) -> tuple[int, int]:
        [(served, accepted)] = self._all(
            "SELECT COUNT(*), COALESCE(SUM(accepted), 0) FROM served WHERE rules_id = ?",
            (rules_id,),
        )
        return served, accepted

    def served_rules(self) -> list[str]:
        if not self._all("PRAGMA table_info(served)"):
            return []
        rows = self._all("SELECT rules_id FROM served GROUP BY rules_id ORDER BY MAX(served)")
        return [name for (name,) in rows]

    def keep_monitor(self, name: str, state: str) -> None:
        with self.synchronously(), self.transaction():
            self._db.execute(
                "INSERT INTO monitors (name, state, saved_at) VALUES (?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at",
                (name, state, now()),
            )

    def monitors(self) -> dict[str, str]:
        if not self._all("PRAGMA table_info(monitors)"):
            return {}
        return dict(self._all("SELECT name, state FROM monitors ORDER BY name"))
