"""What all verbs share: where output goes, and exit codes. Shared options are in `_options`.

Results go to standard output, progress and messages to standard error. Exit 0: done. Exit 2: done,
and the finding is bad. Exit 1: could not run; one line on standard error names the remedy. If the
reader of the output closes the pipe (`| head -1`), the exit code is the same and the rest is not
printed.
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

from adjudge.errors import BackendMissingError, how_to_install
from adjudge.present.text import safe, safe_json, without_passwords

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adjudge.present.blocks import Block
    from adjudge.present.result import Result

EXIT_FAILED, EXIT_BAD_FINDING = 1, 2


class _Screen(Console):
    """A console. A closed pipe is not an error and does not stop the command."""

    def on_broken_pipe(self) -> None:
        read_no_further(sys.stderr if self.stderr else sys.stdout)


def remarks() -> Console:
    """The console for progress and messages. Made per call, so that redirection works."""
    return _Screen(stderr=True, highlight=False, soft_wrap=True)


def remark(message: object) -> None:
    """Print one line to standard error. Markup and line ends in `message` are printed as text."""
    remarks().print(Text(safe(without_passwords(str(message))).replace("\n", r"\n")))


class _ReaderRemarks(logging.Handler):
    """Prints each message of the readers once. A file can be read twice."""

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
    """While a command runs, print the messages of the readers to standard error."""
    log, handler = logging.getLogger("adjudge.data"), _ReaderRemarks()
    before = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = before


def show(*parts: RenderableType | Block, explain: bool = False) -> None:
    """Print for a person, to standard output. Plain strings are not read as markup."""
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
    """Print to standard output unchanged, for programs that read it."""
    try:
        typer.echo(text + end, nl=False)
    except BrokenPipeError:
        read_no_further(sys.stdout)


def read_no_further(stream: TextIO) -> None:
    """Discard further output: the reader of this stream has closed it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        # The stream is not a file here (a notebook, a test), so nothing can be redirected.
        return


def write(result: Result, path: Path) -> None:
    """Write a result with the command that made it."""
    from adjudge.cli._command import command_line
    from adjudge.data import write_result

    write_result(result, path, command=command_line())


def deliver(
    result: Result,
    *,
    as_json: bool,
    output: Path | None,
    plot: Path | None = None,
    figure: str | None = None,
    figures: Path | None = None,
    explain: bool | None = None,
) -> None:
    """Write a result and its pictures to the given files, then print it: as JSON, or for a person.

    Files are written first, so that a closed pipe loses nothing. `explain` is --explain, or None in
    a verb without it.
    """
    from adjudge.present.blocks import Note
    from adjudge.present.theme import save_figure

    if output is not None:
        write(result, output)
        remark(f"wrote {output}")
    if plot is not None:
        result.plot(plot, figure=figure)
        remark(f"wrote {plot}")
    if figures is not None:
        for name, one in result.figures().items():
            remark(f"wrote {save_figure(one.draw(), figures / f'{name}.png')}")
    if as_json:
        echo(safe_json(result.to_json()))
    else:
        blocks = result.view()
        show(*blocks, explain=bool(explain))
        folded = [block.title for block in blocks if isinstance(block, Note) and block.detail]
        if folded and explain is False:
            show(f"--explain prints {folded[0][:1].lower()}{folded[0][1:]}")


def require_extra(extra: str, *modules: str) -> None:
    """Raise a one-line error if the packages of an extra are not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise BackendMissingError(f"{', '.join(missing)} not installed; {how_to_install(extra)}")


def bad_finding() -> NoReturn:
    """Exit with code 2: the work was done, and the finding is bad."""
    raise typer.Exit(EXIT_BAD_FINDING)
