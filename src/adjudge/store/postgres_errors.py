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
        ("refused", "No such file", "translate host name", "timeout", "starting up", "No route"),
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


def explain(error: Exception, name: str, *, readonly: bool = False, schema: str = "") -> StoreError:
    """What the server says, on one line and without the text of a row, with the remedy."""
    reason = _reason(error)
    if isinstance(error, errors.InsufficientPrivilege):
        remedy = (
            "make the schema as its owner: "
            f"CREATE SCHEMA {schema} AUTHORIZATION the_user; docs/store.md lists the rights"
        )
        return StoreError(f"{name}: {reason}; {remedy}")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        remedy = (
            "it was opened to be read; open it without readonly"
            if readonly
            else "the server takes no writes: is it a standby?"
        )
        return StoreError(f"{name}: {reason}; {remedy}")
    if isinstance(error, errors.DiskFull):
        return StoreError(f"{name}: {reason}; make room on the server's disk and run it again")
    for words, remedy in _WORDS:
        if any(word in reason for word in words):
            kind = StoreLostError if is_lost(error) else StoreError
            return kind(f"{name}: {reason}; {remedy}")
    if is_lost(error):
        return StoreLostError(
            f"{name}: the connection was lost ({reason}); what was committed is kept: check the"
            " server and run the same command again"
        )
    return StoreError(f"{name}: {reason}; run the same command again, or check the server's log")


def _reason(error: Exception) -> str:
    """The first line of what was said: lines after it quote values, which may be replies."""
    if isinstance(error, PoolTimeout):
        return "no connection within the time limit"
    diagnosis = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    lines = [line.strip() for line in (diagnosis or str(error)).splitlines() if line.strip()]
    said = next((line for line in lines if "FATAL:" in line), lines[0] if lines else "no reason")
    return said.rpartition("FATAL:")[2].strip().removeprefix("ERROR:").strip()
