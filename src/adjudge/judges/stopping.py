"""Stopping a run: once politely, twice at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Reason = Literal["interrupted", "max_cost", "failed"]


class Stop:
    """Asked once, a run finishes what is in flight; asked again, it drops it."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.at_once = False
        self._abort: Callable[[], None] | None = None

    @property
    def requested(self) -> bool:
        """Whether no new call should be made."""
        return self.reason is not None

    def request(self, reason: Reason) -> None:
        """Make no new calls. The first reason stays."""
        self.reason = self.reason or reason

    def interrupt(self) -> None:
        """A signal came: the first asks to stop, the second to stop at once."""
        if self.reason == "interrupted" and self._abort is not None:
            self.at_once = True
            self._abort()
        self.request("interrupted")

    def on_abort(self, action: Callable[[], None]) -> None:
        """What a second interrupt does."""
        self._abort = action
