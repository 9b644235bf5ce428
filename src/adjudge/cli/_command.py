"""The command that made a result, without secrets. It is written into the result's file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from adjudge.present.text import safe, without_passwords

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

    Paths stay as typed. URLs lose users, passwords and options. Keys and the values of secret
    environment variables are redacted. The value of --extra-body is not shown.

    >>> with running(["judge", "my pairs.csv", "--store=postgresql://me:pw@db/x"]):
    ...     command_line()
    "adjudge judge 'my pairs.csv' --store=postgresql://db/x"
    """
    from adjudge.judges.redact import Redactor, environment_secrets
    from adjudge.store.urls import SCHEME, without_secrets

    given = _RUNNING.get()
    if not given:
        return None
    strike = Redactor(environment_secrets())
    words = []
    for before, argument in zip(("", *given), given, strict=False):
        word = "..." if before == _HIDDEN else argument
        if argument.startswith(f"{_HIDDEN}="):
            word = f"{_HIDDEN}=..."
        if (url := SCHEME.search(word)) is not None:
            word = word[: url.start()] + without_secrets(word[url.start() :])
        words.append(strike(without_passwords(word)))
    line = safe(shlex.join(["adjudge", *words]))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
