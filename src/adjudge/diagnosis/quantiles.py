"""Conformal quantiles over documents: rows of one document share its weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjudge.diagnosis.targets import Target
from adjudge.validation import FloatArray, IntArray


def fewest_documents(alpha: Fraction) -> int:
    """D documents of weight 1/(D + 1) reach 1 - alpha only if D >= (1 - alpha)/alpha.

    >>> fewest_documents(Fraction(1, 10)), fewest_documents(Fraction(1, 20))
    (9, 19)
    """
    return math.ceil((1 - alpha) / alpha)


def quantiles(
    values: FloatArray,
    entries: Target,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    scale: tuple[int, int],
) -> tuple[float | None, ...]:
    """The calibrated quantile at each alpha; None if there are too few labelled documents.

    `values` (rows, scores) is the nonconformity of each score, `documents` each row's document.
    """
    if len(entries.row) == 0:
        return (None,) * len(alphas)
    scores = values[entries.row, entries.score - scale[0]]
    return document_quantiles(scores, documents[entries.row], alphas, raters=entries.raters)


def document_quantiles(
    scores: FloatArray,
    documents: IntArray,
    alphas: Sequence[Fraction],
    *,
    raters: IntArray | None = None,
) -> tuple[float | None, ...]:
    """Smallest q at which documents, each of weight 1/(D + 1), reach 1 - alpha; None if none does.

    A document's weight is shared equally by its rows, a row's by its raters: with a random rater
    as target, a row has one entry per rater, and `raters` is their number. The remaining 1/(D + 1)
    is at infinity, for the new document. A random row of a new exchangeable document is then
    covered with probability at least 1 - alpha, however similar the rows of a document are.

    Weights are integers over one common denominator, so that a boundary is met exactly.

    >>> like_rows = np.array([0., 0., 0., 2., 2., 2.])
    >>> document_quantiles(like_rows, np.array([0, 0, 0, 1, 1, 1]), [Fraction(1, 2)])
    (2.0,)
    >>> document_quantiles(like_rows, np.array([0, 0, 0, 1, 1, 1]), [Fraction(1, 10)])
    (None,)
    """
    spread = np.ones(len(scores), dtype=np.int64) if raters is None else raters
    # A row of r raters has r entries, so counting 1/r for each entry counts rows.
    names, index = np.unique(documents, return_inverse=True)
    rows = np.rint(np.bincount(index, weights=1 / spread)).astype(np.int64)
    shares = rows[index] * spread
    sizes, size = np.unique(shares, return_inverse=True)
    whole = math.lcm(*sizes.tolist())
    total = len(names) * whole
    # Above 64 bits numpy adds Python integers, slowly and exactly.
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
    return tuple(answers)
