"""`--store mystore://FOLDER`: replies in a file of that folder."""

from __future__ import annotations

from pathlib import Path

from adjudge.store import SQLiteStore


class MyStore(SQLiteStore):
    """Our own database in a place that the package decides."""

    def __init__(self, url: str, *, readonly: bool = False) -> None:
        folder = Path(url.removeprefix("mystore://"))
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder / "replies.db", readonly=readonly)
