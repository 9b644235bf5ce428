"""Files and folders that their owner alone can read: replies are kept in clear text."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; one that is there stays as it is."""
    for path in [*reversed(folder.parents), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Make an empty file unless there is one. What SQLite puts next to it gets the same mode."""
    with suppress(FileExistsError):
        os.close(open_privately(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def open_privately(path: str | Path, flags: int) -> int:
    """An `opener` for `open`: what it makes is readable by its owner alone."""
    return os.open(path, flags, 0o600)
