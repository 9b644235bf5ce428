"""What PostgreSQL says when something is wrong, in one line with the remedy."""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from adjudge.errors import StoreError, StoreLostError

#: What a server says in words while it lets nobody in: (words, remedy).
_WORDS = (
    (
        ("password authentication failed", "no password supplied"),
        "give the password in PGPASSWORD or ~/.pgpass, or check it",
    ),
    (('role "',), "check the user, or make one: CREATE ROLE ... LOGIN PASSWORD ..."),
    (('database "',), "make it with createdb, or check its name"),
    (("pg_hba.conf",), "allow this address and user in the server's pg_hba.conf"),
    (
        ("too many clients", "remaining connection slots", "too many connections"),
        "start fewer processes or raise max_connections: each takes two connections",
    ),
    (("SSL", "certificate"), "check sslmode and the certificates"),
    (
        ("refused", "No such file", "host name", "resolve host", "timeout", "starting up"),
        "check the address and that the server runs",
    ),
)
_LOST_STATES = ("57P01", "57P02", "57P03")


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, so that another one may do better."""
    if isinstance(error, (PoolTimeout, psycopg.InterfaceError)):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state in _LOST_STATES or state.startswith("08")


def explain_refusal(error: psycopg.Error, name: str) -> StoreError:
    """Why no connection could be opened, on one line, with the remedy."""
    reason = _reason(error)
    remedy = next(
        (remedy for words, remedy in _WORDS if any(word in reason for word in words)),
        "check the address, the user and that the server runs",
    )
    return StoreError(f"{name}: {reason}; {remedy}")


def explain(error: Exception, name: str, *, schema: str, readonly: bool = False) -> StoreError:
    """What the server says, on one line and without the text of a row, with the remedy."""
    reason = _reason(error)
    if is_lost(error):
        return StoreLostError(
            f"{name}: the connection was lost ({reason}); what was committed is kept: check the"
            " server and run the same command again"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        remedy = (
            f"as its owner: CREATE SCHEMA {schema} AUTHORIZATION this_user, or grant the rights"
            " that docs/store.md lists"
        )
    elif isinstance(error, errors.ReadOnlySqlTransaction) and readonly:
        remedy = "it was opened to be read; open it without readonly"
    elif isinstance(error, errors.ReadOnlySqlTransaction):
        remedy = "the server takes no writes, as a standby does; give the address of the primary"
    elif isinstance(error, errors.DiskFull):
        remedy = "make room on the server's disk and run the same command again"
    elif isinstance(error, errors.UndefinedTable):
        remedy = "somebody has changed its tables; restore it from a backup"
    else:
        remedy = "run the same command again, or look into the server's log"
    return StoreError(f"{name}: {reason}; {remedy}")


def _reason(error: Exception) -> str:
    """The first line of what was said: lines after it quote values, which may be replies."""
    if isinstance(error, PoolTimeout):
        return "no connection in time, or max_connections is reached"
    diagnosis = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    lines = [line.strip() for line in (diagnosis or str(error)).splitlines() if line.strip()]
    said = next((line for line in lines if "FATAL:" in line), lines[0] if lines else "no reason")
    return said.rpartition("FATAL:")[2].strip().removeprefix("ERROR:").strip()
