"""Writing so that nobody ever sees half a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adjudge.errors import DataError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path next to `path`, renamed onto it when the block ends well.

    The file and its folder are synced first, so that a power cut leaves the old or the new one.
    A link stays one: what it names is replaced. A device or a pipe is written to, never replaced.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(path, "is a folder", remedy="name a file in it")
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(target)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        # The user knows the file that was asked for, not the temporary one next to it.
        if isinstance(error, OSError) and partial.name in str(error.filename):
            error.filename = str(path)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
