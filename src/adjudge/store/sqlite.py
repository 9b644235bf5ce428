"""The store in one SQLite file, shared by any number of processes on one machine.

Write-ahead logging lets readers and one writer work at once; a writer that finds the file busy
waits. `synchronous = NORMAL`: a kept reply survives the death of the process at any moment; a
power cut may take the last few commits with it (they are asked again), never the file.
"""

# ruff: noqa: S608  (what is put into statements here is column names and question marks, no values)
from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from adjudge.errors import StoreError
from adjudge.records import Order, Status
from adjudge.store.interface import SILENCE_S, Call, Claimed, Known
from adjudge.store.keys import canonical_json
from adjudge.store.migrations import LEDGER, pending
from adjudge.store.owners import Owner, state_of

_BUSY_S = 60.0
T = TypeVar("T")

_WRITTEN = (
    "call_key, judge_fingerprint, subject_id, content_hash, shown_order, repeat_index, slot, "
    "status, reply_text, logprobs, censored, counts, mean_logprob, scored_tokens, prompt_tokens, "
    "completion_tokens, latency_s, error, created_at, raw"
)
_READ = "call_id, " + _WRITTEN.removesuffix(", raw")
_ROW = "(" + ", ".join("?" * (_WRITTEN.count(",") + 1)) + ")"
#: Rows per statement. Few sizes, so that prepared statements are found again; many rows in one
#: statement, because every step gives up and regains the interpreter lock.
_CHUNKS = (128, 32, 8, 1)


class SQLiteStore:
    """One owner's connection to a store file (":memory:" for one that is not kept)."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.owner = Owner.here()
        self._in_transaction = False
        try:
            if self.path != ":memory:":
                Path(path).expanduser().parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                str(Path(path).expanduser()) if self.path != ":memory:" else self.path,
                timeout=_BUSY_S,
                isolation_level=None,
            )
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.path}: cannot be opened ({error}); check the path") from None
        try:
            self._prepare()
            self._migrate()
            self.heartbeat()
        except sqlite3.Error as error:
            self._db.close()
            raise self._failed(error) from None
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the file's write lock for a block; nested blocks join the outer one."""
        if self._in_transaction:
            yield
            return
        try:
            # IMMEDIATE: a transaction that reads first and writes later cannot wait for the lock.
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise self._failed(error) from None
        self._in_transaction = True
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._failed(error) from None
            raise
        finally:
            self._in_transaction = False

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        """Keep the parts behind a fingerprint."""
        with self.transaction():
            self._db.execute(
                "INSERT INTO judges (judge_fingerprint, judge, protocol, parts, first_seen)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (judge_fingerprint) DO NOTHING",
                (fingerprint, judge, protocol, canonical_json(parts), _now()),
            )

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        """The parts behind a fingerprint, or None."""
        found = self._all("SELECT parts FROM judges WHERE judge_fingerprint = ?", (fingerprint,))
        return dict(json.loads(found[0][0])) if found else None

    def latest_call_id(self) -> int:
        """The highest call id so far; 0 in an empty store."""
        return int(self._all("SELECT COALESCE(MAX(call_id), 0) FROM calls")[0][0])

    def claim(self, keys: Sequence[str], *, retry: Collection[Status], since: int) -> Claimed:
        """Sort calls into done, ours and busy, and claim what is ours, in one transaction."""
        wanted = list(dict.fromkeys(keys))
        with self.transaction():
            done = self._known(wanted, retry, since)
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
        return Claimed(done=done, ours=frozenset(ours), busy=frozenset(open_keys).difference(ours))

    def save(self, calls: Iterable[Call]) -> None:
        """Keep calls and give their claims back."""
        kept = list(calls)
        now = _now()
        with self.transaction():
            for chunk in _chunks(kept):
                self._db.execute(
                    f"INSERT INTO calls ({_WRITTEN}) VALUES " + ", ".join([_ROW] * len(chunk)),
                    [value for call in chunk for value in _row_of(call, now)],
                )
            self.release([call.call_key for call in kept])

    def release(self, keys: Collection[str]) -> None:
        """Give this owner's claims on these calls back."""
        with self.transaction():
            for chunk in _chunks(list(keys)):
                self._db.execute(
                    f"DELETE FROM claims WHERE owner = ? AND call_key IN {_marks(chunk)}",
                    [self.owner.owner, *chunk],
                )

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        """The latest row of each call, without its raw reply."""
        found: dict[str, Call] = {}
        for chunk in _chunks(list(keys)):
            for row in self._all(
                f"SELECT {_READ} FROM calls WHERE call_key IN {_marks(chunk)}", chunk
            ):
                earlier = found.get(row[1])
                if earlier is None or (earlier.call_id or 0) < row[0]:
                    found[row[1]] = _call_of(row, None)
        return found

    def history(self, key: str) -> list[Call]:
        """Every row of one call, oldest first."""
        rows = self._all(
            f"SELECT {_READ}, raw FROM calls WHERE call_key = ? ORDER BY call_id", (key,)
        )
        return [_call_of(row, row[-1]) for row in rows]

    def heartbeat(self) -> None:
        """Say that this owner lives; the first time, introduce it."""
        me = self.owner
        with self.transaction():
            self._db.execute(
                "INSERT INTO owners (owner, host, pid, started, heartbeat) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (owner) DO UPDATE SET heartbeat = excluded.heartbeat",
                (me.owner, me.host, me.pid, me.started, time.time()),
            )

    def close(self) -> None:
        """Give all claims back and close the file."""
        try:
            with self.transaction():
                self._forget(self.owner.owner)
        finally:
            self._db.close()

    def _prepare(self) -> None:
        """Settings of the connection. Turning WAL on does not wait for the lock by itself."""
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                mode = self._db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)
        if mode not in {"wal", "memory"}:
            raise StoreError(
                f"{self.path}: this place cannot hold a store (journal mode {mode});"
                " choose a --store on a local disk"
            )
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _migrate(self) -> None:
        tables = {name for (name,) in self._all("SELECT name FROM sqlite_master")}
        if tables and LEDGER not in tables:
            raise StoreError(f"{self.path}: is a database of another kind; choose another --store")
        with self.transaction():
            self._db.execute(
                f"CREATE TABLE IF NOT EXISTS {LEDGER} ("
                "position INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
            )
            taken = self._all(f"SELECT name FROM {LEDGER} ORDER BY position")
            applied = [name for (name,) in taken]
            for step in pending(applied, self.path):
                for statement in step.statements:
                    self._db.execute(statement.replace("{serial}", "INTEGER PRIMARY KEY"))
                applied.append(step.name)
                self._db.execute(
                    f"INSERT INTO {LEDGER} (position, name, applied_at) VALUES (?, ?, ?)",
                    (len(applied), step.name, _now()),
                )

    def _known(
        self, keys: Sequence[str], retry: Collection[Status], since: int
    ) -> dict[str, Known]:
        latest: dict[str, tuple[int, Known]] = {}
        for chunk in _chunks(keys):
            for key, call_id, status, *tokens in self._all(
                "SELECT call_key, call_id, status, prompt_tokens, completion_tokens FROM calls"
                f" WHERE call_key IN {_marks(chunk)} ORDER BY call_id",
                chunk,
            ):
                latest[key] = call_id, Known(status, *tokens)
        return {
            key: known
            for key, (call_id, known) in latest.items()
            if call_id > since or known.status not in retry
        }

    def _holders(self, keys: Sequence[str]) -> dict[str, str]:
        held: dict[str, str] = {}
        for chunk in _chunks(keys):
            held.update(
                self._all(
                    f"SELECT call_key, owner FROM claims WHERE call_key IN {_marks(chunk)}", chunk
                )
            )
        return held

    def _gone(self, owners: Collection[str]) -> set[str]:
        """Those of the owners that are dead or silent; their claims are removed."""
        gone = set(owners)
        for name, host, pid, started, heartbeat in (
            self._all("SELECT owner, host, pid, started, heartbeat FROM owners") if owners else ()
        ):
            state = state_of(Owner(name, host, pid, started))
            if state != "dead" and time.time() - heartbeat <= SILENCE_S:
                gone.discard(name)
        for name in gone:
            self._forget(name)
        return gone

    def _forget(self, owner: str) -> None:
        self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._db.execute("DELETE FROM owners WHERE owner = ?", (owner,))

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _failed(self, error: sqlite3.Error) -> StoreError:
        text = str(error)
        if "locked" in text or "busy" in text:
            remedy = "another program holds it; close that and run the same command again"
        elif "not a database" in text or "malformed" in text:
            remedy = "it is not an adjudge store; choose another --store"
        elif "full" in text or "disk" in text:
            remedy = "make room on the disk and run the same command again"
        else:
            remedy = "check that the file and its folder can be written"
        return StoreError(f"{self.path}: {text}; {remedy}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    start = 0
    while start < len(values):
        size = next(size for size in _CHUNKS if size <= len(values) - start)
        yield values[start : start + size]
        start += size


def _marks(values: Sequence[Any]) -> str:
    return "(" + ", ".join("?" * len(values)) + ")"


def _text(value: str | None) -> str | None:
    """Text a database can hold: a lone surrogate, legal in JSON, is not legal UTF-8."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")


def _row_of(call: Call, now: str) -> tuple[Any, ...]:
    return (
        call.call_key,
        call.judge_fingerprint,
        _text(call.subject_id),
        call.content_hash,
        call.order,
        call.repeat,
        _text(call.slot),
        call.status,
        _text(call.text),
        None if call.logprobs is None else json.dumps(dict(call.logprobs)),
        json.dumps(sorted(call.censored)) if call.censored else None,
        None if call.counts is None else json.dumps(dict(call.counts)),
        call.mean_logprob,
        call.scored_tokens,
        call.prompt_tokens,
        call.completion_tokens,
        call.latency_s,
        _text(call.error),
        call.created_at or now,
        _text(call.raw),
    )


def _call_of(row: Sequence[Any], raw: str | None) -> Call:
    return Call(
        call_id=row[0],
        call_key=row[1],
        judge_fingerprint=row[2],
        subject_id=row[3],
        content_hash=row[4],
        order=cast("Order | None", row[5]),
        repeat=row[6],
        slot=row[7],
        status=cast("Status", row[8]),
        text=row[9],
        logprobs=None if row[10] is None else json.loads(row[10]),
        censored=frozenset(json.loads(row[11])) if row[11] else frozenset(),
        counts=None if row[12] is None else json.loads(row[12]),
        mean_logprob=row[13],
        scored_tokens=row[14],
        prompt_tokens=row[15],
        completion_tokens=row[16],
        latency_s=row[17],
        error=row[18],
        created_at=row[19],
        raw=raw,
    )
