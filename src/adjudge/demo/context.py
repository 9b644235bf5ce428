"""The context of a demo chapter: its input, and how it prints, keeps results and saves pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from adjudge.data import write_result
from adjudge.present.result import Result
from adjudge.present.theme import save_figure
from adjudge.records import Pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Prints one renderable (or a plain string) for a person.
Show = Callable[[Any], None]


@dataclass
class DemoContext:
    """Made once per demo and passed from chapter to chapter.

    `judgments` maps a protocol to its rows with their labels. `main` is the protocol that was
    asked about every pair; later chapters use it.
    """

    out: Path
    judge: str
    seed: int
    pairs: Sequence[Pair]
    show: Show
    #: Shows the progress of a run: called with a title, it returns a context manager (see cli).
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
        """The store of all replies. A stopped demo resumes where it stopped."""
        return self.out / "adjudge.db"

    def heading(self, number: int, title: str) -> None:
        """Print the heading of a chapter."""
        self.show("")
        self.show(Text(f"{number}  {title}", style="bold"))

    def say(self, finding: str) -> None:
        """Print one sentence for people, and keep it."""
        self.findings.append(finding)
        bound = finding.replace(
            " %", "\N{NO-BREAK SPACE}%"
        )  # no line break between a number and its unit
        wrapped = fill(bound, 96, initial_indent="   ", subsequent_indent="   ")
        self.show(wrapped.replace("\N{NO-BREAK SPACE}", " "))

    def keep(self, result: Result, name: str) -> None:
        """Write a result into the demo's folder, for `adjudge report`."""
        self.files.append(str(write_result(result, self.out / f"{name}.json")))

    def picture(self, figure: Figure, name: str) -> None:
        """Save a figure as PNG and SVG, and print its path."""
        paths = [save_figure(figure, self.out / f"{name}{suffix}") for suffix in (".png", ".svg")]
        self.files += map(str, paths)
        self.show(f"   picture: {paths[0]}")
