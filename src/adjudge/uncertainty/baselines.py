"""Baselines for preference entropy: one order chosen at random, and swap and vote."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.uncertainty.entropy import mean_preference
from adjudge.validation import FloatArray, one_of, probabilities, same_length


def random_orders(ids: Iterable[object], *, seed: int = 0) -> NDArray[np.object_]:
    """ "ab" or "ba" for every id, at random, depending only on the id and the seed.

    Sorting, filtering or adding rows changes no order, and two judges get the same one.

    >>> random_orders(["x", "y", "z"]).tolist() == random_orders(["z", "y", "x"]).tolist()[::-1]
    True
    """
    sha256, start = hashlib.sha256, f"{seed}\x1f"
    first = bytes([sha256(f"{start}{key}".encode()).digest()[0] for key in ids])
    words = np.array(["ab", "ba"], dtype=object)
    return np.asarray(words[np.frombuffer(first, dtype=np.uint8) & 1])


def single_order_preference(
    p_fwd: ArrayLike, p_rev: ArrayLike, orders: Iterable[str]
) -> FloatArray:
    """p of response_a in one order only: p_fwd if it is "ab", p_rev if "ba".

    The baseline of the SCOPE paper: position bias remains in the probability; only its direction
    is random.

    >>> single_order_preference([0.9, 0.9], [0.5, 0.5], ["ab", "ba"])
    array([0.9, 0.5])
    """
    forward, reverse = probabilities(p_fwd, "p_fwd"), probabilities(p_rev, "p_rev")
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
    forward, reverse = probabilities(p_fwd, "p_fwd"), probabilities(p_rev, "p_rev")
    return mean_preference(*(np.sign(p - 0.5) / 2 + 0.5 for p in (forward, reverse)))
