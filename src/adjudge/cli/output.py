"""Where output goes, and exit codes.

Results go to standard output, progress and messages to standard error. Exit 0: done. Exit 2: done,
and the finding is bad. Exit 1: could not run; one line on standard error names the remedy. If the
reader of the output closes the pipe (`| head -1`), the exit code is the same and the rest is not
printed.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from adjudge.present.text import safe, safe_json, without_passwords

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from adjudge.present.blocks import Block
    from adjudge.present.result import Result

DONE, FAILED, BAD_FINDING = 0, 1, 2


def remark(message: object) -> None:
    """Print one line to standard error. Markup and line ends in `message` are printed as text."""
    if sys.stderr is None:  # a caller can have closed it
        return
    text = safe(without_passwords(str(message))).replace("\n", r"\n")
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        read_no_further(sys.stderr)


def show(*parts: RenderableType | Block, explain: bool = False) -> None:
    """Print for a person, to standard output. Plain strings are not read as markup."""
    from rich.text import Text

    from adjudge.present.blocks import Block
    from adjudge.present.render.terminal import render_terminal

    console = screen(stderr=False)
    console.soft_wrap = not console.is_terminal  # a terminal would break lines inside words
    for part in parts:
        if isinstance(part, str):
            console.print(Text(safe(part)))
        elif isinstance(part, Block):
            for renderable in render_terminal([part], explain=explain):
                console.print(renderable)
        else:
            console.print(part)


def screen(*, stderr: bool) -> Console:
    """A console, made per call so that redirection works. A closed pipe is not an error."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            read_no_further(sys.stderr if self.stderr else sys.stdout)

    return Screen(stderr=stderr, highlight=False, soft_wrap=stderr)


def echo(text: str, *, end: str = "\n") -> None:
    """Print to standard output unchanged, for programs that read it."""
    import click

    try:
        click.echo(text + end, nl=False)
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
    from adjudge.data import write_result

    write_result(result, path, command=command_line())


def deliver(result: Result, options: Mapping[str, Any]) -> None:
    """Write a result and its pictures to the given files, then print it: as JSON, or for a person.

    Files are written first, so that a closed pipe loses nothing. The options are output, plot,
    figure, figures, explain and json, of which a verb can have fewer.
    """
    from adjudge.present.blocks import Note
    from adjudge.present.theme import save_figure

    if (output := options.get("output")) is not None:
        write(result, output)
        remark(f"wrote {output}")
    if (plot := options.get("plot")) is not None:
        result.plot(plot, figure=options.get("figure"))
        remark(f"wrote {plot}")
    if (folder := options.get("figures")) is not None:
        for name, figure in result.figures().items():
            remark(f"wrote {save_figure(figure.draw(), folder / f'{name}.png')}")
    if options.get("json"):
        echo(safe_json(result.to_json()))
        return
    blocks, explain = result.view(), options.get("explain")
    show(*blocks, explain=bool(explain))
    folded = [block.title for block in blocks if isinstance(block, Note) and block.detail]
    if folded and explain is False:
        show(f"--explain prints {folded[0][:1].lower()}{folded[0][1:]}")


def deliver_rows(rows: Any, summary: Result, options: Mapping[str, Any]) -> None:
    """Write rows to --output, then deliver their summary; --summary is its file."""
    from adjudge.data import write_rows

    if (output := options["output"]) is not None:
        write_rows(rows, output)
        remark(f"wrote {output}")
    deliver(summary, {**options, "output": options["summary"]})


class _ReaderRemarks(logging.Handler):
    """Prints each message of the readers once. A file can be read twice."""

    def __init__(self) -> None:
        super().__init__()
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._printed:
            self._printed.add(text)
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


_RUNNING: ContextVar[Sequence[str]] = ContextVar("arguments", default=())
#: A request body can hold a key under any name.
_HIDDEN = "--extra-body"
#: A longer command, such as one that names thousands of files, could not be read back.
_LONGEST = 20_000


@contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """While these arguments run, `command_line` returns their command."""
    before = _RUNNING.set(arguments)
    try:
        yield
    finally:
        _RUNNING.reset(before)


def command_line() -> str | None:
    """The command that is running, as it can be typed again. None if no command is running.

    It is written into the files of results. Paths stay as typed. URLs lose users, passwords and
    options. Keys and the values of secret environment variables are redacted. The value of
    --extra-body is not shown.

    >>> with running(["judge", "my pairs.csv", "--store=postgresql://me:pw@db/x"]):
    ...     command_line()
    "adjudge judge 'my pairs.csv' --store=postgresql://db/x"
    """
    from adjudge.judges.redact import Redactor, environment_secrets
    from adjudge.store.urls import SCHEME, without_secrets

    arguments = _RUNNING.get()
    if not arguments:
        return None
    strike = Redactor(environment_secrets())
    words = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        word = "..." if before == _HIDDEN else argument
        if argument.startswith(f"{_HIDDEN}="):
            word = f"{_HIDDEN}=..."
        if (url := SCHEME.search(word)) is not None:
            word = word[: url.start()] + without_secrets(word[url.start() :])
        words.append(strike(without_passwords(word)))
    line = safe(shlex.join(["adjudge", *words]))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
