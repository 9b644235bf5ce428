"""The quick ways of reading give the same table as the exact ones, whatever is in the file."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from adjudge.data import csv_files, files, json_files, read_judgments, read_table, tables
from adjudge.errors import DataError

COMMON = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        ["x", "N/A", "NaN", "null", "1.10", "007", " led", 'a "quote"', "a\\b", "k:", "\u2060é", ""]
    ),
    st.sampled_from([1, 0, 1.5, 2.0, 1.10, 1e300, 2**53 + 1, 2**63, -(2**70), [1], {"a": 1}, []]),
)
KEYS = st.sampled_from(["id", "p a", "é", "k\\", 'q"'])
ROWS = st.lists(st.dictionaries(KEYS, ODD, min_size=1), min_size=1, max_size=6)
STYLE = st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : "), (",", ": ")])
WRAP = st.sampled_from([lambda b: b, lambda b: b"\xef\xbb\xbf" + b, gzip.compress])

NUMBERS = st.one_of(
    st.floats(0, 1).map(repr),
    st.text("0123456789", min_size=1, max_size=30).map("0.{}".format),
    st.sampled_from(["", "0", "1", "007", ".5", "1.", "+1", "5e-1", "1e-400", '"0.5"', '""']),
)
#: What people, spreadsheets and other tools write instead of a number.
OTHERS = st.one_of(
    st.sampled_from([" 0.5", "\t0.5", "0.5 ", '" 0.5"', " ", "N/A", "NA", "nan", "-nan", "inf"]),
    st.sampled_from(["0,5", "1,234", "0x1", "1_0", "x", "true", "'\u2060=1", '0"5', '"0.5']),
    st.sampled_from(["1e400", "-1", "1.5"]),
)
TEXTS = st.sampled_from(["", "", "a", "'\u2060=1", "é", "-", " "])


def outcome(path: Path) -> pl.DataFrame | str:
    try:
        return read_table(path)
    except DataError as error:
        return str(error)


@COMMON
@given(first=ROWS, later=ROWS, style=STYLE, wrap=WRAP)
def test_json_lines_whose_first_rows_do_not_tell_all(
    monkeypatch: pytest.MonkeyPatch, first: list[Any], later: list[Any], style: Any, wrap: Any
) -> None:
    lines = [json.dumps(row, separators=style, ensure_ascii=False) for row in [*first, *later]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(wrap("\n".join(lines).encode()))
        monkeypatch.setattr(json_files, "_FIRST_ROWS", len(first))
        quick = outcome(path)
        monkeypatch.setattr(json_files, "_FIRST_ROWS", 1000)
        exact = outcome(path)
    assert type(quick) is type(exact)
    if isinstance(quick, pl.DataFrame) and isinstance(exact, pl.DataFrame):
        assert_frame_equal(quick, exact)
    else:
        assert quick == exact


@COMMON
@given(
    rows=st.lists(
        st.lists(st.sampled_from(["", "a", "0.5", "007", "1.", "N/A", "-nan", "inf"]), max_size=4),
        min_size=1,
        max_size=6,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_csv_with_and_without_quotes(rows: list[list[str]], end: str) -> None:
    """A quoted header name sends the same fields through the exact counting."""
    body = end.join(",".join(row) for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("p,q,r" + end + body, newline="")
        quick = outcome(path)
        path.write_text("p,q,r" + end + body + end + '"z",z,z', newline="")
        exact = outcome(path)
    if isinstance(exact, pl.DataFrame) and isinstance(quick, pl.DataFrame):
        assert_frame_equal(quick.cast(pl.String), exact[:-1].cast(pl.String))
    elif isinstance(exact, str) and "no rows" not in str(quick):
        assert quick == exact


@COMMON
@given(
    rows=st.lists(st.tuples(TEXTS, NUMBERS, NUMBERS), min_size=1, max_size=8),
    other=OTHERS,
    place=st.integers(0, 12),
    ragged=st.sampled_from([[], [], [], [""], ["one;0.5"]]),
    end=st.sampled_from(["\n", "\r\n"]),
    wrap=WRAP,
    block=st.sampled_from([20, 80, 1000]),
)
@example([("", "0.5", "1"), ("", "0.5", "1")], "-nan", 1, [], "\n", bytes, 1000)
def test_numbers_of_declared_columns_are_read_as_their_check_reads_text(
    rows: list[tuple[str, str, str]],
    other: str,
    place: int,
    ragged: list[str],
    end: str,
    wrap: Any,
    block: int,
) -> None:
    """Parsed as numbers, block by block, or as text that the check of each column reads."""
    lines = [f"{at}{text};{p_a};{cost};7" for at, (text, p_a, cost) in enumerate(rows)]
    if place < len(rows):
        lines[place] = f"other;{other};1.5;{other if place % 2 else 8}"
    lines[1:1] = ragged

    def read() -> pl.DataFrame | str:
        try:
            return read_judgments(path)
        except DataError as error:
            return str(error)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "rows.csv"
        path.write_bytes(wrap(end.join(["id;p_a;cost;tokens", *lines, ""]).encode()))
        patch.setattr(files, "PIECE", block)
        patch.setattr(csv_files, "BLOCK", block)
        quick = read()
        patch.setattr(tables, "csv_frame", lambda file, _: csv_files.csv_frame(file))
        patch.setattr(csv_files, "_as_numbers", lambda column: column)
        exact = read()
    if isinstance(quick, pl.DataFrame) and isinstance(exact, pl.DataFrame):
        assert_frame_equal(quick, exact, check_exact=True)
    else:
        assert quick == exact
