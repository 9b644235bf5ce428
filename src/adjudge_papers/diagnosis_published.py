"""What the diagnosis paper prints, by the names of its judges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from adjudge_papers.items import read_published, read_rows
from adjudge_papers.reproduction import contains

_DATA = read_published("diagnosis")
JUDGES: Sequence[str] = _DATA["judges"]
CRITERIA: Sequence[str] = _DATA["criteria"]
ALPHAS: tuple[float, ...] = tuple(_DATA["alphas"])
#: The level of everything except Table 5 and Figure 6.
MAIN_ALPHA = 0.10
DOCUMENTS: int = _DATA["design"]["documents"]
SYSTEMS: int = _DATA["design"]["systems"]
REPEATS: int = _DATA["design"]["repeats"]
NOTES: tuple[str, ...] = tuple(_DATA["notes"])
#: The name of the paper's own rows, next to our data sets.
PAPER = "paper"


def published_judge(name: str) -> str | None:
    """The paper's name of a judge, if it has the name of one of its four.

    >>> published_judge("openrouter:qwen/qwen-2.5-72b-instruct"), published_judge("gpt-4o")
    ('Qwen-2.5-72B', None)
    """
    return next((judge for judge in JUDGES if contains(name, judge)), None)


@cache
def published_rows(table: str) -> list[dict[str, Any]]:
    """The rows of a table: cycles, rankings, sets or agreement."""
    return read_rows(_DATA[table])


def published_row(table: str, judge: str, **key: str | float) -> dict[str, Any]:
    """The row of a judge, whatever the name is that it has here; empty if there is none.

    >>> published_row("sets", "gpt-4o-mini", criterion="coherence", alpha=0.1)["size"]
    4.51
    """
    wanted = {"judge": published_judge(judge), **key}
    return next((row for row in published_rows(table) if wanted.items() <= row.items()), {})


def published_agreement(judge: str, other_judge: str, criterion: str) -> float | None:
    """Spearman of two judges' widths of Table 4."""
    pair = {published_judge(judge), published_judge(other_judge)}
    return next(
        (
            row["spearman"]
            for row in published_rows("agreement")
            if {row["judge_a"], row["judge_b"]} == pair and row["criterion"] == criterion
        ),
        None,
    )


def published_pooled(criterion: str | None) -> float | None:
    """Spearman of width and error of all judges together (None: of all criteria)."""
    pooled: dict[str, float] = _DATA["pooled"]
    return pooled.get(criterion or "all")
