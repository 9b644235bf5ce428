"""Predictive probability: one order only, and which one is drawn per item and recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge._validation import FloatArray, probabilities, same_length


def random_orders(ids: Iterable[object], *, seed: int = 0) -> NDArray[np.object_]:
    """ "ab" or "ba" for every id, by a coin that depends on the id and the seed alone.

    Sorting, filtering or adding rows changes nobody's order, and two judges get the same one.

    >>> random_orders(["x", "y", "z"]).tolist() == random_orders(["z", "y", "x"]).tolist()[::-1]
    True
    """
    coins = [hashlib.sha256(f"{seed}\x1f{key}".encode()).digest()[0] & 1 for key in ids]
    return np.array(["ba" if coin else "ab" for coin in coins], dtype=object)


def single_order_preference(
    p_fwd: ArrayLike, p_rev: ArrayLike, orders: Iterable[str]
) -> FloatArray:
    """p of response_a as seen in one order only: p_fwd where it is "ab", p_rev where "ba".

    The baseline of the SCOPE paper: position bias stays in the probability, only its direction
    is random.

    >>> single_order_preference([0.9, 0.9], [0.5, 0.5], ["ab", "ba"])
    array([0.9, 0.5])
    """
    forward, reverse = probabilities(p_fwd, "p_fwd"), probabilities(p_rev, "p_rev")
    shown = np.array(list(orders), dtype=object)
    same_length(p_fwd=forward, p_rev=reverse, orders=shown)
    return np.where(shown == "ab", forward, reverse)
