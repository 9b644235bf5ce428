"""Whatever the bytes: a frame or one clear line, and what is written comes back."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from adjudge.data import (
    FORMATS,
    iter_items,
    iter_pairs,
    iter_rows,
    prepare_grades,
    read_battles,
    read_judgments,
    read_labels,
    read_pairs,
    read_public,
    read_scores,
    read_table,
    read_tournaments,
    sniff,
    write_rows,
)
from adjudge.data.battles import BATTLE_COLUMNS
from adjudge.data.formats import load_format
from adjudge.data.judgments import JUDGMENT_COLUMNS
from adjudge.data.labels import LABEL_COLUMNS
from adjudge.data.pairs import PAIR_COLUMNS
from adjudge.data.scores import SCORE_COLUMNS
from adjudge.data.tournaments import TOURNAMENT_COLUMNS
from adjudge.data.writing import row_writer
from adjudge.errors import AdjudgeError

READERS = (
    read_battles,
    prepare_grades,
    read_judgments,
    read_labels,
    read_pairs,
    read_scores,
    read_tournaments,
)
COMMON = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])

LAYOUTS = (
    BATTLE_COLUMNS, JUDGMENT_COLUMNS, LABEL_COLUMNS, PAIR_COLUMNS, SCORE_COLUMNS,
    TOURNAMENT_COLUMNS,
)  # fmt: skip
#: Names that the readers know, so that random tables get past the first check.
NAMES = st.sampled_from(
    [column.name for layout in LAYOUTS for column in layout.columns]
    + ["human_pref", "scores_a", "scores_b", "expert1", "human"]
)  # fmt: skip
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["A", "B", "tie", "ok", "error", "model_a", "0.5", "1", "", "{'x': 1}", "[1]"]),
    st.text(max_size=8),
    st.lists(st.floats(0, 1), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=12), min_size=1, max_size=5)
START = st.sampled_from(
    [b"", b"PAR1", b"\x1f\x8b\x08", b"{", b'[{"a":', b'{"id": 1}\n', b"id,label\n", b'"a\nb",c\n',
     b"\xef\xbb\xbf", b"id\tlabel\r\n"]
)  # fmt: skip


def refused(read: Callable[[Path], Any], path: Path) -> bool:
    """Whether the reader refused, which it may do in one line and no other way."""
    try:
        read(path)
    except AdjudgeError as error:
        text = str(error)
    else:
        return False
    assert "\n" not in text
    return True


def reads_or_refuses(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        if not refused(read_table, path):
            height = read_table(path).height
            assert height > 0
            assert sum(1 for _ in iter_rows(path)) == height


@COMMON
@given(START, st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_one_clear_line(start: bytes, rest: bytes) -> None:
    reads_or_refuses(start + rest)
    reads_or_refuses(gzip.compress(start + rest))


@COMMON
@given(st.text(alphabet='ab1,"\n\r;\t{}[]: \\u', max_size=120))
def test_any_text_made_of_separators(text: str) -> None:
    reads_or_refuses(text.encode())
    reads_or_refuses(b"a,b\n" + text.encode())
    reads_or_refuses(b'{"a": 1}\n' + text.encode())


@COMMON
@given(st.data())
def test_a_damaged_file_is_a_frame_or_one_clear_line(data: st.DataObject) -> None:
    """Any of the formats, cut off or with a byte changed."""
    rows = pl.DataFrame({"id": ["x", "y"], "p_a": [0.5, 0.25], "s": [[1, 2], None]})
    suffix = data.draw(st.sampled_from([".jsonl", ".csv", ".parquet", ".jsonl.gz", ".parquet.gz"]))
    with tempfile.TemporaryDirectory() as folder:
        content = bytearray(write_rows(rows, Path(folder) / f"rows{suffix}").read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content[at] = data.draw(st.integers(0, 255))
    reads_or_refuses(bytes(content))


@COMMON
@given(RECORDS)
def test_any_table_is_checked_or_refused(records: list[dict[str, Any]]) -> None:
    """Every native and public reader: rows, or an AdjudgeError of one line."""
    text = "\n".join(json.dumps(record) for record in records)
    assume(text.strip())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(text)
        for read in (*READERS, lambda p: list(iter_pairs(p)), lambda p: list(iter_items(p)), sniff):
            refused(read, path)


@COMMON
@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_any_public_row_is_converted_or_refused(name: str, data: st.DataObject) -> None:
    signature = load_format(name).signature
    columns = {*signature.needs, *(min(options) for options in signature.one_of)}
    nested = st.one_of(
        VALUES,
        st.lists(
            st.dictionaries(st.sampled_from(["role", "content", "score"]), VALUES), max_size=3
        ),
    )
    record = {column: data.draw(nested) for column in sorted(columns)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(json.dumps(record))
        for kind in load_format(name).gives:
            refused(partial(read_public, format=name, kind=kind), path)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".jsonl.gz", ".csv.gz"])
@COMMON
@given(
    st.lists(
        st.tuples(TEXT, st.none() | TEXT, st.integers(-(2**63), 2**63 - 1), st.none() | FINITE),
        min_size=1,
        max_size=6,
    )
)
def test_what_is_written_comes_back(suffix: str, rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(
        rows,
        schema={"id": pl.String, "note": pl.String, "n": pl.Int64, "x": pl.Float64},
        orient="row",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(frame, Path(folder) / f"rows{suffix}")
        back = read_table(path, text=["id", "note"])
        # A column of nothing but gaps, or of whole numbers, has no other type to be known by.
        back = back.cast({"x": pl.Float64, "n": pl.Int64, "note": pl.String})
        assert_frame_equal(back, frame, check_exact=True)
        assert [row["id"] for row in iter_rows(path)] == frame["id"].to_list()


#: Texts that a spreadsheet would run, that look as if they were marked, and neighbours of both.
CELLS = st.text("'\u2060=+-@\t\r\n 1.5e\"＝x", max_size=8)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@COMMON
@given(st.lists(CELLS, min_size=1, max_size=6), CELLS)
@example(["x"], "1\t\t1")  # more tabs than commas in the header
def test_cells_that_a_spreadsheet_would_run_come_back(
    suffix: str, cells: list[str], name: str
) -> None:
    frame = pl.DataFrame({"id": range(len(cells)), name.strip() or "t": cells})
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(frame, Path(folder) / f"rows{suffix}")
        back = read_table(path, text=frame.columns[1:])
        assert_frame_equal(back, frame, check_exact=True)
        streamed = Path(folder) / f"streamed{suffix}"
        with row_writer(streamed, schema={}) as writer:
            writer.write(frame.iter_rows(named=True))
        again = read_table(streamed, text=frame.columns[1:])
        assert_frame_equal(again, frame, check_exact=True)
        with path.open(newline="", encoding="utf-8") as file:
            _, *rows = csv.reader(file, delimiter="," if suffix == ".csv" else "\t")
        assert not [cell for _, cell in rows if re.match(r"[ \t\r\n]*[=@＝]", cell)]


PROBABILITY = st.floats(0, 1)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@COMMON
@given(st.lists(st.tuples(PROBABILITY, PROBABILITY, st.sampled_from("AB")), min_size=1, max_size=6))
def test_judgments_survive_a_file(suffix: str, rows: list[tuple[Any, ...]]) -> None:
    frame = read_judgments(
        {
            "id": list(range(len(rows))),
            "p_fwd": [row[0] for row in rows],
            "p_rev": [row[1] for row in rows],
            "label": [row[2] for row in rows],
        }
    )
    assert frame["p_a"].is_between(0, 1).all()
    assert frame["uncertainty"].is_between(0, 0.6932).all()
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(frame, Path(folder) / f"judgments{suffix}")
        assert_frame_equal(read_judgments(path), frame, check_exact=True)
