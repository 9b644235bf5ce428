"""Data flows one way: a room imports only from rooms above it, and never sideways."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import adjudge

SOURCE = Path(adjudge.__file__).parent

#: Floors of the house, top first. A room may import from its own room and from floors above.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"errors"}),
    frozenset({"records", "_validation", "plugins"}),
    frozenset({"results", "_stats", "_bradley_terry"}),
    frozenset({"uncertainty", "simulate"}),
    frozenset({"io"}),
    frozenset({"store"}),
    frozenset({"judges"}),
    frozenset({"rows"}),
    frozenset({"selection", "estimation", "diagnosis", "ranking"}),
    frozenset({"present"}),
    frozenset({"reproduce", "demo"}),
    frozenset({"server"}),
    frozenset({"cli"}),
)
FLOOR_OF = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"__init__", "__main__"}
#: A result shows itself: the one file that opens a room below its own, inside functions only.
SHOWS_ITSELF = ("results/base.py", "present")


def room_of(path: Path) -> str:
    inside = path.relative_to(SOURCE)
    return inside.parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[tuple[str, int]]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import on line {node.lineno}"
            if node.module == "adjudge":
                names = [f"adjudge.{alias.name}" for alias in node.names]
            else:
                names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == "adjudge" and len(parts) > 1 and parts[1] != "__version__":
                found.add((parts[1], node.lineno))
    return found


MODULES = sorted(SOURCE.rglob("*.py"))


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in MODULES} - DOORS
    assert rooms - FLOOR_OF.keys() == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upwards(path: Path) -> None:
    room = room_of(path)
    if room in DOORS:
        return
    for other, line in imported_rooms(path):
        if other == room or (path.relative_to(SOURCE).as_posix(), other) == SHOWS_ITSELF:
            continue
        assert FLOOR_OF[other] <= FLOOR_OF[room], f"{path}:{line} imports {other} from below"
        sideways = FLOOR_OF[other] == FLOOR_OF[room] and len(FLOORS[FLOOR_OF[room]]) > 1
        analysis = {"selection", "estimation", "diagnosis", "ranking"}
        assert not (sideways and room in analysis), f"{path}:{line} imports {other} beside it"
