"""Which models can be compared at all, and which only by the grace of the penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjudge._bradley_terry import connected_groups, dominance_groups
from adjudge._validation import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Structure:
    """`component` of each model, whose `won_all` and `lost_all`, and warnings in words.

    Components are numbered by size, the largest first. Elo of different components is not on one
    scale. Models without a battle are components of their own.
    """

    component: IntArray
    won_all: BoolArray
    lost_all: BoolArray
    separated: bool
    warnings: tuple[str, ...]


def structure(wins: FloatArray, names: tuple[str, ...]) -> Structure:
    """Read the shape of the comparison graph.

    >>> apart = np.kron(np.eye(2), [[0, 2], [1, 0]])
    >>> found = structure(apart, ("x", "y", "p", "q"))
    >>> found.component.tolist(), found.warnings[0]
    ([0, 0, 1, 1], '2 groups of models never met: their Elo is not on one scale')
    """
    count, group = connected_groups(wins + wins.T)
    size = np.bincount(group, minlength=count)
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    # A model that nobody saw battle is no group that the others failed to meet.
    unseen = int(((won == 0) & (lost == 0)).sum())
    order = np.argsort(-size, kind="stable")
    rank_of = np.empty(count, dtype=np.int64)
    rank_of[order] = np.arange(count)
    component = rank_of[group]

    won_all = (won > 0) & (lost == 0)
    lost_all = (lost > 0) & (won == 0)
    strong, _ = dominance_groups(wins)
    warnings = []
    if count - unseen > 1:
        met = count - unseen
        warnings.append(f"{met} groups of models never met: their Elo is not on one scale")
    perfect = [(names[k], "won") for k in np.flatnonzero(won_all)]
    perfect += [(names[k], "lost") for k in np.flatnonzero(lost_all)]
    if perfect:
        shown = ", ".join(f"{name} ({what} all)" for name, what in perfect[:5])
        more = f" and {len(perfect) - 5} more" if len(perfect) > 5 else ""
        warnings.append(
            f"{shown}{more}: no finite maximum, the estimate is set by the penalty and the "
            "interval is open on that side"
        )
    separated = strong > count
    if separated and strong - count > len(perfect):
        warnings.append(
            "some group of models never lost to another: the distance between them is set by the "
            "penalty alone"
        )
    return Structure(component, won_all, lost_all, bool(separated), tuple(warnings))
