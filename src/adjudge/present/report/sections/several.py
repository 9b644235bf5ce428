"""Several results of one kind: all of them are shown, each under the name of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from adjudge.present.report.document import Block, Heading
from adjudge.results.base import Result

R = TypeVar("R", bound=Result)
_TOLD = 4


def more_than_one(*kinds: Sequence[object]) -> bool:
    """Whether a section has to name files: some kind of result is there more than once."""
    return any(len(entries) > 1 for entries in kinds)


def under_names(
    entries: Sequence[tuple[str, R]], blocks: Callable[[R], Sequence[Block]], *, named: bool
) -> list[Block]:
    """The blocks of every result, each under the name of its file if `named`."""
    made: list[Block] = []
    for name, result in entries:
        if named:
            made.append(Heading(text=name))
        made += blocks(result)
    return made


def together(entries: Sequence[tuple[str, R]], say: Callable[[R], str], noun: str) -> str:
    """One sentence for several results; beyond four it counts the rest."""
    told = [f"{name}: {say(result)}" for name, result in entries[:_TOLD]]
    rest = len(entries) - _TOLD
    more = f"; and {rest} more" if rest > 0 else ""
    return f"{len(entries)} {noun}. " + "; ".join(told) + f"{more}."
