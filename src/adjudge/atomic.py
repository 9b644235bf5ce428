"""Atomic writing: a file is complete or not there."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
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

    A replaced file keeps its mode. A new one in a folder where everybody can write (/tmp) is for
    its owner alone; elsewhere the umask decides, as for any program.
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
    make_folder(target.parent)
    kept = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    private = kept is not None or _is_shared(target.parent)
    with scratch_file(path, "partial", mode=0o600 if private else 0o666) as partial:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        if kept is not None:
            partial.chmod(kept)
        partial.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def scratch_file(path: str | Path, suffix: str, *, mode: int = 0o600) -> Iterator[Path]:
    """A new empty file next to `path`, under a name that nobody can foresee; removed at the end.

    Errors of the block name `path`, not the temporary file.
    """
    target = Path(os.path.realpath(path))
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.{suffix}")
    try:
        os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield scratch
    except BaseException as error:
        _explain_full_disk(error, Path(path))
        if isinstance(error, OSError) and scratch.name in str(error.filename):
            error.filename = str(path)
        raise
    finally:
        scratch.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents; those in a shared folder are for their owner alone."""
    for path in [*reversed(folder.parents), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700 if _is_shared(path.parent) else 0o777, exist_ok=True)


def _is_shared(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IWOTH)


@contextmanager
def locking_folder(folder: Path) -> Iterator[None]:
    """Let one process at a time read and replace a file of this folder; the others wait."""
    import fcntl  # not on every system

    make_folder(folder)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


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
        remedy = "free space on the disk, or choose another one, and run the same command again"
        raise DataError(path, f"not written: {os.strerror(number)}", remedy=remedy) from None
