"""Zip archives with JSON members, unpacked one member at a time.

Inspect compresses its logs with zstd, which the `zipfile` of Python 3.11 to 3.13 lists but cannot
unpack. polars can: it reads compressed CSV. JSON text contains none of the control characters that
are the separators here, so that all of it is one field.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from adjudge.errors import DataError

_ZSTD = 93
_ZSTD_FRAME = 0xFD2FB528
#: The maximum unpacked size of a zstd block, and the block types that are compressed.
_ZSTD_BLOCK, _REPEATED_BYTE, _PACKED_BLOCK = 128 * 1024, 1, 2
#: Larger members are refused before they are unpacked.
_MEMBER_LIMIT = 1024 * 1024 * 1024
#: Before a member are this many bytes, then a name and extra fields, whose lengths come last.
_LOCAL_HEADER = 30
_COPY = "copy or download it again"
#: The exceptions for a damaged member.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, IndexError),
    *(NotImplementedError, RuntimeError),
)


class Archive:
    """A zip file opened for reading; every refusal names the file and the member."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            problem = f"is a zip archive or a spreadsheet, but not complete ({error})"
            raise DataError(path, problem, remedy=_COPY) from None
        self._members = {member.filename: member for member in self._zip.infolist()}

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The members, in the order of the archive."""
        return list(self._members)

    def read_json(self, name: str) -> Any:
        """The content of a member."""
        data = self._unpack(self._members[name])
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._damaged(name, f"is not valid JSON: {error}") from None

    def _unpack(self, member: zipfile.ZipInfo) -> bytes:
        try:
            packed = self._packed(member) if member.compress_type == _ZSTD else None
            # The directory can give less than zstd unpacks; zipfile itself stops at that size.
            size = member.file_size if packed is None else _most_zstd(packed)
            if max(size, member.file_size) > _MEMBER_LIMIT:
                raise self._damaged(member.filename, "is larger than 1 GiB")
            data = self._zip.read(member) if packed is None else _unpack_zstd(packed)
        except _DAMAGED as error:
            raise self._damaged(member.filename, str(error)) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._damaged(member.filename, str(error).splitlines()[0]) from None
        if zlib.crc32(data) != member.CRC:
            raise self._damaged(member.filename, "its checksum is wrong")
        return data

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            name, extra = struct.unpack("<HH", file.read(_LOCAL_HEADER)[-4:])
            file.seek(name + extra, 1)
            return file.read(member.compress_size)

    def _damaged(self, name: str, reason: str) -> DataError:
        return DataError(self.path, f"its member {name!r} cannot be read ({reason})", remedy=_COPY)


def _most_zstd(data: bytes) -> int:
    """The maximum unpacked size of zstd frames, from the headers of their blocks (RFC 8878)."""
    most = at = 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic != _ZSTD_FRAME:  # a skippable frame has its length in the header
            at += 8 + struct.unpack_from("<I", data, at + 4)[0]
            continue
        flags = data[at + 4]
        window, dictionary = not flags & 0x20, (0, 1, 2, 4)[flags & 3]
        at += 5 + window + dictionary + (0 if window and flags < 0x40 else 1 << (flags >> 6))
        last = False
        while not last:
            if at + 3 > len(data):
                raise IndexError("it is truncated")
            head = int.from_bytes(data[at : at + 3], "little")
            last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
            most += _ZSTD_BLOCK if kind == _PACKED_BLOCK else size
            at += 3 + (1 if kind == _REPEATED_BYTE else size)
        at += 4 * bool(flags & 4)  # a checksum
    return most


def _unpack_zstd(data: bytes) -> bytes:
    frame = pl.read_csv(
        data,
        has_header=False,
        new_columns=["text"],
        separator="\x01",
        quote_char=None,
        eol_char="\x02",
        infer_schema=False,
    )
    return (frame.item() or "").encode() if frame.shape == (1, 1) else b""
