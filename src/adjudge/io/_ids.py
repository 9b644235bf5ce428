"""Which ids have been seen, and where, without keeping them in memory."""

from __future__ import annotations

import sqlite3

from adjudge.errors import DataError


class SeenIds:
    """Refuses an id that comes twice, a hundred million rows later as well.

    The ids lie in a private temporary database on disk, which SQLite deletes when it is closed.
    """

    def __init__(self, name: str, thing: str = "pair") -> None:
        self._name = name
        self._thing = thing
        # "" is that private database. A reader may run in a thread of its own.
        self._ids = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID")
        self._ids.execute("BEGIN")

    def __enter__(self) -> SeenIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()

    def add(self, key: str, row: int) -> None:
        """Remember one id; refuse it where it was seen before."""
        try:
            self._ids.execute("INSERT INTO seen VALUES (?, ?)", (key, row))
        except sqlite3.IntegrityError:
            found = self._ids.execute("SELECT at FROM seen WHERE id = ?", (key,)).fetchone()
            shown = repr(key) if len(key) <= 60 else repr(key[:57]) + "..."
            raise DataError(
                self._name,
                f"id {shown} is the id of row {found[0]} too",
                row=row,
                column="id",
                remedy=f"give every {self._thing} its own id",
            ) from None
