"""Reading files: their container, their bytes in pieces, with a limit on the line length."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

from adjudge.errors import DataError
from adjudge.io.workbooks import is_workbook

#: No known table has a longer record. A file with a longer line is broken and refused.
LINE_LIMIT = 64 * 1024 * 1024
PIECE = 1024 * 1024
GIVE_ROWS = "give a file with at least one row"
SAVE_AS_UTF8 = "save the file as UTF-8 (in Excel: CSV UTF-8)"

Container = Literal["parquet", "arrow", "workbook", "json_lines", "json_array", "csv", "zip"]

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_BOM = b"\xef\xbb\xbf"
_COPY = "copy or download it again"
#: Containers that users give by mistake, by their first bytes.
_ELSEWHERE = {
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "unpack it with: zstd -d"),
    b"\xfd7zXZ": ("compressed with xz", "unpack it with: xz -d"),
    b"BZh": ("compressed with bzip2", "unpack it with: bzip2 -d"),
    b"SQLite format 3\x00": ("an SQLite database", "export the table as CSV"),
}
#: The first bytes of Arrow: a file, or a stream as Hugging Face saves it.
_ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
#: UTF-16, which Excel calls Unicode text.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BINARY = ("parquet", "arrow", "workbook")


class File:
    """A file opened for reading. Its type is detected from content, not from its name."""

    def __init__(
        self, path: Path, stream: IO[bytes], head: bytes, container: Container, *, packed: bool
    ) -> None:
        self.path = path
        self.container = container
        self.packed = packed
        self._stream = stream
        self._head = head

    @property
    def beginning(self) -> bytes:
        """The first megabyte, without a byte order mark."""
        return self._head.removeprefix(_BOM)

    def pieces(self) -> Iterator[bytes]:
        """The content without a byte order mark, from its start, about a megabyte at a time."""
        self._stream.seek(len(self._head))
        if self.beginning:
            yield self.beginning
        while piece := _read(self.path, self._stream, PIECE):
            yield piece

    def everything(self) -> bytes:
        """The complete content; in text, a line above the limit is refused before it is read."""
        gathered: list[bytes] = []
        length = 0
        for piece in self.pieces():
            if self.container not in _BINARY:
                newline = piece.find(b"\n")
                length += len(piece) if newline < 0 else newline
                if length > LINE_LIMIT:
                    raise self.too_long(1 + sum(part.count(b"\n") for part in gathered))
                if newline >= 0:
                    length = len(piece) - piece.rfind(b"\n") - 1
            gathered.append(piece)
        return b"".join(gathered)

    def lines(self, pieces: Iterator[bytes], start: bytes = b"") -> Iterator[bytes]:
        """Complete lines from pieces of any size, after `start`; longer ones are refused."""
        kept: list[bytes] = [start] if start else []
        length = len(start)
        row = 1
        for piece in pieces:
            cut = piece.rfind(b"\n")
            if length + (len(piece) if cut < 0 else piece.find(b"\n")) > LINE_LIMIT:
                raise self.too_long(row)
            if cut < 0:
                kept.append(piece)
                length += len(piece)
                continue
            for line in io.BytesIO(b"".join([*kept, piece[: cut + 1]])):
                row += 1
                yield line
            kept = [piece[cut + 1 :]]
            length = len(kept[0])
        yield from io.BytesIO(b"".join(kept))

    def decode(self, data: bytes, row: int) -> str:
        """A row's bytes as text."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error("is not valid UTF-8", SAVE_AS_UTF8, row=row) from None

    def error(
        self, problem: str, remedy: str | None = None, *, row: int | None = None
    ) -> DataError:
        """An error that names the file."""
        return DataError(self.path, problem, row=row, remedy=remedy)

    def too_long(self, row: int) -> DataError:
        """The error for a line that is too long."""
        problem = f"one line is longer than {LINE_LIMIT // 2**20} MiB"
        return self.error(problem, "write one record per line", row=row)


def open_regular(path: str | Path) -> IO[bytes]:
    """The bytes of a file. A pipe is refused before opening: opening could wait without end."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(path, "is a folder", remedy="name one file in it")
        if stat.S_ISFIFO(mode):
            problem, remedy = "is a pipe and can be read only once", "write it into a file first"
            raise DataError(path, problem, remedy=remedy)
        if not stat.S_ISREG(mode):
            raise DataError(path, "is a device, not a file", remedy="write it into a file first")
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(path, "no such file", remedy="check the path") from None
    except OSError as error:
        problem, remedy = (
            f"cannot be opened ({error.strerror})",
            "check the path and its permissions",
        )
        raise DataError(path, problem, remedy=remedy) from None


def read_text(path: str | Path) -> str:
    """All of a small file of text, without a byte order mark."""
    with open_regular(path) as raw:
        data = _read(Path(path), raw, -1)
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(path, "is not UTF-8 text", remedy=SAVE_AS_UTF8) from None


@contextmanager
def open_file(path: str | Path) -> Iterator[File]:
    """Open a table file, gzip or not, and detect its type.

    Raises DataError if there is nothing to read or it is not a table.
    """
    path = Path(path)
    with open_regular(path) as raw:
        start = raw.read(2)
        raw.seek(0)
        packed = start == _GZIP
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
        # A gzip member can start with few bytes; the first piece decides.
        head = _read(path, stream, PIECE)
        if head.startswith(_UTF16):
            stream = io.BytesIO(_from_utf16(path, head + stream.read()))
            head = _read(path, stream, PIECE)
        if not head.removeprefix(_BOM).strip():
            raise DataError(path, "is empty", remedy=GIVE_ROWS)
        yield File(path, stream, head, _container(path, head), packed=packed)


def _from_utf16(path: Path, data: bytes) -> bytes:
    try:
        return data.decode("utf-16").encode("utf-8")
    except UnicodeError:
        raise DataError(path, "is not valid UTF-16", remedy=SAVE_AS_UTF8) from None


def _container(path: Path, head: bytes) -> Container:
    if head.startswith(b"PK\x03\x04") and is_workbook(path):
        return "workbook"
    if head.startswith(_ARROW):
        return "arrow"
    for magic, (what, remedy) in _ELSEWHERE.items():
        if head.startswith(magic):
            raise DataError(path, f"is {what}", remedy=remedy)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(_ZIP):
        return "zip"
    if b"\x00" in head:
        remedy = "give JSON lines, CSV or Parquet (gzip is fine)"
        raise DataError(path, "is a binary file", remedy=remedy)
    text = head.removeprefix(_BOM).lstrip()
    return "json_array" if text[:1] == b"[" else "json_lines" if text[:1] == b"{" else "csv"


def _read(path: Path, stream: IO[bytes], size: int) -> bytes:
    try:
        return stream.read(size)
    except EOFError:
        raise DataError(path, "the gzip file ends too early", remedy=_COPY) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(path, f"the gzip file is damaged ({error})", remedy=_COPY) from None
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise DataError(path, problem, remedy=_COPY) from None
