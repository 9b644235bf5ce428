"""The names of the estimators, which one is taken and why, and one sample through one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from adjudge._validation import Seed, one_of
from adjudge.errors import ArgumentError
from adjudge.estimation.conditional import conditional
from adjudge.estimation.counts import counts_of, exact_share
from adjudge.estimation.label_shift import LEVEL, NEEDS_RANDOM_LABELS, label_shift
from adjudge.estimation.means import correct_means, soft, weighted_misclassification
from adjudge.estimation.misclassification import misclassification, unclipped_misclassification
from adjudge.estimation.outcome import Outcome, clip, refusal, refuse_outside
from adjudge.estimation.ppi import difference, ppi
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.sample import Sample
from adjudge.estimation.shares import human_only, naive
from adjudge.estimation.strata import stratify
from adjudge.results.estimation import Alternative, Estimate

METHODS = ("misclassification", "ppi++", "conditional", "difference", "human-only", "naive")
CHOICES = ("auto", *METHODS)
INTERVALS = ("wald", "profile")
_PLAIN: dict[str, Callable[..., Outcome]] = {
    "naive": naive,
    "human-only": human_only,
    "difference": difference,
    "conditional": conditional,
    "ppi++": ppi,
}
#: What each estimator assumes; misclassification has versions for probabilities, plans and strata.
ASSUMPTIONS = {
    "naive": "the judge makes no errors, or its errors cancel at exactly this rate",
    "human-only": "the labelled rows are a random sample of the rows the rate is about",
    "difference": "people and judge differ by the same mean amount on labelled and on test rows, "
    "as they do when the labelled rows are a random sample of them",
    "conditional": "within each verdict the labelled rows are a random sample of the test rows "
    "(labels can be picked by verdict)",
    "ppi++": "the labelled rows are a random sample of the same rows as the test rows",
    "misclassification": "the judge errs alike on labelled and on test rows of one human class "
    "(same sensitivity and specificity); the shares of the classes may differ",
    "soft": "the judge's probabilities have the same mean on labelled and on test rows of one "
    "human class",
    "weighted": "each labelled row was drawn independently with the sampling probability it "
    "carries, and the judge errs alike on labelled and on test rows of one human class",
    "strata": "within each stratum the judge errs alike on labelled and on test rows of one human "
    "class; strata and class shares may differ between labelled and test rows",
    "classes": "the judge errs alike on labelled and on test rows of one human class (same column "
    "of the confusion matrix); the shares of the classes may differ",
}
#: What helps where Eq. 6 falls short.
_PROFILE = "report the profile interval, which holds its level: --interval profile"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of every sample alike: the method and why, its interval, which groups.

    `by` names the groups' column; `pool` lets all groups share one confusion matrix.
    """

    method: str
    why: str
    interval: str
    confidence_level: float
    by: str | None = None
    pool: bool = False
    strata_names: tuple[str, ...] = ()
    seed: Seed = 0

    @property
    def known_seed(self) -> int | None:
        """The seed as a result keeps it: None for a Generator, whose state nobody knows."""
        return self.seed if isinstance(self.seed, int) else None


def choose(method: str, *, labels_are_random: bool, planned: bool) -> tuple[str, str]:
    """The method that will be used and why; decided by what is declared, never by a test."""
    one_of(method, CHOICES, "method")
    if planned and method in ("human-only", "difference", "ppi++"):
        raise ArgumentError(
            "method",
            method,
            "labels were picked by plan: only conditional, or misclassification with weighted "
            "sensitivity and specificity, can use them",
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
    seed: Seed = 0,
) -> tuple[Outcome, str, str]:
    """One sample through one method: outcome, which interval it is, what it assumes."""
    level = confidence_level
    if method != "misclassification":
        exact = method in ("naive", "human-only") and sample.clusters is None
        shape = "exact" if exact and (sample.scale == "binary" or method != "naive") else "wald"
        return _PLAIN[method](sample, confidence_level=level), shape, ASSUMPTIONS[method]
    if sample.strata is not None:
        outcome = stratify(sample, strata_names, confidence_level=level)
        return outcome, "wald", ASSUMPTIONS["strata"]
    if sample.planned:
        outcome = weighted_misclassification(sample, confidence_level=level)
        return outcome, "wald", ASSUMPTIONS["weighted"]
    if sample.scale == "probability":
        return soft(sample, confidence_level=level), "wald", ASSUMPTIONS["soft"]
    if interval == "profile":
        outcome = _profile(sample, level, seed)
    else:
        outcome = misclassification(sample, confidence_level=level)
    return outcome, interval, ASSUMPTIONS[method]


def _profile(sample: Sample, confidence_level: float, seed: Seed) -> Outcome:
    wald = unclipped_misclassification(sample, confidence_level=confidence_level)
    counts = counts_of(sample)
    if min(counts.n, counts.m0, counts.m1) == 0:
        return wald
    # The likelihood is compared among rates in [0, 1] only: its interval is never empty, however
    # badly all of them fit, so the interval of Eq. 6 says whether any does.
    if wald.estimate is not None and refuse_outside(wald).estimate is None:
        return refuse_outside(wald)
    low, high, informative = profile_interval(counts, confidence_level=confidence_level, seed=seed)
    if wald.estimate is None:
        because = "" if informative else "; every rate is compatible with these labels"
        return Outcome(None, low, high, reason=f"{wald.reason}{because}")
    return Outcome(wald.estimate, low, high, wald.standard_error, wald.influence)


def describe(
    sample: Sample,
    request: Request,
    *,
    group: str | None = None,
    dropped: Mapping[str, int] | None = None,
    warnings: tuple[str, ...] = (),
    alternatives: bool = True,
    checks: int = 1,
) -> tuple[Estimate, Outcome]:
    """The full result of one sample, and the raw outcome behind it.

    `checks` is how many samples are checked for label shift together; `alternatives` runs the
    other methods too, and is left out for the sides of a difference, which have no profile
    interval either.
    """
    method, level = request.method, request.confidence_level
    outcome, shape, assumption = run(
        sample,
        method,
        confidence_level=level,
        interval=request.interval,
        strata_names=request.strata_names,
        seed=request.seed,
    )
    judge_alone, _, _ = run(sample, "naive", confidence_level=level)
    shift = label_shift(sample, level=LEVEL / checks)
    ruled_out = shift.rules_out if shift is not None else ()
    remedy = _PROFILE if alternatives and _has_profile(sample) else "label more rows"
    warnings = (*warnings, *outcome.warnings, *(f"{text}; {remedy}" for text in outcome.doubts))
    if method in ruled_out:
        warnings += (
            f"the check for label shift rules {method} out: its assumption does not hold; use "
            "method misclassification",
        )
    result = Estimate(
        method=method,
        interval=shape,
        estimate=None if outcome.estimate is None else clip(outcome.estimate),
        low=outcome.low,
        high=outcome.high,
        confidence_level=level,
        standard_error=outcome.standard_error,
        reason=outcome.reason,
        naive=None if judge_alone.estimate is None else clip(judge_alone.estimate),
        naive_low=judge_alone.low,
        naive_high=judge_alone.high,
        **_judge_quality(sample, level),
        n_test=sample.n,
        n_calibration_positive=int(sample.positive.sum()),
        n_calibration_negative=int(sample.negative.sum()),
        judge_scale=sample.scale,
        group=group,
        why=request.why,
        assumptions=(assumption, independence(sample.clusters is not None)),
        label_shift=shift,
        alternatives=_alternatives(sample, method, ruled_out, level) if alternatives else (),
        warnings=warnings,
        dropped=dropped or {},
        seed=request.known_seed,
    )
    return result, outcome


def _has_profile(sample: Sample) -> bool:
    """Whether the profile interval is made for such rows."""
    plain = sample.clusters is None and sample.strata is None and not sample.planned
    return plain and sample.scale == "binary"


def _judge_quality(sample: Sample, confidence_level: float) -> dict[str, float | None]:
    """Sensitivity and specificity with exact intervals; weighted and without where planned."""
    names = ("sensitivity", "specificity")
    quality: dict[str, float | None] = {
        f"{name}{end}": None for name in names for end in ("", "_low", "_high")
    }
    if sample.scale == "probability":
        return quality
    counts = counts_of(sample)
    if sample.planned:
        known = sample.weights is not None and not np.isnan(sample.weights[sample.labelled]).any()
        if known and counts.m0 and counts.m1 and sample.n:
            fit = correct_means(sample)
            quality |= {"sensitivity": fit.mu1, "specificity": 1 - fit.mu0}
        return quality
    for name, (hits, size) in zip(
        names, ((counts.c1, counts.m1), (counts.c0, counts.m0)), strict=True
    ):
        value, low, high = exact_share(hits, size, confidence_level)
        quality |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return quality


def independence(clustered: bool) -> str:
    """What is assumed of the rows among each other."""
    if not clustered:
        return "rows are independent of each other (else name what they share: --cluster, cluster=)"
    return "clusters are independent of each other; rows within one need not be"


def _alternatives(
    sample: Sample, chosen: str, ruled_out: tuple[str, ...], confidence_level: float
) -> tuple[Alternative, ...]:
    """The other estimators on the same rows, for comparison and never for choosing."""
    alternatives = []
    flat = Sample(
        sample.judge, sample.human, sample.test, sample.labelled, sample.weights, sample.clusters
    )
    for method in METHODS:
        if method == chosen or (method == "conditional" and sample.scale == "probability"):
            continue
        if sample.planned and method in NEEDS_RANDOM_LABELS and method != "conditional":
            outcome, assumption = refusal("labels were picked by plan"), ASSUMPTIONS[method]
        else:
            outcome, _, assumption = run(flat, method, confidence_level=confidence_level)
        alternatives.append(
            Alternative(
                method=method,
                estimate=None if outcome.estimate is None else clip(outcome.estimate),
                low=outcome.low,
                high=outcome.high,
                assumption=assumption,
                reason=outcome.reason,
                ruled_out=method in ruled_out,
            )
        )
    return tuple(alternatives)
