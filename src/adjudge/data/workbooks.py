"""Excel workbooks (.xlsx): the first sheet as a table, its first row as the header.

A workbook is a zip of XML files. Cells are read as stored: texts, numbers, true and false. A
formula is read as the value that Excel last computed. Dates are numbers there and stay numbers.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from adjudge.data.files import _WORKBOOK
from adjudge.data.json_files import Record
from adjudge.errors import DataError

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
#: Only a malicious workbook unpacks to more than this.
_LARGEST = 1 << 30
#: Excel's limit; a row with more cells would be read into memory before it ends.
_COLUMNS = 16_384
_ERRORS = ("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!")
#: The exceptions for a damaged, encrypted or other archive.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, KeyError, IndexError, ValueError),
    ElementTree.ParseError,
)


def workbook_rows(path: str | Path) -> list[Record]:
    """The rows of the first sheet; blank cells are None, blank rows are left out."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
                raise DataError(path, "unpacks to more than 1 GiB", remedy="export it as CSV")
            shared = list(_shared(archive))
            filled = [row for row in _rows(archive, _first_sheet(archive), shared) if row]
    except _DAMAGED:
        problem, remedy = "is not a complete Excel workbook", "save it again, or export it as CSV"
        raise DataError(path, problem, remedy=remedy) from None
    if len(filled) < 2:
        raise DataError(path, "has no rows", remedy="put the table on the first sheet")
    header = {at: str(name).strip() for at, name in filled[0].items()}
    for name, times in Counter(header.values()).items():
        if times > 1:
            raise DataError(
                path, f"two columns have the name {name!r}", remedy="rename one of them"
            )
    return [{name: row.get(at) for at, name in header.items()} for row in filled[1:]]


def _read(archive: zipfile.ZipFile, part: str) -> bytes:
    """One XML file of the workbook. Excel declares no entities; a file with them is refused."""
    data = archive.read(part)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ValueError(part)
    return data


def _open(archive: zipfile.ZipFile, part: str) -> ElementTree.Element:
    return ElementTree.fromstring(_read(archive, part))  # noqa: S314  (nothing to expand is left)


def _entries(archive: zipfile.ZipFile, part: str, name: str) -> Iterator[ElementTree.Element]:
    """The entries of that name, freed one by one: a sheet can have any number of them."""
    data = io.BytesIO(_read(archive, part))
    within: list[ElementTree.Element] = []
    inside = 0
    for event, entry in ElementTree.iterparse(data, ("start", "end")):  # noqa: S314
        is_one = entry.tag == _MAIN + name
        if event == "start":
            inside += is_one
            within.append(entry)
            continue
        inside -= is_one
        within.pop()
        if is_one:
            yield entry
        if within and not inside:
            within[-1].clear()
        elif within and len(within[-1]) > _COLUMNS:
            raise ValueError(part)


def _first_sheet(archive: zipfile.ZipFile) -> str:
    """The file of the sheet that Excel shows first."""
    sheet = _open(archive, _WORKBOOK).find(f"{_MAIN}sheets/{_MAIN}sheet")
    links = _open(archive, "xl/_rels/workbook.xml.rels")
    named = {link.get("Id"): link.get("Target", "") for link in links}
    target = named["" if sheet is None else sheet.get(_LINK, "")]
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _shared(archive: zipfile.ZipFile) -> Iterator[str]:
    """The texts that cells refer to; a text can be in pieces with different formatting."""
    if "xl/sharedStrings.xml" in archive.namelist():
        yield from map(_text, _entries(archive, "xl/sharedStrings.xml", "si"))


def _text(entry: ElementTree.Element) -> str:
    # Phonetic readings of Chinese and Japanese texts (rPh) are not part of the text.
    pieces = [entry.find(f"{_MAIN}t"), *entry.findall(f"{_MAIN}r/{_MAIN}t")]
    return "".join(piece.text or "" for piece in pieces if piece is not None)


def _rows(archive: zipfile.ZipFile, sheet: str, shared: list[str]) -> Iterator[dict[str, object]]:
    """The rows of a sheet: values by the letters of their column, without blank cells."""
    for row in _entries(archive, sheet, "row"):
        cells = {
            re.sub(r"\d", "", cell.get("r", str(at))): _value(cell, shared)
            for at, cell in enumerate(row.findall(f"{_MAIN}c"))
        }
        yield {at: value for at, value in cells.items() if value is not None}


def _value(cell: ElementTree.Element, shared: list[str]) -> object:
    kind, stored = cell.get("t", "n"), cell.find(f"{_MAIN}v")
    if kind == "inlineStr":
        inline = cell.find(f"{_MAIN}is")
        return None if inline is None else _text(inline) or None
    if stored is None or stored.text is None:
        return None
    if kind == "s":
        return shared[int(stored.text)] or None
    if kind == "b":
        return stored.text == "1"
    if kind in ("str", "e"):
        return None if stored.text in _ERRORS else stored.text
    number = float(stored.text)
    return int(number) if number.is_integer() else number
