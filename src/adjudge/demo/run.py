"""The demo from end to end: weights, judge, chapters, one result."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from adjudge.demo.chapters import CHAPTERS
from adjudge.demo.context import DemoContext, Show
from adjudge.demo.pairs import demo_pairs
from adjudge.results.demo import Demo, DemoChapter
from adjudge.validation import count

EMBEDDED = "llamacpp:smollm2"
#: The judge of `--judge simulated`: right on four of five, with a bias to the first answer.
SIMULATED = "simulated:accuracy=0.8,position_bias=0.3,noise=0.3"


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

    `show` prints for people (default: nothing). `watch` shows the progress of a run of the judge.
    """
    began = time.monotonic()
    count(seed, "seed")
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
        show=show or (lambda part: None),
        watch=watch or (lambda title: nullcontext(SimpleNamespace(show=None))),
    )
    chapters = [_run_chapter(context, number, name) for number, name in enumerate(CHAPTERS, 1)]
    return Demo(
        judge=context.judge,
        pairs=len(context.pairs),
        seed=seed,
        folder=str(folder),
        elapsed_s=round(time.monotonic() - began, 1),
        chapters=tuple(chapters),
    )


def _run_chapter(context: DemoContext, number: int, name: str) -> DemoChapter:
    chapter = import_module(f"adjudge.demo.chapters.{name}")
    context.heading(number, chapter.TITLE)
    context.findings, context.files = [], []
    chapter.run(context)
    return DemoChapter(
        name=name, title=chapter.TITLE, findings=tuple(context.findings), files=tuple(context.files)
    )
