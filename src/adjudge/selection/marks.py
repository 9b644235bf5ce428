"""Marked columns of many splits as bits: how many are before a column, and which is the k-th.

One bit for each column and a running count for every 64 columns are enough for both questions. So a
split of ten million rows takes little more than a megabyte, and nothing is counted that no method
asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adjudge.validation import BoolArray, IntArray

Counts = NDArray[np.signedinteger]
Words = NDArray[np.uint64]
_ONE = np.uint64(1)


@dataclass(frozen=True)
class Marks:
    """The marked columns of each split; `before` counts them before each word of 64 columns.

    >>> marks = Marks.of(np.array([[True, False, True]]))
    >>> marks.count(np.array([0, 1, 3])).tolist()
    [[0, 1, 2]]
    >>> marks.column(np.array([0]), np.array([2])).tolist()
    [2]
    """

    n: int
    words: Words
    before: Counts

    @classmethod
    def of(cls, marked: BoolArray) -> Marks:
        """From a table of splits x columns."""
        return cls.of_bits(marked.shape[1], np.packbits(marked, axis=1, bitorder="little"))

    @classmethod
    def of_bits(cls, n: int, bits: NDArray[np.uint8]) -> Marks:
        """From the bits of n columns, eight in a byte."""
        # The last word is never full, so that a cut at the end has a word too.
        filled = np.zeros((len(bits), 8 * (n // 64 + 1)), dtype=np.uint8)
        filled[:, : bits.shape[1]] = bits
        return cls.of_words(n, filled.view("<u8").astype(np.uint64, copy=False))

    @classmethod
    def of_words(cls, n: int, words: Words) -> Marks:
        """From the bits of n columns, 64 in a word."""
        before = np.zeros(words.shape, dtype=np.int32)
        np.cumsum(np.bitwise_count(words[:, :-1]), axis=1, dtype=np.int32, out=before[:, 1:])
        return cls(n, words, before)

    def __len__(self) -> int:
        return len(self.words)

    def among(self, other: Marks) -> Marks:
        """The columns marked here and in `other`, which can have one row for all splits."""
        return self.of_words(self.n, self.words & other.words)

    @cached_property
    def total(self) -> Counts:
        """How many columns of each split are marked."""
        return np.asarray(self.before[:, -1] + np.bitwise_count(self.words[:, -1]))

    def count_among(self, other: Marks) -> IntArray:
        """How many columns of each split are marked here and in `other`."""
        both = np.bitwise_count(self.words & other.words)
        return np.asarray(both.sum(axis=1, dtype=np.int64))

    def count(self, cuts: Counts) -> Counts:
        """How many marked columns of every split are before each cut."""
        word, rest = np.divmod(cuts, 64)
        low = np.take(self.words, word, axis=1) & ((_ONE << rest.astype(np.uint64)) - _ONE)
        return np.asarray(np.take(self.before, word, axis=1) + np.bitwise_count(low))

    def count_at(self, splits: IntArray, cuts: IntArray) -> Counts:
        """How many marked columns of each of `splits` are before the cut next to it."""
        word, rest = np.divmod(cuts, 64)
        low = self.words[splits, word] & ((_ONE << rest.astype(np.uint64)) - _ONE)
        return np.asarray(self.before[splits, word] + np.bitwise_count(low))

    def column(self, splits: IntArray, rank: IntArray) -> IntArray:
        """The column that is marked as number `rank`, from 1, in each of `splits`."""
        width = self.n + 1
        word = np.searchsorted(self._all_before, rank + splits * width, side="left") - 1
        word -= splits * self.words.shape[1]
        left = rank - self.before[splits, word]
        bits, at = self.words[splits, word], word * 64
        for half in (32, 16, 8, 4, 2, 1):
            lower = np.bitwise_count(bits & np.uint64(2**half - 1))
            above = left > lower
            left = left - np.where(above, lower, 0)
            bits = np.where(above, bits >> np.uint64(half), bits)
            at = at + half * above
        return np.asarray(at)

    @cached_property
    def _all_before(self) -> IntArray:
        """`before` of all splits in one ascending array."""
        return np.ravel(self.before + np.arange(len(self))[:, None] * (self.n + 1))

    def unpack(self) -> BoolArray:
        """The table of splits x columns."""
        bits = self.words.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(bits, axis=1, count=self.n, bitorder="little").view(np.bool_)
