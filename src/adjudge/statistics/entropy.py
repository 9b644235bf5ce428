"""Bidirectional preference entropy: doubt from both orders (SCOPE paper, section 2.2)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from adjudge.statistics.numbers import slices
from adjudge.validation import FloatArray, one_of, probabilities, same_length

#: The doubt of a row that has a score but nothing to accept, such as a judge's tie. JSON has no
#: infinity, so this is the largest number that result files can have. It is last in every order, so
#: that rules by rank need no exception.
INFINITE_DOUBT: Final = 1e18


def preference_entropy(p_a: ArrayLike) -> FloatArray:
    """-(p ln p + (1-p) ln(1-p)) in nats, with 0 ln 0 = 0.

    Swapping A and B gives bit-identical doubt: the larger of p and 1-p is used first, so that
    p = 0.3 and p = 0.7 tie exactly, as thresholds need.

    >>> preference_entropy([0.5, 1.0]).round(4)
    array([0.6931, 0.    ])
    """
    p = probabilities(p_a, "p_a")
    # In place, in parts: with a million rows, allocating memory takes longer than the logarithms.
    for at in slices(len(p)):
        slice_of_p = p[at]
        top = np.maximum(slice_of_p, 1 - slice_of_p)
        entr(top, out=slice_of_p)
        slice_of_p += entr(1 - top)
    return p


def entropy_of(p_a: float) -> float:
    """`preference_entropy` of one probability, bit for bit, without an array.

    >>> bool(entropy_of(0.3) == entropy_of(0.7) == preference_entropy([0.7])[0])
    True
    """
    top = max(p_a, 1 - p_a)
    rest = 1 - top
    return -top * math.log(top) + (-rest * math.log(rest) if rest else 0.0)


def confidence(p_a: ArrayLike) -> FloatArray:
    """max(p_a, 1 - p_a): the judge's confidence."""
    p = probabilities(p_a, "p_a")
    return np.maximum(p, 1 - p)


#: Two probabilities that add up to 1 do so up to this, after rounding.
_ROUNDING = 1e-12


def mean_of_orders(p_fwd: float, p_rev: float) -> float:
    """(p_fwd + p_rev) / 2; exactly 0.5 for a judge that only looks at the position.

    Its p_rev is 1 - p_fwd, but both are rounded, and the mean is not always 0.5 then.

    >>> p = 1 / (1 + math.exp(-20))
    >>> (p + math.exp(-20) * p) / 2, mean_of_orders(p, math.exp(-20) * p)
    (0.49999999999999994, 0.5)
    """
    total = p_fwd + p_rev
    return 0.5 if abs(total - 1) < _ROUNDING else total / 2


def verdict(p_a: float, p_tie: float | None = None) -> Literal["A", "B", "tie"] | None:
    """The verdict of one probability; a tie if it is the most likely (half of it is in p_a).

    >>> verdict(0.9), verdict(0.5), verdict(0.6, 0.5), verdict(0.7, 0.2)
    ('A', None, 'tie', 'A')
    """
    if p_tie is not None and p_tie > max(p_a, 1 - p_a) - p_tie / 2:
        return "tie"
    return "A" if p_a > 0.5 else "B" if p_a < 0.5 else None


def random_orders(ids: Iterable[object], *, seed: int = 0) -> NDArray[np.object_]:
    """ "ab" or "ba" for every id, at random, depending only on the id and the seed.

    Sorting, filtering or adding rows changes no order, and two judges get the same one.

    >>> random_orders(["x", "y", "z"]).tolist() == random_orders(["z", "y", "x"]).tolist()[::-1]
    True
    """
    sha256 = hashlib.sha256
    start = f"{seed}\x1f"
    first = bytes([sha256(f"{start}{key}".encode()).digest()[0] for key in ids])
    words = np.array(["ab", "ba"], dtype=object)
    return np.asarray(words[np.frombuffer(first, dtype=np.uint8) & 1])


def single_order_preference(
    p_fwd: ArrayLike, p_rev: ArrayLike, orders: Iterable[str]
) -> FloatArray:
    """p of response_a in one order only: p_fwd if it is "ab", p_rev if "ba".

    The baseline of the SCOPE paper: position bias remains, only its direction is random.

    >>> single_order_preference([0.9, 0.9], [0.5, 0.5], ["ab", "ba"])
    array([0.9, 0.5])
    """
    forward = probabilities(p_fwd, "p_fwd")
    reverse = probabilities(p_rev, "p_rev")
    shown = orders if isinstance(orders, np.ndarray) else np.array(list(orders), dtype=object)
    same_length(p_fwd=forward, p_rev=reverse, orders=shown)
    for order in set(shown):
        one_of(order, ("ab", "ba"), "orders")
    return np.where(shown == "ab", forward, reverse)


def swap_vote_preference(p_fwd: ArrayLike, p_rev: ArrayLike) -> FloatArray:
    """The share of the two votes for response_a: 1, 0, or one half if they disagree.

    An order at exactly one half counts as half a vote for each. Compared with the mean of the
    probabilities, the confidence of each vote is lost.

    >>> swap_vote_preference([0.9, 0.9, 0.1], [0.6, 0.4, 0.2])
    array([1. , 0.5, 0. ])
    """
    forward = probabilities(p_fwd, "p_fwd")
    reverse = probabilities(p_rev, "p_rev")
    same_length(p_fwd=forward, p_rev=reverse)
    return (np.sign(forward - 0.5) + np.sign(reverse - 0.5)) / 4 + 0.5
