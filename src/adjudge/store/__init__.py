"""The store: every reply, failures too, and human labels. A stored reply is never asked again.

A store is a file or a URL whose scheme is a name in `STORES`. To add another database, write one
file with a subclass of `Store`, opened as `kind(place, readonly=...)`, and add one line here or an
entry point of the group `adjudge.stores`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from adjudge.errors import ArgumentError, StoreMissingError
from adjudge.plugins import Builtin, Registry
from adjudge.store.checking import StoreCheck, check_file
from adjudge.store.copying import StoreCopy, copy_rows
from adjudge.store.interface import (
    HIDDEN,
    Store,
    StorePlace,
    check_place,
    scheme_of,
    without_secrets,
)
from adjudge.store.sqlite import SQLiteStore
from adjudge.store.tables import Call, Claim, LabelEvent, Served

__all__ = [
    "STORES",
    "Call",
    "Claim",
    "LabelEvent",
    "SQLiteStore",
    "Served",
    "Store",
    "StoreCheck",
    "StoreCopy",
    "StorePlace",
    "check_not_store",
    "check_store",
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
        "postgres": _POSTGRES,  # libpq accepts both
    },
)
_SQLITE = b"SQLite format 3\0"


def open_store(place: str | Path | None, *, readonly: bool = False) -> Store:
    """Open the store at `place`: a file, a URL, or None for a temporary store in memory.

    With `readonly` nothing is created, migrated or written. StoreMissingError if there is no store.
    """
    check_place(place)
    kind = STORES.load(scheme_of(place) or "sqlite")
    return kind(":memory:" if place is None else place, readonly=readonly)


@contextmanager
def use_store(place: StorePlace, *, readonly: bool = False) -> Iterator[Store]:
    """The store for a block. A store that is opened here is closed here."""
    if not isinstance(place, (str, Path)) and place is not None:
        yield place
        return
    store = open_store(place, readonly=readonly)
    try:
        yield store
    finally:
        store.close()


def store_name(place: StorePlace) -> str | None:
    """The name of a store in messages, without user and password.

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
        # A connection string is refused as a store, not shown as a file that is missing.
        return path.suffix == ".db" or without_secrets(str(place)) == HIDDEN
    if not path.is_file():  # opening a pipe would wait for its writer
        return False
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        # Empty while another process is just making it.
        return start == _SQLITE or (not start and path.suffix == ".db")
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
    """Read everything in a store, count it and report damage.

    A file that is not an adjudge store, or of a newer adjudge, is refused.

    Args:
        place: The store, a file or a URL.
        rescue: Copy what can be read into this new store. The file itself is never written.
    """
    check_place(place)
    scheme = scheme_of(str(place)) or "sqlite"
    if scheme == "sqlite":
        return check_file(place, rescue=rescue)
    with use_store(str(place), readonly=True) as store:
        if not hasattr(store, "check"):
            raise ArgumentError("store", store.name, "stores of this kind are not checked")
        if rescue is not None:
            raise ArgumentError(
                "rescue", str(rescue), "only files can be rescued: use adjudge store copy"
            )
        return cast(StoreCheck, store.check())


def copy_store(source: StorePlace, target: StorePlace) -> StoreCopy:
    """Copy one store into another: replies, failures too, labels, audits and monitors.

    The copy works in pages, so that it needs little memory. Rows that the target has are not copied
    again, so a stopped copy resumes when it is started again. If the target has another row for the
    same key, that is a conflict: the target's row is kept.

    Args:
        source: The store to read.
        target: The store to add to; created if it does not exist.

    >>> copy_store(None, "new.db")
    Traceback (most recent call last):
    adjudge.errors.StoreMissingError: :memory:: no such store; check --store
    """
    with use_store(source, readonly=True) as original, use_store(target) as copy:
        return copy_rows(original, copy)


def read_judge_parts(fingerprints: Iterable[str], place: StorePlace) -> dict[str, dict[str, Any]]:
    """Fingerprint -> its parts (model, prompt hash, settings), for those the store has seen.

    Only reads: a store that does not exist is not created, and the result is empty.

    >>> read_judge_parts(["f"], "no-such-store.db")
    {}
    """
    wanted = list(fingerprints)
    if place is None or not wanted:
        return {}
    try:
        with use_store(place, readonly=True) as store:
            stored = {name: store.judge_parts(name) for name in wanted}
    except StoreMissingError:
        return {}
    return {name: parts for name, parts in stored.items() if parts is not None}
