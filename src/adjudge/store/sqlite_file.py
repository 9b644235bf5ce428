"""An SQLite file: opening it to write or to read, migrations, transactions."""

# ruff: noqa: S608  (the only name put into statements is a constant of ours)
from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adjudge.errors import ArgumentError, StoreError, StoreMissingError
from adjudge.store.columns import DAMAGED, now
from adjudge.store.migrations import LEDGER, Migration, pending
from adjudge.store.patience import Patience
from adjudge.store.private import make_private_file, make_private_folder
from adjudge.store.tables import SharedTables

_BUSY_S = 60.0
_MEMORY = ":memory:"


class SQLiteFile(SharedTables):
    """One connection. Threads can share it: every statement runs under a lock.

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
        self._in_transaction = False
        self._lock = threading.RLock()
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
                applied = self._applied()
                if not applied:
                    raise self._missing()
                # A newer file is refused, an older one is read unchanged.
                pending(applied, self.name)
            else:
                self._prepare()
                applied = self._migrate()
            if self._path is not None and "0004_store_identity" in applied:
                self.store_id = str(self._all("SELECT store_id FROM store_identity")[0][0])
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._db.close()
            raise self._failed(error) from None
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the file's write lock for a block; nested blocks join the outer one."""
        with self._lock:
            if self._in_transaction:
                yield
                return
            try:
                # IMMEDIATE: a transaction that reads first and writes later cannot wait.
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

    @contextmanager
    def synchronously(self) -> Iterator[None]:
        """Commits in the block are synced to disk; inside a transaction, its setting decides."""
        with self._lock:
            if self._in_transaction:
                yield
                return
            self._db.execute("PRAGMA synchronous = FULL")
            try:
                yield
            finally:
                self._db.execute("PRAGMA synchronous = NORMAL")

    def _open_to_read(self) -> sqlite3.Connection:
        if self._path is None or not self._path.is_file():
            raise self._missing()
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

    def _migrate(self) -> list[str]:
        with self.transaction():
            applied = self._applied()
            for step in pending(applied, self.name):
                applied.append(step.name)
                take_step(self._db, step, len(applied))
        return applied

    def _applied(self) -> list[str]:
        """The migrations of this file; empty for a new one."""
        tables = {name for (name,) in self._all("SELECT name FROM sqlite_master")}
        if not tables:
            return []
        if LEDGER not in tables:
            raise StoreError(f"{self.name}: is not a database of adjudge; choose another --store")
        return [name for (name,) in self._all(f"SELECT name FROM {LEDGER} ORDER BY position")]

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._lock:
                if self._unshared and self._path is not None and _is_written(self._path):
                    self._db.close()
                    self._db = self._open_to_read()
                return self._db.execute(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._failed(error) from None

    def _write(self, query: str, values: Sequence[Any]) -> None:
        with self.transaction():
            self._db.execute(query, values)

    def _has(self, table: str) -> bool:
        return bool(self._all(f"PRAGMA table_info({table})"))

    def _missing(self) -> StoreMissingError:
        return StoreMissingError(f"{self.name}: no such store; check --store")

    def _failed(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        if self._readonly and "readonly" in str(error):
            return StoreError(f"{self.name}: {error}; it was opened with readonly; open it without")
        return explain(error, self.name)


def explain(error: sqlite3.Error | UnicodeDecodeError, name: str) -> StoreError:
    """SQLite's message, with the remedy.

    A message that quotes damaged text is not UTF-8 itself: Python then raises a decoding error.
    """
    damaged_text = isinstance(error, UnicodeDecodeError)
    text = "malformed: has text that is not UTF-8" if damaged_text else reason_of(error)
    if "locked" in text or "busy" in text:
        remedy = "another program has locked it; close that program and run the same command again"
    elif "not a database" in text:
        remedy = "it is not an adjudge store, or its beginning is damaged; choose another --store"
    elif any(word in text for word in ("malformed", "not decode to UTF-8", "no such")):
        remedy = DAMAGED.format(name)
    elif "full" in text or "disk" in text:
        remedy = "free space on the disk and run the same command again"
    else:
        remedy = "check that the file and its folder can be written"
    return StoreError(f"{name}: {text}; {remedy}")


def reason_of(error: Exception) -> str:
    """SQLite's message without the text of a row, which can be a reply."""
    return str(error).partition(" with text ")[0]


def take_step(db: sqlite3.Connection, step: Migration, position: int) -> None:
    """Apply one migration and record it in the ledger."""
    for statement in step.fill("INTEGER PRIMARY KEY"):
        db.execute(statement)
    db.execute(
        f"INSERT INTO {LEDGER} (position, name, applied_at) VALUES (?, ?, ?)",
        (position, step.name, now()),
    )


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
        place, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=uri
    )
