"""`-` as an input file: standard input, in a private file while the command runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge.errors import ArgumentError

DASH = Path("-")


@contextmanager
def spool_standard_input(inputs: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """The inputs that are `-`, with the file that holds standard input instead.

    A pipe can be read only once, and readers look at the beginning of a file before they parse it.
    """
    names = [name for name, path in inputs.items() if path == DASH]
    if not names:
        yield {}
        return
    if len(names) > 1:
        raise ArgumentError(", ".join(names), "-", "standard input can be only one of these files")
    if sys.stdin is None or sys.stdin.isatty():
        raise ArgumentError(names[0], "-", "nothing is piped into the command: name a file")
    with TemporaryDirectory(prefix="adjudge-") as folder:
        kept = Path(folder) / "standard-input"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield {names[0]: kept}
