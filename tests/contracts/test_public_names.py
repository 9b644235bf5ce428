"""The public names are pinned in the stub file: adding or removing one is a deliberate act."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import adjudge

STUB = Path(adjudge.__file__).with_suffix(".pyi")
#: Where the page of public Python names says that each is imported from.
HOMES = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_api.py"))["HOMES"]
ROOMS = sorted(
    path.parent.name
    for path in Path(adjudge.__file__).parent.glob("*/__init__.py")
    if path.parent.name != "cli"
)


def test_the_stub_names_what_is_exported_and_whence() -> None:
    stub = STUB.read_text(encoding="utf-8")
    pinned = {name: room for room, name in re.findall(r"^from (\S+) import (\w+) as", stub, re.M)}
    assert pinned == adjudge._HOME, "run: make docs"
    assert sorted(pinned) == adjudge.__all__


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_public_name_can_be_had_and_explains_itself(name: str) -> None:
    value = getattr(import_module(HOMES[name]), name)
    assert HOMES[name] == adjudge._HOME.get(name, HOMES[name])
    assert (getattr(value, "__doc__", None) or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_list_names_that_exist(room: str) -> None:
    """ruff keeps them sorted (RUF022)."""
    module = import_module(f"adjudge.{room}")
    names = list(getattr(module, "__all__", []))
    assert len(names) == len(set(names))
    for name in names:
        assert hasattr(module, name)


def test_few_names_are_at_the_top() -> None:
    """The verbs, their options, Result, the errors and open_store; the rest is in its room."""
    assert len(adjudge.__all__) <= 44


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = adjudge.no_such_thing


def test_importing_adjudge_loads_no_heavy_library() -> None:
    heavy = {"scipy", "polars", "matplotlib", "aiohttp", "pydantic"}
    code = (
        "import sys, adjudge, adjudge.cli; adjudge.cli.build(); "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_no_room_loads_what_takes_half_a_second_before_it_is_used() -> None:
    slow = {"scipy.stats", "matplotlib"}
    rooms = "selection, estimation, diagnosis, ranking, monitoring, server.label_page"
    code = (
        f"import sys, {', '.join(f'adjudge.{room}' for room in rooms.split(', '))}; "
        f"print(sorted({slow!r} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
