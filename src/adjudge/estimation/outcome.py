"""The return value of every estimator: a raw number and its interval, or a reason."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adjudge.estimation.clusters import TOO_FEW, active_clusters, few_clusters, spread
from adjudge.estimation.sample import Sample
from adjudge.validation import FloatArray


@dataclass(frozen=True)
class Outcome:
    """A raw estimate with its interval clipped to [0, 1], or the reason why there is none.

    `estimate` can lie outside [0, 1]. Only the final result uses the clipped `rate`, so that
    combinations stay unbiased. `influence` has each row's contribution to the estimate's error; it
    sums to zero. `centre` and `half` are the interval before clipping, which differences and strata
    need. `doubts` name cases in which a Wald-type interval covers too little; the remedy depends on
    the caller.
    """

    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None = None
    influence: FloatArray | None = None
    centre: float | None = None
    half: float | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """The estimate clipped to [0, 1]."""
        return None if self.estimate is None else clip(self.estimate)


def refusal(reason: str) -> Outcome:
    """No number, with the reason."""
    return Outcome(None, None, None, reason=reason)


def with_interval(
    estimate: float,
    centre: float,
    half: float,
    se: float,
    influence: FloatArray,
    warnings: tuple[str, ...] = (),
    doubts: tuple[str, ...] = (),
) -> Outcome:
    """An estimate with the interval centre -+ half, clipped to [0, 1]."""
    low, high = clip(centre - half), clip(centre + half)
    return Outcome(estimate, low, high, se, influence, centre, half, None, warnings, doubts)


def widen(
    sample: Sample,
    estimate: float,
    influence: FloatArray,
    confidence_level: float,
    *,
    se: float,
    floor: float = 0.0,
    around: tuple[float, float] | None = None,
    warnings: tuple[str, ...] = (),
    doubts: tuple[str, ...] = (),
) -> Outcome:
    """An estimate with a normal interval; with clusters, Student's, widened by their variance.

    `se` is the standard error of independent rows. `floor` replaces it if it is zero. `around` is
    the centre of the interval and the standard error there, if they are not the estimate and `se`
    (Eq. 6). Refused with fewer than two clusters.
    """
    active = active_clusters(sample)
    if active is not None and active < 2:
        return refusal(TOO_FEW)
    wide = spread(influence, sample.clusters, active, confidence_level)
    se = se * wide.inflation or floor
    centre, half = estimate, wide.critical * se
    if around is not None:
        centre, half = around[0], wide.critical * around[1] * wide.inflation
    warnings = (*warnings, *few_clusters(active))
    return with_interval(estimate, centre, half, se, influence, warnings, doubts)


def refuse_outside(got: Outcome) -> Outcome:
    """The outcome, or a refusal if its entire interval lies outside [0, 1].

    Clipping such an interval would leave [0, 0] or [1, 1]: certainty from an assumption that the
    rows contradict. If the true rate is exactly 0 or 1 and the assumption holds, this happens by
    chance to the interval of Eq. 6 in at most 2.2 % of samples at 95 % (measured, 1,000 test rows,
    30 to 500 labels per class, q0 = q1 = 0.7 and 0.9), and in under 1 % at a rate of 0.98.
    """
    if got.estimate is None or got.centre is None or got.half is None:
        return got
    if not outside(got.centre, got.half):
        return got
    return refusal(explain_outside(got.estimate, got.centre, got.half))


def refuse_everything(got: Outcome) -> Outcome:
    """The outcome, or a refusal if its interval is all of [0, 1] and so not informative."""
    if got.low is None or got.high is None or got.low > 0 or got.high < 1:
        return got
    because = "" if got.reason is None else f"{got.reason}; "
    return refusal(
        f"{because}the interval is all of [0, 1]: every rate is compatible with these "
        "labels; label more rows, or use another judge"
    )


def outside(centre: float, half: float) -> bool:
    """Whether no rate strictly between 0 and 1 is within centre -+ half."""
    return centre - half >= 1 or centre + half <= 0


def explain_outside(estimate: float, centre: float, half: float) -> str:
    """Why an interval outside [0, 1] is not a result."""
    return (
        f"before clipping, the rate was {estimate:.3f} and its entire interval "
        f"[{centre - half:.3f}, {centre + half:.3f}] was outside [0, 1]: the judge's errors on "
        "these test rows differ from those on the labelled ones, so these labels cannot correct "
        "them; label some of these test rows (for a group: its own labels, not pooled ones)"
    )


def clip(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` clipped to [low, high]."""
    return min(max(float(value), low), high)


def variance_floor(mean: float, n: int) -> float:
    """Standard error of a share after adding two successes and two failures.

    Used if all values are equal and the plain standard error is zero: no finite sample shows that a
    rate is exactly 0 or 1.
    """
    share = (n * clip(mean) + 2) / (n + 4)
    return math.sqrt(share * (1 - share) / (n + 4))
