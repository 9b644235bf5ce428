"""Atomic writing: a file is complete or not there."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from adjudge.errors import DataError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: The same numbers in Rust's error messages, which polars passes on.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path next to `path`, renamed to it if the block succeeds.

    The file and its folder are synced first, so that a power failure leaves the old or the new
    file. For a link, its target is replaced. A device or a pipe is written to, never replaced.
    """
    path = _refuse_folder(path)
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
        # The error must name the user's file, not the temporary one next to it.
        if isinstance(error, OSError) and partial.name in str(error.filename):
            error.filename = str(path)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_writable(path: str | Path) -> None:
    """Refuse a file that `replacing` could not write, before the work whose result it is for.

    A file without a name is made in its folder, or in the nearest folder that exists.
    """
    path = _refuse_folder(path)
    if path.exists() and not path.is_file():
        return
    folder = Path(os.path.realpath(path)).parent
    while not folder.exists():
        folder = folder.parent
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        error.filename = str(path)
        raise


def _refuse_folder(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise DataError(path, "is a folder", remedy="name a file in it")
    return path


def _explain_full_disk(error: BaseException, path: Path) -> None:
    """Raise an error for a full disk that names the file and the remedy."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (written := _OS_ERROR.search(str(error))):
        number = int(written[1])
    if number in _FULL:
        raise DataError(
            path,
            f"not written: {os.strerror(number)}",
            remedy="free space on the disk, or choose another one, and run the same command again",
        ) from None
