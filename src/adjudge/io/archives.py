"""Zip archives whose members are JSON: unpacked one member at a time.

Inspect packs its logs with zstd, which the `zipfile` of Python 3.11 to 3.13 lists and cannot
unpack. polars can: it reads compressed CSV, and JSON text holds none of the control characters
that are its separators here, so that all of it is one field.
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
#: Larger members are no part of a log that anybody evaluates: refused before they are unpacked.
_MEMBER_LIMIT = 1024 * 1024 * 1024
#: A member is preceded by this many bytes, a name and extra fields, whose lengths are at the end.
_LOCAL_HEADER = 30
_COPY = "copy or download it again"


class Archive:
    """A zip file opened for reading; every refusal names the file and the member."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            problem = f"is a zip archive or a spreadsheet, and not whole ({error})"
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
        """What a member holds."""
        data = self._unpack(self._members[name])
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._damaged(name, f"is not valid JSON: {error}") from None

    def _unpack(self, member: zipfile.ZipInfo) -> bytes:
        if member.file_size > _MEMBER_LIMIT:
            raise self._damaged(member.filename, "is larger than 1 GiB")
        try:
            if member.compress_type == _ZSTD:
                data = _unpack_zstd(self._packed(member))
            else:
                data = self._zip.read(member)
        except (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError) as error:
            raise self._damaged(member.filename, str(error)) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._damaged(member.filename, str(error).splitlines()[0]) from None
        except (NotImplementedError, RuntimeError) as error:
            raise self._damaged(member.filename, str(error)) from None
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
