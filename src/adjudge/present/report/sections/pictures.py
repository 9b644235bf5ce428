"""A picture of a result, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.report.document import Block, Picture, Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawn(draw: Callable[[], Figure], caption: str) -> list[Block]:
    """What `draw` makes; a result with nothing to draw says so in words."""
    try:
        return [Picture(figure=draw(), caption=caption)]
    except ArgumentError as error:
        return [Words(lines=(f"No picture: {error}",))]
