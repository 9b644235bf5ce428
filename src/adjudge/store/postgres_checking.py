"""Read everything in a PostgreSQL store, and report the rows that no longer decode.

The server checks its pages and their checksums. This check detects a row that was changed, or whose
key does not match its question.
"""

# ruff: noqa: S608  (what is put into statements here is names of our own tables)
from __future__ import annotations

from collections import Counter

from adjudge.results.store import StoreCheck, StoredTable
from adjudge.store.checking import Census, fault_of
from adjudge.store.postgres_database import PostgresDatabase, incoming
from adjudge.store.postgres_migrations import MIGRATIONS

#: Judges before calls; the column that identifies a row.
_TABLES = {
    "judges": "judge_fingerprint",
    "prompts": "sha256",
    "calls": "call_id",
    "label_events": "event",
    "served": "served",
    "monitors": "name",
    "store_identity": "store_id",
}
_AT_ONCE = 500


class PostgresChecking(PostgresDatabase):
    """The checks of `adjudge store check`."""

    def check(self) -> StoreCheck:
        """Decode every row; nothing is written."""
        census = Census()
        applied = self._applied(self._guard)
        return census.result(
            store=self.name,
            schema=applied[-1],
            up_to_date=len(applied) == len(MIGRATIONS),
            problems=(),
            tables=[self._check_table(table, census) for table in _TABLES],
            claims=self._claims(),
        )

    def _check_table(self, table: str, census: Census) -> StoredTable:
        rows = damaged = 0
        example = None
        with self.transaction(), self._session() as db, db.cursor(name="check") as cursor:
            cursor.itersize = _AT_ONCE
            cursor.execute(f"SELECT * FROM {table} ORDER BY {_TABLES[table]}")
            names = [column.name for column in cursor.description or ()]
            for values in cursor:
                row = dict(zip(names, incoming(values), strict=True))
                fault = fault_of(table, row)
                if fault is None:
                    rows += 1
                    census.count(table, row)
                else:
                    damaged += 1
                    example = example or f"row {row[_TABLES[table]]}: {fault}"
        return StoredTable(table=table, rows=rows, damaged=damaged, example=example)

    def _claims(self) -> Counter[str]:
        """Claims by whether their owner holds its lock."""
        claims: Counter[str] = Counter()
        for owner, held in self._all("SELECT owner, COUNT(*) FROM claims GROUP BY owner"):
            claims["alive" if self._lives(owner) else "dead"] += held
        return claims
