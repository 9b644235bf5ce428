"""What a chapter of the demo is given, and how it speaks, keeps results and leaves pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from adjudge.io import write_result
from adjudge.present.theme import save_figure
from adjudge.records import Pair
from adjudge.results.base import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Prints one renderable (or a plain string) for a person.
Show = Callable[[Any], None]


@dataclass
class DemoContext:
    """Made once per demo and handed from chapter to chapter.

    `judgments` maps a protocol to its rows with their labels; `main` names the protocol that was
    asked about every pair, on which later chapters build.
    """

    out: Path
    judge: str
    seed: int
    pairs: Sequence[Pair]
    show: Show
    #: Watches a run of the judge: called with a title, gives a context manager (see cli).
    watch: Callable[[str], Any]
    judgments: dict[str, pl.DataFrame] = field(default_factory=dict)
    main: str = ""
    findings: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def rows(self) -> pl.DataFrame:
        """The rows of the main protocol."""
        return self.judgments[self.main]

    @property
    def store(self) -> Path:
        """Where every reply is kept: a stopped demo resumes where it stopped."""
        return self.out / "adjudge.db"

    def heading(self, number: int, title: str) -> None:
        """Begin a chapter."""
        self.show("")
        self.show(Text(f"{number}  {title}", style="bold"))

    def say(self, finding: str) -> None:
        """Print one sentence that a person should remember, and keep it."""
        self.findings.append(finding)
        bound = finding.replace(" %", "\N{NO-BREAK SPACE}%")  # a number keeps its unit on its line
        wrapped = fill(bound, 96, initial_indent="   ", subsequent_indent="   ")
        self.show(wrapped.replace("\N{NO-BREAK SPACE}", " "))

    def keep(self, result: Result, name: str) -> None:
        """Write a result into the demo's folder, where `adjudge report` finds it."""
        self.files.append(str(write_result(result, self.out / f"{name}.json")))

    def picture(self, figure: Figure, name: str) -> None:
        """Save a figure as PNG and SVG, and say where."""
        paths = [save_figure(figure, self.out / f"{name}{suffix}") for suffix in (".png", ".svg")]
        self.files += map(str, paths)
        self.show(f"   picture: {paths[0]}")
