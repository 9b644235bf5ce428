"""Columns that an analysis does not need are not unpacked, and nobody can tell by its result."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

from adjudge import calibrate, diagnose_bias, estimate, rank, select
from adjudge.data import tables
from adjudge.data.outcomes import code_sorted
from adjudge.data.rows import partition
from adjudge.data.source import Needs, Source
from adjudge.data.steps.repeats import refuse_duplicates
from adjudge.errors import AdjudgeError
from adjudge.selection import evaluate_doubt
from adjudge.simulate.pairs import two_order_judge

TEXTS = {"prompt": "Why?", "response_a": "So.", "response_b": "No.", "remark": "long"}


@pytest.fixture
def columns_read(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns of every frame that comes out of a Parquet file."""
    seen: list[list[str]] = []
    read = tables._parquet

    def note(*given: object) -> pl.DataFrame:
        frame = read(*given)  # type: ignore[arg-type]
        seen.append(frame.columns)
        return frame

    monkeypatch.setattr(tables, "_parquet", note)
    return seen


def judged(rows: int, seed: int) -> pl.DataFrame:
    return pl.DataFrame(two_order_judge(rows, seed=seed))


def write(folder: Path, frame: pl.DataFrame) -> Path:
    path = folder / "rows.parquet"
    frame.write_parquet(path)
    return path


def with_texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(**{name: pl.lit(text) for name, text in TEXTS.items()})


@pytest.mark.parametrize("verb", [evaluate_doubt, calibrate])
def test_selection_leaves_texts_in_the_file(
    verb: object, tmp_path: Path, columns_read: list[list[str]]
) -> None:
    rows = judged(200, seed=1)
    options = {"splits": 5} if verb is evaluate_doubt else {}
    result = verb(write(tmp_path, with_texts(rows)), **options)  # type: ignore[operator]
    assert not set(TEXTS) & set(columns_read[-1])
    assert result.to_dict() == verb(rows, **options).to_dict()  # type: ignore[operator]


def test_options_name_columns_that_are_needed(
    tmp_path: Path, columns_read: list[list[str]]
) -> None:
    rows = with_texts(judged(200, seed=1))
    policy = calibrate(write(tmp_path, rows), by="remark")
    assert [group.group for group in policy.groups] == ["long"]
    assert "remark" in columns_read[-1]
    assert "response_a" not in columns_read[-1]


def test_learned_doubt_needs_the_texts(tmp_path: Path, columns_read: list[list[str]]) -> None:
    rows = with_texts(judged(300, seed=1))
    policy = calibrate(write(tmp_path, rows), doubt="learned")
    assert {"response_a", "response_b"} <= set(columns_read[-1])
    assert policy.doubt is not None


def test_other_verbs(tmp_path: Path, columns_read: list[list[str]]) -> None:
    grades = pl.DataFrame({"id": range(40), "judge": [1, 0] * 20, "human": [1, 0, None, None] * 10})
    named = grades.with_columns(pl.lit("x").alias("remark"))
    assert estimate(write(tmp_path, named)).to_dict() == estimate(grades).to_dict()
    battles = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["tie"] * 2})
    rank(write(tmp_path, battles.with_columns(remark=pl.lit("x"))), interval="none")
    diagnose_bias(write(tmp_path, with_texts(judged(50, seed=1))))
    assert all("remark" not in columns for columns in columns_read)
    assert {"response_a", "prompt"} <= set(columns_read[-1])


def test_a_refusal_names_all_columns(tmp_path: Path) -> None:
    rows = with_texts(judged(50, seed=1))
    with pytest.raises(AdjudgeError, match="remark"):
        calibrate(write(tmp_path, rows), by="colour")
    misnamed = rows.drop("prompt", "response_a", "response_b").rename({"p_rev": "y"})
    with pytest.raises(AdjudgeError, match="remark"):
        calibrate(write(tmp_path, misnamed))


def test_rows_that_are_written_keep_every_column(tmp_path: Path) -> None:
    rows = with_texts(judged(200, seed=1))
    policy = calibrate(rows)
    assert set(TEXTS) <= set(select(write(tmp_path, rows), policy=policy).rows.columns)


def test_rows_without_an_id_are_called_by_their_texts(tmp_path: Path) -> None:
    rows = with_texts(judged(20, seed=1)).with_columns(prompt=pl.col("id")).drop("id")
    needs = Needs(("judgments",))
    schema = rows.with_columns(id=pl.lit("x")).schema
    assert "prompt" in needs.unneeded(schema)
    assert str(Source(write(tmp_path, rows)).narrow(needs).rows) == str(tmp_path / "rows.parquet")


def test_a_damaged_file_is_left_to_its_reader(tmp_path: Path) -> None:
    data = io.BytesIO()
    judged(20, seed=1).write_parquet(data)
    path = tmp_path / "rows.parquet"
    path.write_bytes(data.getvalue()[:-10])
    assert str(Source(path).narrow(Needs(("judgments",))).rows) == str(path)
    with pytest.raises(AdjudgeError, match="not a complete Parquet file"):
        evaluate_doubt(path)


def test_one_part_is_not_copied() -> None:
    frame = pl.DataFrame({"judge": ["x", "x"], "p": [1, 2]})
    assert partition(frame, ["judge"])[0] is frame
    parts = partition(pl.DataFrame({"judge": ["y", "x", None, "y"]}), ["judge"])
    assert [part["judge"].to_list() for part in parts] == [["y", "y"], ["x"], [None]]
    assert partition(frame.clear(), ["judge"]) == []


@pytest.mark.parametrize(
    "ids", [["b", "a", "b"], ["a", "a"], ["a", None, None], ["x9", "x10", "x9"], ["x9", "x10"] * 2]
)
def test_duplicates_in_any_order(ids: list[str | None]) -> None:
    for cut in range(len(ids)):
        frame = pl.concat([pl.DataFrame({"id": part}) for part in (ids[:cut], ids[cut:]) if part])
        with pytest.raises(AdjudgeError, match="twice"):
            refuse_duplicates(frame, ["id"], source="rows", remedy="")
    for distinct in (["b", "a"], ["x9", "x10", "x11"], ["x10", "x9", None], [10, 9]):
        refuse_duplicates(pl.DataFrame({"id": distinct}), ["id"], source="rows", remedy="")


def test_more_names_than_short_hashes_tell_apart() -> None:
    names = [f"model-{k}" for k in range(20_000)]
    text = pl.Series([*names, None, *reversed(names)])
    coded, at = code_sorted(text)
    assert list(coded) == sorted(names)
    assert [None if k < 0 else coded[k] for k in at] == text.to_list()
