"""A random half of many rows: the first half of a numpy permutation, without the permutation.

`Generator.permutation` looks up rows all over the memory. With ten million rows nearly every look
misses the processor's cache. Which half a row falls into needs one byte per row, and can be
computed in parts. The random numbers are the same, so a seed gives the same halves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adjudge._validation import BoolArray

#: Up to this many rows a permutation fits into the cache.
_FEW_ROWS = 1 << 20
#: Steps of the shuffle that are computed together.
_PART = 1 << 15


def draw_half(n: int, rng: np.random.Generator) -> BoolArray:
    """Marks the rows rng.permutation(n)[: n // 2], and draws the same numbers.

    >>> rows = np.random.default_rng(0).permutation(9)[:4]
    >>> np.flatnonzero(draw_half(9, np.random.default_rng(0))).tolist() == sorted(rows.tolist())
    True
    """
    half = n // 2
    marked = np.zeros(n, dtype=np.bool_)
    if n <= 2 * _FEW_ROWS:
        marked[rng.permutation(n)[:half]] = True
        return marked
    partners = _draw_partners(n, half, rng)
    # The shuffle swaps the rows i = n - 1, ..., 1 with a partner j <= i. Undone from the last swap
    # to the first, it brings back to their rows the marks of the first half. Swaps within that half
    # change no mark. In each of the others, row i is still unmarked: it takes the mark of j.
    marked[:half] = True
    taker = np.empty(n, dtype=np.uint16)
    for start in range(half, n, _PART):
        _take_marks(marked, start, partners[start - half : start - half + _PART], taker)
    return marked


def _draw_partners(n: int, half: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """The partners of the rows from `half` on, in the order of the rows."""
    partners, top = np.empty(n - half, dtype=np.int32), n - 1
    while top >= _FEW_ROWS:
        # numpy draws 32 bits, keeps as many as the number `top` has, and rejects what is above it.
        mask = 2 ** top.bit_length() - 1
        size = min(_PART, top - max(mask // 2, _FEW_ROWS - 1))
        drawn = rng.integers(0, 2**32, size=size, dtype=np.uint32) & np.uint32(mask)
        drawn = drawn[_accept(drawn, top)]
        rows = slice(max(top - len(drawn) + 1 - half, 0), max(top + 1 - half, 0))
        partners[rows] = drawn[: rows.stop - rows.start][::-1]
        top -= len(drawn)
    rng.shuffle(np.arange(top + 1))
    return partners


def _accept(drawn: NDArray[np.uint32], top: int) -> BoolArray:
    """Which numbers are accepted: those up to `top`, which is 1 less after each of them."""
    accepted = np.asarray(drawn <= top)
    # How far each would be above the limit, if all numbers before it were accepted.
    above = np.cumsum(accepted, dtype=np.int32)
    above += drawn.astype(np.int32)
    above -= top + 1
    close = np.flatnonzero(accepted & (above > 0))
    rejected: list[int] = []
    lost = 0
    for at, excess in zip(close.tolist(), above[close].tolist(), strict=True):
        if excess > lost:
            rejected.append(at)
            lost += 1
    accepted[rejected] = False
    return accepted


def _take_marks(
    marked: BoolArray, start: int, partners: NDArray[np.int32], taker: NDArray[np.uint16]
) -> None:
    """The rows from `start` on take the marks of their partners, one after the other."""
    inside = np.flatnonzero(partners >= start)
    marks = marked[partners]
    marks[inside] = False
    rows = np.flatnonzero(marks)
    givers = partners[rows]
    # A partner of several rows gives its mark to the first of them, which is written last.
    taker[givers[::-1]] = rows[::-1]
    marks[rows[taker[givers] != rows]] = False
    for row, partner in zip(inside.tolist(), (partners[inside] - start).tolist(), strict=True):
        marks[row], marks[partner] = marks[partner], False
    marked[givers] = False
    marked[start : start + len(marks)] = marks
