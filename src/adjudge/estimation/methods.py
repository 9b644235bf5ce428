"""The names of the estimators, how one is chosen, and how it is applied to a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.conditional import conditional
from adjudge.estimation.counts import Share, counts_of, exact_share, missing
from adjudge.estimation.label_shift import LEVEL, label_shift
from adjudge.estimation.means import correct_means, soft, weighted_misclassification
from adjudge.estimation.misclassification import misclassification, uninformative
from adjudge.estimation.outcome import Outcome, refusal, refuse_everything, refuse_outside
from adjudge.estimation.ppi import difference, ppi
from adjudge.estimation.profile import profile_interval
from adjudge.estimation.sample import Sample
from adjudge.estimation.shares import human_only, naive
from adjudge.estimation.strata import stratify
from adjudge.estimation.these_rows import interval_of
from adjudge.results.estimation import Alternative, Estimate, LabelShift, method_if_random
from adjudge.validation import Seed, one_of

METHODS = ("misclassification", "ppi++", "conditional", "difference", "human-only", "naive")
CHOICES = ("auto", *METHODS)
INTERVALS = ("wald", "profile")
#: How the labels were sampled, as far as it is known.
RANDOM = ("declared", "recorded")
#: The methods that need labels of 0 and 1: they count right and wrong verdicts.
_NEED_CLASSES = ("misclassification", "conditional")
#: The methods that cannot use labels picked by a plan.
_NEED_PLAIN_LABELS = ("human-only", "difference", "ppi++")
#: The methods whose labels must be a random sample of the test rows, not of other groups' rows.
OF_ITS_ROWS = ("human-only", "conditional", "ppi++")
#: The estimators; misclassification has versions for probabilities, plans and strata.
_ESTIMATORS: dict[str, Callable[..., Outcome]] = {
    "naive": naive,
    "human-only": human_only,
    "difference": difference,
    "conditional": conditional,
    "ppi++": ppi,
    "misclassification": misclassification,
    "soft": soft,
    "weighted": weighted_misclassification,
    "strata": stratify,
}
#: What each estimator assumes.
ASSUMPTIONS = {
    "naive": "the judge makes no errors, or its errors cancel at exactly this rate",
    "human-only": "the labelled rows are a random sample of the rows that the rate is about",
    "difference": "the mean difference between people and judge is the same on labelled and on "
    "test rows, as it is if the labelled rows are a random sample of them",
    "conditional": "within each verdict the labelled rows are a random sample of the test rows "
    "(labels can be picked by verdict)",
    "conditional-random": "the labelled rows are a random sample of the same rows as the test rows "
    "(the judge's rate is computed on both)",
    "ppi++": "the labelled rows are a random sample of the same rows as the test rows",
    "misclassification": "within each human class, the judge has the same error rate on labelled "
    "and on test rows (same sensitivity and specificity); the shares of the classes can differ",
    "soft": "within each human class, the judge's probabilities have the same mean on labelled and "
    "on test rows",
    "weighted": "each labelled row was sampled independently with its stated sampling probability, "
    "and within each human class the judge has the same error rate on labelled and on test rows",
    "strata": "within each stratum and human class, the judge has the same error rate on labelled "
    "and on test rows; strata and class shares can differ between labelled and test rows",
    "classes": "within each human class, the judge has the same error rates on labelled and on "
    "test rows (same column of the confusion matrix); the shares of the classes can differ",
}
#: What helps if Eq. 6 covers too little.
_SHARES = (
    "some labels are shares of people or ties: their mean is used; in the counts of labels, half "
    "or more is positive"
)
_PROFILE = "report the profile interval, which keeps its level: --interval profile"


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request that applies to every sample: the method and why, its interval, the groups.

    `labels_drawn` states how the labels were sampled: declared or recorded as a random sample,
    picked by a plan, or unknown. `by` names the groups' column; `pool` lets all groups share one
    confusion matrix.
    """

    method: str
    why: str
    labels_drawn: str
    interval: str
    confidence_level: float
    by: str | None = None
    pool: bool = False
    seed: Seed = 0
    #: The note about labels that a model made.
    makers: tuple[str, ...] = ()


def known_seed(seed: Seed) -> int | None:
    """The seed as a result keeps it: None for a Generator, whose state is not known."""
    return seed if isinstance(seed, int) else None


def how_drawn(*, planned: bool, declared: bool, recorded: bool) -> str:
    """How the labels were sampled; a recorded plan takes precedence over a declaration."""
    if planned:
        return "plan"
    return "declared" if declared else "recorded" if recorded else "unknown"


def choose(
    method: str, *, labels_drawn: str, scale: str, matrix: str | None, graded: bool = False
) -> tuple[str, str]:
    """The method that will be used and why.

    The choice depends on how the labels were sampled and on the judge's scale, never on a test or
    on a width. `matrix` names an option that needs a confusion matrix, which only misclassification
    has. `graded` labels are shares of people, which have means but no confusion matrix.
    """
    one_of(method, CHOICES, "method")
    planned = labels_drawn == "plan"
    if planned and method in _NEED_PLAIN_LABELS:
        raise ArgumentError(
            "method",
            method,
            "labels were picked by a plan: only conditional, or misclassification with weighted "
            "sensitivity and specificity, can use them",
        )
    if method != "auto":
        return method, f"{method}, as requested"
    if matrix is not None:
        return "misclassification", f"misclassification, because {matrix} needs it"
    if planned:
        return "conditional", "conditional, because labels were picked by a plan (by verdict)"
    best = "ppi++" if graded else method_if_random(scale)
    says = {"binary": "0 or 1", "probability": "probabilities"}
    if labels_drawn == "unknown":
        return (
            "misclassification",
            "misclassification, because it is not known that the labels are a random sample of the "
            "test rows (if they are, declare it: --labels-are-random, labels_are_random=True)",
        )
    known = (
        "declared a random sample of the test rows"
        if labels_drawn == "declared"
        else "recorded as sampled at random (sampled_by)"
    )
    scales = f"the judge says {says.get(scale, 'classes')}"
    reason = "are shares of people, which have only means" if graded else scales
    return best, f"{best}, because the labels are {known} and {reason}"


def check_combination(sample: Sample, method: str, interval: str) -> None:
    """Refuse options that cannot be combined, before anything is computed."""
    one_of(interval, INTERVALS, "interval")
    if sample.scale == "probability" and method == "conditional":
        remedy = "name their column with --judge-column (judge_column=)"
        problem = "needs verdicts of 0 and 1, not probabilities"
        raise ArgumentError("method", method, f"{problem}: {remedy}")
    if sample.strata is not None and method != "misclassification":
        raise ArgumentError(
            "method", method, "leave out --strata (strata=): only misclassification has strata"
        )
    if sample.strata is not None and sample.planned:
        raise ArgumentError(
            "method",
            method,
            "leave out --strata (strata=): labels picked by a plan cannot be stratified again",
        )
    if interval != "profile":
        return
    if method != "misclassification":
        raise ArgumentError(
            "interval", interval, f"is for method misclassification; the method here is {method}"
        )
    what = _no_profile_for(sample)
    if what is not None:
        raise ArgumentError("interval", interval, f"cannot be used with {what}; use wald")


def refuse_shares(sample: Sample | None, method: str, source: str, column: str) -> None:
    """Refuse labels that are shares of people if right and wrong verdicts are counted."""
    if sample is None or not sample.graded or (method in METHODS and method not in _NEED_CLASSES):
        return
    shares = sample.human[sample.labelled]
    first = float(shares[(shares > 0) & (shares < 1)][0])
    what = "a tie or a share" if first == 0.5 else "a share"
    raise DataError(
        source,
        f"{first:g} is {what} of people, but {method} needs labels of 0 and 1",
        column=column,
        remedy="if the labels are a random sample, their means are enough: --method ppi++ "
        "(method=)",
    )


def _no_profile_for(sample: Sample) -> str | None:
    """The property of these rows that the profile interval cannot handle."""
    if sample.scale == "probability":
        return "probabilities (it needs verdicts of 0 and 1)"
    if sample.clusters is not None:
        return "clusters (it treats rows as independent)"
    if sample.strata is not None:
        return "strata"
    return "labels picked by a plan" if sample.planned else None


def run(
    sample: Sample, method: str, *, confidence_level: float, interval: str = "wald", seed: Seed = 0
) -> tuple[Outcome, str, str]:
    """Apply one method to one sample: outcome, name of the interval, assumption.

    Refused if the entire interval lies outside [0, 1], or is all of [0, 1]. The estimators
    themselves return both.
    """
    name, shape = method, interval
    if method != "misclassification":
        exact = method in ("naive", "human-only") and sample.clusters is None
        exact = exact and not (sample.graded and method == "human-only")
        shape = "exact" if exact and (sample.scale == "binary" or method != "naive") else "wald"
    elif sample.strata is not None:
        name = "strata"
    elif sample.planned:
        name = "weighted"
    elif sample.scale == "probability":
        name = "soft"
    outcome = refuse_outside(_ESTIMATORS[name](sample, confidence_level=confidence_level))
    if shape == "profile":
        outcome = _profile(sample, outcome, confidence_level, seed)
    if name == "conditional" and sample.random:
        name = "conditional-random"
    return refuse_everything(outcome), shape, ASSUMPTIONS[name]


def _profile(sample: Sample, wald: Outcome, confidence_level: float, seed: Seed) -> Outcome:
    """The profile interval of the corrected rate.

    The likelihood is compared only among rates in [0, 1]. Its interval is never empty, even if all
    rates fit badly. The interval of Eq. 6 therefore decides whether any rate fits.
    """
    counts = counts_of(sample)
    if min(counts.n, counts.m0, counts.m1) == 0:
        return wald
    if wald.estimate is None and uninformative(counts) is None:
        return wald  # there was a rate, and its entire interval lay outside [0, 1]
    low, high, _ = profile_interval(counts, confidence_level=confidence_level, seed=seed)
    if wald.estimate is None:
        return Outcome(None, low, high, reason=wald.reason)
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
    own: Sample | None = None,
) -> tuple[Estimate, Outcome]:
    """The complete result of one sample, and the raw outcome behind it.

    `checks` is how many samples are checked for label shift together. `own` is the
    sample with the labels of its rows only, if it has others. `alternatives` also runs the
    other methods. It is left out for the sides of a difference, which have no profile interval
    either.
    """
    method, level = request.method, request.confidence_level
    outcome, shape, assumption = run(
        sample, method, confidence_level=level, interval=request.interval, seed=request.seed
    )
    # Only its ends are shown: one number per row less in memory.
    judge_alone = replace(naive(sample, confidence_level=level), influence=None)
    shift = label_shift(sample, level=LEVEL / checks)
    ruled_out = shift.rules_out if shift is not None else ()
    own_shift = shift if own is None else label_shift(own, level=LEVEL / checks)
    has_profile = alternatives and _no_profile_for(sample) is None
    remedy = _PROFILE if has_profile else "label more rows"
    if sample.graded:
        warnings = (*warnings, _SHARES)
    warnings = (*warnings, *outcome.warnings, *(f"{text}; {remedy}" for text in outcome.doubts))
    if method in ruled_out:
        warnings += (
            f"the check for label shift rules out {method}: its assumption does not hold; use "
            "method misclassification",
        )
    rows = None
    plain = alternatives and not (ruled_out or request.pool or sample.graded)
    if request.labels_drawn in RANDOM and plain:
        rows = interval_of(sample, confidence_level=level)
    result = Estimate(
        method=method,
        interval=shape,
        estimate=outcome.rate,
        low=outcome.low,
        high=outcome.high,
        confidence_level=level,
        standard_error=outcome.standard_error,
        rows_low=None if rows is None else rows[0],
        rows_high=None if rows is None else rows[1],
        reason=outcome.reason,
        naive=judge_alone.rate,
        naive_low=judge_alone.low,
        naive_high=judge_alone.high,
        **_judge_quality(sample, level),
        n_test=sample.n,
        n_calibration_positive=int((sample.labelled & (sample.human >= 0.5)).sum()),
        n_calibration_negative=int((sample.labelled & (sample.human < 0.5)).sum()),
        judge_scale=sample.scale,
        group=group,
        why=request.why,
        labels_drawn=request.labels_drawn,
        assumptions=(assumption, independence(sample.clusters is not None), *request.makers),
        label_shift=shift,
        alternatives=_alternatives((sample, shift), (own or sample, own_shift), method, level)
        if alternatives
        else (),
        warnings=warnings,
        dropped=dropped or {},
        seed=known_seed(request.seed),
    )
    return result, outcome


def _judge_quality(sample: Sample, confidence_level: float) -> dict[str, float | None]:
    """Sensitivity and specificity with exact intervals; weighted and without if planned."""
    q1: Share = (None, None, None)
    q0 = q1
    if sample.graded:
        pass
    elif sample.scale == "binary" and not sample.planned:
        counts = counts_of(sample)
        q1 = exact_share(counts.c1, counts.m1, confidence_level)
        q0 = exact_share(counts.c0, counts.m0, confidence_level)
    elif sample.scale == "binary" and sample.weighted and missing(sample) is None:
        fit = correct_means(sample)
        q1, q0 = (fit.mu1, None, None), (1 - fit.mu0, None, None)
    return {
        f"{name}{end}": value
        for name, share in (("sensitivity", q1), ("specificity", q0))
        for end, value in zip(("", "_low", "_high"), share, strict=True)
    }


def independence(clustered: bool) -> str:
    """What is assumed about the dependence between rows."""
    if not clustered:
        return (
            "rows are independent of each other (otherwise name the cluster: --cluster, cluster=)"
        )
    return "clusters are independent of each other; rows within one can be dependent"


def _alternatives(
    checked: tuple[Sample, LabelShift | None],
    own: tuple[Sample, LabelShift | None],
    chosen: str,
    confidence_level: float,
) -> tuple[Alternative, ...]:
    """The other estimators on the same rows; for comparison, never for choosing."""
    alternatives = []
    for method in METHODS:
        sample, shift = own if method in OF_ITS_ROWS else checked
        if method == chosen or (method == "conditional" and sample.scale == "probability"):
            continue
        if sample.graded and method in _NEED_CLASSES:
            outcome, assumption = refusal("labels are shares of people"), ASSUMPTIONS[method]
        elif sample.planned and method in _NEED_PLAIN_LABELS:
            outcome, assumption = refusal("labels were picked by a plan"), ASSUMPTIONS[method]
        else:
            flat = replace(sample, strata=None, random=not sample.planned)
            outcome, _, assumption = run(flat, method, confidence_level=confidence_level)
        alternatives.append(
            Alternative(
                method=method,
                estimate=outcome.rate,
                low=outcome.low,
                high=outcome.high,
                assumption=assumption,
                reason=outcome.reason,
                ruled_out=shift is not None and method in shift.rules_out,
            )
        )
    return tuple(alternatives)
