"""What fdr would accept, before there is a batch: a mean over random half-splits of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adjudge._validation import BoolArray, IntArray
from adjudge.results.selection import BatchSelection
from adjudge.selection.fdr import fdr_select, pooled_fdr_select
from adjudge.selection.groups import Entry
from adjudge.selection.shift import weighted_fdr_select

HALF_SPLITS = 20


@dataclass(frozen=True)
class Indication:
    """Mean share accepted of a batch, and mean share of errors among the accepted."""

    coverage: float
    risk: float


def indicate(entry: Entry, alpha: Fraction, seed: int) -> Indication:
    """Half of the labels calibrate, the other half is the batch, twenty times.

    Only an indication: select will have twice the labels and another batch. With weights the
    batch is drawn from its half in proportion to them, as the new rows would come.
    """
    rng = np.random.default_rng(seed)
    n, shares, risks = len(entry), [], []
    if n < 2:
        return Indication(0.0, 0.0)
    for _ in range(HALF_SPLITS):
        order = rng.permutation(n)
        own, new = order[: n // 2], order[n // 2 :]
        if entry.weights is not None:
            odds = entry.weights[new] / entry.weights[new].sum()
            new = rng.choice(new, size=len(new), p=odds)
        accepted = _select(entry, own, new, alpha).accepted & entry.has_verdict[new]
        shares.append(accepted.mean())
        risks.append(_risk(accepted, entry.errors[new]))
    return Indication(float(np.mean(shares)), float(np.mean(risks)))


def indicate_pooled(groups: Sequence[Entry], alpha: Fraction, seed: int) -> list[Indication]:
    """The same with one Benjamini-Hochberg over all groups; each group is halved and told apart."""
    rng = np.random.default_rng(seed)
    scores = np.concatenate([entry.scores for entry in groups])
    errors = np.concatenate([entry.errors for entry in groups])
    verdict = np.concatenate([entry.has_verdict for entry in groups])
    codes = np.repeat(np.arange(len(groups)), [len(entry) for entry in groups])
    sizes = np.bincount(codes)
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    shares, risks = np.zeros((HALF_SPLITS, len(groups))), np.zeros((HALF_SPLITS, len(groups)))
    for split in range(HALF_SPLITS):
        place = np.lexsort((rng.random(len(codes)), codes))
        rank = np.empty(len(codes), dtype=np.int64)
        rank[place] = np.arange(len(codes))
        own = rank - first[codes] < sizes[codes] // 2
        if not own.any():
            break
        chosen = pooled_fdr_select(
            scores[own], errors[own], codes[own], scores[~own], codes[~own], alpha=alpha
        )
        accepted = chosen.accepted & verdict[~own]
        for group in range(len(groups)):
            here = codes[~own] == group
            shares[split, group] = accepted[here].mean()
            risks[split, group] = _risk(accepted[here], errors[~own][here])
    return [
        Indication(float(share), float(risk))
        for share, risk in zip(shares.mean(axis=0), risks.mean(axis=0), strict=True)
    ]


def _select(entry: Entry, own: IntArray, new: IntArray, alpha: Fraction) -> BatchSelection:
    s, e = entry.scores, entry.errors
    if entry.weights is None:
        return fdr_select(s[own], e[own], s[new], alpha=alpha)
    w = entry.weights
    return weighted_fdr_select(s[own], e[own], w[own], s[new], w[new], alpha=alpha)


def _risk(accepted: BoolArray, errors: IntArray) -> float:
    return float(errors[accepted].mean()) if accepted.any() else 0.0
