"""docs/files.md names every column that is read, every format and what it becomes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.data import FORMATS
from adjudge.data.battles import BATTLE_COLUMNS
from adjudge.data.columns import Layout
from adjudge.data.formats import load_format
from adjudge.data.judgments import JUDGMENT_COLUMNS
from adjudge.data.labels import LABEL_COLUMNS
from adjudge.data.names import USUAL
from adjudge.data.pairs import ITEM_COLUMNS, PAIR_COLUMNS
from adjudge.data.scores import SCORE_COLUMNS
from adjudge.data.tournaments import TOURNAMENT_COLUMNS

PAGE = (Path(__file__).parents[3] / "docs" / "files.md").read_text(encoding="utf-8")


def test_the_page_lists_every_public_format_and_what_it_gives() -> None:
    rows = re.findall(r"^\| ([a-z0-9-]+) \| .+ \| (.+) \|$", PAGE.split("## Public")[1], re.M)
    public = [name for name in FORMATS if not load_format(name).log]
    listed = {name: set(gives.split(", ")) for name, gives in rows if name in FORMATS}
    assert listed == {
        name: {kind.replace("_", " ") for kind in load_format(name).gives} for name in public
    }


def test_the_page_of_logs_lists_every_tool_and_what_it_gives() -> None:
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text(encoding="utf-8")
    page = page.split("## What is read")[1].split("## Verdicts of the judge")[0]
    rows = re.findall(r"^\| ([a-z-]+) \| .+ \| (.+) \|$", page, re.M)
    refused = ("label-studio-min", "langfuse-traces", "opik-table")
    logs = [name for name in FORMATS if load_format(name).log and name not in refused]
    assert {name: set(gives.split(", ")) for name, gives in rows if name in FORMATS} == {
        name: set(load_format(name).gives) for name in logs
    }


def test_the_page_lists_every_usual_name() -> None:
    rows = re.findall(r"^\| (\w+).* \| (.+) \|$", PAGE.split("## Labels")[0], re.M)
    listed = [(ours, names.split(", ")) for ours, names in rows if ours != "ours"]
    assert listed == [(key.rpartition(":")[2], names.split()) for key, names in USUAL.items()]


@pytest.mark.parametrize(
    "layout",
    [
        BATTLE_COLUMNS,
        ITEM_COLUMNS,
        JUDGMENT_COLUMNS,
        LABEL_COLUMNS,
        PAIR_COLUMNS,
        SCORE_COLUMNS,
        TOURNAMENT_COLUMNS,
    ],
    ids=lambda layout: layout.kind,
)
def test_the_page_names_every_column_that_is_read(layout: Layout) -> None:
    kind = layout.kind
    (row,) = re.findall(rf"^\| {kind} \| (.+) \|$", PAGE.split("## Public")[0], re.M)
    assert set(layout.names) <= set(re.findall(r"\w+", row))
