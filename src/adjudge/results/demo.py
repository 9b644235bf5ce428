"""What the demo finds: how well a judge does on pairs whose answer is known, asked in each way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adjudge.results.base import Result


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many, with the exact (Clopper-Pearson) interval of the share."""

    name: str
    right: int
    pairs: int
    share: float | None
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One way of asking: how often right, how often the first answer won, doubt against right.

    `bands` go from the least doubt to the most, equal in size up to one pair. A pair without a
    verdict (p_a exactly one half) counts as not right; `unmeasured` pairs count nowhere.
    """

    protocol: str
    right: Share
    unmeasured: int
    first_won: int | None
    orders: int | None
    bands: tuple[Share, ...]
    groups: tuple[Share, ...]


@dataclass(frozen=True, kw_only=True)
class JudgeCheck(Result):
    """A judge against known answers, asked in one or more ways."""

    kind: ClassVar[str] = "judge_check"

    judge: str
    confidence_level: float
    asked: tuple[Asked, ...]

    def lines(self) -> list[str]:
        """One line per way of asking."""
        told = []
        for way in self.asked:
            line = f"{way.protocol}: {told_share(way.right)} right"
            if way.first_won is not None:
                line += f"; the answer shown first won {way.first_won} of {way.orders} times"
            told.append(line)
        return told


@dataclass(frozen=True, kw_only=True)
class DemoChapter:
    """One chapter of the demo: what it found, in sentences, and the files it left."""

    name: str
    title: str
    findings: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Demo(Result):
    """The whole demo."""

    kind: ClassVar[str] = "demo"

    judge: str
    pairs: int
    seed: int
    folder: str
    elapsed_s: float
    chapters: tuple[DemoChapter, ...]

    def lines(self) -> list[str]:
        """Every finding."""
        told = []
        for number, chapter in enumerate(self.chapters, 1):
            told += [f"{number}  {chapter.title}", *(f"   {found}" for found in chapter.findings)]
        return told


def halves(bands: Sequence[Share]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Right and pairs in the surer half of the bands and in the other; the middle one is surer."""
    cut = (len(bands) + 1) // 2
    surer, other = bands[:cut], bands[cut:]
    return (
        (sum(band.right for band in surer), sum(band.pairs for band in surer)),
        (sum(band.right for band in other), sum(band.pairs for band in other)),
    )


def told_share(share: Share) -> str:
    """A share in words.

    >>> told_share(Share(name="", right=3, pairs=4, share=0.75, low=0.194, high=0.994))
    '3 of 4, 75 % [19, 99]'
    """
    if share.share is None:
        return "none measured"
    return (
        f"{share.right} of {share.pairs}, {100 * share.share:.0f} % "
        f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"
    )
