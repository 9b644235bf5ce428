"""The names of the estimators, which one is taken and why, and one sample through one of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjudge._validation import Seed, one_of
from adjudge.errors import ArgumentError
from adjudge.estimation import conditional as conditional_
from adjudge.estimation import difference as difference_
from adjudge.estimation import human_only as human_only_
from adjudge.estimation import misclassification as misclassification_
from adjudge.estimation import naive as naive_
from adjudge.estimation import ppi as ppi_
from adjudge.estimation import soft as soft_
from adjudge.estimation import strata as strata_
from adjudge.estimation import weighted as weighted_
from adjudge.estimation.counts import counts_of, exact_share
from adjudge.estimation.influence import corrected_influence
from adjudge.estimation.label_shift import LEVEL, NEEDS_RANDOM_LABELS, label_shift
from adjudge.estimation.outcome import Outcome, clip, refusal, settled
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.sample import Sample
from adjudge.results.estimation import Alternative, Estimate

METHODS = ("misclassification", "ppi++", "conditional", "difference", "human-only", "naive")
CHOICES = ("auto", *METHODS)
INTERVALS = ("wald", "profile")
_PLAIN: dict[str, tuple[Callable[..., Outcome], str]] = {
    "naive": (naive_.naive, naive_.ASSUMPTION),
    "human-only": (human_only_.human_only, human_only_.ASSUMPTION),
    "difference": (difference_.difference, difference_.ASSUMPTION),
    "conditional": (conditional_.conditional, conditional_.ASSUMPTION),
    "ppi++": (ppi_.ppi, ppi_.ASSUMPTION),
}


def choose(method: str, *, labels_are_random: bool, planned: bool) -> tuple[str, str]:
    """The method that will be used and why; decided by what is declared, never by a test."""
    one_of(method, CHOICES, "method")
    if planned and method in ("human-only", "difference", "ppi++"):
        raise ArgumentError(
            "method",
            method,
            "labels were picked by plan: only conditional, or misclassification with weighted "
            "sensitivity and specificity, may use them",
        )
    if method != "auto":
        return method, f"{method}, as asked"
    if planned:
        return "conditional", "conditional, because labels were picked by plan (by verdict)"
    if labels_are_random:
        return "ppi++", "ppi++, because the labels are declared a random sample of the test rows"
    return (
        "misclassification",
        "misclassification, because nothing says that the labels are a random sample of the test "
        "rows (declare it with --labels-are-random, labels_are_random=True, to get ppi++)",
    )


def check_combination(sample: Sample, method: str, interval: str) -> None:
    """Refuse options that do not go together, before anything is computed."""
    one_of(interval, INTERVALS, "interval")
    soft = sample.scale == "probability"
    if soft and method == "conditional":
        raise ArgumentError("method", method, "needs verdicts of 0 and 1, not probabilities")
    if sample.strata is not None and method != "misclassification":
        raise ArgumentError(
            "method", method, "leave --strata (strata=) out: only misclassification has strata"
        )
    if sample.strata is not None and sample.planned:
        raise ArgumentError(
            "method",
            method,
            "leave --strata (strata=) out: labels picked by plan cannot be stratified again",
        )
    if interval != "profile":
        return
    if method != "misclassification":
        raise ArgumentError(
            "interval", interval, f"is for method misclassification; the method here is {method}"
        )
    for present, what in (
        (soft, "probabilities (it needs verdicts of 0 and 1)"),
        (sample.clusters is not None, "clusters (it takes rows as independent)"),
        (sample.strata is not None, "strata"),
        (sample.planned, "labels picked by plan"),
    ):
        if present:
            raise ArgumentError("interval", interval, f"does not allow for {what}; use wald")


def run(
    sample: Sample,
    method: str,
    *,
    confidence_level: float,
    interval: str = "wald",
    strata_names: tuple[str, ...] = (),
    rng: Seed = 0,
) -> tuple[Outcome, str, str]:
    """One sample through one method: outcome, which interval it is, what it assumes."""
    if method != "misclassification":
        function, assumption = _PLAIN[method]
        exact = method in ("naive", "human-only") and sample.clusters is None
        shape = "exact" if exact and (sample.scale == "binary" or method != "naive") else "wald"
        return function(sample, confidence_level=confidence_level), shape, assumption
    if sample.strata is not None:
        got = strata_.stratified(sample, strata_names, confidence_level=confidence_level)
        return got, "wald", strata_.ASSUMPTION
    if sample.scale == "probability" and not sample.planned:
        return soft_.soft(sample, confidence_level=confidence_level), "wald", soft_.ASSUMPTION
    if sample.planned:
        got = weighted_.weighted_misclassification(sample, confidence_level=confidence_level)
        return got, "wald", weighted_.ASSUMPTION
    got = misclassification_.misclassification(sample, confidence_level=confidence_level)
    if interval == "profile":
        got = _profiled(sample, confidence_level, rng)
    return got, interval, misclassification_.ASSUMPTION


def _profiled(sample: Sample, confidence_level: float, rng: Seed) -> Outcome:
    wald = misclassification_.uncut_misclassification(sample, confidence_level=confidence_level)
    counts = counts_of(sample)
    if min(counts.n, counts.m0, counts.m1) == 0:
        return wald
    # The likelihood is compared among rates in [0, 1] only: its interval is never empty, however
    # badly all of them fit, so the interval of Eq. 6 says whether any does.
    if wald.estimate is not None and settled(wald).estimate is None:
        return settled(wald)
    low, high, informative = profile_interval(counts, confidence_level=confidence_level, rng=rng)
    if wald.estimate is None:
        because = "" if informative else "; every rate is compatible with these labels"
        return Outcome(None, low, high, reason=f"{wald.reason}{because}")
    return Outcome(wald.estimate, low, high, wald.standard_error, wald.influence)


def describe(
    sample: Sample,
    method: str,
    why: str,
    *,
    confidence_level: float,
    interval: str = "wald",
    strata_names: tuple[str, ...] = (),
    group: str | None = None,
    rng: Seed = 0,
    dropped: dict[str, int] | None = None,
    warnings: tuple[str, ...] = (),
    beside: bool = True,
    checks: int = 1,
) -> tuple[Estimate, Outcome]:
    """The full result of one sample, and the raw outcome behind it."""
    got, shape, assumption = run(
        sample,
        method,
        confidence_level=confidence_level,
        interval=interval,
        strata_names=strata_names,
        rng=rng,
    )
    simple, _, _ = run(sample, "naive", confidence_level=confidence_level)
    shift = label_shift(sample, level=LEVEL / checks)
    ruled_out = shift.rules_out if shift is not None else ()
    remedy = _PROFILE if beside and _has_profile(sample) else "label more rows"
    told = (*warnings, *got.warnings, *(f"{text}; {remedy}" for text in got.doubts))
    if method in ruled_out:
        told += (
            f"the check for label shift rules {method} out: its assumption does not hold; use "
            "method misclassification",
        )
    judged = _judge_quality(sample, confidence_level)
    result = Estimate(
        method=method,
        interval=shape,
        estimate=None if got.estimate is None else clip(got.estimate),
        low=got.low,
        high=got.high,
        confidence_level=confidence_level,
        standard_error=got.standard_error,
        reason=got.reason,
        naive=None if simple.estimate is None else clip(simple.estimate),
        naive_low=simple.low,
        naive_high=simple.high,
        **judged,
        n_test=sample.n,
        n_calibration_positive=int(sample.positive.sum()),
        n_calibration_negative=int(sample.negative.sum()),
        judge_scale=sample.scale,
        group=group,
        why=why,
        assumptions=(assumption, independence(sample.clusters is not None)),
        label_shift=shift,
        alternatives=_beside(sample, method, ruled_out, confidence_level) if beside else (),
        warnings=told,
        dropped=dropped or {},
        seed=rng if isinstance(rng, int) else None,
    )
    return result, got


#: What helps where Eq. 6 falls short.
_PROFILE = "report the profile interval, which holds its level: --interval profile"


def _has_profile(sample: Sample) -> bool:
    """Whether the profile interval is made for such rows."""
    plain = sample.clusters is None and sample.strata is None and not sample.planned
    return plain and sample.scale == "binary"


def _judge_quality(sample: Sample, confidence_level: float) -> dict[str, float | None]:
    """Sensitivity and specificity with exact intervals; weighted and without where planned."""
    names = ("sensitivity", "specificity")
    nothing: dict[str, float | None] = {
        f"{name}{end}": None for name in names for end in ("", "_low", "_high")
    }
    if sample.scale == "probability":
        return nothing
    counts = counts_of(sample)
    if sample.planned:
        known = sample.weights is not None and not np.isnan(sample.weights[sample.labelled]).any()
        if known and counts.m0 and counts.m1 and sample.n:
            fit = corrected_influence(sample)
            nothing |= {"sensitivity": fit.mu1, "specificity": 1 - fit.mu0}
        return nothing
    for name, (hits, size) in zip(
        names, ((counts.c1, counts.m1), (counts.c0, counts.m0)), strict=True
    ):
        value, low, high = exact_share(hits, size, confidence_level)
        nothing |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return nothing


def independence(clustered: bool) -> str:
    """What is assumed of the rows among each other."""
    if not clustered:
        return "rows are independent of each other (else name what they share: --cluster, cluster=)"
    return "clusters are independent of each other; rows within one need not be"


def _beside(
    sample: Sample, chosen: str, ruled_out: tuple[str, ...], confidence_level: float
) -> tuple[Alternative, ...]:
    """The other estimators on the same rows, for comparison and never for choosing."""
    told = []
    flat = Sample(
        sample.judge, sample.human, sample.test, sample.labelled, sample.weights, sample.clusters
    )
    for method in METHODS:
        if method == chosen or (method == "conditional" and sample.scale == "probability"):
            continue
        if sample.planned and method in NEEDS_RANDOM_LABELS and method != "conditional":
            got, assumption = refusal("labels were picked by plan"), _PLAIN[method][1]
        else:
            got, _, assumption = run(flat, method, confidence_level=confidence_level)
        told.append(
            Alternative(
                method=method,
                estimate=None if got.estimate is None else clip(got.estimate),
                low=got.low,
                high=got.high,
                assumption=assumption,
                reason=got.reason,
                ruled_out=method in ruled_out,
            )
        )
    return tuple(told)
