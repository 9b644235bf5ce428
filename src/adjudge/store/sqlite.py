"""The store in one SQLite file, shared by any number of processes on one machine.

Write-ahead logging lets readers and one writer work in parallel; a second writer waits. With
`synchronous = NORMAL` a stored reply survives the death of the process at any moment. A power
failure can lose the last few commits (they are asked again), but does not damage the file.
"""

# ruff: noqa: S608  (what is put into statements here is column names and question marks, no values)
from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from adjudge.errors import StoreError
from adjudge.records import Status
from adjudge.store.columns import (
    EVENT,
    EVENT_COLUMNS,
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
from adjudge.store.interface import SILENCE_S, Call, CallRow, Claim, LabelEvent, Served
from adjudge.store.owners import Owner, state_of
from adjudge.store.sqlite_file import SQLiteFile
from adjudge.store.tables import PAGE

T = TypeVar("T")

_ROW = "(" + ", ".join("?" * (WRITTEN.count(",") + 1)) + ")"
#: Rows per statement. Few sizes, so that prepared statements are reused; many rows per statement,
#: because every step releases and takes the interpreter lock.
_CHUNKS = (128, 32, 8, 1)


class SQLiteStore(SQLiteFile):
    """One owner's connection to a store file (":memory:" for a temporary one).

    `Store` documents each method.
    """

    def __init__(self, place: str | Path, *, readonly: bool = False) -> None:
        super().__init__(place, readonly=readonly)
        self.owner = Owner.here()
        self._signs: dict[str, tuple[float, float]] = {}
        self._read = self._there("calls", READ_COLUMNS)
        self._replies = self._there("calls", REPLY_COLUMNS)
        if not readonly:
            try:
                self.heartbeat()
            except BaseException:
                self._db.close()
                raise

    def latest_call_id(self) -> int:
        """The highest call id so far; 0 in an empty store."""
        return int(self._all("SELECT COALESCE(MAX(call_id), 0) FROM calls")[0][0])

    def claim(
        self,
        keys: Sequence[str],
        *,
        retry: Collection[Status],
        since: int,
        again: Collection[str] = (),
    ) -> Claim:
        """Sort calls into done, ours and busy, and claim ours, in one transaction."""
        wanted = list(dict.fromkeys(keys))
        with self.transaction():
            latest = self._latest(", ".join(STATUS_COLUMNS), wanted)
            done = answered(latest, retry=retry, since=since, again=again)
            open_keys = [key for key in wanted if key not in done]
            held = self._holders(open_keys)
            gone = self._gone({owner for owner in held.values() if owner != self.owner.owner})
            ours = [key for key in open_keys if held.get(key) is None or held[key] in gone]
            for chunk in _chunks(ours):
                self._db.execute(
                    "INSERT INTO claims (call_key, owner) VALUES "
                    + ", ".join(["(?, ?)"] * len(chunk)),
                    [value for key in chunk for value in (key, self.owner.owner)],
                )
        return Claim(done=done, ours=frozenset(ours), busy=frozenset(open_keys).difference(ours))

    def save(self, calls: Iterable[Call]) -> None:
        kept = list(calls)
        at = now()
        with self.transaction():
            for chunk in _chunks(kept):
                self._db.execute(
                    f"INSERT INTO calls ({WRITTEN}) VALUES " + ", ".join([_ROW] * len(chunk)),
                    [value for call in chunk for value in row_of(call, at)],
                )
            self.release([call.call_key for call in kept])

    def release(self, keys: Collection[str]) -> None:
        with self.transaction():
            for chunk in _chunks(list(keys)):
                self._db.execute(
                    f"DELETE FROM claims WHERE owner = ? AND call_key IN {self._marks(chunk)}",
                    [self.owner.owner, *chunk],
                )

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        rows = self._latest(self._read, keys)
        return {key: decode_call(row, None, self.name) for key, row in rows.items()}

    def lookup_rows(self, keys: Sequence[str]) -> dict[str, CallRow]:
        return self._latest(self._replies, keys)

    def calls(self, subject_ids: Collection[str] | None = None) -> Iterator[Call]:
        wanted = [] if subject_ids is None else list(subject_ids)
        about = "" if subject_ids is None else f" AND subject_id IN {self._marks(wanted)}"
        later = "SELECT 1 FROM calls l WHERE l.call_key = c.call_key AND l.call_id > c.call_id"
        after = 0
        # In pages, so that a writer does not wait for a reader.
        while rows := self._all(
            f"SELECT {self._read}, raw FROM calls c WHERE call_id > ?{about}"
            f" AND NOT EXISTS ({later}) ORDER BY call_id LIMIT {PAGE}",
            (after, *wanted),
        ):
            yield from (decode_call(row, row[-1], self.name) for row in rows)
            after = rows[-1][0]

    def histories(self, keys: Sequence[str]) -> dict[str, list[Call]]:
        histories: dict[str, list[Call]] = {}
        for chunk in _chunks(list(keys)):
            for row in self._all(
                f"SELECT {self._read}, raw FROM calls WHERE call_key IN {self._marks(chunk)}"
                " ORDER BY call_id",
                chunk,
            ):
                histories.setdefault(row[1], []).append(decode_call(row, row[-1], self.name))
        return histories

    def add_label_event(self, event: LabelEvent) -> int:
        """Store one click; a label that the page has confirmed survives a power failure."""
        values = event_of(event)
        with self.synchronously(), self.transaction():
            self._db.execute(
                f"INSERT INTO label_events ({EVENT}) VALUES {self._marks(values)}"
                " ON CONFLICT (nonce) DO NOTHING",
                values,
            )
            kept = self._all("SELECT event FROM label_events WHERE nonce = ?", (values[0],))
        return int(kept[0][0])

    def label_events(self, rater: str | None = None) -> list[LabelEvent]:
        columns = self._there("label_events", EVENT_COLUMNS)
        rows = self._all(
            f"SELECT {columns} FROM label_events WHERE ?1 IS NULL OR rater = ?1 ORDER BY event",
            (rater,),
        )
        return [LabelEvent(**dict(zip(EVENT_COLUMNS, row, strict=True))) for row in rows]

    def add_served(self, rows: Iterable[Served]) -> frozenset[str]:
        new = set()
        with self.transaction():
            for row in rows:
                values = served_of(row)
                kept = self._db.execute(
                    f"INSERT INTO served ({SERVED}) VALUES {self._marks(values)}"
                    " ON CONFLICT (rules_id, subject_id) DO NOTHING",
                    values,
                )
                if kept.rowcount:
                    new.add(row.subject_id)
        return frozenset(new)

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        if not self._has("served"):
            return
        wanted = [] if subject_ids is None else list(subject_ids)
        about = "" if subject_ids is None else f" AND subject_id IN {self._marks(wanted)}"
        under = "" if rules_id is None else " AND rules_id = ?"
        after = 0
        while rows := self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE served > ?{under}{about}"
            f" ORDER BY served LIMIT {PAGE}",
            (after, *(() if rules_id is None else (rules_id,)), *wanted),
        ):
            yield from (decode_served(row, self.name) for row in rows)
            after = rows[-1][0]

    def keep_monitor(self, name: str, state: str) -> None:
        with self.synchronously():
            super().keep_monitor(name, state)

    def heartbeat(self) -> None:
        """Record that this owner lives; the first call adds it."""
        me = self.owner
        with self.transaction():
            self._db.execute(
                "INSERT INTO owners (owner, host, pid, started, heartbeat) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (owner) DO UPDATE SET heartbeat = excluded.heartbeat",
                (me.owner, me.host, me.pid, me.started, time.time()),
            )

    def close(self) -> None:
        """Release all claims and close the file."""
        self.owner.end()
        try:
            if not self._readonly:
                with self.transaction():
                    self._forget(self.owner.owner)
        except StoreError:
            # A full disk: the claims stay as after a kill, but are free: their owner has ended.
            return
        finally:
            self._db.close()

    def _there(self, table: str, columns: Sequence[str]) -> str:
        """The columns to select; NULL for those that an older, read-only file lacks."""
        known = {row[1] for row in self._all(f"PRAGMA table_info({table})")}
        return ", ".join(name if name in known else f"NULL AS {name}" for name in columns)

    def _latest(self, columns: str, keys: Sequence[str]) -> dict[str, CallRow]:
        """The latest row of each key; the second column is the key."""
        latest: dict[str, CallRow] = {}
        for chunk in _chunks(list(keys)):
            # An IN list would first be sorted, which takes a tenth of the time.
            named = ", ".join(["(?)"] * len(chunk))
            rows = self._all(
                f"WITH wanted (wanted_key) AS (VALUES {named})"
                f" SELECT {columns} FROM wanted CROSS JOIN calls ON call_key = wanted_key",
                chunk,
            )
            part = {row[1]: row for row in rows}
            if len(part) < len(rows):
                part = {row[1]: row for row in sorted(rows, key=itemgetter(0))}
            latest |= part
        return latest

    def _holders(self, keys: Sequence[str]) -> dict[str, str]:
        held: dict[str, str] = {}
        query = "SELECT call_key, owner FROM claims WHERE call_key IN "
        for chunk in _chunks(keys):
            held.update(self._all(query + self._marks(chunk), chunk))
        return held

    def _gone(self, owners: Collection[str]) -> set[str]:
        """The owners that are dead, or unknown without heartbeat; their claims are removed."""
        gone = set(owners)
        for name, host, pid, started, heartbeat in (
            self._all("SELECT owner, host, pid, started, heartbeat FROM owners") if owners else ()
        ):
            if name not in gone:
                continue
            state = state_of(Owner(name, host, pid, started))
            if state == "alive" or (state == "unknown" and self._heard(name, heartbeat)):
                gone.discard(name)
        for name in gone:
            self._forget(name)
        return gone

    def _heard(self, owner: str, heartbeat: float) -> bool:
        """Whether an owner that cannot be checked gave a heartbeat in the last minute.

        A heartbeat in the future means that the clock was set back. Then its age counts from when
        it was first seen here, by a monotonic clock. Otherwise a dead owner would keep its claims
        until the clock has caught up.
        """
        silence = time.time() - heartbeat
        if silence >= 0:
            return silence <= SILENCE_S
        sign, since = self._signs.get(owner, (None, 0.0))
        if sign != heartbeat:
            self._signs[owner] = heartbeat, (since := time.monotonic())
        return time.monotonic() - since <= SILENCE_S

    def _forget(self, owner: str) -> None:
        self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._db.execute("DELETE FROM owners WHERE owner = ?", (owner,))


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    start = 0
    while start < len(values):
        size = next(size for size in _CHUNKS if size <= len(values) - start)
        yield values[start : start + size]
        start += size
