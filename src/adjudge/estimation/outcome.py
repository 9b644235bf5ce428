"""What every estimator hands to the front door: a raw number and its interval, or a reason."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge._validation import FloatArray


@dataclass(frozen=True)
class Outcome:
    """A raw estimate with its interval already cut to [0, 1], or the reason there is none.

    `estimate` may lie outside [0, 1]: only the last hand clips, so that combinations stay unbiased.
    `influence` holds each row's share in the estimate's error; it sums to zero. `centre` and `half`
    are the interval before the cut, which differences and strata need. `doubts` say where a
    Wald-type interval is known to fall short; what to do about it depends on who asks.
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


def refusal(reason: str) -> Outcome:
    """No number, and why."""
    return Outcome(None, None, None, reason=reason)


def around(
    estimate: float,
    centre: float,
    half: float,
    standard_error: float,
    influence: FloatArray,
    warnings: tuple[str, ...] = (),
    doubts: tuple[str, ...] = (),
) -> Outcome:
    """An estimate with the interval centre -+ half, cut to [0, 1]."""
    low, high = cut(centre, half)
    return Outcome(
        estimate,
        low,
        high,
        standard_error,
        influence,
        centre,
        half,
        warnings=warnings,
        doubts=doubts,
    )


def settled(got: Outcome) -> Outcome:
    """The outcome, or a refusal where its whole interval lies outside [0, 1].

    Cutting such an interval would leave [0, 0] or [1, 1], certainty made out of an assumption that
    the rows contradict. With a true rate of exactly 0 or 1 and the assumption in order, the
    interval of Eq. 6 does this by chance in at most 2.2 % of samples at 95 % (measured, 1,000 test
    rows, 30 to 500 labels a class, q0 = q1 = 0.7 and 0.9), and in under 1 % at a rate of 0.98.
    """
    if got.estimate is None or got.centre is None or got.half is None:
        return got
    if not outside(got.centre, got.half):
        return got
    return refusal(beyond(got.estimate, got.centre, got.half))


def outside(centre: float, half: float) -> bool:
    """Whether no rate strictly between 0 and 1 is within centre -+ half."""
    return centre - half >= 1 or centre + half <= 0


def beyond(estimate: float, centre: float, half: float) -> str:
    """Why an interval outside [0, 1] is no result."""
    return (
        f"before clipping the rate was {estimate:.3f} and its whole interval "
        f"[{centre - half:.3f}, {centre + half:.3f}] lay outside [0, 1]: the judge does not err on "
        "these test rows as it does on the labelled ones, so its errors there cannot be corrected "
        "with these labels; label some of these very rows (for a group: its own labels, not "
        "pooled ones)"
    )


def clip(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` cut to [low, high]."""
    return min(max(float(value), low), high)


def cut(centre: float, half: float) -> tuple[float, float]:
    """centre -+ half, cut to [0, 1]."""
    return clip(centre - half), clip(centre + half)
