"""read_table: what a file is, and what is wrong with it."""

from __future__ import annotations

import errno
import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from adjudge.atomic import replacing
from adjudge.data import csv_files, iter_rows, read_table, write_rows
from adjudge.data.files import LINE_LIMIT
from adjudge.errors import ArgumentError, DataError

ROWS = pl.DataFrame({"id": ["x", "y"], "n": [1, 2], "p": [0.5, None], "ok": [True, False]})


def put(folder: Path, content: bytes, name: str = "table") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def message(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_table(path)
    text = str(caught.value)
    assert "\n" not in text
    return text.removeprefix(str(path))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_content_decides_not_the_name(tmp_path: Path, suffix: str, packed: str) -> None:
    written = write_rows(ROWS, tmp_path / f"rows{suffix}{packed}")
    nameless = written.rename(tmp_path / "nameless")
    assert_frame_equal(read_table(nameless), ROWS)
    streamed = list(iter_rows(nameless))
    assert [row["id"] for row in streamed] == ["x", "y"]


def test_json_array_and_byte_order_mark(tmp_path: Path) -> None:
    text = json.dumps(ROWS.to_dicts(), indent=2).encode()
    assert_frame_equal(read_table(put(tmp_path, text)), ROWS)
    assert_frame_equal(read_table(put(tmp_path, b"\xef\xbb\xbf" + text)), ROWS)
    csv = b"\xef\xbb\xbfid,n\r\nx,1\r\n"
    assert read_table(put(tmp_path, csv)).to_dicts() == [{"id": "x", "n": 1}]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiters(tmp_path: Path, delimiter: str) -> None:
    text = delimiter.join(["a", "b"]) + "\n" + delimiter.join(["1", "x"]) + "\n"
    assert read_table(put(tmp_path, text.encode())).to_dicts() == [{"a": 1, "b": "x"}]


def test_csv_numbers_only_where_written_as_such(tmp_path: Path) -> None:
    text = b"code,whole,real,flag,mixed\n007,7,1e-3,true,1\n008,-8,2.5,False,x\n"
    frame = read_table(put(tmp_path, text))
    assert frame.to_dicts()[0] == {
        "code": "007", "whole": 7, "real": 0.001, "flag": True, "mixed": "1",
    }  # fmt: skip
    assert read_table(put(tmp_path, text), text=None).dtypes == [pl.String] * 5


def test_csv_empty_field_is_missing_and_quoted_empty_is_text(tmp_path: Path) -> None:
    frame = read_table(put(tmp_path, b'a,b\nx,\ny,""\n'))
    assert frame["b"].to_list() == [None, ""]


def test_csv_quotes_newlines_and_blank_lines(tmp_path: Path) -> None:
    text = b'a,b\n\n"x, ""y""\nz",1\n\nw,2\n\n'
    assert read_table(put(tmp_path, text)).to_dicts() == [
        {"a": 'x, "y"\nz', "b": 1},
        {"a": "w", "b": 2},
    ]


def test_csv_stray_quote_inside_a_field(tmp_path: Path) -> None:
    text = b'a,b\n5" nail,1\n6" nail,2\n'
    assert read_table(put(tmp_path, text))["a"].to_list() == ['5" nail', '6" nail']


def test_csv_over_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"a": f'text, "{i}"\nline', "b": i} for i in range(500)]
    path = write_rows(pl.DataFrame(rows), tmp_path / "rows.csv")
    monkeypatch.setattr(csv_files, "BLOCK", 100)
    assert read_table(path).to_dicts() == rows
    with path.open("a") as file:
        file.write("short\n")
    assert "row 501" in message(path)


def test_json_types_survive(tmp_path: Path) -> None:
    text = b'{"a": 1, "s": {"x": [1, 2]}}\n\n{"a": 2.5, "new": "late"}\n'
    assert read_table(put(tmp_path, text)).to_dicts() == [
        {"a": 1.0, "s": {"x": [1, 2]}, "new": None},
        {"a": 2.5, "s": None, "new": "late"},
    ]


@pytest.mark.parametrize(
    "lines",
    [
        b'{"a": true}\n{"a": 0.5}\n',
        b'{"a": NaN}\n{"a": 1}\n',
        b'{"a": [1]}\n{"a": "x"}\n',
        b'{"a": 99999999999999999999999}\n{"a": "x"}\n',
    ],
)
def test_mixed_json_is_read_without_losing_values(tmp_path: Path, lines: bytes) -> None:
    frame = read_table(put(tmp_path, lines))
    assert frame.height == 2
    assert frame["a"].null_count() == 0


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"", ": is empty"),
        (b" \n\n ", ": is empty"),
        (b"\xef\xbb\xbf", ": is empty"),
        (b"id,label\n", ": has a header and no rows"),
        (b"[]", ": has no rows"),
        (b"a,b\n1,2\n3\n", ", row 2: has 1 field where the header has 2; put quotes"),
        (b"words\nand, more\n", ", row 1: has 2 fields where the header has 1; give a table"),
        (b"a,b\n1,2\n3,4,5\n", ", row 2: has 3 fields where the header has 2"),
        (b'a,b\n1,"2\n3,4\n', ", row 1: cannot be read as CSV"),
        (b"a,a\n1,2\n", ": two columns have the name 'a'"),
        (b"a,b\n1,x\n2,\xff\n", ", row 2: is not valid UTF-8"),
        (b"\xff,b\n1,x\n", ": the header is not valid UTF-8"),
        (b'{"a": 1}\n{"a": "\xff"}\n', ", row 2: is not valid UTF-8"),
        (b'{"a": 1}\n{"a": \n', ", row 2: is not valid JSON"),
        (
            b'{"a": "x\n"}\n',
            ", row 1: is not valid JSON (Invalid control character at character 9)",
        ),
        (b'{"a": 1}\n[1]\n', ", row 2: is a JSON list, not an object"),
        (b'{"a": 1}\n{"a": "\\ud800"}\n', ", row 2: contains half of a character"),
        (b'{\n "a": 1\n}\n', ": is one JSON object without rows"),
        (b'[{"a": 1}, {"a": ]', ", row 2: is not valid JSON"),
        (b'[{"a": 1}, 2]', ", row 2: is a JSON int, not an object"),
        (b'[{"a": 1}', ", row 2: is not valid JSON"),
        (b'[{"a": 1} {"a": 2}]', ", row 2: is not valid JSON (Expecting ',' delimiter"),
        (b'[{"a": 1},]', ", row 2: is not valid JSON"),
        (b'[{"a": 1}] [{"a": 2}]', ", row 1: continues after the end"),
        (b'[{"a": tru}, ' + b'{"a": 1}, ' * 300_000 + b"]", ", row 1: is not valid JSON"),
        (b'[{"a": "\xff"}]', ", row 1: is not valid UTF-8"),
        (b"PAR1 and nothing else", ": is not a complete Parquet file"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", ": the gzip file ends too early"),
        (b"\x1f\x8bnot gzip at all..........", ": the gzip file is damaged"),
        (b"PK\x03\x04rest", ": is a zip archive or a spreadsheet"),
        (b"\xff\xfea\x00,\x00b", ": is not valid UTF-16; save the file as UTF-8"),
        (b"abc\x00\x01\x02", ": is a binary file"),
    ],
)
def test_one_clear_line(tmp_path: Path, content: bytes, refusal: str) -> None:
    assert message(put(tmp_path, content)).startswith(refusal)


def test_truncated_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"id": "x"}\n' * 5000)
    assert "ends too early" in message(put(tmp_path, whole[: len(whole) // 2]))


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    assert "no such file" in message(tmp_path / "nowhere.csv")
    assert "is a folder" in message(tmp_path)


@pytest.mark.parametrize("start", [b'{"id": "', b"id,", b'["', b'id\n"'])
def test_a_line_of_two_gigabytes_is_not_read(tmp_path: Path, start: bytes) -> None:
    """Two gigabytes packed into two megabytes: refused after 64 MiB, in memory of that order."""
    member = gzip.compress(b"a" * 2**20)
    path = put(tmp_path, gzip.compress(start) + member * 2048)
    tracemalloc.start()
    refusal = message(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "one line is longer than 64 MiB" in refusal
    assert peak < 8 * LINE_LIMIT


def test_a_long_json_array_is_read_in_pieces(tmp_path: Path) -> None:
    rows = [{"i": i, "text": f'[{i}], "é" ' * 40} for i in range(20_000)]
    path = put(tmp_path, json.dumps(rows, ensure_ascii=False).encode())
    assert path.stat().st_size > 2**20 * 5
    assert list(iter_rows(path)) == rows
    assert read_table(path).to_dicts() == rows


def test_frames_in_memory() -> None:
    frame = pl.DataFrame({"id": [1, 2], "p": [0.5, None]})
    assert_frame_equal(read_table(frame), frame)
    assert_frame_equal(read_table(frame.to_dicts()), frame)
    assert_frame_equal(read_table({"id": [1, 2], "p": [0.5, None]}), frame)
    assert_frame_equal(read_table(frame.lazy()), frame)
    pandas = pd.DataFrame({"id": [1, 2], "p": [0.5, float("nan")]})
    assert_frame_equal(read_table(pandas), frame)


def test_what_is_no_table() -> None:
    with pytest.raises(ArgumentError, match="give a path, or a polars, pandas, Arrow"):
        read_table(7)
    with pytest.raises(DataError, match="the DataFrame: has no rows"):
        read_table(pl.DataFrame({"id": []}))


def test_write_refuses_what_cannot_come_back(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"frame\[1, 'p'\] = nan"):
        write_rows(pl.DataFrame({"p": [0.5, float("nan")]}), tmp_path / "rows.jsonl")
    with pytest.raises(ArgumentError, match=r"end it in \.jsonl"):
        write_rows(ROWS, tmp_path / "rows.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_nested_columns_go_into_csv_as_json(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["x", "y"], "probs": [[0.25, 0.75], None], "s": [{"a": 1}] * 2})
    back = read_table(write_rows(frame, tmp_path / "rows.csv"))
    assert json.loads(back["probs"][0]) == [0.25, 0.75]
    assert back["probs"][1] is None
    assert json.loads(back["s"][0]) == {"a": 1}


def test_packed_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    first = write_rows(ROWS, tmp_path / "one.jsonl.gz").read_bytes()
    assert write_rows(ROWS, tmp_path / "two.jsonl.gz").read_bytes() == first


def test_a_folder_is_no_place_for_a_result(tmp_path: Path) -> None:
    for place in (tmp_path, Path()):
        with pytest.raises(DataError, match="is a folder; name a file in it"), replacing(place):
            pass


def test_a_pipe_is_written_to_and_a_link_stays_a_link(tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for place in (pipe, link):
            with replacing(place) as partial:
                partial.write_text("row")
        assert os.read(reader, 10) == b"row"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert target.read_text() == "row"


def test_an_error_while_writing_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="broken") as caught, replacing(tmp_path / "x.csv") as partial:
        raise OSError(errno.EIO, "broken", str(partial))
    assert caught.value.filename == str(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("No space left on device (os error 28)"),  # as polars raises it
        pl.exceptions.ComputeError("parquet: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_said_with_the_file_and_the_remedy(error: Exception, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    refused = pytest.raises(DataError, match=r"x.csv: not written: No space .*; free space")
    with refused, replacing(target):
        raise error
    with pytest.raises(pl.exceptions.ComputeError, match="another"), replacing(target):
        raise pl.exceptions.ComputeError("another reason")
