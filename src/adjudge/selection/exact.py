"""Comparisons that decide who is accepted, in whole numbers.

A float sum of (e_i - alpha) lands on the wrong side of -1 often enough to move thresholds, so
every boundary here is a comparison of integers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adjudge._validation import BoolArray, IntArray

_SAFE = 2**62


def at_most(part: IntArray, whole: IntArray, ratio: Fraction) -> BoolArray:
    """part <= ratio * whole, elementwise and exactly.

    Both sides are multiplied out, part * q <= p * whole for ratio = p/q. Where that could leave
    64 bits, floats decide the clear cases and Python's own integers the close ones.

    >>> at_most(np.array([3, 4]), np.array([30, 30]), Fraction(1, 10))
    array([ True, False])
    """
    p, q = ratio.numerator, ratio.denominator
    largest = max(_reach(part) * q, _reach(whole) * p, p, q)
    if largest < _SAFE:
        # Counts may come in 32 bits, where numpy's products would wrap around without a word.
        bits = np.int32 if largest < 2**31 else np.int64
        return np.asarray(np.multiply(part, q, dtype=bits) <= np.multiply(whole, p, dtype=bits))
    left, right = part * 1.0, whole * float(ratio)
    decided = np.asarray(left <= right)
    close = np.abs(left - right) <= 1e-9 * np.maximum(np.abs(left), np.abs(right))
    for at in zip(*np.nonzero(close), strict=True):
        one, all_of_it = (np.broadcast_to(counts, decided.shape)[at] for counts in (part, whole))
        decided[at] = int(one) * q <= int(all_of_it) * p
    return decided


def _reach(values: IntArray) -> int:
    if np.size(values) == 0:
        return 0
    return max(abs(int(np.min(values))), abs(int(np.max(values))))
