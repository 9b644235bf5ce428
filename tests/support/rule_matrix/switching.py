"""A step switched off: then no cell of its rules can pass, or the rule lives elsewhere too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from adjudge.data.steps.labels import Labels
from adjudge.data.steps.repeats import SeenIds


class _NothingSeen(SeenIds):
    def add(self, key: str, row: int) -> None:
        pass

    def count_alike(self) -> int:
        return 0


def _unchanged(rows: Any, *_: object, **__: object) -> Any:
    return rows


def _nothing(*_: object, **__: object) -> None:
    pass


#: The functions of each step, and what they do if they are off.
OFF: dict[str, dict[str, Callable[..., Any]]] = {
    "names": {
        "bare_name": lambda column: column,
        "respelled": lambda *_: {},
    },
    "status": {
        "mark_failures": _unchanged,
        "measured": _unchanged,
        "remark_rare_words": _nothing,
    },
    "repeats": {
        "leave_out_repeats": _unchanged,
        "refuse_duplicates": _nothing,
        "remark_alike": _nothing,
        "SeenIds": _NothingSeen,
    },
    "labels": {
        "take_labels": lambda rows, *_, **__: Labels(rows, ()),
        "_without_weaker": _unchanged,
        "alike_ids": lambda *_: pl.DataFrame(
            schema=dict.fromkeys(("id", "theirs", "plain"), pl.String)
        ),
    },
    "judges": {"check_judges": lambda *_, **__: (), "check_scales": lambda *_, **__: ()},
}


@contextmanager
def switched_off(step: str) -> Iterator[None]:
    """Within it, the functions of a step do nothing, in every module that has them."""
    homes = [module for name, module in [*sys.modules.items()] if name.startswith("adjudge")]
    replaced = []
    for function, off in OFF[step].items():
        original = next(vars(home)[function] for home in homes if function in vars(home))
        for home in homes:
            if vars(home).get(function) is original:
                replaced.append((home, function, original))
                setattr(home, function, off)
    try:
        yield
    finally:
        for home, function, original in replaced:
            setattr(home, function, original)
