"""Rules that turn a judge's answer on a row into a set of scores, each calibrated on documents.

A rule is calibrated on the labelled rows of one group at several levels together. Residuals and the
judge's own probabilities give the nonconformity of a score without labels; `learned` and
`cross-fitted` learn it from labels, and no document calibrates what was learned from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from adjudge.diagnosis.judge_scale import JudgeScale, learn_scale
from adjudge.diagnosis.nonconformity import ordinal_nonconformity, residuals
from adjudge.diagnosis.quantiles import fewest_documents, quantiles
from adjudge.diagnosis.targets import Target
from adjudge.errors import ArgumentError
from adjudge.statistics.numbers import conformal_rank
from adjudge.validation import BoolArray, FloatArray, IntArray, finite

#: The number of folds of documents; one per document if there are fewer.
_FOLDS = 10


class SetRule(Protocol):
    """Sets of one group of rows at several levels.

    `quantiles` has None if a rule has none; `whole` is true if every set is the entire scale,
    because too few documents are labelled.
    """

    @property
    def quantiles(self) -> Sequence[float | None]: ...

    @property
    def whole(self) -> Sequence[bool]: ...

    def members(self, given: FloatArray) -> BoolArray:
        """Which scores are in the set of each row: (levels, rows, scores)."""
        ...


class Calibration(Protocol):
    """Calibrate a rule on entries of rows; `documents` is each row's document."""

    def __call__(
        self,
        given: FloatArray,
        entries: Target,
        documents: IntArray,
        alphas: Sequence[Fraction],
        *,
        scale: tuple[int, int],
        random: np.random.Generator,
    ) -> SetRule: ...


@dataclass(frozen=True)
class QuantileRule:
    """C(x) = {y : nonconformity(x, y) <= q}; a quantile of None is the entire scale."""

    quantiles: tuple[float | None, ...]
    nonconformity: Callable[[FloatArray], FloatArray]

    @property
    def whole(self) -> tuple[bool, ...]:
        return tuple(quantile is None for quantile in self.quantiles)

    def members(self, given: FloatArray) -> BoolArray:
        limits = np.array([np.inf if q is None else q for q in self.quantiles])
        return np.asarray(self.nonconformity(given)[None] <= limits[:, None, None])


@dataclass(frozen=True)
class CrossFittedRule:
    """C(x) = {y : #{documents i : E_i < V_i(x, y)} < (1 - alpha)(D + 1)}, with gaps filled.

    V_i is learned without the fold of document i, E_i is its value at the document's own row and
    human score. The union of such a set with the scores between its ends is an interval.
    """

    ranks: tuple[int, ...]
    documents: int
    folds: tuple[tuple[JudgeScale, FloatArray, FloatArray], ...]

    @property
    def quantiles(self) -> tuple[None, ...]:
        return (None,) * len(self.ranks)

    @property
    def whole(self) -> tuple[bool, ...]:
        return tuple(rank > self.documents for rank in self.ranks)

    def members(self, given: FloatArray) -> BoolArray:
        below = sum(
            np.searchsorted(own, values[learned.cells(given)], side="left")
            for learned, values, own in self.folds
        )
        inside = np.asarray(below)[None] < np.array(self.ranks)[:, None, None]
        from_low = np.logical_or.accumulate(inside, axis=2)
        from_high = np.logical_or.accumulate(inside[:, :, ::-1], axis=2)[:, :, ::-1]
        return np.asarray(from_low & from_high)


def calibrate_known(
    given: FloatArray,
    entries: Target,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    scale: tuple[int, int],
    random: np.random.Generator,
) -> SetRule:
    """`given` is itself the nonconformity of each score, (rows, scores)."""
    return QuantileRule(
        quantiles(given, entries, documents, alphas, scale=scale), nonconformity=np.asarray
    )


def calibrate_learned(
    given: FloatArray,
    entries: Target,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    scale: tuple[int, int],
    random: np.random.Generator,
) -> SetRule:
    """Learn the judge's scale on a random half of the documents, calibrate it on the other half.

    Given the first half, the nonconformity is a fixed function of a row. So the second half and a
    new document are exchangeable, and each document has weight 1/(D + 1) as everywhere.
    """
    teaches = random_half(documents[entries.row], random)
    learned = learn_scale(given, entries.only(teaches), documents, scale=scale)
    values = ordinal_nonconformity(learned.table)

    def nonconformity(judge: FloatArray) -> FloatArray:
        return values[learned.cells(judge)]

    rest = entries.only(~teaches)
    return QuantileRule(
        quantiles(nonconformity(given), rest, documents, alphas, scale=scale), nonconformity
    )


def calibrate_cross_fitted(
    given: FloatArray,
    entries: Target,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    scale: tuple[int, int],
    random: np.random.Generator,
) -> SetRule:
    """CV+ (Barber et al. 2021; Romano, Sesia and Candes 2020) with one random entry per document.

    Coverage is at least about 1 - 2 alpha - sqrt(2/D), usually near 1 - alpha.
    """
    if len(entries.row) == 0:
        return calibrate_learned(given, entries, documents, alphas, scale=scale, random=random)
    drawn = _one_entry_per_document(entries, documents, random)
    ordered = random.permutation(drawn)
    names = documents[entries.row]
    folds = []
    for fold in np.array_split(ordered, min(_FOLDS, len(ordered))):
        others = entries.only(~np.isin(names, names[fold]))
        learned = learn_scale(given, others, documents, scale=scale)
        values = ordinal_nonconformity(learned.table)
        at = learned.cells(given[entries.row[fold]])
        own = np.sort(values[at, entries.score[fold] - scale[0]])
        folds.append((learned, values, own))
    ranks = tuple(conformal_rank(len(drawn), alpha) for alpha in alphas)
    return CrossFittedRule(ranks, len(drawn), tuple(folds))


def _one_entry_per_document(
    entries: Target, documents: IntArray, random: np.random.Generator
) -> IntArray:
    """A random row of each document, with a random rater."""
    names = documents[entries.row]
    lot = random.random(int(entries.row.max()) + 1)[entries.row]
    order = np.lexsort((random.random(len(names)), lot, names))
    first = np.flatnonzero(np.diff(names[order], prepend=-1))
    return np.asarray(order[first], dtype=np.int64)


def random_half(documents: IntArray, random: np.random.Generator) -> BoolArray:
    """Whether each row is in a random half of the documents, the smaller one of an odd number."""
    names, index = np.unique(documents, return_inverse=True)
    chosen = np.zeros(len(names), dtype=bool)
    chosen[random.permutation(len(names))[: len(names) // 2]] = True
    return np.asarray(chosen[index])


RULES: dict[str, Calibration] = {
    "learned": calibrate_learned,
    "cross-fitted": calibrate_cross_fitted,
    "residual": calibrate_known,
    "adaptive": calibrate_known,
}


def given_by_judge(judge: ArrayLike, rule: str, scale: tuple[int, int]) -> FloatArray:
    """The input of a rule's calibration: scores, or the nonconformity of each score."""
    if rule == "residual":
        return residuals(judge, scale)
    if rule != "adaptive":
        return finite(judge, "judge")
    values = ordinal_nonconformity(judge)
    if values.shape[1] != scale[1] - scale[0] + 1:
        raise ArgumentError(
            "judge", f"{values.shape[1]} probabilities", f"give one per score of {scale}"
        )
    return values


def default_rule(documents: int, alpha: Fraction, *, weigh: str = "documents") -> str:
    """ "learned" if a quarter of the documents has a finite quantile, else "residual".

    Half of the documents calibrate in a test on the other half, and half of that half is used for
    learning. With fewer documents, learned sets could not be tested before use. The choice depends
    only on the number of documents and on no score, so it does not weaken the promise. Row by row,
    it is the paper's.

    >>> default_rule(36, Fraction(1, 10)), default_rule(35, Fraction(1, 10))
    ('learned', 'residual')
    """
    enough = weigh == "documents" and documents // 4 >= fewest_documents(alpha)
    return "learned" if enough else "residual"
