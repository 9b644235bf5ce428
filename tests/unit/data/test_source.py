"""The files of a call: opened once, named together, released when they are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import polars as pl
import pytest
from parses import count_opens

from adjudge.data import Reading, Source, prepare_grades, prepare_judgments
from adjudge.data.files import Handle
from adjudge.data.tables import Table, first_row, in_use, iter_rows, read_table
from adjudge.diagnosis import (
    diagnose_bias,
    diagnose_prompts,
    diagnose_scores,
    diagnose_transitivity,
)
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate, plan_rate
from adjudge.ranking import make_anchors, place, plan_battles, rank
from adjudge.selection import calibrate, evaluate_doubt, plan_labels, plan_selection, select

VERBS = (
    *(diagnose_bias, diagnose_prompts, diagnose_scores, diagnose_transitivity),
    *(estimate, plan_rate, make_anchors, place, plan_battles, rank),
    *(calibrate, evaluate_doubt, plan_labels, plan_selection, select),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "judgments.csv"
    path.write_text("key,p_a\nx,0.9\ny,0.2\n")
    return path


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_every_reading_verb_takes_what_all_of_them_take(verb: Callable[..., object]) -> None:
    """An option for all of them is a key of Reading, and what is done with it."""
    (rest,) = (p for p in inspect.signature(verb).parameters.values() if p.kind is p.VAR_KEYWORD)
    (taken,) = get_args(get_type_hints(verb)[rest.name])
    assert {*Reading.__annotations__} <= {*taken.__annotations__}
    assert not {*Reading.__annotations__} & {*inspect.signature(verb).parameters}


def test_a_file_in_use_is_opened_once(path: Path) -> None:
    with count_opens() as opens:
        with in_use(path) as source:
            assert first_row(source) == {"key": "x", "p_a": "0.9"}
            assert read_table(source).height == 2
            assert [row["key"] for row in iter_rows(source)] == ["x", "y"]
        assert dict(opens) == {"judgments.csv": 1}
        assert read_table(source).height == 2
    assert dict(opens) == {"judgments.csv": 2}


def test_two_readers_of_one_open_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    lines = [f'{{"id": "{number}", "text": "{"x" * 1000}"}}\n' for number in range(4000)]
    path.write_text("".join(lines))
    with Handle(path) as handle:
        both = list(zip(iter_rows(handle), iter_rows(handle), strict=True))
    assert len(both) == 4000
    assert all(one == other for one, other in both)
    assert both[-1][0]["id"] == "3999"


def test_names_are_for_all_files_together(path: Path) -> None:
    labels = {"key": ["x"], "vote": ["A"]}
    names = {"id": "key", "label": "vote"}
    with Source(path, labels=labels, columns=names) as source:
        assert source.rows.frame.columns == ["id", "p_a"]
        assert source.labels.frame.columns == ["id", "label"]
        assert source.pairs is None
    rows = prepare_judgments(Source(path, labels=labels, columns=names))
    assert rows.frame["label"].to_list() == ["A", None]
    with pytest.raises(DataError, match="column colour: is not in the file; columns here: key"):
        prepare_judgments(Source(path, columns={"label": "colour"}))


def test_a_source_has_its_options_already(path: Path) -> None:
    source = Source(path, columns={"id": "key"})
    assert Source.of(source) is source
    with pytest.raises(ArgumentError, match="give it to the Source"):
        Source.of(source, columns={"id": "p_a"})
    grades = prepare_grades({"judge": [1, 0], "human": [1, None]})
    assert prepare_grades(Source(grades)) is grades
    with pytest.raises(ArgumentError, match="give it to prepare_grades"):
        prepare_grades(Source(grades, labels={"id": ["x"], "label": [1]}))


def test_what_was_parsed_is_kept_only_while_in_use(path: Path) -> None:
    source = Source(path, columns={"id": "key"})
    with source:
        assert source.rows is source.rows
        assert isinstance(source.rows, Table)
    assert "_named" not in vars(source)
    with count_opens() as opens:
        opened = source.open("judgments")
    assert (opened.kind, opened.frame["verdict"].to_list()) == ("judgments", ["A", "B"])
    assert dict(opens) == {"judgments.csv": 1}
    assert Source(opened).open("judgments") is opened
    assert Source(pl.DataFrame({"id": ["x"], "label": ["A"]})).open("labels").kind == "labels"
