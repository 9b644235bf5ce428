"""What all verbs share: where output goes, and exit codes. Shared options are in `_options`.

Results go to standard output, progress and remarks to standard error. Exit 0: done. Exit 2: done,
and the finding is bad. Exit 1: could not run; one line on standard error says what to do. Whoever
reads our output and has enough (`| head -1`) changes none of this: the rest is not printed.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer
from rich.console import Console
from rich.text import Text

from adjudge._text import safe, safe_json, without_passwords
from adjudge.errors import BackendMissingError, how_to_install

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adjudge.present.blocks import Block
    from adjudge.results.base import Result

EXIT_FAILED, EXIT_BAD_FINDING = 1, 2


class _Screen(Console):
    """A console; a reader who has closed the pipe is no error, and no reason to stop."""

    def on_broken_pipe(self) -> None:
        read_no_further(sys.stderr if self.stderr else sys.stdout)


def remarks() -> Console:
    """The console for progress and remarks. Made per call, so that redirection is seen."""
    return _Screen(stderr=True, highlight=False, soft_wrap=True)


def remark(message: object) -> None:
    """One line to standard error, whatever is in `message`: markup and line ends stay text."""
    remarks().print(Text(safe(without_passwords(str(message))).replace("\n", r"\n")))


class _ReaderRemarks(logging.Handler):
    """Prints what readers remark, each remark once: a file can be looked at twice."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._said:
            self._said.add(text)
            remark(text)


@contextmanager
def print_reader_remarks() -> Iterator[None]:
    """While a command runs, what readers remark goes to standard error as our other remarks do."""
    log, handler = logging.getLogger("adjudge.io"), _ReaderRemarks()
    before = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = before


def show(*parts: RenderableType | Block, explain: bool = False) -> None:
    """Print for a person, to standard output. Plain strings are text, never markup."""
    from adjudge.present.blocks import Block
    from adjudge.present.render.terminal import render_terminal

    console = _Screen(highlight=False)
    console.soft_wrap = not console.is_terminal  # a terminal would break lines inside words
    for part in parts:
        if isinstance(part, str):
            console.print(Text(safe(part)))
        elif isinstance(part, Block):
            for renderable in render_terminal([part], explain=explain):
                console.print(renderable)
        else:
            console.print(part)


def echo(text: str, *, end: str = "\n") -> None:
    """Print to standard output as it is: for programs that read it."""
    try:
        typer.echo(text + end, nl=False)
    except BrokenPipeError:
        read_no_further(sys.stdout)


def read_no_further(stream: TextIO) -> None:
    """Whoever read this stream has enough: what is still to come goes nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        # The stream is no file here (a notebook, a test): there is nothing to turn away.
        return


def write(result: Result, path: Path) -> None:
    """Write a result with the command that made it."""
    from adjudge.cli._command import command_line
    from adjudge.io import write_result

    write_result(result, path, command=command_line())


def deliver(
    result: Result,
    *,
    as_json: bool,
    output: Path | None,
    plot: Path | None = None,
    figure: str | None = None,
    explain: bool | None = None,
) -> None:
    """Write a result and its picture where asked, then print it: as JSON, or for a person.

    Files come first, so that a reader who closes the pipe loses nothing. `explain` is --explain,
    None in a verb without it.
    """
    from adjudge.present.blocks import Note
    from adjudge.present.views import blocks_of

    if output is not None:
        write(result, output)
        remark(f"wrote {output}")
    if plot is not None:
        result.plot(plot, figure=figure)
        remark(f"wrote {plot}")
    if as_json:
        echo(safe_json(result.to_json()))
    else:
        blocks = blocks_of(result)
        show(*blocks, explain=bool(explain))
        folded = [block.title for block in blocks if isinstance(block, Note) and block.detail]
        if folded and explain is False:
            show(f"--explain prints {folded[0][:1].lower()}{folded[0][1:]}")


def require_extra(extra: str, *modules: str) -> None:
    """Refuse in one line where the packages of an extra are not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise BackendMissingError(f"{', '.join(missing)} not installed; {how_to_install(extra)}")


def bad_finding() -> NoReturn:
    """Leave with exit code 2: the work was done, and what it found is bad."""
    raise typer.Exit(EXIT_BAD_FINDING)
