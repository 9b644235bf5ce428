"""Split conformal sets around a judge's score on a Likert scale (diagnosis paper, Eq. 2-3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge._stats import cluster_codes, conformal_rank
from adjudge._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    exact_level,
    finite,
    one_of,
    same_length,
)
from adjudge.diagnosis.targets import Target, human_target
from adjudge.errors import ArgumentError

WEIGHS = ("documents", "rows")
#: Written probabilities are rounded; more than this off one is another quantity.
_SUM_SLACK = 0.02


@dataclass(frozen=True)
class PredictedSets:
    """Sets of scores: `members[i, k]` says whether score `scale[0] + k` is in the set of row i.

    A judge's score between two whole ones can have an empty set: size 0, without `low` and `high`
    of its own (they are then the ends of the scale).
    """

    members: BoolArray
    scale: tuple[int, int]

    @property
    def sizes(self) -> IntArray:
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    @property
    def low(self) -> IntArray:
        return np.asarray(self.scale[0] + self.members.argmax(axis=1), dtype=np.int64)

    @property
    def high(self) -> IntArray:
        return np.asarray(self.scale[1] - self.members[:, ::-1].argmax(axis=1), dtype=np.int64)

    @property
    def advice(self) -> NDArray[np.str_]:
        return advise(self.sizes, scale=self.scale)


class ScoreSets:
    """Sets that contain the human score with probability at least 1 - alpha.

    "constant": C(x) = {y : |judge - y| <= q}, q the calibrated quantile of |judge - human| (Eq. 3).
    "adaptive": from `score_probs`, the judge's own probability of each score.

    Documents are exchangeable, rows are not: each document weighs 1/(D + 1) and the rest is at
    infinity, so that rows that repeat one another do not count as evidence. The promise is about a
    random row of a new document like these; it is an average over documents, not a promise for
    each. `weigh="rows"` is the paper's Eq. 2, right only when every row is its own document.
    `groups` calibrates each group by itself. Too few documents: the set is the whole scale.

    >>> sets = ScoreSets(alpha=0.2).calibrate([3, 4, 2, 5], [3, 4, 3, 4], documents=list("abcd"))
    >>> sets.quantile(), sets.predict([4, 1]).members.sum(axis=1)
    (1.0, array([3, 2]))
    """

    def __init__(
        self,
        *,
        alpha: float | str | Fraction,
        scale: tuple[int, int] = (1, 5),
        method: str = "constant",
        weigh: str = "documents",
        target: str = "mean",
    ) -> None:
        self.alpha = exact_level(alpha)
        self.scale = checked_scale(scale)
        self.method = one_of(method, ("constant", "adaptive"), "method")
        self.weigh = one_of(weigh, WEIGHS, "weigh")
        self.target = target
        self._quantiles: dict[object, float | None] = {}

    def calibrate(
        self,
        judge: ArrayLike,
        human: ArrayLike,
        *,
        documents: ArrayLike | Sequence[Any] | None = None,
        groups: ArrayLike | Sequence[Any] | None = None,
    ) -> ScoreSets:
        """Learn the quantiles. `judge` is scores, or rows of probabilities for "adaptive"."""
        values = self._nonconformity(judge)
        same_length(judge=values, human=human, documents=documents)
        entries = human_target(human, target=self.target, scale=self.scale)
        if documents is None and self.weigh == "documents":
            raise ArgumentError("documents", None, "name each row's document, or weigh='rows'")
        names = np.arange(len(values)) if documents is None else np.asarray(documents)
        codes, _ = cluster_codes(names)
        kinds = self._groups(groups, len(values))
        self._quantiles = {}
        for kind in dict.fromkeys(kinds[entries.row]):
            own = entries.only(kinds[entries.row] == kind)
            [self._quantiles[kind]] = quantiles(
                values, own, codes, [self.alpha], weigh=self.weigh, scale=self.scale
            )
        return self

    def quantile(self, group: object = None) -> float | None:
        """The calibrated quantile of a group; None: the whole scale."""
        return self._quantiles.get(group)

    def predict(
        self, judge: ArrayLike, *, groups: ArrayLike | Sequence[Any] | None = None
    ) -> PredictedSets:
        """The set of each row. A group never calibrated gets the whole scale."""
        if not self._quantiles:
            raise ArgumentError("sets", "not calibrated", "call calibrate with labelled rows first")
        values = self._nonconformity(judge)
        kinds = self._groups(groups, len(values))
        calibrated = (self._quantiles.get(kind) for kind in kinds)
        limits = np.array([np.inf if limit is None else limit for limit in calibrated])
        return PredictedSets(values <= limits[:, None], self.scale)

    def _nonconformity(self, judge: ArrayLike) -> FloatArray:
        if self.method == "constant":
            return residuals(judge, self.scale)
        values = ordinal_nonconformity(judge)
        if values.shape[1] != self.scale[1] - self.scale[0] + 1:
            raise ArgumentError(
                "judge", f"{values.shape[1]} probabilities", f"give one per score of {self.scale}"
            )
        return values

    @staticmethod
    def _groups(groups: ArrayLike | Sequence[Any] | None, n: int) -> NDArray[np.object_]:
        if groups is None:
            return np.full(n, None, dtype=object)
        named = np.asarray(groups, dtype=object)
        if named.shape != (n,):
            raise ArgumentError("groups", f"shape {named.shape}", f"give one name for {n} rows")
        return named


def residuals(judge: ArrayLike, scale: tuple[int, int]) -> FloatArray:
    """|judge - y| for each row and each score y of the scale."""
    scores = finite(judge, "judge")
    outside = (scores < scale[0]) | (scores > scale[1])
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise ArgumentError(
            f"judge[{at}]", float(scores[at]), f"the scale is {scale[0]} to {scale[1]}"
        )
    return np.abs(scores[:, None] - np.arange(scale[0], scale[1] + 1))


def ordinal_nonconformity(score_probs: ArrayLike) -> FloatArray:
    """For each row and score, the mass the growing set has gathered before it takes that score.

    The likeliest score has 0, so no set is empty. {y : value <= q} is an interval for every q.
    The set grows outward from the likeliest score, always taking the likelier neighbour (of equal
    ones the lower), so that it is wide exactly where the judge is torn (Lu, Angelopoulos and
    Pomerantz 2022). Conformal calibration then needs no trust in the probabilities themselves.

    >>> ordinal_nonconformity([[0.1, 0.5, 0.3, 0.1, 0.0]]).round(2)
    array([[0.8, 0. , 0.5, 0.9, 1. ]])
    """
    probs = probability_rows(score_probs)
    n, size = probs.shape
    rows = np.arange(n)
    values = np.zeros_like(probs)
    low = high = probs.argmax(axis=1)
    gathered = probs[rows, low].copy()
    for _ in range(size - 1):
        below = np.where(low > 0, probs[rows, np.maximum(low - 1, 0)], -1.0)
        above = np.where(high < size - 1, probs[rows, np.minimum(high + 1, size - 1)], -1.0)
        down = below >= above
        taken = np.where(down, low - 1, high + 1)
        values[rows, taken] = gathered
        gathered = gathered + probs[rows, taken]
        low, high = np.where(down, low - 1, low), np.where(down, high, high + 1)
    return values


def probability_rows(score_probs: ArrayLike) -> FloatArray:
    """Rows of probabilities over the scale, each summing to one (rescaled if slightly off)."""
    try:
        probs: NDArray[Any] = np.array(score_probs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            "score_probs", type(score_probs).__name__, "give one list of equal length per row"
        ) from None
    if probs.ndim != 2 or probs.shape[1] < 2:
        raise ArgumentError("score_probs", f"shape {probs.shape}", "give rows by scores")
    total = probs.sum(axis=1)
    bad = ~(np.isfinite(probs).all(axis=1) & (probs >= 0).all(axis=1))
    bad |= ~(np.abs(total - 1) <= _SUM_SLACK)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ArgumentError(
            f"score_probs[{at}]", probs[at].tolist(), "give probabilities that sum to one"
        )
    return np.asarray(probs / total[:, None], dtype=np.float64)


def quantiles(
    values: FloatArray,
    entries: Target,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    weigh: str,
    scale: tuple[int, int],
) -> list[float | None]:
    """The calibrated quantile at each alpha; None where the labelled documents are too few."""
    if len(entries.row) == 0:
        return [None] * len(alphas)
    scores = values[entries.row, entries.score - scale[0]]
    if weigh == "documents":
        return document_quantiles(scores, documents[entries.row], alphas, raters=entries.raters)
    if (entries.raters > 1).any():
        # Row-wise with a random rater: each row is its own document.
        return document_quantiles(scores, entries.row, alphas, raters=entries.raters)
    return row_quantiles(scores, alphas)


def row_quantiles(scores: FloatArray, alphas: Sequence[Fraction]) -> list[float | None]:
    """Eq. 2: the ceil((1 - alpha)(n + 1))-th smallest score; None where that exceeds n.

    >>> row_quantiles(np.array([0., 1., 1., 2.]), [Fraction(1, 5), Fraction(1, 10)])
    [2.0, None]
    """
    ordered = np.sort(scores)
    ranks = [conformal_rank(len(scores), alpha) for alpha in alphas]
    return [float(ordered[rank - 1]) if rank <= len(scores) else None for rank in ranks]


def document_quantiles(
    scores: FloatArray,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    raters: IntArray | None = None,
) -> list[float | None]:
    """Smallest q at which documents, each of weight 1/(D + 1), reach 1 - alpha; None if none does.

    A document's weight is shared equally by its rows, a row's by its raters: with a random rater
    as target a row has one entry per rater, and `raters` says how many. The remaining 1/(D + 1)
    is at infinity, for the document still to come. A random row of a new exchangeable document
    is then covered with probability at least 1 - alpha, however alike a document's rows are.

    Weights are whole numbers over one common denominator, so that a boundary is met exactly.

    >>> like_rows = np.array([0., 0., 0., 2., 2., 2.])
    >>> document_quantiles(like_rows, np.array([0, 0, 0, 1, 1, 1]), [Fraction(1, 2)])
    [2.0]
    >>> document_quantiles(like_rows, np.array([0, 0, 0, 1, 1, 1]), [Fraction(1, 10)])
    [None]
    """
    spread = np.ones(len(scores), dtype=np.int64) if raters is None else raters
    # A row of r raters fills r entries, so counting 1/r for each entry counts rows.
    names, index = np.unique(documents, return_inverse=True)
    rows = np.rint(np.bincount(index, weights=1 / spread)).astype(np.int64)
    shares = rows[index] * spread
    sizes, size = np.unique(shares, return_inverse=True)
    whole = math.lcm(*sizes.tolist())
    total = len(names) * whole
    # Beyond 64 bits numpy adds Python's own whole numbers, slowly and exactly.
    kind = np.dtype(np.int64) if total < 2**62 else np.dtype(object)
    weights: NDArray[Any] = np.array([whole // share for share in sizes.tolist()], dtype=kind)
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[size][order])
    answers: list[float | None] = []
    for alpha in alphas:
        needed = math.ceil((1 - alpha) * (len(names) + 1) * whole)
        if needed > total:
            answers.append(None)
            continue
        at = int(np.searchsorted(reached, needed, side="left"))
        answers.append(float(scores[order[at]]))
    return answers


def advise(sizes: ArrayLike, *, scale: tuple[int, int] = (1, 5)) -> NDArray[np.str_]:
    """What to do with a row, by the size of its set (diagnosis paper, section 6).

    At most two scores: "trust". The whole scale: "human", hand it to a person. Between: "look".

    >>> advise([1, 2, 3, 5]).tolist()
    ['trust', 'trust', 'look', 'human']
    """
    given = np.asarray(sizes)
    whole = scale[1] - scale[0] + 1
    return np.select([given >= whole, given <= 2], ["human", "trust"], default="look")


def checked_scale(scale: tuple[int, int]) -> tuple[int, int]:
    """A scale of whole scores, lowest and highest."""
    low, high = scale
    if int(low) != low or int(high) != high or not low < high or high - low > 100:
        raise ArgumentError("scale", scale, "give the lowest and highest whole score, like (1, 5)")
    return int(low), int(high)
