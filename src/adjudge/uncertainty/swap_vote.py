"""Swap and vote: ask in both orders, count votes, abstain where they disagree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import FloatArray, probabilities, same_length


def swap_vote_preference(p_fwd: ArrayLike, p_rev: ArrayLike) -> FloatArray:
    """The share of the two votes for response_a: 1, 0, or one half where they disagree.

    An order at exactly one half casts half a vote each way. What is lost against the mean of the
    probabilities is how sure each vote was.

    >>> swap_vote_preference([0.9, 0.9, 0.1], [0.6, 0.4, 0.2])
    array([1. , 0.5, 0. ])
    """
    forward, reverse = probabilities(p_fwd, "p_fwd"), probabilities(p_rev, "p_rev")
    same_length(p_fwd=forward, p_rev=reverse)
    return (_vote(forward) + _vote(reverse)) / 2


def _vote(p: FloatArray) -> FloatArray:
    return np.where(p > 0.5, 1.0, np.where(p < 0.5, 0.0, 0.5))
