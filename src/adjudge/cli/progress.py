"""Progress of a run on standard error: a bar on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, Task, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text

from adjudge.cli.output import remark, screen
from adjudge.judges.flow import LINE_EVERY_S, describe_progress
from adjudge.judges.flow import Progress as Snapshot
from adjudge.present.text import safe


class Watch:
    """Shows snapshots when they arrive. `made` holds the number of calls made by each judge."""

    def __init__(self, title: str, bar: Progress | None) -> None:
        self.made: dict[str, int] = {}
        self._title = title
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}
        self._line_at = time.monotonic()

    def show(self, now: Snapshot) -> None:
        """Show one snapshot."""
        self.made[now.judge] = now.made
        title = f"{now.judge}, {self._title}" if now.judge else self._title
        if self._bar is not None:
            if now.judge not in self._tasks:
                self._tasks[now.judge] = self._bar.add_task(safe(title), total=now.total, text="")
            task = self._tasks[now.judge]
            self._bar.update(task, completed=now.done, total=now.total, text=describe_progress(now))
        elif time.monotonic() - self._line_at >= LINE_EVERY_S:
            self._line_at = time.monotonic()
            remark(f"{title}: {describe_progress(now)}")

    def close(self) -> None:
        """Remove the bar from the screen."""
        if self._bar is not None:
            self._bar.stop()


class _PlainText(TextColumn):
    """A column of plain text: markup and escapes in data have no effect."""

    def __init__(self, choose: Callable[[Task], str]) -> None:
        super().__init__("")
        self._choose = choose

    def render(self, task: Task) -> Text:
        return Text(safe(self._choose(task)))


@contextmanager
def watch_run(title: str) -> Iterator[Watch]:
    """A watch for the duration of a run."""
    console = screen(stderr=True)
    if not console.is_terminal:
        yield Watch(title, None)
        return
    bar = Progress(
        _PlainText(lambda task: task.description),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        _PlainText(lambda task: task.fields["text"]),
        console=console,
        transient=True,
        refresh_per_second=5,
    )
    with bar:
        yield Watch(title, bar)
