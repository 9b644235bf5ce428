"""A run as one line that is updated in place, in a notebook or on a terminal."""

from __future__ import annotations

import importlib
import sys
import time
from html import escape
from typing import Protocol

from adjudge.judges.progress import Progress, ProgressCallback
from adjudge.present.text import clip, safe

#: Seconds between two lines if a line cannot be updated: in a log file, say.
LINE_EVERY_S = 10.0
_WIDTH = 100


def describe(now: Progress) -> str:
    """The state of a run as one line of text.

    >>> describe(Progress(done=50, total=100, rows=25, subjects=50, reused=10, made=40, in_flight=4,
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


class _Handle(Protocol):
    """An output of a notebook's cell that can be replaced."""

    def update(self, shown: dict[str, str], *, raw: bool) -> None: ...


class ProgressLine:
    """Shows snapshots as they come, one line for each judge."""

    def __init__(self) -> None:
        self._cells: dict[str, _Handle] = {}
        self._line_at = time.monotonic()

    def __call__(self, now: Progress) -> None:
        """Take one snapshot."""
        line = safe(f"{now.judge}: {describe(now)}" if now.judge else describe(now))
        if _in_notebook():
            self._show_in_cell(now, line)
        elif sys.stderr.isatty():
            end = "\n" if now.done >= now.total else ""
            print(f"\r\x1b[2K{clip(line, _WIDTH)}", end=end, file=sys.stderr, flush=True)
        elif time.monotonic() - self._line_at >= LINE_EVERY_S:
            self._line_at = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def _show_in_cell(self, now: Progress, line: str) -> None:
        bar = f'<progress value="{now.done}" max="{max(now.total, 1)}"></progress>'
        shown = {"text/plain": line, "text/html": f"<div>{bar} {escape(line)}</div>"}
        if now.judge in self._cells:
            self._cells[now.judge].update(shown, raw=True)
        else:
            display = importlib.import_module("IPython.display").display
            self._cells[now.judge] = display(shown, raw=True, display_id=True)


def choose_progress(progress: ProgressCallback | bool | None) -> ProgressCallback | None:
    """The callback of an option: True is a line; False and None show nothing."""
    if isinstance(progress, bool):
        return ProgressLine() if progress else None
    return progress


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code; IPython in a terminal has none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
