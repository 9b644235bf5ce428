"""Files: opened once, their container detected from content, their bytes in pieces.

Also folders of Hugging Face's `save_to_disk`, zip archives and Excel workbooks. Limits keep a line,
an archive and a sheet from filling the memory.
"""

from __future__ import annotations

import gzip
import html
import io
import json
import logging
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

import polars as pl

from adjudge.errors import DataError, FileError
from adjudge.validation import is_number

#: No known table has a longer record. A file with a longer line is broken and refused.
LINE_LIMIT = 64 * 1024 * 1024
PIECE = 1024 * 1024
GIVE_ROWS = "give a file with at least one row"
HEADER_FIRST = "delete the rows above the one with the names of the columns"
SAVE_AS_UTF8 = "save the file as UTF-8 (in Excel: CSV UTF-8)"

Container = Literal["parquet", "arrow", "workbook", "json_lines", "json_array", "csv", "zip"]

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_COPY = "copy or download it again"
#: The first bytes of Arrow: a file, or a stream as Hugging Face saves it.
_ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
#: UTF-16, which Excel calls Unicode text.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BINARY = ("parquet", "arrow", "workbook")
#: The beginning of an address on the Hugging Face hub; a `Path` keeps one slash of two.
_ON_HUB = re.compile(r"hf:/{1,2}(?=[^/])")


@dataclass(slots=True, kw_only=True)
class File:
    """A file opened for reading. Its type is detected from content, not from its name."""

    path: Path
    container: Container
    packed: bool
    stream: IO[bytes]
    #: The first megabyte, as it was read.
    head: bytes

    @property
    def beginning(self) -> bytes:
        """The first megabyte, without a byte order mark."""
        return self.head.removeprefix(_BOM)

    def pieces(self) -> Iterator[bytes]:
        """The content without a byte order mark, from its start, about a megabyte at a time."""
        at = len(self.head)
        if self.beginning:
            yield self.beginning
        while True:
            self.stream.seek(at)  # another reader of the file can have moved it
            piece = _read(self.path, self.stream, PIECE)
            if not piece:
                return
            at += len(piece)
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
        return FileError(self.path, problem, row=row, remedy="write one record per line")


def open_regular(path: str | Path) -> IO[bytes]:
    """The bytes of a file. A pipe is refused before opening: opening could wait without end."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise FileError(path, "is a folder", remedy="name one file in it")
        if stat.S_ISFIFO(mode):
            problem, remedy = "is a pipe and can be read only once", "write it into a file first"
            raise FileError(path, problem, remedy=remedy)
        if not stat.S_ISREG(mode):
            raise FileError(path, "is a device, not a file", remedy="write it into a file first")
        return path.open("rb")
    except FileNotFoundError:
        raise FileError(path, "no such file", remedy="check the path") from None
    except OSError as error:
        problem = f"cannot be opened ({error.strerror})"
        raise FileError(path, problem, remedy="check the path and its permissions") from None


def local_file(path: str | Path) -> Path:
    """The path of a file here: of the fetched rows, if the path is an address on the hub."""
    address = _ON_HUB.match(str(path))
    if address is None:
        return Path(path)
    from adjudge.data.hub import fetch_rows

    return fetch_rows(str(path)[address.end() :])


def read_text(path: str | Path) -> str:
    """All of a small file of text, without a byte order mark."""
    with open_regular(path) as raw:
        data = _read(Path(path), raw, -1)
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(path, "is not UTF-8 text", remedy=SAVE_AS_UTF8) from None


@contextmanager
def open_file(path: str | Path) -> Iterator[File]:
    """Open a table file, gzip or not, and detect its type.

    Raises DataError if there is nothing to read or it is not a table.
    """
    path = local_file(path)
    with open_regular(path) as raw:
        start = raw.read(2)
        raw.seek(0)
        packed = start == _GZIP
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
        # A gzip member can start with few bytes; the first piece decides.
        head = _read(path, stream, PIECE)
        if head.startswith(_UTF16):
            try:
                text = (head + stream.read()).decode("utf-16")
            except UnicodeError:
                raise FileError(path, "is not valid UTF-16", remedy=SAVE_AS_UTF8) from None
            stream = io.BytesIO(text.encode("utf-8"))
            head = _read(path, stream, PIECE)
        if not head.removeprefix(_BOM).strip():
            raise FileError(path, "is empty", remedy=GIVE_ROWS)
        container = _container(path, head)
        yield File(path=path, container=container, packed=packed, stream=stream, head=head)


class Handle:
    """The file at a path. While it is in use (`with`), it is opened once, for all its readers.

    Readers look at the first row to detect a format, then read all rows. Each starts at the
    beginning of the file. A reader that an error suspended does not keep the file open: it is
    closed with the last use, and such a reader cannot go on.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        #: The first row, once a reader has looked at it.
        self.first: dict[str, Any] | None = None
        #: While it is in use: the rows in a file that is one JSON object, once it was parsed.
        self.inner: list[dict[str, Any]] | None = None
        self._file: File | None = None
        self._users = 0
        self._readers = 0
        self._open_files = ExitStack()

    def __str__(self) -> str:
        return str(self.path)

    def __enter__(self) -> Handle:
        self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._users -= 1
        if self._users == 0:
            self._close()

    @contextmanager
    def open(self) -> Iterator[File]:
        """The open file; it stays open while the handle is in use, else while it has readers."""
        if self._file is None:
            self._file = self._open_files.enter_context(open_file(self.path))
        file = self._file
        self._readers += 1
        try:
            yield file
        finally:
            if self._file is file:
                self._readers -= 1
                if self._users == self._readers == 0:
                    self._close()

    def _close(self) -> None:
        self._file = self.inner = None
        self._readers = 0
        self._open_files.close()


def _container(path: Path, head: bytes) -> Container:
    if head.startswith(_ARROW):
        return "arrow"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "workbook" if is_workbook(path) else "zip"
    if b"\x00" in head:
        remedy = "give JSON lines, CSV or Parquet (gzip is fine)"
        raise FileError(path, "is a binary file", remedy=remedy)
    text = head.removeprefix(_BOM).lstrip()
    return "json_array" if text[:1] == b"[" else "json_lines" if text[:1] == b"{" else "csv"


def _read(path: Path, stream: IO[bytes], size: int) -> bytes:
    try:
        return stream.read(size)
    except EOFError:
        raise FileError(path, "the gzip file ends too early", remedy=_COPY) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError(path, f"the gzip file is damaged ({error})", remedy=_COPY) from None
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise FileError(path, problem, remedy=_COPY) from None


def has_half_characters(value: object) -> bool:
    r"""Whether a text in the value cannot be written to a file or sent, though it was parsed.

    >>> has_half_characters({"name": "\ud83d"}), has_half_characters({"name": "\u00e9"})
    (True, False)
    """
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


_STATE, _SPLITS = "state.json", "dataset_dict.json"


def is_saved(path: str | Path) -> bool:
    """Whether a path is a folder with a saved data set, or with its splits."""
    return any((Path(path) / name).is_file() for name in (_STATE, _SPLITS))


def saved_files(path: str | Path) -> list[Path]:
    """The Arrow files of a saved data set, in the order of its rows; splits are refused."""
    folder = Path(path)
    if (folder / _SPLITS).is_file():
        splits = _file_names(folder / _SPLITS, "splits")
        if len(splits) == 1:
            return saved_files(folder / splits[0])
        remedy = f"name one of them: {folder / splits[0]}" if splits else "save it again"
        raise FileError(folder, f"has the splits {', '.join(splits) or '(none)'}", remedy=remedy)
    files = _file_names(folder / _STATE, "_data_files")
    if not files:
        raise FileError(folder, "has no rows", remedy="save a data set with at least one row")
    return [folder / name for name in files]


def _file_names(path: Path, field: str) -> list[str]:
    """The file or folder names in a list of one of the two JSON files; other paths are refused."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))[field]
        names = [entry["filename"] if isinstance(entry, dict) else entry for entry in listed]
    except (OSError, ValueError, KeyError, TypeError):
        names = [None]
    if not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise FileError(path, f"has no list of names in {field}", remedy="save the data set again")
    return names


_ZSTD = 93
_ZSTD_FRAME = 0xFD2FB528
#: The maximum unpacked size of a zstd block, and the block types that are compressed.
_ZSTD_BLOCK, _REPEATED_BYTE, _PACKED_BLOCK = 128 * 1024, 1, 2
#: Larger members, and larger workbooks, are refused before they are unpacked.
_MEMBER_LIMIT = 1024 * 1024 * 1024
#: All members together unpack to at most this, or to 200 times the size of the archive: logs
#: shrink to a tenth or a thirtieth.
_LEAST_TOTAL, _MOST_RATIO = 256 * 1024 * 1024, 200
#: Before a member are this many bytes, then a name and extra fields, whose lengths come last.
_LOCAL_HEADER = 30
#: The exceptions for a damaged member.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, IndexError),
    *(NotImplementedError, RuntimeError),
)


class Archive:
    """A zip file opened for reading; every refusal names the file and the member."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self.path = path
        self._stream = stream
        try:
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            problem = f"is a zip archive or a spreadsheet, but not complete ({error})"
            raise FileError(path, problem, remedy=_COPY) from None
        members = self._zip.infolist()
        self._members = {member.filename: member for member in members}
        self._times = Counter(member.filename for member in members)
        self._left = self._limit = max(_LEAST_TOTAL, _MOST_RATIO * path.stat().st_size)
        if sum(member.file_size for member in self._members.values()) > self._limit:
            self._zip.close()
            raise self._too_large("the archive", self._limit)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The members, in the order of the archive."""
        return list(self._members)

    def earlier(self, name: str) -> int:
        """How many members of this name are before the last one, which is read."""
        return self._times[name] - 1

    def read_json(self, name: str) -> Any:
        """The content of a member."""
        data = self._unpack(self._members[name])
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._damaged(name, f"is not valid JSON: {error}") from None
        if has_half_characters(value):
            raise self._damaged(name, "contains half of a character: a lone surrogate escape")
        return value

    def _unpack(self, member: zipfile.ZipInfo) -> bytes:
        try:
            packed = self._packed(member) if member.compress_type == _ZSTD else None
            # The directory can give less than zstd unpacks; zipfile itself stops at that size.
            size = member.file_size if packed is None else _most_zstd(packed)
            size = max(size, member.file_size)
            if size > _MEMBER_LIMIT:
                raise self._too_large(f"its member {member.filename!r}", _MEMBER_LIMIT)
            self._left -= size
            if self._left < 0:
                raise self._too_large("the archive", self._limit)
            data = self._zip.read(member) if packed is None else _unpack_zstd(packed)
        except _DAMAGED as error:
            raise self._damaged(member.filename, str(error)) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._damaged(member.filename, str(error).splitlines()[0]) from None
        if zlib.crc32(data) != member.CRC:
            raise self._damaged(member.filename, "its checksum is wrong")
        return data

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        self._stream.seek(member.header_offset)
        name, extra = struct.unpack("<HH", self._stream.read(_LOCAL_HEADER)[-4:])
        self._stream.seek(name + extra, 1)
        return self._stream.read(member.compress_size)

    def _too_large(self, what: str, limit: int) -> DataError:
        problem = f"{what} unpacks to more than {limit // 2**20:,} MiB"
        return FileError(self.path, problem, remedy="export it as JSON, or split it")

    def _damaged(self, name: str, reason: str) -> DataError:
        return FileError(self.path, f"its member {name!r} cannot be read ({reason})", remedy=_COPY)


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


_WORKBOOK = "xl/workbook.xml"


def is_workbook(path: str | Path) -> bool:
    """Whether a zip archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _WORKBOOK in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return False


#: A sheet is read as a table with all cells up to the last: a cell far away would fill the memory.
_MOST_CELLS = 100_000_000
#: The reader reserves memory for as many texts as are announced.
_TEXTS = rb"""<sst\b[^>]*ount\s*=\s*["'][0-9]{9,}"""
_COLUMN_OF = rb"""\br\s*=\s*["']([A-Z]{%d,})"""
_ROW_OF = rb"""\br\s*=\s*["'][A-Z]*([0-9]{%d,})"""


def workbook_frame(path: str | Path) -> pl.DataFrame:
    """The first sheet of an Excel workbook as a table, its first row as the header.

    A formula is read as the value that Excel last computed, an error such as #N/A as missing. Blank
    rows, and columns without a name, are left out. Formulas without a value, merged cells and the
    sheet that was read, if it is not the only one, are named.
    """
    try:
        import fastexcel
    except ImportError:
        remedy = "pip install 'adjudge[excel]', or export it as CSV"
        raise FileError(path, "is an Excel workbook", remedy=remedy) from None
    try:
        _refuse_large_book(path)
        book = fastexcel.read_excel(path)
        top = book.load_sheet(0, header_row=None, n_rows=_TITLE_ROWS, dtypes="string").to_polars()
        at = _header_row(path, top)
        header = top.slice(at, 1)
        frame: pl.DataFrame = book.load_sheet(
            0, header_row=_place_in_sheet(path, book, top, at), schema_sample_rows=None
        ).to_polars()
        with suppress(KeyError, IndexError):  # a book of another program: its sheet is read anyway
            for remark in _remarks_on_sheet(path):
                logging.getLogger("adjudge.data").warning("%s: %s", path, remark)
    except FileError:
        raise
    except Exception:
        problem, remedy = "is not a complete Excel workbook", "save it again, or export it as CSV"
        raise FileError(path, problem, remedy=remedy) from None
    names = [str(name).strip() if name else "" for name in (header.row(0) if header.height else ())]
    for name, times in Counter(filter(None, names)).items():
        if times > 1:
            problem = f"two columns have the name {name!r}"
            raise FileError(path, problem, remedy="rename one of them")
    frame = frame.select(
        column.alias(name) for name, column in zip(names, frame, strict=False) if name
    )
    texts = frame.select(pl.col(pl.String).replace("", None))
    frame = frame.with_columns(texts.get_columns()).filter(~pl.all_horizontal(pl.all().is_null()))
    if frame.height == 0 or frame.width == 0:
        raise FileError(path, "has no rows", remedy="put the table on the first sheet")
    return frame


#: A title and notes above the header are at most so many rows, the header included.
_TITLE_ROWS = 10


def _header_row(path: str | Path, top: pl.DataFrame) -> int:
    """The place of the header: the first row, or the full row of names below a title alone."""
    rows = [[(cell or "").strip() for cell in row] for row in top.rows()]
    filled = [sum(map(bool, row)) for row in rows]
    if not rows or filled[0] > 1 or max(filled) == 1:
        return 0
    at = next(place for place, cells in enumerate(filled) if cells > 1)
    names = [name for name in rows[at] if name]
    if len(names) < max(filled) or len({*names}) < len(names) or any(map(is_number, names)):
        raise FileError(path, "row 1 is a title, not the header", remedy=HEADER_FIRST)
    logging.getLogger("adjudge.data").warning(
        "%s: the header is below a title: %s", path, ", ".join(names[:5])
    )
    return at


def _place_in_sheet(path: str | Path, book: Any, top: pl.DataFrame, at: int) -> int:
    """The header's row in the sheet: above a title blank rows are not in `top`, but they count."""
    if at == 0:
        return 0
    names = [name for name in top.row(at) if name]
    for place in range(at, at + _TITLE_ROWS):
        here = book.load_sheet(0, header_row=place, n_rows=0).to_polars().columns
        if [name for name in here if name in names] == names:
            return place
    raise FileError(path, "row 1 is a title, not the header", remedy=HEADER_FIRST)


_RELATIONS = "xl/_rels/workbook.xml.rels"
_SHEET = rb"<(?:\w+:)?sheet\s[^>]*>"
#: A cell with a formula and nothing in its value.
_WITHOUT_VALUE = rb"<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>"


def _remarks_on_sheet(path: str | Path) -> Iterator[str]:
    """Which sheet is read, if there are others or it is hidden, and the cells without a value."""
    with zipfile.ZipFile(path) as archive:
        sheets = re.findall(_SHEET, archive.read(_WORKBOOK))
        targets = {
            _attribute(entry, "Id"): _attribute(entry, "Target")
            for entry in re.findall(rb"<Relationship\s[^>]*>", archive.read(_RELATIONS))
        }
        target = targets[_attribute(sheets[0], "r:id")]
        part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        cells = archive.read(part)
    hidden = ", which is hidden" if _attribute(sheets[0], "state") else ""
    if hidden or len(sheets) > 1:
        name = html.unescape(_attribute(sheets[0], "name"))
        yield f"read the sheet {name!r}{hidden}, the first of {len(sheets)}"
    if formulas := len(re.findall(_WITHOUT_VALUE, cells)):
        cell = "cell is a formula" if formulas == 1 else "cells are formulas"
        remedy = "open the file in Excel and save it, or export it as CSV"
        yield f"{formulas:,} {cell} without a stored value, read as empty: {remedy}"
    if merged := len(re.findall(rb"<mergeCell\s", cells)):
        cells_there = "range of merged cells" if merged == 1 else "ranges of merged cells"
        yield f"{merged:,} {cells_there}: the value is in the first cell, the others are empty"


def _attribute(tag: bytes, name: str) -> str:
    """The value of an attribute of a tag; "" if it has none."""
    match = re.search(rb"""\s%s\s*=\s*["']([^"']*)["']""" % name.encode(), tag)
    return match[1].decode("utf-8", "replace") if match else ""


def _refuse_large_book(path: str | Path) -> None:
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        most = max(PIECE * 64, _MOST_RATIO * Path(path).stat().st_size)
        if size > min(most, _MEMBER_LIMIT):
            limit = "1 GiB" if size > _MEMBER_LIMIT else f"{_MOST_RATIO} times its size"
            raise FileError(path, f"unpacks to more than {limit}", remedy="export it as CSV")
        for name in archive.namelist():
            with archive.open(name) as part:
                if re.search(_TEXTS, part.read(4096)):
                    raise FileError(path, "announces too many texts", remedy="export it as CSV")
            if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
                continue
            width, height = _used_range(archive.read(name))
            if width * height > _MOST_CELLS:
                problem = f"has a cell in row {height:,} and column {width:,}"
                raise FileError(path, problem, remedy="export the table as CSV")


def _used_range(sheet: bytes) -> tuple[int, int]:
    """The last column and row with a cell; of a small sheet only a bound, which is quick to see."""
    letters = next((n for n in (3, 2) if re.search(_COLUMN_OF % n, sheet)), 1)
    digits = next((n for n in (7, 6, 5) if re.search(_ROW_OF % n, sheet)), 4)
    width, height = sum(26**n for n in range(1, letters + 1)), 10**digits - 1
    if width * height <= _MOST_CELLS:
        return width, height
    columns = {*re.findall(_COLUMN_OF % 1, sheet)}
    rows = map(int, re.findall(_ROW_OF % 1, sheet))
    return max(map(_column_number, columns), default=0), max(rows, default=0)


def _column_number(letters: bytes) -> int:
    """The number of a column from its letters.

    >>> _column_number(b"A"), _column_number(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number
