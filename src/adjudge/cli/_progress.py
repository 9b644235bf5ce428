"""Progress of a run on standard error: a bar on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, Task, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text

from adjudge._text import safe
from adjudge.cli._common import remark, remarks
from adjudge.judges.progress import Progress as Snapshot

_LINE_EVERY_S = 10.0


def describe(now: Snapshot) -> str:
    """The state of a run as one line of text.

    >>> describe(Snapshot(done=50, total=100, rows=25, subjects=50, reused=10, made=40, in_flight=4,
    ...      statuses={"ok": 49, "unparsed": 1}, rate=8.0, eta_s=6.25, prompt_tokens=4000,
    ...      completion_tokens=40, cost=0.5, elapsed_s=5.0, rate_limited=3, waiting_s=2.0))
    '25/50 rows · 8.0 calls/s · 6 s left · waiting 2 s, requested by the server · rate limited (429) 3 times · 4,040 tokens · $0.50 · 10 reused · 1 unparsed'
    """  # noqa: E501  (one line, as it is shown)
    parts = [f"{now.rows:,}/{now.subjects:,} rows", f"{now.rate:,.1f} calls/s"]
    if now.eta_s is not None and now.done < now.total:
        parts.append(f"{_span(now.eta_s)} left")
    if now.waiting_s > 0:
        parts.append(f"waiting {_span(now.waiting_s)}, requested by the server")
    if now.rate_limited:
        parts.append(f"rate limited (429) {now.rate_limited:,} times")
    tokens = now.prompt_tokens + now.completion_tokens
    if tokens:
        parts.append(f"{tokens:,} tokens")
    if now.cost:
        parts.append(f"${now.cost:,.2f}")
    if now.reused:
        parts.append(f"{now.reused:,} reused")
    parts += [f"{n:,} {name}" for name, n in now.statuses.items() if name != "ok" and n]
    return " · ".join(parts)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


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
            self._bar.update(task, completed=now.done, total=now.total, text=describe(now))
        elif time.monotonic() - self._line_at >= _LINE_EVERY_S:
            self._line_at = time.monotonic()
            remark(f"{title}: {describe(now)}")

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
    console = remarks()
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
