"""What a guarantee accepts of the labels that it is calibrated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adjudge._validation import BoolArray, IntArray
from adjudge.results.selection import Rule, share
from adjudge.selection.groups import Entry
from adjudge.selection.guarantees.base import Guarantee

HALF_SPLITS = 20


@dataclass(frozen=True)
class Acceptance:
    """Labelled rows that a rule accepts, and those of them that are wrong; shares of both."""

    rows: int
    wrong: int
    coverage: float
    risk: float


def accept_labels(
    chosen: Guarantee, rule: Rule, entry: Entry, *, alpha: Fraction, delta: Fraction, seed: int
) -> Acceptance:
    """What the rule accepts of the rows it was made from; of a batch's rule an indication.

    A row without a verdict counts as an error in calibration; it is never accepted itself.
    """
    if rule.accepts == "none":
        return Acceptance(0, 0, 0.0, 0.0)
    if chosen.per_batch:
        return _over_halves(chosen, entry, alpha, delta, seed)
    accepted = chosen.accept(rule, entry.scores, alpha=alpha) & entry.has_verdict
    rows, wrong = int(accepted.sum()), int(entry.errors[accepted].sum())
    return Acceptance(rows, wrong, share(rows, len(entry)), share(wrong, rows))


def accept_labels_pooled(
    chosen: Guarantee, groups: Sequence[Entry], *, alpha: Fraction, delta: Fraction, seed: int
) -> list[Acceptance]:
    """The indication for several groups under one promise; every group is halved."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(groups)), [len(entry) for entry in groups])
    scores = np.concatenate([entry.scores for entry in groups])
    errors = np.concatenate([entry.errors for entry in groups])
    verdict = np.concatenate([entry.has_verdict for entry in groups])
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
        rules = [
            chosen.decide(scores[mine], errors[mine], alpha=alpha, delta=delta)
            for mine in (own & (codes == group) for group in range(len(groups)))
        ]
        accepted = chosen.accept_pooled(rules, scores[~own], codes[~own], alpha=alpha)
        accepted &= verdict[~own]
        for group in range(len(groups)):
            here = codes[~own] == group
            shares[split, group] = accepted[here].mean()
            risks[split, group] = _risk(accepted[here], errors[~own][here])
    return [
        _indication(len(entry), float(coverage), float(risk))
        for entry, coverage, risk in zip(
            groups, shares.mean(axis=0), risks.mean(axis=0), strict=True
        )
    ]


def _over_halves(
    chosen: Guarantee, entry: Entry, alpha: Fraction, delta: Fraction, seed: int
) -> Acceptance:
    """Half of the labels calibrate, the other half is the batch, twenty times.

    Only an indication: select will have twice the labels and another batch. With weights the
    batch is drawn from its half in proportion to them, as the new rows would come.
    """
    rng = np.random.default_rng(seed)
    n, shares, risks = len(entry), [], []
    if n < 2:
        return Acceptance(0, 0, 0.0, 0.0)
    weights = entry.weights if chosen.takes_weights else None
    for _ in range(HALF_SPLITS):
        order = rng.permutation(n)
        own, new = order[: n // 2], order[n // 2 :]
        if weights is not None:
            new = rng.choice(new, size=len(new), p=weights[new] / weights[new].sum())
        rule = chosen.decide(
            entry.scores[own],
            entry.errors[own],
            alpha=alpha,
            delta=delta,
            weights=None if weights is None else weights[own],
        )
        accepted = chosen.accept(
            rule,
            entry.scores[new],
            alpha=alpha,
            weights=None if weights is None else weights[new],
        )
        accepted &= entry.has_verdict[new]
        shares.append(accepted.mean())
        risks.append(_risk(accepted, entry.errors[new]))
    return _indication(n, float(np.mean(shares)), float(np.mean(risks)))


def _indication(n: int, coverage: float, risk: float) -> Acceptance:
    rows = round(coverage * n)
    return Acceptance(rows, round(risk * rows), coverage, risk)


def _risk(accepted: BoolArray, errors: IntArray) -> float:
    return float(errors[accepted].mean()) if accepted.any() else 0.0
