"""Files and folders that only their owner can read: replies are stored in clear text."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents; an existing one is not changed."""
    for path in [*reversed(folder.parents), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Make an empty file unless it exists. SQLite's files next to it get the same mode."""
    with suppress(FileExistsError):
        os.close(open_privately(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def open_privately(path: str | Path, flags: int) -> int:
    """An `opener` for `open`: new files are readable only by their owner."""
    return os.open(path, flags, 0o600)
