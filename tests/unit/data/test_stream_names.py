"""Streams of pairs and items follow the rules of frames: names, words, ids nearly equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import iter_items, iter_pairs, open_pairs, read_pairs
from adjudge.data.steps import repeats as repeats_module
from adjudge.errors import DataError
from adjudge.records import Pair

_TEXTS = {"prompt": "2+2?", "response_a": "4", "response_b": "5"}


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _pairs(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": f"r{number}", **_TEXTS, **row} for number, row in enumerate(rows)]


def _read(path: Path, rows: list[dict[str, Any]]) -> list[Pair]:
    return list(iter_pairs(_write(path / "rows.jsonl", rows)))


@pytest.mark.parametrize("name", ["Labelled_By", "labelledBy", "labelled-by", " labelled by "])
def test_a_column_that_is_not_declared_is_read_in_any_spelling(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    [pair] = _read(tmp_path, _pairs({name: "model"}))
    assert pair.extra == {name: "model", "labelled_by": "model"}
    assert f"read {name} as labelled_by" in caplog.text


def test_two_spellings_of_one_name_are_refused(tmp_path: Path) -> None:
    both = {"Labelled_By": "model", "LABELLED_BY": "person"}
    with pytest.raises(DataError, match="Labelled_By and LABELLED_BY can each be labelled_by"):
        _read(tmp_path, _pairs(both))


def test_a_second_spelling_beside_the_exact_name_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    equal = {"label": "A", "Label": "A"}
    other = {"label": "A", "Label": "B"}
    read = _read(tmp_path, _pairs(equal, other, other))
    assert [pair.label for pair in read] == ["A", "A", "A"]
    assert caplog.text.count("label is read, not Label") == 1


def test_a_second_spelling_with_the_same_values_is_not_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _read(tmp_path, _pairs({"label": "A", "Label": "A"}))
    assert "is read, not" not in caplog.text


@pytest.mark.parametrize("column", ["label", "sampled_by"])
def test_an_exact_name_after_another_spelling_was_read_is_refused(
    tmp_path: Path, column: str
) -> None:
    rows = _pairs({column.title(): "A"}, {column: "B"})
    with pytest.raises(DataError, match=f"{column} and {column.title()} can each be {column}"):
        _read(tmp_path, rows)


def test_the_column_that_the_caller_names_is_the_only_one(tmp_path: Path) -> None:
    rows = _pairs({"Label": "A"}, {"label": "B"})
    path = _write(tmp_path / "rows.jsonl", rows)
    read = list(iter_pairs(path, columns={"label": "Label"}))
    assert [pair.label for pair in read] == ["A", None]


def test_a_model_name_is_a_word_only_of_its_own_row(tmp_path: Path) -> None:
    rows = _pairs(
        {"model_a": "x", "model_b": "y", "label": "x"},
        {"model_a": "y", "model_b": "x", "label": "x"},
        {"model_a": "y", "model_b": "x", "label": " Model_A "},
    )
    expected = ["A", "B", "A"]
    assert [pair.label for pair in _read(tmp_path, rows)] == expected
    assert read_pairs(rows)["label"].to_list() == expected


def test_a_word_is_refused_with_its_own_row(tmp_path: Path) -> None:
    rows = _pairs({"label": "A"}, {"label": "left"}, {"label": "middle"})
    with pytest.raises(DataError, match=r"row 3, column label: 'middle' is not known"):
        _read(tmp_path, rows)


ALIKE = [(" r0 ", 1), ("R0", 1), ("r0\u00a0", 1), ("\uff520", 1), ("r1x", 0)]


@pytest.mark.parametrize(("other", "number"), ALIKE)
def test_ids_that_are_nearly_equal_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, other: str, number: int
) -> None:
    rows = _pairs({}, {"id": other})
    assert len(_read(tmp_path, rows)) == 2
    assert caplog.text.count("1 id is nearly equal to another") == number
    caplog.clear()
    read_pairs(rows)
    assert caplog.text.count("1 id is nearly equal to another") == number


def test_ids_in_different_batches_are_compared(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats_module, "_BATCH", 2)
    monkeypatch.setattr(repeats_module, "_HASHES", 3)
    names = ["7", "8", "9", "R7", "08", " 9.0", "r7", "10"]
    items = [{"id": name, "prompt": "p", "response": "r"} for name in names]
    assert len(list(iter_items(_write(tmp_path / "items.jsonl", items)))) == len(names)
    assert "3 ids are nearly equal to another" in caplog.text


def test_ids_that_we_made_are_never_nearly_equal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{key: value for key, value in row.items() if key != "id"} for row in _pairs({}, {})]
    assert len(list(open_pairs(_write(tmp_path / "rows.jsonl", rows)))) == 2
    assert "nearly equal" not in caplog.text
