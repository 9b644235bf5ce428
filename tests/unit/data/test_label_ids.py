"""Labels that cannot be joined say so; ids keep all their digits."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.data import prepare_grades, prepare_judgments, prepare_scores
from adjudge.errors import DataError

ROWS = {"id": ["Q1", "Q2", "Q3", "Q4"], "p_a": [0.9, 0.8, 0.2, 0.1]}


@pytest.mark.attack("rows that do not count")
@pytest.mark.parametrize("label", [None, "", "N/A"])
def test_a_file_without_a_single_label_is_refused(label: str | None) -> None:
    with pytest.raises(DataError, match="column label: has no label; fill in some labels"):
        prepare_judgments(ROWS, labels={"id": ["Q1", "Q2"], "label": [label] * 2})
    grades = {"id": [1, 2], "judge": [1, 0]}
    with pytest.raises(DataError, match="has no label"):
        prepare_grades(grades, labels={"id": [1, 2], "label": [label] * 2}, needs_labels=False)


@pytest.mark.attack("rows that do not count")
@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        (["x1", "x2", "x3", "x4"], r"no row has one of its ids, 'x1', 'x2', 'x3' and 1 more; give"),
        (
            ["q1", "q2", "x3", "x4"],
            r"; 2 would match up to blanks, case, Unicode .*; give labels of these rows",
        ),
        (
            [" Q1", "Q2 ", "Q3 ", "x"],
            r"; 3 would match up to blanks, case, .*; give labels of these rows",
        ),
    ],
)
def test_ids_that_match_no_row_are_named(ids: list[str], hint: str) -> None:
    with pytest.raises(DataError, match=hint) as caught:
        prepare_judgments(ROWS, labels={"id": ids, "label": ["A"] * 4})
    assert "such as 'Q1', 'Q2', 'Q3'" in str(caught.value)
    scores = {"id": ROWS["id"], "doc_id": [1, 2, 3, 4], "judge_score": [1, 2, 3, 4]}
    with pytest.raises(DataError, match=hint):
        prepare_scores(scores, labels={"id": ids, "label": [1, 2, 3, 4]})


def test_numbers_that_are_written_differently_are_named() -> None:
    rows = {"id": [1, 2, 3], "judge": [1, 0, 1]}
    labels = {"id": ["01", "2.0", "x"], "label": [1, 0, 1]}
    with pytest.raises(DataError, match=r"; 2 would match up to .* number form"):
        prepare_grades(rows, labels=labels)
    with pytest.raises(DataError, match=r"or match ids that are alike: --alike-ids \(alike_ids="):
        prepare_grades(rows, labels=labels)
    matched = prepare_grades(rows, labels=labels, alike_ids=True)
    assert matched.human.tolist()[:2] == [1.0, 0.0]
    assert matched.dropped == {"label of an id without a row": 1}


#: An id, and others that people do not tell from it.
ALIKE = [
    ("r1", " r1 "),
    ("r1", "R1"),
    ("r1", "\uff521"),
    ("7", "7.0"),
    ("7", "007"),
    ("é", "e\u0301"),
]


@pytest.mark.parametrize(("ours", "theirs"), ALIKE)
def test_labels_whose_ids_are_nearly_equal_are_counted_and_can_be_matched(
    ours: str, theirs: str
) -> None:
    rows = {"id": [ours, "other"], "judge": [1, 0]}
    labels = {"id": [theirs, "other"], "label": [0, 0]}
    counted = prepare_grades(rows, labels=labels)
    assert list(counted.dropped) == [
        "label of an id that would match up to blanks, case, Unicode or number form: --alike-ids "
        "(alike_ids=True)"
    ]
    assert prepare_grades(rows, labels=labels, alike_ids=True).human.tolist() == [0.0, 0.0]


def test_an_id_that_is_like_two_others_is_refused_if_alike_ids_are_matched() -> None:
    labels = {"id": ["R1", "other"], "label": [0, 0]}
    rows = {"id": [" r1", "r1 ", "other"], "judge": [1, 0, 0]}
    with pytest.raises(DataError, match="'R1' is not the only id like"):
        prepare_grades(rows, labels=labels, alike_ids=True)


@pytest.mark.attack("rows that do not count")
def test_large_ids_next_to_a_fraction_keep_their_digits(tmp_path: Path) -> None:
    ids = [2**53 + 1, 2**53 + 2, 2**53 + 3, 0.5]
    rows = [{"id": key, "p_a": 0.9} for key in ids]
    path = tmp_path / "judgments.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    wanted = [str(key) for key in ids]
    assert prepare_judgments(path).frame["id"].to_list() == wanted
    path.write_text(json.dumps(rows))
    assert prepare_judgments(path).frame["id"].to_list() == wanted


@pytest.mark.attack("headers")
@pytest.mark.parametrize("chance", [1e-300, 1e-200, 5e-324, 0.0])
def test_a_probability_that_no_sample_has_is_refused(chance: float) -> None:
    rows = pl.DataFrame({"judge": [1, 0], "human": [1, None]})
    with pytest.raises(DataError, match="is not a probability; give a number from 1e-12 to 1"):
        prepare_grades(rows.with_columns(sampling_probability=chance))
