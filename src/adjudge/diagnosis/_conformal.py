"""The quantile behind a prediction set when documents, not rows, are exchangeable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjudge._stats import conformal_rank
from adjudge._validation import FloatArray, IntArray


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
    lies at infinity, for the document still to come. A random row of a new exchangeable document
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
    whole = math.lcm(*(int(share) for share in np.unique(shares)))
    total = len(names) * whole
    # Beyond 64 bits numpy adds Python's own whole numbers, slowly and exactly.
    kind = np.dtype(np.int64) if total < 2**62 else np.dtype(object)
    weights: NDArray[Any] = np.array(
        [whole // int(share) for share in np.unique(shares)], dtype=kind
    )
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[np.searchsorted(np.unique(shares), shares)][order])
    answers: list[float | None] = []
    for alpha in alphas:
        needed = math.ceil((1 - alpha) * (len(names) + 1) * whole)
        if needed > total:
            answers.append(None)
            continue
        at = int(np.searchsorted(reached, needed, side="left"))
        answers.append(float(scores[order[at]]))
    return answers
