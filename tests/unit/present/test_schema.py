"""JSON schemas: of every kind, as strict as reading, and printed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from example_results import example_results
from schemas import check_written, validator

import adjudge
from adjudge.cli import run
from adjudge.data import write_result
from adjudge.errors import ArgumentError, DataError
from adjudge.present.kinds import KINDS, from_dict
from adjudge.present.result import Result
from adjudge.present.schema import ROWS, schema, schema_kinds
from adjudge.records import Judgment


@pytest.mark.parametrize("kind", schema_kinds())
def test_every_kind_has_a_schema_that_is_valid_itself(kind: str) -> None:
    described = schema(kind)
    assert described["description"]
    assert validator(kind).is_valid(17) is False
    assert described["additionalProperties"] is (kind in ROWS)


RESULTS = [(kind, at) for kind, several in example_results().items() for at in range(len(several))]


@pytest.mark.parametrize(("kind", "at"), RESULTS)
def test_an_example_of_a_kind_follows_its_schema_and_no_other(kind: str, at: int) -> None:
    values = example_results()[kind][at].to_dict()
    assert [*validator(kind).iter_errors(values)] == []
    others = [other for other in KINDS if other != kind and validator(other).is_valid(values)]
    assert others == []


@pytest.mark.parametrize(("kind", "at"), RESULTS)
def test_what_reading_refuses_the_schema_refuses(kind: str, at: int) -> None:
    """A field that is missing, unknown or of another type."""
    values = example_results()[kind][at].to_dict()
    required = [name for name in schema(kind)["required"] if name not in ("kind", "digest")]
    edits: list[dict[str, Any]] = [{**values, "unheard_of": 1}]
    edits += [{k: v for k, v in values.items() if k != name} for name in required]
    edits += [
        {**values, name: {"no": "such"}} for name in required if isinstance(values[name], str)
    ]
    for edited in edits:
        with pytest.raises(DataError):
            from_dict(edited, Result, source="edited.json")
        assert not validator(kind).is_valid(edited)


def test_rows_that_judge_writes_follow_the_schema_of_judgments(tmp_path: Path) -> None:
    pairs = pl.DataFrame(
        {"id": ["1", "2"], "prompt": ["p", "q"], "response_a": ["x", "y"], "response_b": ["z", "w"]}
    )
    judged = adjudge.judge_pairs(
        pairs, judge="simulated:accuracy=0.8", store=tmp_path / "adjudge.db"
    )
    rows = judged.judgments.to_dicts()
    assert len(rows) == 2
    assert [error for row in rows for error in validator("judgments").iter_errors(row)] == []
    wrong = {**rows[0], "status": "fine"}
    assert not validator("judgments").is_valid(wrong)


def test_a_row_may_have_columns_of_its_own() -> None:
    row = asdict(Judgment(id="1", judge="j", protocol="preference", status="ok", p_a=0.5))
    assert validator("judgments").is_valid({**row, "topic": "billing"})


def test_the_schema_is_printed_and_an_unknown_kind_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["schema", "estimate"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("estimate")
    assert run(["schema", "estimates"]) == 1
    assert "choose one of pairs, items, judgments" in capsys.readouterr().err
    with pytest.raises(ArgumentError, match="choose one of pairs"):
        schema("estimates")


def test_files_that_tests_write_are_checked(tmp_path: Path) -> None:
    result = next(iter(example_results().values()))[0]
    write_result(result, tmp_path / "result.json")
    (tmp_path / "other.json").write_text('{"kind": "estimate"}', encoding="utf-8")
    assert check_written(tmp_path) == 1


def test_printing_a_schema_imports_no_analysis() -> None:
    code = "import sys, adjudge.cli.verbs.schema; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
