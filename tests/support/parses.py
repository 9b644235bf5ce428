"""How often each file is parsed to its end, for the tests that say: once per command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from adjudge.data import files, tables
from adjudge.data import writing as results
from adjudge.data.files import File, Handle


@contextmanager
def count_opens() -> Iterator[Counter[str]]:
    """File name -> how often Python opened it as a table while the block runs."""
    counts: Counter[str] = Counter()
    open_regular = files.open_regular

    def counting_open(path: str | Path) -> IO[bytes]:
        counts[Path(path).name] += 1
        return open_regular(path)

    with patch.object(files, "open_regular", counting_open):
        yield counts


@contextmanager
def count_parses() -> Iterator[Counter[str]]:
    """File name -> how often it was read in full while the block runs.

    Tables pass `tables.parse_file`, as a frame and as a stream; result files `results.read_json`.
    Looking at a file's first row to recognise it is not counted.
    """
    counts: Counter[str] = Counter()
    parse_file, read_json = tables.parse_file, results.read_json

    def counting_parse(handle: Handle) -> AbstractContextManager[File]:
        counts[Path(handle.path).name] += 1
        return parse_file(handle)

    def counting_read(path: str | Path, **options: str) -> Any:
        counts[Path(path).name] += 1
        return read_json(path, **options)

    with (
        patch.object(tables, "parse_file", counting_parse),
        patch.object(results, "read_json", counting_read),
    ):
        yield counts
