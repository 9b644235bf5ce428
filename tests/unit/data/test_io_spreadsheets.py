"""CSV that a spreadsheet may open: nothing in it runs, and everything comes back."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from adjudge.data import iter_rows, read_table, write_rows
from adjudge.data.csv_files import MARK
from adjudge.data.writing import row_writer

FORMULAS = [
    "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1+1", "＝1", "-",
]  # fmt: skip
PLAIN = ["-1.5", "+2", "1e-3", "-0", "'=quoted'", "'", "a=b", "", "7", "don't", f"x{MARK}=1"]


def starts_a_formula(cell: str) -> bool:
    return cell.lstrip(" ")[:1] in {*"=+-@\t\r\n＝＋－＠"} and not cell.lstrip("+-")[:1].isdigit()


def cells_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_nothing_in_a_csv_runs_and_all_of_it_comes_back(suffix: str, tmp_path: Path) -> None:
    texts = FORMULAS + PLAIN
    frame = pl.DataFrame({"=name": texts, "x": [-1.5] * len(texts)})
    path = write_rows(frame, tmp_path / f"rows{suffix}")
    assert read_table(path, text=["=name"]).equals(frame)
    assert [row["=name"] for row in iter_rows(path)] == texts


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_column_without_a_name_keeps_it(suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["x"], "": ["=1"]})
    assert read_table(write_rows(frame, tmp_path / f"rows{suffix}")).equals(frame)


def test_a_stream_of_rows_is_written_the_same_way(tmp_path: Path) -> None:
    texts = FORMULAS + PLAIN
    path = tmp_path / "rows.csv"
    with row_writer(path, schema={}) as writer:
        writer.write({"id": n, "@note": text} for n, text in enumerate(texts))
    whole = write_rows(pl.DataFrame({"id": range(len(texts)), "@note": texts}), tmp_path / "w.csv")
    cells = [cell for row in cells_of(path) for cell in row]
    assert not any(map(starts_a_formula, cells))
    assert path.read_bytes() == whole.read_bytes()
    assert [row["@note"] for row in iter_rows(path)] == texts


def test_numbers_stay_numbers_and_only_formulas_are_marked(tmp_path: Path) -> None:
    path = write_rows({"x": [-1.5, 2.0], "t": ["-1.5", "=A1"]}, tmp_path / "rows.csv")
    assert path.read_text() == f"x,t\n-1.5,-1.5\n2.0,{MARK}=A1\n"
    assert read_table(path)["x"].to_list() == [-1.5, 2.0]


def test_an_apostrophe_that_somebody_else_wrote_is_theirs(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,t\n1,'=1+1\n2,'- a list\n")
    assert read_table(path)["t"].to_list() == ["'=1+1", "'- a list"]


def test_a_file_that_a_spreadsheet_saved_again_still_comes_back(tmp_path: Path) -> None:
    ours = write_rows({"id": ["a", "b"], "t": ["=1+1", "-x"]}, tmp_path / "rows.csv")
    cells = cells_of(ours)
    theirs = tmp_path / "saved.csv"
    with theirs.open("w", newline="", encoding="utf-8-sig") as out:
        csv.writer(out, delimiter=";", quoting=csv.QUOTE_ALL).writerows(cells)
    assert read_table(theirs)["t"].to_list() == ["=1+1", "-x"]
