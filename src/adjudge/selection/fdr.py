"""FDR: conformal p-values and Benjamini-Hochberg over the batch to be selected from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import FloatArray, IntArray, exact_level, finite, paired
from adjudge.errors import ArgumentError
from adjudge.results.selection import BatchSelection
from adjudge.selection.exact import at_most


def fdr_select(
    scores: ArrayLike, errors: ArrayLike, new_scores: ArrayLike, *, alpha: float | Fraction
) -> BatchSelection:
    """Accept from a batch of m unlabelled scores t_j so that few of the accepted are wrong.

        p_j = (1 + #{i: e_i = 1, s_i <= t_j}) / (n + 1),

    then Benjamini-Hochberg at alpha over the batch (Jin and Candes, Selection by Prediction with
    Conformal p-values). If calibration rows and batch are exchangeable, the expected share of
    errors among the accepted is at most alpha, in finite samples.

    Where the guarantee stops: it is an average over calibration sets and batches, not a promise
    about one batch; and it is about the batch as a whole: neither a part picked out of the accepted
    afterwards nor several batches thrown together inherits it.

    >>> chosen = fdr_select([0.1] * 30 + [0.6] * 5, [0] * 30 + [1] * 5, [0.05, 0.7], alpha=0.1)
    >>> chosen.accepted.tolist(), chosen.p_values.round(3).tolist()
    ([True, False], [0.028, 0.167])
    """
    level = exact_level(alpha)
    s, e = paired(scores, errors)
    t = finite(new_scores, "new_scores", allow_empty=True)
    ranks = error_ranks(np.sort(s[e == 1]), t)
    return _selected(ranks, np.full(len(t), len(s) + 1, dtype=np.int64), e, level)


def pooled_fdr_select(
    scores: ArrayLike,
    errors: ArrayLike,
    groups: ArrayLike,
    new_scores: ArrayLike,
    new_groups: ArrayLike,
    *,
    alpha: float | Fraction,
) -> BatchSelection:
    """Group-wise p-values, one Benjamini-Hochberg: the promise is about all groups together.

    Each new row is compared with the calibration rows of its own group alone, so groups may
    differ in how scores and errors relate. The expected share of errors among everything accepted
    is at most alpha; within one group it may be above. A group without calibration rows has
    p-value 1 and is not accepted.

    >>> pooled_fdr_select([0.1] * 40, [0] * 40, ["x"] * 40, [0.1, 0.1], ["x", "y"],
    ...                   alpha=0.1).accepted.tolist()
    [True, False]
    """
    level = exact_level(alpha)
    s, e = paired(scores, errors)
    t = finite(new_scores, "new_scores", allow_empty=True)
    own, new = np.asarray(groups), np.asarray(new_groups)
    if len(own) != len(s) or len(new) != len(t):
        raise ArgumentError(
            "groups", (len(own), len(new)), f"give one group per row ({len(s)} and {len(t)})"
        )
    ranks, sizes = np.ones(len(t), dtype=np.int64), np.ones(len(t), dtype=np.int64)
    for name in dict.fromkeys(new.tolist()):
        here, there = own == name, new == name
        ranks[there] = error_ranks(np.sort(s[here & (e == 1)]), t[there])
        sizes[there] = int(here.sum()) + 1
    return _selected(ranks, sizes, e, level)


def _selected(
    ranks: IntArray, sizes: IntArray, errors: IntArray, alpha: Fraction
) -> BatchSelection:
    """The batch that Benjamini-Hochberg accepts, from p-values ranks / sizes."""
    accepted = np.zeros(len(ranks), dtype=np.bool_)
    accepted[benjamini_hochberg(ranks, sizes, alpha)] = True
    return BatchSelection(
        method="fdr",
        alpha=float(alpha),
        n_calibration=len(errors),
        n_errors=int(errors.sum()),
        n=len(ranks),
        n_accepted=int(accepted.sum()),
        p_values=ranks / sizes,
        accepted=accepted,
    )


def error_ranks(wrong: FloatArray, new_scores: FloatArray) -> IntArray:
    """1 + the number of calibration errors with a score of at most each new score."""
    return 1 + np.searchsorted(wrong, new_scores, side="right").astype(np.int64)


def benjamini_hochberg(ranks: IntArray, sizes: IntArray, alpha: Fraction) -> IntArray:
    """The indices of the p-values ranks / sizes that Benjamini-Hochberg rejects, exactly.

    p_(r) <= alpha r / m is compared as ranks <= (alpha / m) * r * sizes, in whole numbers.
    """
    m = len(ranks)
    if m == 0:
        return np.empty(0, dtype=np.int64)
    # Sorting may use floats: equal fractions round to the same double, and different ones lie
    # 1 / (size * size') apart, far more than rounding for any sizes that fit in memory.
    order = np.argsort(ranks / sizes, kind="stable")
    r = np.arange(1, m + 1, dtype=np.int64)
    passing = np.flatnonzero(at_most(ranks[order], r * sizes[order], alpha / m))
    if len(passing) == 0:
        return np.empty(0, dtype=np.int64)
    return np.asarray(order[: passing[-1] + 1], dtype=np.int64)
