"""Tables that come as objects, as folders, as one JSON object, as a workbook."""

from __future__ import annotations

import json
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from peoples_files import saved_dataset, write_workbook

from adjudge.data import iter_rows, open_pairs, prepare_grades, read_pairs, read_table, write_rows
from adjudge.errors import DataError, FileError
from adjudge.judges import judge_pairs

COLUMNS = {
    "id": ["x", "y"],
    "prompt": ["q", "r"],
    "response_a": ["1", "2"],
    "response_b": ["3", "4"],
}


class Arrow:
    """What pyarrow and others offer: a stream of Arrow data and nothing else."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


class Dataset:
    """As much of Hugging Face's class as is used; the real one was tried by hand (5.2.0)."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self.column_names = frame.columns

    def with_format(self, kind: str) -> Dataset:
        assert kind == "arrow"
        return self

    def __getitem__(self, rows: slice) -> Arrow:
        return Arrow(self._frame[rows])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (pl.DataFrame, "the DataFrame"),
        (pl.LazyFrame, "the LazyFrame"),
        (pd.DataFrame, "the DataFrame"),
        (lambda columns: Arrow(pl.DataFrame(columns)), "the Arrow"),
        (lambda columns: Dataset(pl.DataFrame(columns)), "the Dataset"),
        (dict, "the dict of columns"),
        (lambda columns: pl.DataFrame(columns).to_dicts(), "the list of rows"),
    ],
)
def test_every_object_is_read_and_named(make: Any, name: str) -> None:
    source = make(COLUMNS)
    assert read_pairs(source).rows() == read_pairs(COLUMNS).rows()
    assert [pair.id for pair in open_pairs(source)] == ["x", "y"]
    assert judge_pairs(source, judge="simulated:", store=None).judgments.height == 2
    with pytest.raises(DataError) as caught:
        prepare_grades(source)
    assert str(caught.value).startswith(f"{name}: looks like a pairs file of adjudge")


def test_the_splits_of_a_dataset_are_named() -> None:
    with pytest.raises(DataError, match=r"has the splits train, test; give one of them: \['tr"):
        read_table({name: Dataset(pl.DataFrame(COLUMNS)) for name in ("train", "test")})


def test_a_saved_dataset(tmp_path: Path) -> None:
    saved = saved_dataset(tmp_path)
    frame = read_table(saved)
    assert frame.height == len(list(iter_rows(saved))) == 80
    pairs = list(open_pairs(saved))
    assert {pair.prompt for pair in pairs} == {"Say hi"}
    assert sorted((pairs[3].response_a, pairs[3].response_b)) == ["hi 3", "no 3"]
    # A second seed puts some of them on the other side, and calls them the same.
    again = list(open_pairs(saved, seed=1))
    assert [pair.id for pair in again] == [pair.id for pair in pairs]
    assert 20 < sum(a.label != b.label for a, b in zip(pairs, again, strict=True)) < 60


def test_a_saved_folder_of_splits_and_broken_ones(tmp_path: Path) -> None:
    folder = tmp_path / "splits"
    folder.mkdir()
    (folder / "dataset_dict.json").write_text('{"splits": ["saved"]}')
    saved_dataset(folder)
    assert read_table(folder).height == 80
    (folder / "dataset_dict.json").write_text('{"splits": ["saved", "test"]}')
    with pytest.raises(DataError, match=r"has the splits saved, test; name one of them: .*saved"):
        read_table(folder)
    state = folder / "saved" / "state.json"
    for broken in ("{", '{"_data_files": [{"filename": "../x.arrow"}]}', '{"_data_files": 3}'):
        state.write_text(broken)
        with pytest.raises(DataError, match="has no list of names in _data_files"):
            read_table(folder / "saved")
    state.write_text('{"_data_files": [{"filename": "dataset_info.json"}]}')
    (folder / "saved" / "dataset_info.json").write_bytes(b"\xff\xff\xff\xffbroken")
    with pytest.raises(DataError, match="is not a complete Arrow file"):
        read_table(folder / "saved")


def test_arrow_files(tmp_path: Path) -> None:
    frame = pl.DataFrame(COLUMNS)
    frame.write_ipc(tmp_path / "pairs.arrow")
    assert read_pairs(tmp_path / "pairs.arrow").rows() == frame.rows()


ROWS = [{"id": "1", "p_a": 0.5}, {"id": "2", "p_a": 0.25}]


@pytest.mark.parametrize(
    "value",
    [
        {"results": ROWS},
        {"run": {"id": 7}, "results": ROWS, "n": 2},
        {"report": {"meta": {"by": "me"}, "rows": ROWS}},
        {"id": ["1", "2"], "p_a": [0.5, 0.25]},
        {"id": {"0": "1", "1": "2"}, "p_a": {"0": 0.5, "1": 0.25}},
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_one_json_object(value: Any, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(value, indent=indent))
    assert read_table(path).to_dicts() == list(iter_rows(path)) == ROWS


def test_a_json_object_that_is_itself_a_row(tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    talk = [{"role": "user", "content": "Hi"}]
    row = {"id": "1", "prompt": talk, "response_a": "x", "response_b": "y", "tags": [{"t": 1}]}
    for indent in (None, 2):
        path.write_text(json.dumps(row, indent=indent))
        assert read_pairs(path)["prompt"].to_list() == ["Hi"]
    path.write_text(json.dumps({"a": ROWS, "b": ROWS}))
    with pytest.raises(DataError, match="has rows in a and in b; keep one of them"):
        read_table(path)


def test_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [
        ["id", "judge", "human", "note"],
        ["a", 1, None, "x < y"],
        [None] * 4,
        ["b", 0.5, True, None],
    ]
    path = write_workbook(
        tmp_path / "book.xlsx", [[c or "" if i == 0 else c for i, c in enumerate(r)] for r in rows]
    )
    frame = read_table(path)
    assert frame.to_dicts() == [
        {"id": "a", "judge": 1.0, "human": None, "note": "x < y"},
        {"id": "b", "judge": 0.5, "human": True, "note": None},
    ]
    assert [row["id"] for row in iter_rows(path)] == ["a", "b"]


def edit_workbook(path: Path, edits: dict[str, tuple[str, str]]) -> Path:
    """The workbook with a text replaced in some of its parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    for name, (old, new) in edits.items():
        assert old in parts[name]
        parts[name] = parts[name].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_what_a_workbook_hides_is_counted_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("fastexcel")
    rows = [["id", "judge", "human"], ["a", 1, 7], ["b", 1, 7], ["c", 0, 0]]
    path = write_workbook(tmp_path / "book.xlsx", rows)
    assert read_table(path)["human"].null_count() == 0
    assert not caplog.messages
    formula, merged = "<f>B2</f></c>", '<mergeCells count="1"><mergeCell ref="B2:B3"/></mergeCells>'
    edit_workbook(path, {"xl/worksheets/data.xml": ("<v>7</v></c>", formula)})
    edit_workbook(path, {"xl/worksheets/data.xml": ("</sheetData>", f"</sheetData>{merged}")})
    old = '<sheet name="Data" '
    other = '<sheet name="Old &amp; Data" state="hidden" '
    second = '<sheet name="Labels" sheetId="2" r:id="rId7"/></sheets>'
    edit_workbook(path, {"xl/workbook.xml": (old, other)})
    edit_workbook(path, {"xl/workbook.xml": ("</sheets>", second)})
    assert read_table(path)["human"].null_count() == 2
    assert caplog.messages == [
        f"{path}: read the sheet 'Old & Data', which is hidden, the first of 2",
        f"{path}: 2 cells are formulas without a stored value, read as empty: open the file in "
        "Excel and save it, or export it as CSV",
        f"{path}: 1 range of merged cells: the value is in the first cell, the others are empty",
    ]


@pytest.mark.attack("workbooks")
def test_workbooks_that_are_none(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    twice = write_workbook(tmp_path / "twice.xlsx", [["a", "a"], ["x", 1]])
    with pytest.raises(DataError, match="two columns have the name 'a'; rename one"):
        read_table(twice)
    empty = write_workbook(tmp_path / "empty.xlsx", [["a", "b"]])
    with pytest.raises(DataError, match="has no rows; put the table on the first sheet"):
        read_table(empty)
    bomb = write_workbook(tmp_path / "bomb.xlsx", [["a", "b"], ["x", 1]])
    data = bomb.read_bytes().replace(b"<sst xmlns", b"<!ENTITY  ")
    bomb.write_bytes(data)
    with pytest.raises(DataError, match="is not a complete Excel workbook; save it again"):
        read_table(bomb)


@pytest.mark.attack("archives")
def test_a_workbook_that_was_made_to_fill_the_memory(tmp_path: Path) -> None:
    """Rows without end that hold nothing, a long row of empty cells, and a cell far away."""
    pytest.importorskip("fastexcel")
    path = write_workbook(tmp_path / "book.xlsx", [["id", "judge"], ["x", 1]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (sheet,) = (name for name in parts if b"</sheetData>" in parts[name])

    def add(rows: bytes) -> int:
        made = parts[sheet].replace(b"</sheetData>", rows + b"</sheetData>")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, part in parts.items():
                archive.writestr(name, made if name == sheet else part)
        return len(made)

    size = add(b"<row/>" * 50_000)
    tracemalloc.start()
    assert read_table(path).rows() == [("x", 1.0)]
    assert tracemalloc.get_traced_memory()[1] < 4 * size
    tracemalloc.stop()
    add(b"<row>" + b"<c/>" * 20_000 + b"</row>")
    assert read_table(path).rows() == [("x", 1.0)]
    add(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    with pytest.raises(DataError, match="has a cell in row 1,048,576 and column 16,384; export"):
        read_table(path)


@pytest.mark.attack("workbooks")
@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        pytest.param("sheet", b"</sheetData>", b" " * 100_000_000 + b"</sheetData>",
                     "unpacks to more than 200 times its size", id="spaces"),
        pytest.param("String", b"<sst ", b'<sst count="1" uniqueCount="4294967295" ',
                     "announces too many texts", id="texts announced"),
        pytest.param("String", b"<t>", b'<t>&lol;</t><t>', "is not a complete", id="entity"),
        pytest.param("sheet", b"<row r=\"1\">", b"<row r=\"4294967295\"><c r=\"ZZZZZZ1\"/></row>"
                     b"<row r=\"1\">", "has a cell in row 4,294,967,295", id="far away"),
        pytest.param("sheet", b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>', None,
                     id="dimension"),
        pytest.param("sheet", b"</sheetData>", b"<row><c>" + b"<is>" * 50_000 + b"</is>" * 50_000
                     + b"</c></row></sheetData>", None, id="deep"),
        pytest.param("sheet", b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
                     b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">'
                     b'<!ENTITY % r SYSTEM "http://127.0.0.1:9/"> %r;]>', None,
                     id="external entity"),
    ],
)  # fmt: skip
def test_hostile_workbooks_are_read_or_refused_in_one_line(
    tmp_path: Path, name: str, old: bytes, new: bytes, words: str | None
) -> None:
    pytest.importorskip("fastexcel")
    path = write_workbook(tmp_path / "book.xlsx", [["id", "judge"], ["x", 1]])
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content.replace(old, new, 1) if name in part else content)
    if words is None:
        assert read_table(path).rows() == [("x", 1.0)]
        return
    with pytest.raises(DataError, match=words):
        read_table(path)


@pytest.mark.attack("workbooks")
def test_a_formula_is_read_as_its_value_and_written_without_effect(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = write_workbook(tmp_path / "book.xlsx", [["id", "judge"], ["x", 1]])
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    formula = (b'<row r="3"><c r="A3" t="str"><f>WEBSERVICE("http://127.0.0.1:9/")</f>'
               b"<v>=cmd|'/c calc'!A0</v></c><c r=\"B3\"><v>2</v></c></row>"
               b"</sheetData>")  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content.replace(b"</sheetData>", formula))
    frame = read_table(path)
    assert frame["id"].to_list() == ["x", "=cmd|'/c calc'!A0"]
    written = write_rows(frame, tmp_path / "rows.csv").read_text()
    assert "\n'" in written
    assert "\n=" not in written


def test_a_workbook_without_the_package_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_workbook(tmp_path / "book.xlsx", [["id", "judge"], ["x", 1]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(DataError, match=r"is an Excel workbook; pip install 'adjudge\[excel\]'"):
        read_table(path)


def test_text_as_excel_saves_it(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_bytes("id\tjudge\thuman\r\nä\tTRUE\tFALSE\r\nb\tFALSE\t\r\n".encode("utf-16"))
    grades = prepare_grades(path)
    assert (grades.frame["id"].to_list(), grades.judge.tolist()) == (["ä", "b"], [1, 0])
    assert (grades.human[0], np.isnan(grades.human[1])) == (0, True)
    path.write_text("sep=;\nid;judge;human\na;1;0\n")
    assert prepare_grades(path).frame.rows() == [("a", "1", "0")]


@pytest.mark.parametrize("above", [[["Results of May"]], [["Results of May"], [None] * 3]])
def test_the_header_of_a_workbook_can_be_below_a_title(
    above: list[list[Any]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("fastexcel")
    table = [["id", "judge", "human"], ["x", 1, 0], ["y", 0, 0]]
    filled = [["" if cell is None else cell for cell in row] for row in above]
    path = write_workbook(tmp_path / "book.xlsx", [*filled, *table])
    assert read_table(path).rows() == [("x", 1, 0), ("y", 0, 0)]
    assert "the header is below a title: id, judge, human" in caplog.text


def test_a_title_without_a_sure_header_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    remedy = "is a title, not the header; delete the rows above the one with the names"
    path = write_workbook(tmp_path / "book.xlsx", [["Results"], ["x", 1, 0], ["y", 0, 0]])
    with pytest.raises(FileError, match=f"row 1 {remedy}"):
        read_table(path)
    path = tmp_path / "rows.csv"
    path.write_text("Results of May,,\n,,\nid,judge,human\nx,1,0\n")
    with pytest.raises(DataError, match=f"the first line {remedy}"):
        read_table(path)
