"""Judge probabilities instead of verdicts: the same correction with means in place of shares."""

from __future__ import annotations

import math

from adjudge.estimation.clusters import TOO_FEW, active_clusters, few_clusters, spread
from adjudge.estimation.counts import missing
from adjudge.estimation.influence import corrected_influence
from adjudge.estimation.naive import variance_floor
from adjudge.estimation.outcome import Outcome, around, refusal, settled
from adjudge.estimation.sample import Sample

ASSUMPTION = (
    "the judge's probabilities have the same mean on labelled and on test rows of one human class"
)


def soft(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """theta = (mean x - mu0) / (mu1 - mu0), mu_z the mean probability among rows people call z.

    Delta method with sample variances s^2 (divided by size - 1):
    [s_test^2/n + (1-theta)^2 s_0^2/m0 + theta^2 s_1^2/m1] / (mu1 - mu0)^2. The probabilities need
    not be calibrated. With 0/1 values this is Eq. 5 and, up to size/(size-1), Eq. 9. A normal
    interval: it needs some 30 labels a class and a gap mu1 - mu0 well above its own noise. Eq. 6
    to 8, exact intervals, profile and conditional are for 0/1 only. Refused where the whole
    interval lies outside [0, 1].

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([0.9, 0.7, 0.3, 0.1, 0.5, 0.5], [1, 1, 0, 0, None, None])
    >>> round(soft(rows).estimate, 6)
    0.5
    """
    return settled(uncut_soft(sample, confidence_level=confidence_level))


def uncut_soft(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """The same with an interval outside [0, 1] let through, for strata to combine."""
    lacking = missing(sample)
    if lacking is not None:
        return refusal(lacking)
    sizes = {"1": int(sample.positive.sum()), "0": int(sample.negative.sum())}
    for name, size in sizes.items():
        if size < 2:
            return refusal(
                f"one row with human label {name}: its spread is unknown; label more rows"
            )
    if sample.n < 2:
        return refusal("one test row: the spread of probabilities is unknown; judge more rows")
    fit = corrected_influence(sample)
    if fit.edge <= 0:
        return refusal(
            f"the judge's mean probability is {fit.mu1:.3f} where people say 1 and {fit.mu0:.3f} "
            "where they say 0: it does not tell the classes apart the right way round; use the "
            "human labels alone (method human-only), or another judge"
        )
    x = sample.judge
    v0 = float(x[sample.negative].var(ddof=1)) / sizes["0"]
    v1 = float(x[sample.positive].var(ddof=1)) / sizes["1"]
    v = float(x[sample.test].var(ddof=1)) / sample.n
    variance = (v + (1 - fit.theta) ** 2 * v0 + fit.theta**2 * v1) / fit.edge**2
    active = active_clusters(sample)
    if active is not None and active < 2:
        return refusal(TOO_FEW)
    widened = spread(fit.influence, sample.clusters, active, confidence_level)
    # Equal probabilities everywhere would pass for certainty.
    floor = variance_floor(fit.theta, min(sample.n, sample.m)) if variance == 0 else 0.0
    se = max(math.sqrt(variance) * widened.inflation, floor)
    warnings = (*_doubts(sizes, fit.edge, math.sqrt(v0 + v1)), *few_clusters(active))
    return around(fit.theta, fit.theta, widened.critical * se, se, fit.influence, warnings)


def _doubts(sizes: dict[str, int], edge: float, noise: float) -> tuple[str, ...]:
    told = []
    if edge < 3 * noise:
        told.append(
            "the gap between the classes' mean probabilities is within three standard errors of "
            "zero: the interval can cover less than it says; label more rows"
        )
    if min(sizes.values()) < 30:
        told.append(
            "fewer than 30 labels in one class: the normal interval is approximate; label more "
            "rows, or turn the probabilities into verdicts of 0 and 1 and take --interval profile"
        )
    return tuple(told)
