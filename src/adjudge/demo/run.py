"""The demo from end to end: weights, judge, chapters, one result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from rich.text import Text

from adjudge.data import write_result
from adjudge.present.blocks import Block, Heading, Headline, notes_of
from adjudge.present.figure import save_figure
from adjudge.present.result import Count, NotNegative, Result, frozen
from adjudge.present.text import count
from adjudge.records import Pair
from adjudge.validation import Seed, generator
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Prints one renderable (or a plain string) for a person.
Show = Callable[[Any], None]
EMBEDDED = "llamacpp:smollm2"
#: The judge of `--judge simulated`: right on four of five, with a bias to the first answer.
SIMULATED = "simulated:accuracy=0.8,position_bias=0.3,noise=0.3,seed=0"


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
        """Every chapter's findings."""
        size = f"{count(self.pairs, 'pair')}, {count(len(self.chapters), 'chapter')}"
        blocks: list[Block] = [Headline(f"{self.judge} on {size}")]
        for number, chapter in enumerate(self.chapters, 1):
            blocks += [Heading(f"{number}. {chapter.title}"), *notes_of(chapter.findings)]
        return blocks


def run_demo(
    out: str | Path = "demo-out",
    *,
    judge: str = EMBEDDED,
    seed: int = 0,
    show: Show | None = None,
    watch: Callable[[str], AbstractContextManager[Any]] | None = None,
) -> Demo:
    """Judge the demo's pairs and run every chapter; all files are in `out`.

    The embedded weights are fetched if they are missing. All replies are kept in `out`. A stopped
    demo resumes where it stopped, and a second demo asks nothing.

    Args:
        out: Folder for all files of the demo.
        judge: llamacpp:smollm2 (98 MB, fetched once), simulated (needs no model), or any judge that
            `adjudge judge` takes.
        seed: Seed of everything random.
        show: Prints for people. Default: nothing is printed.
        watch: Shows the progress of a run of the judge. It gets a title and returns a context
            manager.
    """
    from adjudge.demo.chapters import CHAPTERS

    began = time.monotonic()
    check_count(seed, "seed")
    if judge == EMBEDDED:
        from adjudge.judges.weights import pull

        pull("smollm2")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    context = DemoContext(
        out=folder,
        judge=SIMULATED if judge == "simulated" else judge,
        seed=seed,
        pairs=demo_pairs(seed),
        show=show or (lambda block: None),
        watch=watch or (lambda title: nullcontext(SimpleNamespace(show=None))),
    )
    chapters = []
    for number, (name, (title, tell)) in enumerate(CHAPTERS.items(), 1):
        context.show("")
        context.show(Text(f"{number}  {title}", style="bold"))
        context.findings = []
        context.files = []
        tell(context)
        findings = tuple(context.findings)
        files = tuple(context.files)
        chapters.append(DemoChapter(name=name, title=title, findings=findings, files=files))
    return Demo(
        judge=context.judge,
        pairs=len(context.pairs),
        seed=seed,
        folder=str(folder),
        elapsed_s=round(time.monotonic() - began, 1),
        chapters=tuple(chapters),
    )


def demo_pairs(seed: Seed = 0) -> list[Pair]:
    """Short questions that anybody can check, shuffled; the right answer of half a kind is A.

    Four kinds: facts, arithmetic, formats (was the instruction followed?) and relevance (does the
    answer belong to the question?). No pair was chosen or dropped because of the embedded model's
    verdict. Facts and sums are answered in full sentences, as assistants answer. With one-word
    answers ("Paris") the likelihood protocol is right much less often.

    >>> pairs = demo_pairs()
    >>> len(pairs) >= 160
    True
    """
    draw = generator(seed)
    table = files("adjudge.demo") / "pairs.jsonl"
    entries = pl.read_ndjson(table.read_bytes())
    label_is_a = np.zeros(entries.height, dtype=bool)
    for kind in entries["kind"].unique(maintain_order=True):
        rows = np.flatnonzero((entries["kind"] == kind).to_numpy())
        label_is_a[draw.permutation(rows)[: len(rows) // 2]] = True
    pairs = []
    for row, (kind, prompt, right, wrong) in enumerate(entries.rows()):
        is_a = label_is_a[row]
        pair = Pair(
            id=f"{kind}-{row:03d}",
            prompt=prompt,
            response_a=right if is_a else wrong,
            response_b=wrong if is_a else right,
            label="A" if is_a else "B",
            extra={"kind": kind},
        )
        pairs.append(pair)
    return [pairs[row] for row in draw.permutation(len(pairs))]


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

    def say(self, finding: str) -> None:
        """Print one sentence for people, and keep it."""
        self.findings.append(finding)
        # No line break between a number and its unit.
        bound = finding.replace(" %", "\N{NO-BREAK SPACE}%")
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
