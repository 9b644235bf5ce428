"""KEEP: every reply, failures too; what is kept is never asked twice. Labels of people too.

A store is named by a file or a URL whose scheme is a name in `STORES`. Another database is one file
that fulfils `Store`, opened as `kind(place, readonly=...)`, and one line here or an entry point of
the group `adjudge.stores`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adjudge.errors import ArgumentError, StoreMissingError
from adjudge.plugins import Builtin, Registry
from adjudge.results.store import StoreCheck, StoreCopy
from adjudge.store.checking import check_file
from adjudge.store.copying import copy_rows
from adjudge.store.interface import (
    Call,
    CheckableStore,
    Claim,
    LabelEvent,
    Served,
    Store,
    StorePlace,
)
from adjudge.store.keys import call_key, content_hash
from adjudge.store.sqlite import SQLiteStore
from adjudge.store.urls import scheme_of, without_secrets

__all__ = [
    "STORES",
    "Call",
    "Claim",
    "LabelEvent",
    "SQLiteStore",
    "Served",
    "Store",
    "StorePlace",
    "call_key",
    "check_not_store",
    "check_store",
    "content_hash",
    "copy_store",
    "is_store",
    "open_store",
    "read_judge_parts",
    "store_name",
    "use_store",
]

_POSTGRES = Builtin("adjudge.store.postgres:PostgresStore", "postgres")
STORES: Registry[Callable[..., Store]] = Registry(
    "store",
    "adjudge.stores",
    {
        "sqlite": Builtin("adjudge.store.sqlite:SQLiteStore"),
        "postgresql": _POSTGRES,
        "postgres": _POSTGRES,  # libpq takes both
    },
)
_SQLITE = b"SQLite format 3\0"


def open_store(place: str | Path | None, *, readonly: bool = False) -> Store:
    """Open the store at `place`: a file, a URL, or None for one kept in memory and then forgotten.

    With `readonly` nothing is made, brought up to date or written; where there is no store,
    StoreMissingError.
    """
    kind = STORES.load(scheme_of(place) or "sqlite")
    return kind(":memory:" if place is None else place, readonly=readonly)


@contextmanager
def use_store(place: StorePlace, *, readonly: bool = False) -> Iterator[Store]:
    """The store for a block. What was opened here is closed here; an open one is left open."""
    if not isinstance(place, (str, Path)) and place is not None:
        yield place
        return
    store = open_store(place, readonly=readonly)
    try:
        yield store
    finally:
        store.close()


def store_name(place: StorePlace) -> str | None:
    """What messages call a store: never with user and password.

    >>> store_name("postgresql://me:secret@db.example/judgments")
    'postgresql://db.example/judgments'
    """
    if place is None:
        return None
    return without_secrets(str(place) if isinstance(place, (str, Path)) else place.name)


def is_store(place: object) -> bool:
    """Whether a path or URL names a store: a URL of a known kind, an SQLite file, or a new *.db.

    >>> is_store("sqlite:///a"), is_store("new.db"), is_store("audits.jsonl")
    (True, True, False)
    """
    if not isinstance(place, (str, Path)):
        return False
    scheme = scheme_of(str(place))
    if scheme is not None:
        return scheme in STORES
    path = Path(place).expanduser()
    if not path.exists():
        return path.suffix == ".db"
    if not path.is_file():  # a pipe would wait for its writer
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def check_not_store(place: StorePlace, output: str | Path) -> None:
    """Refuse to write rows over the store."""
    if not isinstance(place, (str, Path)):
        return
    file = Path(str(place).removeprefix("sqlite:///")).expanduser()
    if os.path.realpath(file) == os.path.realpath(output):
        raise ArgumentError("output", str(output), "give another file: this one is the store")


def check_store(place: str | Path, *, rescue: str | Path | None = None) -> StoreCheck:
    """Read everything a store holds, and say what is there and what is damaged.

    With `rescue`, what can be read of a file is copied into a new store at that path; the file
    itself is never written. What is not an adjudge store, or is of a newer adjudge, is refused.
    """
    scheme = scheme_of(str(place)) or "sqlite"
    if scheme == "sqlite":
        return check_file(place, rescue=rescue)
    with use_store(str(place), readonly=True) as store:
        if not isinstance(store, CheckableStore):
            raise ArgumentError("store", store.name, "stores of this kind are not checked")
        if rescue is not None:
            raise ArgumentError("rescue", str(rescue), "is for files: use adjudge store copy")
        return store.check()


def copy_store(source: StorePlace, target: StorePlace) -> StoreCopy:
    """Everything of one store into another: replies, failures too, labels, audits and monitors.

    In pages, so that memory stays flat; what the target has is not copied again, so that a copy
    that was stopped goes on when it is started again. Where the target has another row in the place
    of one, that is a conflict: the target's stays.

    >>> copy_store(None, "new.db")
    Traceback (most recent call last):
    adjudge.errors.StoreMissingError: :memory:: there is no store; check --store
    """
    with use_store(source, readonly=True) as given, use_store(target) as kept:
        return copy_rows(given, kept)


def read_judge_parts(fingerprints: Iterable[str], place: StorePlace) -> dict[str, dict[str, Any]]:
    """Fingerprint -> its parts (model, prompt hash, settings), for those the store has seen.

    Only reads: a store that does not exist knows nothing, and is not made.

    >>> read_judge_parts(["f"], "no-such-store.db")
    {}
    """
    wanted = list(fingerprints)
    if place is None or not wanted:
        return {}
    try:
        with use_store(place, readonly=True) as store:
            parts = {name: store.judge_parts(name) for name in wanted}
    except StoreMissingError:
        return {}
    return {name: known for name, known in parts.items() if known is not None}
