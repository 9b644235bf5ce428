"""Check by counting quotes and colons that a frame has everything of its JSON lines.

To know the columns and types of JSON lines, every line must be read, which takes twice as long as
parsing them. So columns and types are taken from the first rows. polars refuses a later value of
another type. Two things it would skip silently show in the counts: a key that the first rows do not
have, and a number in a column of texts.
"""

from __future__ import annotations

import numpy as np
import polars as pl

_BLOCK = 1024 * 1024
_QUOTE, _COLON, _SPACE, _TAB = b'": \t'


def is_all_of(rows: pl.DataFrame, data: bytes) -> bool:
    r"""Whether every key of the lines is a column here, and every text was written as one.

    False if that cannot be seen: with nested columns, if a space follows a quote, and if rows lack
    keys.

    >>> rows = pl.DataFrame({"id": ["x", "y"], "p": [0.5, None]})
    >>> is_all_of(rows, b'{"id": "x", "p": 0.5}\n{"id": "y", "p": null}')
    True
    >>> is_all_of(rows, b'{"id": "x", "p": 0.5}\n{"id": "y", "p": null, "q": 1}')
    False
    """
    if any(dtype.is_nested() for dtype in rows.schema.values()):
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # If a value is null, its key can be absent, and another key can be in its place.
    gaps = [column.name for column in rows if column.null_count()]
    if any(data.count(f'"{name}":'.encode()) != rows.height for name in gaps):
        return False
    texts = sum(rows.height - c.null_count() for c in rows if c.dtype == pl.String)
    keys = rows.height * rows.width
    return _count_quotes(data) == (2 * keys + 2 * texts, keys)


def _count_quotes(data: bytes) -> tuple[int, int] | None:
    """The number of quotes, and of quotes before a colon; None if a space follows one."""
    codes = np.frombuffer(data, dtype=np.uint8)
    quotes = keys = 0
    for start in range(0, len(codes) - 1, _BLOCK):
        block = codes[start : start + _BLOCK + 1]
        is_quote, after = block[:-1] == _QUOTE, block[1:]
        if (is_quote & ((after == _SPACE) | (after == _TAB))).any():
            return None
        quotes += int(np.count_nonzero(is_quote))
        keys += int(np.count_nonzero(is_quote & (after == _COLON)))
    return quotes, keys
