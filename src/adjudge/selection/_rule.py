"""From a number of accepted rows to the Threshold that accepts exactly them."""

from __future__ import annotations

from fractions import Fraction

from adjudge.results.selection import Accepts, Threshold, share
from adjudge.selection.blocks import SortedScores


def threshold_at(
    ordered: SortedScores,
    rows: int,
    *,
    method: str,
    alpha: Fraction,
    delta: Fraction | None = None,
) -> Threshold:
    """The rule that accepts the `rows` smallest scores (a whole number of tie blocks)."""
    n = len(ordered.scores)
    accepts: Accepts = "all" if rows == n else "none" if rows == 0 else "below"
    threshold = float(ordered.scores[rows - 1]) if accepts == "below" else None
    errors = ordered.accepted(ordered.scores[rows - 1])[1] if rows else 0
    return Threshold(
        method=method,
        alpha=float(alpha),
        delta=None if delta is None else float(delta),
        accepts=accepts,
        threshold=threshold,
        feasible=rows > 0,
        n_calibration=n,
        n_errors=len(ordered.wrong),
        n_accepted=rows,
        n_accepted_errors=errors,
        empirical_risk=share(errors, rows),
        coverage=share(rows, n),
    )
