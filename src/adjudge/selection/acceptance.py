"""How many of its own calibration labels a guarantee accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adjudge.results.rules import Rule, share
from adjudge.selection.groups import Entry, by_judge
from adjudge.selection.guarantees.base import Guarantee, Labels
from adjudge.selection.split_counts import TOGETHER, Levels, SplitCounts, SplitTable
from adjudge.selection.splits import random_halves
from adjudge.validation import BoolArray, IntArray

HALF_SPLITS = 20


@dataclass(frozen=True)
class Acceptance:
    """How many labelled rows a rule accepts, how many of them are wrong, and both shares."""

    rows: int = 0
    wrong: int = 0
    coverage: float = 0.0
    risk: float = 0.0


def accept_labels(
    chosen: Guarantee, rule: Rule, entry: Entry, levels: Levels, *, seed: int
) -> Acceptance:
    """What the rule accepts of its own calibration rows. Only indicative for a batch rule.

    A row without a verdict counts as an error in calibration and is never accepted.
    """
    if rule.accepts == "none":
        return Acceptance()
    if chosen.per_batch:
        return _over_halves(chosen, entry, levels, seed)
    accepted = chosen.accept(rule, entry.labels.scores, levels) & entry.has_verdict
    rows, wrong = int(accepted.sum()), int(entry.labels.errors[accepted].sum())
    return Acceptance(rows, wrong, share(rows, len(entry)), share(wrong, rows))


def accept_labels_pooled(
    chosen: Guarantee, entries: Sequence[Entry], levels: Levels, *, seed: int
) -> list[Acceptance]:
    """The same indication for all groups of a judge under one promise."""
    by_entry: dict[int, Acceptance] = {}
    for own in by_judge(entries):
        by_entry |= zip(map(id, own), _over_halves_pooled(chosen, own, levels, seed), strict=True)
    return [by_entry[id(entry)] for entry in entries]


def _over_halves_pooled(
    chosen: Guarantee, groups: Sequence[Entry], levels: Levels, seed: int
) -> list[Acceptance]:
    """Like `_over_halves`, but every group is halved and all batches are decided together."""
    rng = np.random.default_rng(seed)
    labels = Labels.join([entry.labels for entry in groups])
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
        rules = [
            chosen.decide(labels.take(own & (codes == group)), levels)
            for group in range(len(groups))
        ]
        accepted = chosen.accept_pooled(rules, labels.scores[~own], codes[~own], levels)
        accepted &= verdict[~own]
        for group in range(len(groups)):
            here = codes[~own] == group
            shares[split, group] = accepted[here].mean()
            risks[split, group] = _risk(accepted[here], labels.errors[~own][here])
    means = zip(shares.mean(axis=0).tolist(), risks.mean(axis=0).tolist(), strict=True)
    return [_indication(len(entry), *mean) for entry, mean in zip(groups, means, strict=True)]


def _over_halves(chosen: Guarantee, entry: Entry, levels: Levels, seed: int) -> Acceptance:
    """Calibrate on half of the labels, use the other half as the batch, 20 times.

    This is only indicative: `select` will use twice as many labels and another batch. With weights,
    the batch is sampled from its half in proportion to the weights, like the new rows.
    """
    rng = np.random.default_rng(seed)
    labels, n = entry.labels, len(entry)
    if n < 2:
        return Acceptance()
    weights = labels.weights if chosen.takes_weights else None
    shares: list[float] = []
    risks: list[float] = []
    if weights is None:
        table = SplitTable.build(labels.scores, labels.errors, entry.has_verdict, None, entry.order)
        for halves in random_halves(n, HALF_SPLITS, rng, at_least=TOGETHER):
            counts = SplitCounts.build(table, halves)
            outcome = chosen.counts_over_splits(counts, levels)
            for accepted, wrong, tested in zip(*(part.tolist() for part in outcome), strict=True):
                shares.append(accepted / tested)
                risks.append(share(wrong, accepted))
    else:
        for _ in range(HALF_SPLITS):
            order = rng.permutation(n)
            new = order[n // 2 :]
            new = rng.choice(new, size=len(new), p=weights[new] / weights[new].sum())
            rule = chosen.decide(labels.take(order[: n // 2]), levels)
            batch = labels.take(new)
            taken = chosen.accept(rule, batch.scores, levels, batch.weights)
            taken &= entry.has_verdict[new]
            shares.append(float(taken.mean()))
            risks.append(_risk(taken, batch.errors))
    return _indication(n, float(np.mean(shares)), float(np.mean(risks)))


def _indication(n: int, coverage: float, risk: float) -> Acceptance:
    rows = round(coverage * n)
    return Acceptance(rows, round(risk * rows), coverage, risk)


def _risk(accepted: BoolArray, errors: IntArray) -> float:
    return float(errors[accepted].mean()) if accepted.any() else 0.0
