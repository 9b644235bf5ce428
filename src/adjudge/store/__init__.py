"""KEEP: every reply, failures too; what is kept is never asked twice."""

from __future__ import annotations

from pathlib import Path

from adjudge.store.interface import Call, Claimed, Known, Store
from adjudge.store.keys import call_key, content_hash
from adjudge.store.sqlite import SQLiteStore

__all__ = [
    "Call",
    "Claimed",
    "Known",
    "SQLiteStore",
    "Store",
    "call_key",
    "content_hash",
    "open_store",
]


def open_store(place: str | Path | None) -> Store:
    """Open the store at `place`: a file, or None for one kept in memory and then forgotten."""
    return SQLiteStore(":memory:" if place is None else place)
