"""A cascade: cheap judges first; a row stops at the first one that is sure enough.

    u_j    = fitted probability that the verdict of judges 1..j is wrong   (the ridge of `learned`)
    stage  = the first j with u_j <= tau, else the last

The row's verdict and doubt are those of its stage, so a cascade counts as one judge: once it is
fitted, both are a fixed function of the row, and labels that were not used for fitting calibrate
it like any other judge. If a judge failed or returned a tie, u is infinite and the row continues
with the next judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adjudge.uncertainty.learned import Evidence, LearnedDoubt, doubt_of, learn, sum_in_order
from adjudge.uncertainty.ridge import FOLDS
from adjudge.validation import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class StageEvidence:
    """The answers of a cascade's judges about some rows, cheap to strong.

    `whole` has a column of p for each judge, NaN if it failed or was not asked. `gaps` has the
    order gaps, also one column per judge; None if rows do not have both orders.
    """

    whole: Evidence
    ties: BoolArray
    gaps: FloatArray | None = None

    @property
    def stages(self) -> int:
        """How many judges there are."""
        return int(self.whole.p.shape[1])

    @property
    def measured(self) -> BoolArray:
        """Which judge has a score for which row."""
        return ~np.isnan(self.whole.p)

    def of(self, judges: Sequence[int]) -> StageEvidence:
        """Only these judges, in this order."""
        at = list(judges)
        names = tuple(self.whole.judges[j] for j in at)
        return StageEvidence(
            whole=replace(self.whole, judges=names, p=self.whole.p[:, at]),
            ties=self.ties[:, at],
            gaps=None if self.gaps is None else self.gaps[:, at],
        )

    def upto(self, stage: int) -> Evidence:
        """The evidence available once this stage (from 0) has answered."""
        part = self.of(range(stage + 1))
        if part.gaps is None:
            return part.whole
        spoke = ~np.isnan(part.gaps)
        total = sum_in_order(list(np.where(spoke, part.gaps, 0.0).T))
        return replace(part.whole, order_gap=total / np.maximum(spoke.sum(axis=1), 1))


def stage_doubts(
    doubts: Sequence[LearnedDoubt], evidence: StageEvidence
) -> tuple[FloatArray, FloatArray]:
    """Margin and u of every row at every stage; 0 and infinity if a judge has no verdict."""
    margins = np.column_stack([one.margins(evidence.upto(j)) for j, one in enumerate(doubts)])
    return with_failures(margins, evidence)


def with_failures(margins: FloatArray, evidence: StageEvidence) -> tuple[FloatArray, FloatArray]:
    """The margins and their doubts; 0 and infinity if a judge failed or returned a tie."""
    mute = ~evidence.measured | evidence.ties
    return np.where(mute, 0.0, margins), np.where(mute, np.inf, doubt_of(margins))


def stop_at(doubts: FloatArray, tau: float) -> IntArray:
    """The stage of every row: the first with a doubt of at most tau, else the last.

    >>> stop_at(np.array([[0.05, 0.01], [0.3, 0.2], [np.inf, 0.04]]), 0.1).tolist()
    [0, 1, 1]
    """
    sure = doubts <= tau
    return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), doubts.shape[1] - 1))


@dataclass(frozen=True)
class FittedStages:
    """A ridge for each stage, and margins of the rows by ridges that were fitted without them."""

    doubts: tuple[LearnedDoubt, ...]
    held_out: FloatArray


def fit_stages(
    evidence: StageEvidence, prefers_a: IntArray, *, units: IntArray, seed: int
) -> FittedStages:
    """Fit every stage on its scored rows, and again without each fold of `units`.

    >>> rng = np.random.default_rng(0)
    >>> people = rng.integers(0, 2, 200)
    >>> odds = (2 * people - 1)[:, None] * [0.5, 2.0] + rng.normal(size=(200, 2))
    >>> p = 1 / (1 + np.exp(-odds))
    >>> seen = StageEvidence(whole=Evidence(judges=("x", "y"), p=p), ties=np.zeros_like(p) > 0)
    >>> fitted = fit_stages(seen, people, units=np.arange(200), seed=0)
    >>> (stop_at(stage_doubts(fitted.doubts, seen)[1], 0.1) == 0).mean() < 0.5
    np.True_
    """
    rows = len(prefers_a)
    groups = int(units.max()) + 1
    fold = (np.random.default_rng(seed).permutation(groups) % FOLDS)[units]
    doubts, held_out = [], np.zeros((rows, evidence.stages))
    for stage in range(evidence.stages):
        known, own = evidence.upto(stage), evidence.measured[:, stage]
        learns = own & np.vstack(
            [np.ones(rows, dtype=np.bool_), *(fold != left for left in range(FOLDS))]
        )
        names, fit = learn(known, prefers_a, learns, units=units, seed=seed)
        whole, *others = (
            LearnedDoubt(names, known.categories, scales, weights, float(penalty))
            for scales, weights, penalty in zip(*fit, strict=True)
        )
        doubts.append(whole)
        for left, one in enumerate(others):
            held_out[:, stage] = np.where(fold == left, one.margins(known), held_out[:, stage])
    return FittedStages(tuple(doubts), held_out)
