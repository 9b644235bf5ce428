"""The store in a PostgreSQL database, shared by any number of processes and machines.

Keys are claimed first, in sorted order, by an insert that skips the claims of others; this cannot
deadlock. Then answered calls are looked up and their claims are released. The other order would ask
calls again that were answered in between. When `save` returns, its replies are on the server's
disk. An owner is dead if its advisory lock can be taken.

Labels and served rows are numbered in the order of their commits: a writer holds the lock of their
table until its commit. Otherwise a check of numbered audits could later see a new number among
those it has counted. The server checks its pages and their checksums; `check` detects a row that
was changed, or whose key does not match its question.
"""

# ruff: noqa: S608  (what is put into statements is names of our own tables and columns, and marks)
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from adjudge.records import Status
from adjudge.store.checking import Census, StoreCheck, StoredTable, fault_of
from adjudge.store.interface import Call, CallRow, Claim, LabelEvent, Served
from adjudge.store.postgres_database import PostgresDatabase, incoming, outgoing
from adjudge.store.schema import MIGRATIONS
from adjudge.store.tables import (
    EVENT,
    EVENT_COLUMNS,
    PAGE,
    READ_COLUMNS,
    REPLY_COLUMNS,
    SERVED,
    SERVED_COLUMNS,
    STATUS_COLUMNS,
    WRITTEN,
    answered,
    decode_call,
    decode_served,
    event_of,
    now,
    row_of,
    served_of,
)

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
_READ = ", ".join(READ_COLUMNS)
_REPLIES, _STATUS = ", ".join(REPLY_COLUMNS), ", ".join(STATUS_COLUMNS)


class PostgresStore(PostgresDatabase):
    """One owner's connections to a store. `Store` documents each method."""

    def __init__(self, place: str | Path, *, readonly: bool = False) -> None:
        super().__init__(place, readonly=readonly)
        self._held: set[str] = set()

    def latest_call_id(self) -> int:
        """The highest call id so far; 0 in an empty store.

        Ids are assigned before a commit, and commits can overtake each other. Every save holds this
        lock until its commit, so that here no save is in flight for a moment.
        """
        self._refuse_in_transaction("latest_call_id")

        def read() -> int:
            with self.transaction():
                self._lock_until_commit("calls")
                return int(self._all("SELECT COALESCE(MAX(call_id), 0) FROM calls")[0][0])

        return self._patiently(read)

    def claim(
        self,
        keys: Sequence[str],
        *,
        retry: Collection[Status],
        since: int,
        again: Collection[str] = (),
    ) -> Claim:
        """Sort calls into done, ours and busy, and claim ours."""
        self._refuse_in_transaction("claim")
        wanted = list(dict.fromkeys(keys))
        # Answered calls stay answered: most of a resumed run needs no claim.
        done = answered(self._latest(_STATUS, wanted), retry=retry, since=since, again=again)
        unanswered = sorted(key for key in wanted if key not in done)
        ours = self._take(unanswered)
        late = answered(self._latest(_STATUS, unanswered), retry=retry, since=since, again=again)
        self.release(ours & late.keys())
        done |= late
        ours -= late.keys()
        busy = frozenset(wanted).difference(ours, done)
        return Claim(done=done, ours=frozenset(ours), busy=busy)

    def save(self, calls: Iterable[Call]) -> None:
        kept = list(calls)
        if kept:
            at = now()
            rows = [[outgoing(value) for value in row_of(call, at)] for call in kept]
            self._patiently(lambda: self._save(rows, [call.call_key for call in kept]))

    def release(self, keys: Collection[str]) -> None:
        if keys:
            self._held.difference_update(keys)
            self._all(
                "DELETE FROM claims WHERE owner = %s AND call_key = ANY(%s)",
                (self.owner.owner, list(keys)),
            )

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        rows = self._latest(_READ, keys)
        return {key: decode_call(row, None, self.name) for key, row in rows.items()}

    def lookup_rows(self, keys: Sequence[str]) -> dict[str, CallRow]:
        return self._latest(_REPLIES, keys)

    def calls(self, subject_ids: Collection[str] | None = None) -> Iterator[Call]:
        about = "" if subject_ids is None else " AND subject_id = ANY(%s)"
        wanted = () if subject_ids is None else (list(subject_ids),)
        later = "SELECT 1 FROM calls l WHERE l.call_key = c.call_key AND l.call_id > c.call_id"
        after = 0
        # Earlier rows are read and dropped here: as a condition of the query, the planner would
        # join the complete table for every page.
        while rows := self._all(
            f"SELECT {_READ}, raw, EXISTS ({later}) FROM calls c WHERE call_id > %s{about}"
            f" ORDER BY call_id LIMIT {PAGE}",
            (after, *wanted),
        ):
            yield from (decode_call(row, row[-2], self.name) for row in rows if not row[-1])
            after = rows[-1][0]

    def histories(self, keys: Sequence[str]) -> dict[str, list[Call]]:
        histories: dict[str, list[Call]] = {}
        for row in self._all(
            f"SELECT {_READ}, raw FROM calls WHERE call_key = ANY(%s) ORDER BY call_id",
            (list(keys),),
        ):
            histories.setdefault(row[1], []).append(decode_call(row, row[-1], self.name))
        return histories

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

    def _latest(self, columns: str, keys: Sequence[str]) -> dict[str, CallRow]:
        """The latest row of each key; the second column is the key."""
        if not keys:
            return {}
        rows = self._all(
            f"SELECT DISTINCT ON (call_key) {columns} FROM calls WHERE call_key = ANY(%s)"
            " ORDER BY call_key, call_id DESC",
            (list(keys),),
        )
        return {row[1]: row for row in rows}

    def _save(self, rows: Sequence[Sequence[Any]], keys: Sequence[str]) -> None:
        with self.transaction(), self._session() as db:
            self._lock_until_commit("calls", shared=True)
            with db.cursor().copy(f"COPY calls ({WRITTEN}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            self.release(keys)

    def _take(self, keys: Sequence[str]) -> set[str]:
        """Claim keys that no living owner holds. Keys are sorted, which prevents deadlocks."""
        ours = self._insert_claims(keys)
        held = self._holders([key for key in keys if key not in ours])
        me = self.owner.owner
        # Claimed by a commit whose confirmation was lost with the connection.
        ours |= {key for key, owner in held.items() if owner == me and key not in self._held}
        gone = {owner for owner in {*held.values()} - {me} if self._forget_if_gone(owner)}
        if gone:
            ours |= self._insert_claims([key for key in keys if held.get(key) in gone])
        self._held |= ours
        return ours

    def _insert_claims(self, keys: Sequence[str]) -> set[str]:
        if not keys:
            return set()
        rows = self._all(
            "INSERT INTO claims (call_key, owner) SELECT unnest(%s::text[]), %s"
            " ON CONFLICT (call_key) DO NOTHING RETURNING call_key",
            (list(keys), self.owner.owner),
        )
        return {key for (key,) in rows}

    def _holders(self, keys: Sequence[str]) -> dict[str, str]:
        if not keys:
            return {}
        return dict(
            self._all("SELECT call_key, owner FROM claims WHERE call_key = ANY(%s)", (list(keys),))
        )

    def _forget_if_gone(self, owner: str) -> bool:
        """Whether an owner is dead; then its claims are removed in a separate transaction."""

        def forget() -> bool:
            with self.transaction():
                if self._lives(owner):
                    return False
                self._all("DELETE FROM claims WHERE owner = %s", (owner,))
                self._all("DELETE FROM owners WHERE owner = %s", (owner,))
                return True

        return self._patiently(forget)

    def _refuse_in_transaction(self, what: str) -> None:
        if self._in_transaction:
            raise RuntimeError(f"{what} is its own transaction: call it outside of one")

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
