"""Where output goes, how verbs deliver their results, and exit codes.

Results go to standard output, progress and messages to standard error. Exit 0: done. Exit 2: done,
and the finding is bad. Exit 3: done, and what was asked is not known yet. Exit 1: could not run;
one line on standard error names the remedy. If the reader of the output closes the pipe
(`| head -1`), the exit code is the same and the rest is not printed.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from adjudge.present.text import count, safe, safe_json, without_passwords

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

    from adjudge.judges.flow import Progress as Snapshot
    from adjudge.present.blocks import Block
    from adjudge.present.result import Result

DONE = 0
FAILED = 1
BAD_FINDING = 2
INCONCLUSIVE = 3


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
    """Write a result with the command that made it; as .md or .html what people see of it."""
    from adjudge.data import write_result

    if path.suffix not in (".md", ".html"):
        write_result(result, path, command=command_line())
        return
    from adjudge.atomic import replacing
    from adjudge.present.blocks import Document, Part, Section
    from adjudge.present.render.html import render_html
    from adjudge.present.render.markdown import render_blocks

    blocks = result.view()
    page = render_blocks(blocks)
    if path.suffix == ".html":
        section = Section(key="result", title=path.stem, parts=[Part(name="", blocks=blocks)])
        page = render_html(Document(title=path.stem, subtitle="", sections=[section]))
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")


def save_rows(rows: pl.DataFrame, path: Path, noun: str | None = None) -> None:
    """Write rows and name their file; with a noun, also their number."""
    from adjudge.data import write_rows

    write_rows(rows, path)
    remark(f"wrote {path}" if noun is None else f"wrote {count(rows.height, noun)} to {path}")


def deliver(result: Any, options: Mapping[str, Any]) -> None:
    """Write a result and its pictures to the given files, then print it: as JSON, or for a person.

    Files are written first, so that a closed pipe loses nothing. The options are output, summary,
    plot, figure, figures, explain and json, of which a verb can have fewer; `next_step` returns the
    command to print at the end. Of rows with a `summary`, output has the rows and summary the
    result.
    """
    from adjudge.present.figure import save_figure
    from adjudge.present.result import Result

    output = options.get("output")
    if not isinstance(result, Result):
        if output is not None:
            save_rows(result.rows, output)
        result = result.summary
    if (output := options.get("summary", output)) is not None:
        write(result, output)
        remark(f"wrote {output}")
    if (plot := options.get("plot")) is not None:
        result.plot(plot, figure=options.get("figure"))
        remark(f"wrote {plot}")
    if (folder := options.get("figures")) is not None:
        for name, figure in result.figures().items():
            remark(f"wrote {save_figure(figure.draw(), folder / f'{name}.png')}")
    if options.get("json"):
        for piece in result.json_pieces():
            echo(safe_json(piece), end="")
        echo("")
        return
    blocks = result.view()
    explain = options.get("explain")
    if explain is False:
        blocks = _with_hint(blocks)
    show(*blocks, explain=bool(explain))
    if (command := options["next_step"](result)) is not None:
        show(next_line(command))


#: What only the user knows, in a command that comes next.
PLACEHOLDERS = {
    "EXPORT": "the labels that the tool exported",
    "GRADES": "the judged rows",
    "JUDGE": "as for adjudge judge",
    "JUDGMENTS": "the judged rows",
    "LABELLED_ROWS": "the rows with labels, and their texts",
    "NEW_BATTLES": "battles of the new models",
    "NEW": "later rows",
    "NEW_ROWS": "later rows",
    "POLICY": "the policy in use",
    "RATE": "the lowest rate that passes",
    "ROWS": "the file with the texts of these rows",
    "SCORES": "the scored rows",
}


def next_line(step: str) -> str:
    """The line that names the command, and what each placeholder in it is for.

    >>> next_line("label ROWS --plan ids.csv")
    'next: adjudge label ROWS --plan ids.csv (ROWS: the file with the texts of these rows)'
    """
    needed = [f"{word}: {PLACEHOLDERS[word]}" for word in step.split() if word in PLACEHOLDERS]
    return f"next: adjudge {step}" + (f" ({'; '.join(needed)})" if needed else "")


def _with_hint(blocks: Sequence[Block]) -> list[Block]:
    """Remarks in a line each, and a hint at --explain in the last plain note if more is folded."""
    from adjudge.present.blocks import Note, is_folded

    hinted = list(blocks)
    for at, block in enumerate(blocks):
        if isinstance(block, Note) and block.brief and not block.detail:
            hinted[at] = Note([block.brief], block.tone)
    notes = {at: note for at, note in enumerate(hinted) if isinstance(note, Note)}
    if hinted != list(blocks) or not any(map(is_folded, blocks)):
        return hinted
    printed = [at for at, note in notes.items() if note.brief or not note.detail]
    if not printed:
        return [*hinted, Note(["--explain prints more"])]
    at = max(printed, key=lambda at: (notes[at].tone == "plain", at))
    *before, last = [notes[at].brief] if notes[at].brief else notes[at].lines
    hinted[at] = Note([*before, f"{last} (--explain: more)"], notes[at].tone)
    return hinted


class Watch:
    """Shows the progress of a run. `calls` counts those of each judge, without reused replies."""

    def __init__(self, title: str, bar: Progress | None) -> None:
        self.calls: dict[str, int] = {}
        self._title = title
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}
        self._line_at = time.monotonic()

    def show(self, now: Snapshot) -> None:
        """Show one snapshot: in the bar, or as a line from time to time."""
        from adjudge.judges.flow import LINE_EVERY_S, describe_progress

        self.calls[now.judge] = now.made
        title = f"{now.judge}, {self._title}" if now.judge else self._title
        if self._bar is not None:
            if now.judge not in self._tasks:
                self._tasks[now.judge] = self._bar.add_task(safe(title), total=now.total, text="")
            task = self._tasks[now.judge]
            text = safe(describe_progress(now))
            self._bar.update(task, completed=now.done, total=now.total, text=text)
        elif time.monotonic() - self._line_at >= LINE_EVERY_S:
            self._line_at = time.monotonic()
            remark(f"{title}: {describe_progress(now)}")

    def end_with(self, message: str) -> None:
        """Remove the bar from the screen, then print a line."""
        if self._bar is not None:
            self._bar.stop()
        remark(message)


@contextmanager
def watch_run(title: str) -> Iterator[Watch]:
    """A watch for the duration of a run: with a bar if standard error is a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = screen(stderr=True)
    if not console.is_terminal:
        yield Watch(title, None)
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
        refresh_per_second=5,
    )
    with bar:
        yield Watch(title, bar)


@contextmanager
def reader_remarks(take: Callable[[str], object]) -> Iterator[None]:
    """Inside, `take` gets each message of the readers once. A file can be read twice."""
    seen = set[str]()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            # Columns that were read as ours are named once, together or not.
            file, read, columns = text.partition(": read ")
            parts = {file + read + column for column in columns.split(", ")}
            if not parts <= seen:
                seen.update(parts)
                take(text)

    log = logging.getLogger("adjudge.data")
    before = log.handlers, log.propagate
    log.handlers = [Handler()]
    log.propagate = False
    try:
        yield
    finally:
        log.handlers, log.propagate = before


_RUNNING: ContextVar[Sequence[str]] = ContextVar("arguments", default=())
#: A request body can hold a key under any name. A name that is not set can be a key.
_HIDDEN = "--extra-body"
_VARIABLES = ("--api-key-env", "--proposer-api-key-env", "--secret-env")
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
    --extra-body is not shown, nor that of --api-key-env if no variable has this name.

    >>> with running(["judge", "my pairs.csv", "--store=postgresql://me:pw@db/x"]):
    ...     command_line()
    "adjudge judge 'my pairs.csv' --store=postgresql://db/x"
    """
    from adjudge.judges.redact import Redactor, environment_secrets
    from adjudge.store.interface import SCHEME, without_secrets

    arguments = _RUNNING.get()
    if not arguments:
        return None
    strike = Redactor(environment_secrets())
    words = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        option = before
        value = argument
        if argument.startswith("--") and "=" in argument:
            option, _, value = argument.partition("=")
        start = argument.removesuffix(value)
        if option == _HIDDEN or (option in _VARIABLES and value not in os.environ):
            value = "..."
        elif option == "--store":
            value = without_secrets(value)
        elif (url := SCHEME.search(value)) is not None:
            value = value[: url.start()] + without_secrets(value[url.start() :])
        words.append(strike(without_passwords(start + value)))
    line = safe(shlex.join(["adjudge", *words]))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
