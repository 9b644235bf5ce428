"""Results of the demo: a judge's accuracy on pairs with a known answer, by way of asking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
    plain,
)


@dataclass(frozen=True, kw_only=True)
class Share:
    """A count out of a total, with the exact (Clopper-Pearson) interval of the share."""

    name: str
    right: Count
    pairs: Count
    share: Proportion | None
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way of asking: accuracy, how often the first answer won, accuracy by doubt.

    `bands` go from the least doubt to the most, equal in size up to one pair. A pair without a
    verdict (p_a exactly one half) counts as wrong; `unmeasured` pairs are not counted.
    """

    protocol: str
    right: Share
    unmeasured: Count
    first_won: Count | None
    orders: Count | None
    bands: tuple[Share, ...]
    groups: tuple[Share, ...]


@frozen
class JudgeCheck(Result):
    """A judge compared with known answers, asked in one or more ways."""

    kind: ClassVar[str] = "judge_check"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("ways"),)

    judge: str
    confidence_level: Level
    ways: tuple[Way, ...]

    def _parts(self) -> Sequence[Any]:
        return [{"protocol": way.protocol, **plain(way.right)} for way in self.ways]

    def view(self) -> list[Block]:
        from adjudge.present.views.demo import view_check

        return view_check(self)


@dataclass(frozen=True, kw_only=True)
class DemoChapter:
    """One chapter of the demo: its results in sentences, and its files."""

    name: str
    title: str
    findings: tuple[str, ...]
    files: tuple[str, ...]


@frozen
class Demo(Result):
    """The complete demo."""

    kind: ClassVar[str] = "demo"
    rows_in: ClassVar[str] = "chapters"

    judge: str
    pairs: Count
    seed: Count
    folder: str
    elapsed_s: NotNegative
    chapters: tuple[DemoChapter, ...]

    def view(self) -> list[Block]:
        from adjudge.present.views.demo import view_demo

        return view_demo(self)


def halves(bands: Sequence[Share]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Right pairs and pairs in the surer half of the bands (with the middle) and in the other."""
    cut = (len(bands) + 1) // 2
    surer, other = bands[:cut], bands[cut:]
    return (
        (sum(band.right for band in surer), sum(band.pairs for band in surer)),
        (sum(band.right for band in other), sum(band.pairs for band in other)),
    )
