"""What `adjudge start` shows of a file."""

from __future__ import annotations

from adjudge.cli.start import Answer, Guide, ReadAs
from shown import markdown_lines, terminal_lines

GUIDE = Guide(
    file="runs.csv",
    read_as=(
        ReadAs(rows_kind="grades", rows=1200, labels=85, remarks=("left out 3 rows: no verdict",)),
        ReadAs(rows_kind="single answers", rows=1203, labels=None),
    ),
    answers=(Answer(question="What rate can I report?", command="adjudge estimate runs.csv"),),
    refused={"battles": "runs.csv, column model_a: is missing"},
)


def test_a_file_that_can_be_read_in_two_ways() -> None:
    assert terminal_lines(GUIDE) == [
        "runs.csv can be read as grades (1,200 rows, 85 labels); single answers (1,203 rows)",
        "# What rate can I report?",
        "adjudge estimate runs.csv",
        "left out 3 rows: no verdict",
    ]
    assert markdown_lines(GUIDE)[-2:] == [
        "detail: What it is not, and why",
        "detail: battles: runs.csv, column model_a: is missing",
    ]
