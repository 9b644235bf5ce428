"""A user's column called like one of ours, of any type: kept as input_NAME, ours as without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fuzz_attacks import VALUES
from fuzz_commands import write_valid
from fuzzing import arguments_of

from adjudge.cli import run
from adjudge.data import read_table
from adjudge.data.shown import SHOWN_TEXTS
from adjudge.judges.judge import PROTOCOLS
from adjudge.records import Grade, Judgment, Score

JUDGE = "judge {%s} --judge JUDGE --store {out}.db -o {out}.jsonl --protocol %s"
#: Of a pair's or an item's own columns a row carries the value on.
GIVEN = {"id", "label", "human", "doc_id", "model", "extra"}
JUDGMENT = [field.name for field in fields(Judgment) if field.name not in GIVEN]
SCORE = [field.name for field in fields(Score) if field.name not in GIVEN]
GRADE = [field.name for field in fields(Grade) if field.name not in GIVEN]
SETS = "diagnose scores {scores} --splits 1 --write-sets {out}.jsonl"

#: The command, the file it reads, and the columns it writes that this file need not have.
WRITERS: dict[str, tuple[str, str, list[str]]] = {
    **{
        name: (JUDGE % ("pairs", name), "pairs", JUDGMENT)
        for name in ("preference", "likelihood", "verbalized", "rubric", "criterion")
    },
    "annotators": (
        JUDGE % ("pairs", "annotators") + " --demonstrations {demonstrations}", "pairs", JUDGMENT
    ),
    "likert": (JUDGE % ("items", "likert"), "items", SCORE),
    "grade": (JUDGE % ("items", "grade"), "items", GRADE),
    "select": (
        "select {judgments} --policy {policy} -o {out}.jsonl", "judgments", ["accepted", "reason"]
    ),
    "score sets": (
        SETS, "scores", ["set_low", "set_high", "set_size", "advice", "calibrated"]
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


def rows_written(command: str, files: dict[str, Path], folder: Path) -> list[dict[str, Any]]:
    folder.mkdir()
    assert run(arguments_of(command, files, folder)) == 0
    rows: list[dict[str, Any]] = read_table(folder / "out.jsonl").to_dicts()
    return rows


@pytest.fixture(scope="module")
def without_columns(
    files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[dict[str, Any]]]:
    """What a command writes where the user has no such column."""
    folder = tmp_path_factory.mktemp("plain")
    return cache(lambda writer: rows_written(WRITERS[writer][0], files, folder / writer))


def with_columns(path: Path, values: dict[str, Any], folder: Path) -> Path:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    given = folder / "given.jsonl"
    given.write_text("".join(json.dumps({**row, **values}) + "\n" for row in rows))
    return given


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_column_called_like_ours_is_kept_beside_ours(
    writer: str,
    kind: str,
    files: dict[str, Path],
    without_columns: Callable[[str], list[dict[str, Any]]],
    tmp_path: Path,
) -> None:
    command, target, ours = WRITERS[writer]
    if writer in PROTOCOLS:
        ours = [*ours, *PROTOCOLS.load(writer).columns]
    values = dict.fromkeys([*ours, f"input_{ours[0]}"], VALUES[kind])
    given = with_columns(files[target], values, tmp_path)
    plain = without_columns(writer)
    rows = rows_written(command, {**files, target: given}, tmp_path / "attacked")
    assert [{name: row.get(name) for name in plain[0]} for row in rows] == plain
    for row in rows:
        assert row[f"input_{ours[0]}"] == VALUES[kind]
        assert row[f"input_input_{ours[0]}"] == VALUES[kind]
        assert all(row[f"input_{name}"] == VALUES[kind] for name in ours[1:])


def test_every_protocol_names_the_columns_it_adds(files: dict[str, Path], tmp_path: Path) -> None:
    for writer in PROTOCOLS:
        command, target, _ = WRITERS[writer]
        made = rows_written(command, files, tmp_path / writer)[0].keys()
        known = {field.name for kind in (Judgment, Score, Grade) for field in fields(kind)}
        known |= {*read_table(files[target]).columns, "winner", SHOWN_TEXTS}
        assert made - known <= set(PROTOCOLS.load(writer).columns)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_scored_items_with_a_column_verdict(
    suffix: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """Names that only judgments have are the user's own here, of any type and mixed."""
    rows = [json.loads(line) for line in files["items"].read_text().splitlines()]
    odd = [1, "A", None, {"a": 1}, [1], True, 0.5, 2**70]
    mixed = [{**row, "verdict": value, "p_a": value} for row, value in zip(rows, odd, strict=True)]
    given = tmp_path / "items.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in mixed))
    asked = ["judge", str(given), "--judge", "simulated:", "--protocol", "likert"]
    out = tmp_path / f"out{suffix}"
    assert run([*asked, "--store", str(tmp_path / "s.db"), "-o", str(out)]) == 0
    back = read_table(out, text=["verdict", "p_a"])
    firsts = back.unique("id", keep="first", maintain_order=True)
    want = [v if v is None or isinstance(v, str) else json.dumps(v) for v in odd]
    assert firsts["verdict"].to_list() == firsts["p_a"].to_list() == want


@pytest.mark.parametrize("value", [7, 0.5, True, "often", [1], {"a": 1}])
@pytest.mark.parametrize(
    "command",
    [
        "evaluate {judgments} --splits 2",
        "calibrate {judgments}",
        "estimate {answers}",
        "plan rate {answers} --width 0.2 --write-ids {out}.csv",
    ],
)
def test_how_labels_were_drawn_is_a_word_we_know(
    command: str,
    value: object,
    files: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = "judgments" if "judgments" in command else "answers"
    given = with_columns(files[target], {"sampled_by": value}, tmp_path)
    assert run(arguments_of(command, {**files, target: given}, tmp_path)) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "column sampled_by" in said


def test_a_second_plan_keeps_how_the_first_labels_were_drawn(
    files: dict[str, Path], tmp_path: Path
) -> None:
    given = with_columns(files["answers"], {"sampled_by": "random"}, tmp_path)
    command = "plan rate {answers} --width 0.2 --write-ids {out}.csv"
    assert run(arguments_of(command, {**files, "answers": given}, tmp_path)) == 0
    drawn = read_table(tmp_path / "out.csv")
    assert drawn["input_sampled_by"].unique().to_list() == ["random"]
    assert drawn["sampled_by"].unique().to_list() == ["random"]


@pytest.mark.parametrize("value", [7, 0.5, "yes", [1], {"a": 1}, None])
def test_abstentions_are_true_or_false(
    value: object, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = with_columns(files["decided"], {"accepted": value}, tmp_path)
    command = "label {pairs} --export-only --store {out}.db --abstentions {decided}"
    assert run(arguments_of(command, {**files, "decided": given}, tmp_path)) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "given.jsonl, row 1, column accepted" in said


@pytest.mark.parametrize("value", ["true", 1, False])
def test_abstentions_may_come_from_a_csv_or_as_numbers(
    value: object, files: dict[str, Path], tmp_path: Path
) -> None:
    given = with_columns(files["decided"], {"accepted": value}, tmp_path)
    command = "label {pairs} --export-only --store {out}.db --abstentions {decided} --json"
    assert run(arguments_of(command, {**files, "decided": given}, tmp_path)) == 0


@pytest.mark.parametrize("column", ["__error", "__label", "__row", "__cluster"])
@pytest.mark.parametrize("command", ["calibrate {judgments}", "estimate {answers}"])
def test_names_that_analyses_work_with_are_refused(
    command: str,
    column: str,
    files: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = "judgments" if "judgments" in command else "answers"
    given = with_columns(files[target], {column: 1}, tmp_path)
    assert run(arguments_of(command, {**files, target: given}, tmp_path)) == 1
    said = (
        f"given.jsonl, column {column}: is a name that adjudge uses internally; rename the column\n"
    )
    assert capsys.readouterr().err.endswith(said)


def test_a_column_called_error_can_group(files: dict[str, Path], tmp_path: Path) -> None:
    """Ours is marked, so that the user's is the one that --by means."""
    rows = read_table(files["judgments"]).with_columns(
        error=pl.Series(["x", "y"] * 30), member=pl.Series(["u", "v"] * 30)
    )
    given = tmp_path / "given.jsonl"
    rows.write_ndjson(given)
    for name, groups in (("error", ["x", "y"]), ("member", ["u", "v"])):
        out = tmp_path / f"{name}.json"
        assert run(["calibrate", str(given), "--by", name, "--alpha", "0.3", "-o", str(out)]) == 0
        assert [group["group"] for group in json.loads(out.read_text())["groups"]] == groups
