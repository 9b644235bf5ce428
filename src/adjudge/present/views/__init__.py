"""One view per result: a function from the result to its list of blocks.

Each module here belongs to one room and names its views in `VIEWS`, most important first; the
report shows results in that order, under the module's `TITLE`. A new result costs one line there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Figure, Note

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge.results.base import Result

View = Callable[[Any], list[Block]]
#: The rooms in the order of a report.
ROOMS = (
    "reading",
    "judging",
    "replies",
    "selection",
    "estimation",
    "diagnosis",
    "ranking",
    "monitoring",
    "labelling",
    "store",
    "reproduction",
    "demo",
)


def blocks_of(result: Result) -> list[Block]:
    """The blocks of a result, the same in every format."""
    view = view_of(type(result))
    if view is None:
        return [Note(tuple(f"{name}: {value}" for name, value in result.to_dict().items()))]
    return view(result)


def figures_of(result: Result) -> dict[str, Figure]:
    """The result's pictures by name, not drawn yet."""
    return {block.name: block for block in blocks_of(result) if isinstance(block, Figure)}


def draw(result: Result, name: str | None = None) -> Drawing:
    """The picture of that name, or the first; an unknown name is refused."""
    figures = figures_of(result)
    if not figures:
        raise ArgumentError("plot", result.kind, "this result has no picture")
    chosen = next(iter(figures)) if name is None else name
    if chosen not in figures:
        raise ArgumentError("figure", chosen, "choose one of " + ", ".join(figures))
    return figures[chosen].draw()


def view_of(made: type[Result]) -> View | None:
    """The view of a result class, its own or that of the class it extends."""
    for base in made.__mro__:
        own = base.__module__.rpartition(".")[2]
        # Its own room first: to show one result the other rooms need not be imported.
        for room in sorted(ROOMS, key=lambda name: name != own):
            views: Mapping[type, View] = _room(room).VIEWS
            if base in views:
                return views[base]
    return None


def rooms() -> Mapping[str, ModuleType]:
    """The view modules by room."""
    return {room: _room(room) for room in ROOMS}


@cache
def _room(room: str) -> ModuleType:
    return import_module(f"adjudge.present.views.{room}")
