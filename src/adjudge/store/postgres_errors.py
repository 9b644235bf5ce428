"""PostgreSQL's errors in one line, with the remedy."""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from adjudge.errors import StoreError, StoreLostError

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
