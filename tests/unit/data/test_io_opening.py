"""The doors: a Table in place of a path, each file parsed once, formats of other packages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from io_files import FILES, READERS, open_battles, open_judgments, open_labels, open_scores
from parses import count_parses
from polars.testing import assert_frame_equal

from adjudge.data import (
    FORMATS,
    Format,
    LogSummary,
    Row,
    Table,
    UnusableRow,
    convert_log,
    iter_rows,
    kinds_of,
    open_items,
    open_pairs,
    open_table,
    read_battles,
    read_pairs,
    read_public,
    read_result,
    read_table,
    sniff,
    tables,
    write_result,
    write_rows,
)
from adjudge.data.formats import NATIVE, columns, looks_like, signature
from adjudge.data.names import refuse_values, refuse_where
from adjudge.data.source import open_values
from adjudge.data.steps.repeats import refuse_duplicates
from adjudge.errors import ArgumentError, BackendMissingError, DataError

DOORS: dict[str, Callable[..., Table]] = {
    "battles": open_battles,
    "judgments": open_judgments,
    "labels": open_labels,
    "scores": open_scores,
}


# --- parsed once -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", READERS)
def test_a_table_reads_like_its_file_and_is_not_parsed_again(kind: str) -> None:
    expected = READERS[kind](FILES[kind])
    with count_parses() as parses:
        table = open_table(FILES[kind])
        assert table.format == kind
        assert_frame_equal(READERS[kind](table), expected)
        assert_frame_equal(read_table(table), table.frame)
    assert parses == {FILES[kind].name: 1}


@pytest.mark.parametrize("kind", DOORS)
def test_every_door_parses_a_native_file_once(kind: str) -> None:
    with count_parses() as parses:
        table = DOORS[kind](FILES[kind])
        assert DOORS[kind](table) is table
    assert (table.kind, table.format, table.name) == (kind, kind, str(FILES[kind]))
    assert parses == {FILES[kind].name: 1}


@pytest.mark.parametrize("stem", [stem for stem in FILES if stem in FORMATS])
def test_a_public_file_is_parsed_once_whatever_it_becomes(stem: str) -> None:
    for kind in sorted(kinds_of(stem)):
        with count_parses() as parses:
            table = read_public(FILES[stem], kind=kind)  # type: ignore[arg-type]
        assert (table.kind, table.format) == (kind, stem)
        assert parses == {FILES[stem].name: 1}
        again = read_public(open_table(FILES[stem]), kind=kind)  # type: ignore[arg-type]
        common = [name for name in table.frame.columns if name in again.frame.columns]
        assert {"id", "doc_id"} & set(common)
        assert again.frame.select(common).rows() == table.frame.select(common).rows()
        assert again.dropped == table.dropped


def test_a_stream_is_read_once_per_iteration_and_not_to_be_recognised(tmp_path: Path) -> None:
    item = {"prompt": "Say hi.", "response": "hi"}
    items = write_rows([{"id": name, **item} for name in "xy"], tmp_path / "items.jsonl")
    for open_stream, path in ((open_pairs, FILES["lmarena-140k"]), (open_items, items)):
        with count_parses() as parses:
            stream = open_stream(path)
            assert parses == {}
            assert len(list(stream)) == len(list(stream))
        assert parses == {path.name: 2}


def test_one_json_object_is_read_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"id": name, "p_a": 0.9, "vote": {"by": name}} for name in "xy"]
    path = tmp_path / "object.json"
    path.write_text(json.dumps({"run": 7, "results": rows}, indent=1))
    for read in (open_table, open_judgments, open_values):
        caplog.clear()
        table = read(path)
        assert table.frame["vote"].to_list() == [{"by": "x"}, {"by": "y"}]
        assert caplog.messages == [f"{path}: the rows are in results; not read: run"]
    renamed = open_table(path, columns={"human": "vote"})
    assert renamed.frame["human"].to_list() == table.frame["vote"].to_list()
    texts = {"question": "Say hi.", "response_a": "hi", "response_b": "no", "by": 1}
    path.write_text(json.dumps({"results": [{"uid": name, **texts} for name in "xy"]}, indent=1))
    caplog.clear()
    pairs = open_pairs(path)
    assert [[pair.id for pair in pairs] for _ in range(2)] == [["x", "y"]] * 2
    assert caplog.messages[0] == f"{path}: the rows are in results"
    assert sum("the rows are in" in message for message in caplog.messages) == 1
    published = [
        {"input": "Say hi.", "output_1": name, "output_2": "no", "label": 2} for name in "xy"
    ]
    path.write_text(json.dumps({"results": published}, indent=1))
    caplog.clear()
    assert convert_log(path).rows["label"].to_list() == ["B", "B"]
    assert caplog.messages == [f"{path}: the rows are in results", f"{path}: read as LLMBar"]


def test_result_files_are_counted_too(tmp_path: Path) -> None:
    log = LogSummary(source="f", format="llmbar", title="LLMBar", rows_kind="pairs", rows=1)
    path = write_result(log, tmp_path / "r.json")
    with count_parses() as parses:
        read_result(path)
    assert parses == {"r.json": 1}


def test_text_columns_of_a_csv_table_are_as_they_are_written(tmp_path: Path) -> None:
    """A reader decides which columns are text; a Table has not yet turned 1.0 into a number."""
    path = tmp_path / "battles.csv"
    path.write_text("id,model_a,model_b,winner,weight\n007,1.0,2.50,tie,3.0\n008,1.0,true,tie,4\n")
    table = open_table(path)
    assert table.frame.schema["model_a"] == pl.Float64
    assert table.frame["weight"].to_list() == [3.0, 4.0]
    for battles in (read_battles(path), read_battles(table), open_battles(table).frame):
        assert battles["model_a"].to_list() == ["1.0", "1.0"]
        assert battles["model_b"].to_list() == ["2.50", "true"]
        assert battles["weight"].to_list() == [3.0, 4.0]
    mapped = read_battles(open_table(table, columns={"model_b": "weight"}))
    assert mapped["model_b"].to_list() == ["3.0", "4"]
    assert read_table(table, text=None).dtypes == [pl.String] * 5
    assert list(iter_rows(table)) == list(iter_rows(path))


def test_errors_of_a_table_name_its_file(tmp_path: Path) -> None:
    path = write_rows({"id": ["x"], "p_a": [7.0]}, tmp_path / "judgments.csv")
    with pytest.raises(DataError, match=r"judgments\.csv, row 1, column p_a: 7\.0 is out of range"):
        open_judgments(open_table(path))


def test_a_table_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="looks like a labels file of adjudge, not a battles file"):
        open_battles(open_table(FILES["labels"]))
    with pytest.raises(DataError, match="llmbar has no battles; it gives pairs: use such a file"):
        open_battles(open_table(FILES["llmbar"]))


def test_a_frame_of_records_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(rows: list[Any], name: str) -> pl.DataFrame:
        calls.append(len(rows))
        return records_frame(rows, name)

    records_frame = tables.records_frame
    monkeypatch.setattr(tables, "records_frame", counting)
    open_judgments([{"id": "x", "p_a": 0.5}])
    assert calls == [1]


def test_tables_compare_without_an_error_and_are_short_to_print() -> None:
    table = open_table({"id": ["x"], "label": ["A"]})
    assert repr(table) == (
        "Table(name='the dict of columns', kind=None, format='labels', dropped={}, notes=())"
    )
    assert table == table
    assert table != replace(table)


def test_battles_without_votes(tmp_path: Path) -> None:
    rows = {"model_a": ["x", "y"], "model_b": ["y", "z"], "p_a": [0.7, 0.2]}
    path = write_rows(rows, tmp_path / "unvoted.csv")
    with pytest.raises(DataError, match="column winner: is missing; give winner or human_pref"):
        open_battles(path)
    with count_parses() as parses:
        frame = open_battles(path, votes_required=False).frame
    assert parses == {"unvoted.csv": 1}
    assert frame["winner"].to_list() == [None, None]
    labelled = read_battles({**rows, "label": ["A", "tie"]}, votes_required=False)
    assert labelled["winner"].to_list() == ["model_a", "tie"]
    voted = {**rows, "label": ["A", "A"], "winner": ["model_b", "tie"]}
    assert read_battles(voted, votes_required=False)["winner"].to_list() == ["model_b", "tie"]


# --- formats ---------------------------------------------------------------------------------


def test_every_format_is_called_as_its_line_says_and_is_complete() -> None:
    for name in FORMATS:
        format = FORMATS.load(name)
        assert format.name == name
        assert format.gives
        assert format.signature.fits(format.signature.needs) or format.signature.one_of
        assert name not in NATIVE


def test_what_a_format_gives() -> None:
    assert kinds_of("mt-bench") == {"pairs", "battles", "labels"}
    assert kinds_of("scores") == {"scores"}
    assert kinds_of(None) == frozenset()
    with pytest.raises(ArgumentError, match="format = 'excel': choose one of lmarena-55k"):
        kinds_of("excel")


def votes(row: Row) -> Iterator[dict[str, Any] | UnusableRow]:
    if row.get("vote") is None:
        raise UnusableRow("nobody voted")
    if row.text("vote") == "?":
        yield UnusableRow("a vote nobody can read")
        return
    yield {
        "id": row.text("key"),
        "model_a": row.text("left"),
        "model_b": row.text("right"),
        "winner": row.choice("vote", {"l": "model_a", "r": "model_b"}, "l or r"),
    }


VOTES = Format(
    name="my-votes",
    title="my votes",
    signature=signature("key left right vote"),
    gives={"battles": votes},
    used=columns("key left right vote"),
    notes=("made up",),
)
GREEDY = replace(VOTES, name="greedy", title="greedy", signature=signature("id label"))
PICKY = replace(VOTES, name="picky", signature=signature("key left right vote", "round"))
SPARSE = Format(
    name="sparse",
    title="sparse votes",
    signature=signature("key left right vote"),
    gives={
        "battles": lambda row: [
            {"model_a": "x", "model_b": "y", "winner": "tie", "seen": " ".join(sorted(row.record))}
        ],
        "pairs": lambda row: [
            {
                "id": row.text("key"),
                "prompt": " ".join(sorted(row.record)),
                "response_a": "x",
                "response_b": "y",
            }
        ],
    },
    texts=columns("essay"),
)
WRONG_NAME = VOTES
NOT_A_FORMAT = {"name": "broken"}
ROWS = {"key": [1, 2, 3], "left": ["x"] * 3, "right": ["y"] * 3, "vote": ["l", None, "?"]}


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Entry points of the group adjudge.formats, as an installed package brings them."""

    def _install(**attributes: str) -> None:
        points = {
            name.replace("_", "-"): EntryPoint(name.replace("_", "-"), target, FORMATS.group)
            for name, target in attributes.items()
        }
        monkeypatch.setattr(FORMATS, "_plugins", points)
        monkeypatch.setattr(FORMATS, "_loaded", {})

    return _install


HERE = f"{__name__}:"


def test_a_packages_format_is_recognised_and_read(install: Callable[..., None]) -> None:
    assert sniff(ROWS) is None
    install(my_votes=HERE + "VOTES")
    assert sniff(ROWS) == "my-votes"
    for battles in (open_battles(ROWS), open_battles(ROWS, "my-votes"), read_public(ROWS)):
        assert battles.frame["winner"].to_list() == ["model_a"]
        assert battles.dropped == {"nobody voted": 1, "a vote nobody can read": 1}
        assert (battles.format, battles.notes) == ("my-votes", ("made up",))
    with pytest.raises(DataError, match="not a pairs file; it holds battles: use such a file"):
        read_pairs(ROWS)
    with pytest.raises(ArgumentError, match="choose one of battles, .*my-votes"):
        open_battles(ROWS, "excel")


def test_ours_come_first_and_a_native_file_is_not_taken_over(install: Callable[..., None]) -> None:
    install(greedy=HERE + "GREEDY", my_votes=HERE + "VOTES", picky=HERE + "PICKY")
    assert sniff({"id": ["x"], "label": ["A"]}) == "labels"
    assert sniff(FILES["llmbar"]) == "llmbar"
    assert sniff(ROWS) == "my-votes"
    assert sniff({**ROWS, "round": [1, 1, 2]}) == "picky"
    # A native file with more than a package asks for goes to the package: it is the stricter.
    assert looks_like([*ROWS, "id", "label"]) is FORMATS.load("my-votes")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_converter_sees_the_same_columns_of_every_file(
    install: Callable[..., None], tmp_path: Path, suffix: str
) -> None:
    """All but the long texts, which only pairs and items are made of; the unused ones are kept."""
    install(sparse=HERE + "SPARSE")
    path = write_rows({**ROWS, "essay": ["long"] * 3, "round": [1, 1, 2]}, tmp_path / f"v{suffix}")
    battles = open_battles(path, "sparse").frame
    assert battles["seen"].to_list() == ["key left right round vote"] * 3
    assert battles["round"].to_list() == [1, 1, 2]
    assert "essay" not in battles.columns
    (first, *_) = open_pairs(path, "sparse")
    assert first.prompt == "essay key left right round vote"


def test_a_name_of_ours_cannot_be_taken(install: Callable[..., None]) -> None:
    install(llmbar=HERE + "VOTES", pairs=HERE + "VOTES")
    assert FORMATS.load("llmbar").title == "LLMBar"
    assert sniff(ROWS) is None
    assert open_battles(FILES["battles"], "battles").format == "battles"


def test_a_broken_package_says_which_one_it_is(install: Callable[..., None]) -> None:
    install(broken="no_such_package:FORMAT")
    with pytest.raises(BackendMissingError, match="format broken: No module .*repair or remove"):
        sniff({"colour": ["red"]})
    assert sniff(FILES["llmbar"]) == "llmbar"
    for attribute in ("NOT_A_FORMAT", "WRONG_NAME"):
        install(broken=HERE + attribute)
        with pytest.raises(ArgumentError, match="must have an .*Format with the name broken"):
            read_public(ROWS, "broken")


# --- refusals --------------------------------------------------------------------------------


def test_the_first_bad_value_is_named_with_its_row() -> None:
    values = pl.Series("p", ["0.5", None, "high", "low"])
    bad = pl.Series([None, False, True, True])
    with pytest.raises(DataError) as caught:
        refuse_values(values, bad, "{} is no number", source="rows.csv", remedy="give numbers")
    assert str(caught.value) == "rows.csv, row 3, column p: 'high' is no number; give numbers"
    with pytest.raises(DataError, match="row 3, column theirs: is empty; fill it"):
        refuse_values(values, bad, "is empty", source="f", column="theirs", remedy="fill it")
    refuse_values(values, pl.Series([None, False, False, False]), "{}", source="f", remedy="none")


def test_a_long_value_is_cut_short() -> None:
    values = pl.Series("text", ["x" * 500])
    with pytest.raises(DataError) as caught:
        refuse_values(values, pl.Series([True]), "{} is long", source="f", remedy="cut it")
    assert len(str(caught.value)) < 120


def test_rows_are_refused_by_an_expression_and_by_their_key() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "b"], "n": [1, None, 3], "status": ["ok", "ok", "no"]})
    with pytest.raises(DataError, match="row 3, column n: is 'no'; drop it"):
        refuse_where(
            frame, pl.col("n") > 2, "is {}", source="f", column="n", remedy="drop it",
            value_of="status",
        )  # fmt: skip
    with pytest.raises(DataError, match="f, row 3, column id: id 'b' is in the file twice; drop"):
        refuse_duplicates(frame, ["id"], source="f", remedy="drop")
    refuse_duplicates(frame, ["id", "n"], source="f", remedy="drop")
