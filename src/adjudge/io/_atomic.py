"""Writing so that nobody ever sees half a file."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adjudge.errors import DataError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: How Rust's errors, which polars hands on, write the same numbers.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


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
        try:
            yield path
        except Exception as error:
            _explain_full_disk(error, path)
            raise
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
        _explain_full_disk(error, path)
        # The user knows the file that was asked for, not the temporary one next to it.
        if isinstance(error, OSError) and partial.name in str(error.filename):
            error.filename = str(path)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _explain_full_disk(error: BaseException, path: Path) -> None:
    """Raise what a full disk means to the user: which file, and what to do."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (written := _OS_ERROR.search(str(error))):
        number = int(written[1])
    if number in _FULL:
        raise DataError(
            path,
            f"not written: {os.strerror(number)}",
            remedy="make room on the disk, or choose another one, and run the same command again",
        ) from None
