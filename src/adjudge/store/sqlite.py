"""The store in one SQLite file, shared by any number of processes on one machine.

Write-ahead logging lets readers and one writer work in parallel; a second writer waits. With
`synchronous = NORMAL` a stored reply survives the death of the process at any moment. A power
failure can lose the last few commits (they are asked again), but does not damage the file. The log
is the file `-wal`; what is in it is moved into the main file about once a second, so that a copy of
the main file alone, which is wrong, lacks little.
"""

# ruff: noqa: S608  (what is put into statements is names of our own tables and columns, and marks)
from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from adjudge.errors import ArgumentError, StoreError, StoreMissingError
from adjudge.records import Status
from adjudge.store import tables
from adjudge.store.interface import HURRIED_S, SILENCE_S, Owner, Patience, Store, state_of
from adjudge.store.tables import LEDGER, WRITTEN, Call, CallRow, Claim, Dialect, Migration


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents; an existing one is not changed."""
    for path in [*reversed(folder.parents), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Make an empty file unless it exists. SQLite's files next to it get the same mode."""
    with suppress(FileExistsError):
        os.close(open_privately(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def open_privately(path: str | Path, flags: int) -> int:
    """An `opener` for `open`: new files are readable only by their owner."""
    return os.open(path, flags, 0o600)


#: Seconds to wait for a lock, in steps that notice Ctrl-C; and between checkpoints.
_BUSY_S = 60.0
_STEP_S = 0.2
_CHECKPOINT_S = 1.0
_DIALECT: Dialect = {
    "serial": "INTEGER PRIMARY KEY",
    "signs_of_life": "started TEXT NOT NULL, heartbeat DOUBLE PRECISION NOT NULL",
}
_MEMORY = ":memory:"
T = TypeVar("T")

_ROW = "(" + ", ".join("?" * (WRITTEN.count(",") + 1)) + ")"
#: Tables whose commits are synced to disk.
_SYNCED = ("label_events", "monitors")
#: Rows per statement. Few sizes, so that prepared statements are reused; many rows per statement,
#: because every step releases and takes the interpreter lock.
_CHUNKS = (128, 32, 8, 1)


class SQLiteStore(Store):
    """One owner's connection. Threads can share it: every statement runs under a lock.

    `place` is the file, its URL sqlite:///FILE, or ":memory:". With `readonly` the file is not
    created, not migrated and not written, and no file appears next to it.
    """

    _mark = "?"

    def __init__(self, place: str | Path, *, readonly: bool = False) -> None:
        self.name = str(place)
        self.store_id: str | None = None
        self.patience = Patience()
        self._path = file_of(self.name)
        self._readonly = readonly
        self._unshared = False
        self._lock = threading.RLock()
        self._checkpointed = 0.0
        try:
            if readonly:
                self._db = self._open_to_read()
            else:
                if self._path is not None:
                    make_private_folder(self._path.parent)
                    make_private_file(self._path)
                self._db = _connect(_MEMORY if self._path is None else str(self._path))
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.name}: cannot be opened ({error}); check the path") from None
        try:
            if readonly:
                tables.pending(self._applied(), self.name, readonly=True)
            else:
                self._prepare()
                self._migrate()
            if self._path is not None:
                self.store_id = str(self._execute("SELECT store_id FROM store_identity")[0][0])
            self.owner = Owner.here()
            self._signs: dict[str, tuple[float, float]] = {}
            if not readonly:
                self.heartbeat()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._db.close()
            raise self._failed(error) from None
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            try:
                # IMMEDIATE: a transaction that reads first and writes later cannot wait.
                self._run("BEGIN IMMEDIATE")
                yield
                self._run("COMMIT")
                self._checkpoint()
            except BaseException as error:
                with suppress(sqlite3.Error):  # SQLite can have rolled back itself
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise self._failed(error) from None
                raise

    def _run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement, and wait for another session's lock in steps: SQLite ignores Ctrl-C."""
        began = time.monotonic()
        while True:
            try:
                return self._db.execute(statement, values)
            except sqlite3.OperationalError as error:
                most = HURRIED_S if self.patience.hurried else _BUSY_S
                if time.monotonic() - began > most or "locked" not in str(error):
                    raise

    def _checkpoint(self) -> None:
        """Move the log into the main file, without waiting for readers."""
        if self._path is not None and time.monotonic() - self._checkpointed > _CHECKPOINT_S:
            with suppress(sqlite3.Error):
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._checkpointed = time.monotonic()

    def _open_to_read(self) -> sqlite3.Connection:
        if self._path is None or not self._path.is_file():
            raise StoreMissingError(f"{self.name}: no such store; check --store")
        self._unshared = not _is_written(self._path)
        return connect_to_read(self._path)

    def _prepare(self) -> None:
        """Settings of the connection. Turning WAL on does not wait for the lock, so it retries."""
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
                f"{self.name}: a store cannot be kept here (journal mode {mode});"
                " choose a --store on a local disk"
            )
        self._db.execute("PRAGMA synchronous = NORMAL")
        # Keys are random: every commit changes pages all over the index. And a statement with many
        # rows has its own journal, by default in a file.
        self._db.execute("PRAGMA cache_size = -8000")
        self._db.execute("PRAGMA temp_store = MEMORY")

    def _migrate(self) -> None:
        with self.transaction():
            applied = self._applied()
            for position, step in enumerate(tables.pending(applied, self.name), len(applied) + 1):
                take_step(self._db, step, position)

    def _applied(self) -> list[str]:
        """The migrations of this file; empty for a new one."""
        names = {name for (name,) in self._execute("SELECT name FROM sqlite_master")}
        if not names:
            return []
        if LEDGER not in names:
            raise StoreError(f"{self.name}: is not a database of adjudge; choose another --store")
        return [name for (name,) in self._execute(f"SELECT name FROM {LEDGER} ORDER BY position")]

    def _execute(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._lock:
                if self._unshared and self._path is not None and _is_written(self._path):
                    self._db.close()
                    self._db = self._open_to_read()
                return self._run(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._failed(error) from None

    def _failed(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        if self._readonly and "readonly" in str(error):
            return StoreError(f"{self.name}: {error}; it was opened with readonly; open it without")
        return explain(error, self.name)

    # --- calls, labels, served rows ---

    def _claim(self, keys: list[str], answers: Callable[[list[str]], dict[str, Status]]) -> Claim:
        with self.transaction():
            done = answers(keys)
            open_keys = [key for key in keys if key not in done]
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
        saved = list(calls)
        at = tables.now()
        with self.transaction():
            for chunk in _chunks(saved):
                self._db.execute(
                    f"INSERT INTO calls ({WRITTEN}) VALUES " + ", ".join([_ROW] * len(chunk)),
                    [value for call in chunk for value in tables.row_of(call, at)],
                )
            self.release([call.call_key for call in saved])

    def release(self, keys: Collection[str]) -> None:
        with self.transaction():
            for chunk in _chunks(list(keys)):
                self._db.execute(
                    f"DELETE FROM claims WHERE owner = ? AND call_key IN {self._marks(chunk)}",
                    [self.owner.owner, *chunk],
                )

    def _locking(self, table: str, work: Callable[[], T]) -> T:
        """In one transaction; what people gave survives a power failure after the return."""
        with self._lock:
            synced = table in _SYNCED and not self._db.in_transaction
            if synced:
                self._db.execute("PRAGMA synchronous = FULL")
            try:
                with self.transaction():
                    return work()
            finally:
                if synced:
                    self._db.execute("PRAGMA synchronous = NORMAL")

    def heartbeat(self) -> None:
        me = self.owner
        row = (me.owner, me.host, me.pid, me.started, time.time())
        later = "(owner) DO UPDATE SET heartbeat = excluded.heartbeat"
        self._insert("owners", "owner, host, pid, started, heartbeat", [row], later)
        self._checkpoint()

    def close(self) -> None:
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

    def _among(self, values: list[str]) -> tuple[str, list[Any]]:
        return f"IN {self._marks(values)}", values

    def _latest(self, columns: Sequence[str], keys: Sequence[str]) -> dict[str, CallRow]:
        latest: dict[str, CallRow] = {}
        for chunk in _chunks(list(keys)):
            # An IN list would first be sorted, which takes a tenth of the time.
            marks = ", ".join(["(?)"] * len(chunk))
            rows = self._execute(
                f"WITH wanted (wanted_key) AS (VALUES {marks}) SELECT {', '.join(columns)}"
                " FROM wanted CROSS JOIN calls ON call_key = wanted_key",
                chunk,
            )
            by_key = {row[1]: row for row in rows}
            if len(by_key) < len(rows):
                by_key = {row[1]: row for row in sorted(rows, key=itemgetter(0))}
            latest |= by_key
        return latest

    def _holders(self, keys: Sequence[str]) -> dict[str, str]:
        held: dict[str, str] = {}
        for chunk in _chunks(keys):
            query = f"SELECT call_key, owner FROM claims WHERE call_key IN {self._marks(chunk)}"
            held.update(self._execute(query, chunk))
        return held

    def _gone(self, owners: Collection[str]) -> set[str]:
        """The owners that are dead, or unknown without heartbeat; their claims are removed."""
        if not owners:
            return set()
        gone = set(owners)
        query = "SELECT owner, host, pid, started, heartbeat FROM owners"
        for name, host, pid, started, heartbeat in self._execute(query):
            if name not in gone:
                continue
            state = state_of(Owner(name, host, pid, started))
            if state == "alive" or (state == "unknown" and self._gave_heartbeat(name, heartbeat)):
                gone.discard(name)
        for name in gone:
            self._forget(name)
        return gone

    def _gave_heartbeat(self, owner: str, heartbeat: float) -> bool:
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


_REMEDIES = (
    (
        ("locked", "busy"),
        "another program has locked it; close that program and run the same command again",
    ),
    (
        ("not a database",),
        "it is not an adjudge store, or its beginning is damaged; choose another --store",
    ),
    (("malformed", "not decode to UTF-8", "no such"), tables.DAMAGED),
    (("full", "disk"), "free space on the disk and run the same command again"),
)


def explain(error: sqlite3.Error | UnicodeDecodeError, name: str) -> StoreError:
    """SQLite's message, with the remedy.

    A message that quotes damaged text is not UTF-8 itself: Python then raises a decoding error.
    """
    damaged_text = isinstance(error, UnicodeDecodeError)
    text = "malformed: has text that is not UTF-8" if damaged_text else reason_of(error)
    remedy = tables.remedy_for(text, _REMEDIES, "check that the file and its folder can be written")
    return StoreError(f"{name}: {text}; {remedy.format(name)}")


def reason_of(error: Exception) -> str:
    """SQLite's message without the text of a row, which can be a reply."""
    return str(error).partition(" with text ")[0]


def take_step(db: sqlite3.Connection, step: Migration, position: int) -> None:
    """Apply one migration and record it in the ledger."""
    for statement in step.fill(_DIALECT, position):
        db.execute(statement)


def file_of(place: str) -> Path | None:
    """The file of a path or sqlite:///FILE; None for a store in memory.

    >>> file_of("sqlite:////tmp/s.db"), file_of("sqlite:///s.db"), file_of(":memory:")
    (PosixPath('/tmp/s.db'), PosixPath('s.db'), None)
    """
    if place.startswith("sqlite://"):
        file = place.removeprefix("sqlite:///")
        if file in (place, ""):
            raise ArgumentError("store", place, "write sqlite:///FILE")
        place = file
    return None if place == _MEMORY else Path(place).expanduser()


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    Reading a file with write-ahead logging makes two files next to it, unless it is declared
    immutable. That is correct while there is no log, so while no process is writing.
    """
    unshared = "" if _is_written(path) else "&immutable=1"
    return _connect(f"{path.absolute().as_uri()}?mode=ro{unshared}", uri=True)


def _is_written(path: Path) -> bool:
    return path.with_name(path.name + "-wal").exists()


def _connect(place: str, *, uri: bool = False) -> sqlite3.Connection:
    # Threads can share a connection: every statement runs under the store's lock.
    return sqlite3.connect(
        place, timeout=_STEP_S, isolation_level=None, check_same_thread=False, uri=uri
    )


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    start = 0
    while start < len(values):
        size = next(size for size in _CHUNKS if size <= len(values) - start)
        yield values[start : start + size]
        start += size
