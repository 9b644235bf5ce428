"""A PostgreSQL database: connections, transactions, migrations, errors.

A pool serves the threads of this process. One more connection belongs to the owner. It holds the
advisory lock that shows others that this process lives, and is the first to reconnect after the
server was restarted.
"""

# ruff: noqa: S608  (what is put into statements is names of our own tables and columns, and marks)
from __future__ import annotations

import hashlib
import logging
import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, errors
from psycopg_pool import ConnectionPool, PoolTimeout

from adjudge.errors import ArgumentError, StoreError, StoreLostError, StoreMissingError
from adjudge.store.interface import ENCODE, PATIENCE_S, DatabaseURL, Owner, Patience
from adjudge.store.schema import LEDGER, MIGRATIONS, Dialect, Migration, pending
from adjudge.store.tables import SharedTables, now

#: A server's messages for a refused connection: (words, remedy).
_WORDS = (
    (
        ("password authentication failed", "no password supplied"),
        "give the password in PGPASSWORD or ~/.pgpass, or check it",
    ),
    (('role "',), "check the user, or create one: CREATE ROLE ... LOGIN PASSWORD ..."),
    (('database "',), "create it with createdb, or check its name"),
    (("pg_hba.conf",), "allow this address and user in the server's pg_hba.conf"),
    (
        ("too many clients", "remaining connection slots", "too many connections"),
        "start fewer processes or raise max_connections: each process needs two connections",
    ),
    (("SSL", "certificate"), "check sslmode and the certificates"),
    (
        ("refused", "No such file", "host name", "resolve host", "timeout", "starting up"),
        "check the address and that the server is running",
    ),
)
_LOST_STATES = ("57P01", "57P02", "57P03")


def is_lost(error: Exception) -> bool:
    """Whether the connection is lost, so that a new one can help."""
    if isinstance(error, (PoolTimeout, psycopg.InterfaceError)):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state in _LOST_STATES or state.startswith("08")


def explain_refusal(error: psycopg.Error, name: str) -> StoreError:
    """Why no connection could be opened, in one line, with the remedy."""
    reason = _reason(error)
    remedy = next(
        (remedy for words, remedy in _WORDS if any(word in reason for word in words)),
        "check the address, the user and that the server is running",
    )
    return StoreError(f"{name}: {reason}; {remedy}")


def explain(error: Exception, name: str, *, schema: str, readonly: bool = False) -> StoreError:
    """The server's message in one line, without the text of a row, with the remedy."""
    reason = _reason(error)
    if is_lost(error):
        return StoreLostError(
            f"{name}: the connection was lost ({reason}); committed replies are kept: check the"
            " server and run the same command again"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        remedy = (
            f"as its owner: CREATE SCHEMA {schema} AUTHORIZATION this_user, or grant the rights"
            " that docs/store.md lists"
        )
    elif isinstance(error, errors.ReadOnlySqlTransaction) and readonly:
        remedy = "it was opened with readonly; open it without"
    elif isinstance(error, errors.ReadOnlySqlTransaction):
        remedy = "the server is read-only, like a standby; give the address of the primary"
    elif isinstance(error, errors.DiskFull):
        remedy = "free space on the server's disk and run the same command again"
    elif isinstance(error, errors.UndefinedTable):
        remedy = "its tables were changed; restore it from a backup"
    else:
        remedy = "run the same command again, or read the server's log"
    return StoreError(f"{name}: {reason}; {remedy}")


def _reason(error: Exception) -> str:
    """The first line of the message: later lines quote values, which can be replies."""
    if isinstance(error, PoolTimeout):
        return "no connection in time, or max_connections is reached"
    diagnosis = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    lines = [line.strip() for line in (diagnosis or str(error)).splitlines() if line.strip()]
    said = next((line for line in lines if "FATAL:" in line), lines[0] if lines else "no reason")
    return said.rpartition("FATAL:")[2].strip().removeprefix("ERROR:").strip()


T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
#: The oldest supported server.
OLDEST_SERVER = 12
_CONNECT_S = 10
_MOST_CONNECTIONS = 8
#: A client that disappeared is dropped after half a minute, one that stopped in the middle of a
#: transaction after a minute.
_SETTINGS = (
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4"
    " -c idle_in_transaction_session_timeout=60000 -c client_min_messages=warning"
)
#: The other direction: a server that disappeared is detected.
_KEEPALIVES = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_DIALECT = Dialect(
    serial="BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    # An owner lives while it holds its advisory lock, or has had no time to take it again after the
    # server was restarted.
    signs_of_life="server_started TIMESTAMPTZ NOT NULL",
)
#: PostgreSQL cannot store the character NUL in a text: it is written as these two.
_ESCAPE, _NUL = "\x1a", "\x1a0"
_PAIR = re.compile("\x1a(.)", re.DOTALL)

# The pool logs failed connections; the caller gets an error, so the log is not printed.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class PostgresDatabase(SharedTables):
    """Connections to one schema of a database. Threads can share it; each has its own transactions.

    `place` is a URL as libpq reads it, with `schema=NAME` (default adjudge). With `readonly`
    nothing is created, migrated or written.
    """

    _mark = "%s"

    def __init__(self, place: str | Path, *, readonly: bool = False) -> None:
        self._url = DatabaseURL.parse(str(place))
        self.name = self._url.name
        self.store_id: str | None = None
        self.owner = Owner.here()
        self._readonly = readonly
        self._lost = False
        self.patience = Patience()
        self._local = threading.local()
        self._guard_lock = threading.Lock()
        self._arguments = self._connect_arguments()
        self._guard = self._connect()
        try:
            self._check_server()
            applied = self._applied(self._guard)
            if readonly and not applied:
                raise StoreMissingError(f"{self.name}: no such store; check --store")
            if readonly:
                pending(applied, self.name, readonly=True)
            else:
                self._migrate()
            [(identity,)] = self._guard.execute("SELECT store_id FROM store_identity").fetchall()
            self.store_id = str(identity)
            if not readonly:
                self._introduce(self._guard)
        except psycopg.Error as error:
            self._guard.close()
            raise self._failed(error) from None
        except BaseException:
            self._guard.close()
            raise
        self._pool = ConnectionPool(
            kwargs=self._arguments, min_size=0, max_size=_MOST_CONNECTIONS, timeout=_CONNECT_S,
            open=True, name="adjudge",
        )  # fmt: skip

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block that is stored completely or not at all; nested blocks join the outer one."""
        if self._in_transaction:
            yield
            return
        with self._session() as db:
            try:
                with db.transaction():
                    self._local.in_transaction = True
                    yield
            except psycopg.Error as error:
                raise self._failed(error) from None
            finally:
                self._local.in_transaction = False

    def heartbeat(self) -> None:
        """Check the lock that shows others that this owner lives."""
        self._come_back()
        with self._guard_lock:
            try:
                self._guard.execute("SELECT 1")
            except psycopg.Error as error:
                raise self._failed(error) from None

    def close(self) -> None:
        """Release all claims and close the connections."""
        self.owner.end()
        try:
            if not self._readonly and not self._guard.closed:
                self._guard.execute("DELETE FROM claims WHERE owner = %s", (self.owner.owner,))
                self._guard.execute("DELETE FROM owners WHERE owner = %s", (self.owner.owner,))
        except psycopg.Error:
            return  # they are free nevertheless: the lock ends with the connection
        finally:
            self._guard.close()
            self._pool.close()

    @property
    def _in_transaction(self) -> bool:
        return bool(getattr(self._local, "in_transaction", False))

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        """This thread's connection, until the block ends."""
        own: Connection | None = getattr(self._local, "db", None)
        if own is not None:
            yield own
            return
        self._come_back()
        try:
            with self._pool.connection() as db:
                self._local.db = db
                try:
                    yield db
                finally:
                    self._local.db = None
        except (psycopg.Error, PoolTimeout) as error:
            raise self._failed(error) from None

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a statement; it is repeated if the connection was lost."""
        if self._in_transaction:
            return self._rows(query, values)
        return self._patiently(lambda: self._rows(query, values))

    def _write(self, query: str, values: Sequence[Any]) -> None:
        self._all(query, values)

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._session() as db:
            try:
                done = db.execute(query, [outgoing(value) for value in values])
                return [incoming(row) for row in done.fetchall()] if done.description else []
            except psycopg.Error as error:
                raise self._failed(error) from None

    def _patiently(self, work: Callable[[], T]) -> T:
        """Repeat `work`, which is safe to repeat, while the connection is lost."""
        return work() if self._in_transaction else self.patience.run(work)

    def _come_back(self) -> None:
        """After a lost connection: take the owner's lock again if it was that connection."""
        with self._guard_lock:
            if not self._lost:
                return
            try:
                if not _answers(self._guard):
                    self._guard.close()  # while it is open, no other connection can take the lock
                    self._guard = self._connect()
                    if not self._readonly:
                        self._introduce(self._guard)
            except StoreError as error:
                raise StoreLostError(str(error)) from None
            except psycopg.Error as error:
                self._guard.close()
                raise StoreLostError(str(self._failed(error))) from None
            self._pool.check()
            self._lost = False

    def _introduce(self, guard: Connection) -> None:
        """Take this owner's lock, then add its row; claims come after both."""
        guard.execute("SELECT pg_advisory_lock(%s)", (self._lock_key(self.owner.owner),))
        guard.execute(
            "INSERT INTO owners (owner, host, pid, server_started)"
            " VALUES (%s, %s, %s, pg_postmaster_start_time())"
            " ON CONFLICT (owner) DO UPDATE SET server_started = excluded.server_started",
            (self.owner.owner, self.owner.host, self.owner.pid),
        )

    def _lives(self, owner: str) -> bool:
        """Whether an owner holds its lock, or has had no time to take it again.

        A restart of the server releases all locks; earlier owners have some time to reconnect.
        """
        with self.transaction():
            [(free,)] = self._all("SELECT pg_try_advisory_xact_lock(%s)", (self._lock_key(owner),))
            coming = self._all(
                "SELECT 1 FROM owners WHERE owner = %s"
                " AND server_started <> pg_postmaster_start_time()"
                " AND now() - pg_postmaster_start_time() < make_interval(secs => %s)",
                (owner, PATIENCE_S),
            )
        return not free or bool(coming)

    def _lock_key(self, subject: str) -> int:
        """The number of an advisory lock: of an owner, or of a table of this store."""
        digest = hashlib.sha256(f"adjudge {self.store_id} {subject}".encode()).digest()
        return int.from_bytes(digest[:8], signed=True)

    def _lock_until_commit(self, subject: str, *, shared: bool = False) -> None:
        kind = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        self._all(f"SELECT {kind}(%s)", (self._lock_key(subject),))

    def _connect_arguments(self) -> dict[str, Any]:
        try:
            given = conninfo.conninfo_to_dict(self._url.address)
        except psycopg.Error:
            # libpq's message would quote the URL, and with it the password.
            raise ArgumentError("store", self.name, ENCODE) from None
        readonly = " -c default_transaction_read_only=on" if self._readonly else ""
        options = f"{given.get('options') or ''} {_SETTINGS} -c search_path={self._url.schema}"
        return {
            "connect_timeout": _CONNECT_S,
            "application_name": "adjudge",
            **_KEEPALIVES,
            **given,
            "options": f"{options}{readonly}",
            "autocommit": True,
        }

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(**self._arguments)
        except psycopg.Error as error:
            raise explain_refusal(error, self.name) from None

    def _check_server(self) -> None:
        version = self._guard.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise StoreError(
                f"{self.name}: is PostgreSQL {version}; version {OLDEST_SERVER} or newer is needed"
            )
        encoding = self._guard.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"{self.name}: its encoding is {encoding}, which cannot hold every reply;"
                " make a database with createdb -T template0 -E UTF8"
            )

    def _applied(self, db: Connection) -> list[str]:
        """The migrations of this schema; empty for a new one."""
        schema = self._url.schema
        tables = db.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)
        ).fetchall()
        if not tables:
            return []
        if (LEDGER,) not in tables:
            raise StoreError(
                f"{self.name}: the schema {schema} has tables that are not from adjudge;"
                " choose another one with ?schema=NAME"
            )
        # By its full name: without the right to use a schema its tables are not visible.
        rows = db.execute(f"SELECT name FROM {schema}.{LEDGER} ORDER BY position").fetchall()
        return [name for (name,) in rows]

    def _migrate(self) -> None:
        """One process migrates at a time; a process that waited has nothing left to do."""
        if self._applied(self._guard) == [step.name for step in MIGRATIONS]:
            return
        digest = hashlib.sha256(f"adjudge migrations {self._url.schema}".encode()).digest()
        key = int.from_bytes(digest[:8], signed=True)
        with self._guard.transaction():
            self._guard.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
            known = self._guard.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._url.schema,)
            ).fetchall()
            if not known:
                self._guard.execute(f"CREATE SCHEMA {self._url.schema}")
            applied = self._applied(self._guard)
            for step in pending(applied, self.name):
                applied.append(step.name)
                _take_step(self._guard, step, len(applied))

    def _failed(self, error: psycopg.Error | PoolTimeout) -> StoreError:
        if is_lost(error):
            self._lost = True
        return explain(error, self.name, readonly=self._readonly, schema=self._url.schema)


def _answers(db: Connection) -> bool:
    try:
        db.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def outgoing(value: Any) -> Any:
    """A value for a column: text without NUL, no NaN (SQLite stores it as NULL)."""
    if isinstance(value, str):
        if "\0" in value or _ESCAPE in value:
            return value.replace(_ESCAPE, _ESCAPE * 2).replace("\0", _NUL)
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, list):
        return [outgoing(one) for one in value]
    return value


def incoming(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row with its original values.

    >>> incoming([outgoing("a\\0b \\x1a0")]) == ("a\\0b \\x1a0",)
    True
    """
    return tuple(
        _PAIR.sub(lambda pair: "\0" if pair[1] == "0" else pair[1], value)
        if isinstance(value, str) and _ESCAPE in value
        else value
        for value in row
    )


def _take_step(db: Connection, step: Migration, position: int) -> None:
    for statement in step.fill(_DIALECT):
        db.execute(statement.encode())
    db.execute(
        f"INSERT INTO {LEDGER} (position, name, applied_at) VALUES (%s, %s, %s)",
        (position, step.name, now()),
    )
