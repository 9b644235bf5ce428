"""One rate: the corrected number with its interval, next to what every other method gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError
from adjudge.estimation.estimators import all_estimators, known_estimator
from adjudge.estimation.estimators.alone import NAIVE
from adjudge.estimation.estimators.base import Estimator, Outcome, refusal
from adjudge.estimation.estimators.conditional import CONDITIONAL
from adjudge.estimation.estimators.misclassification import correct_means
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.exact_interval import intervals_of
from adjudge.estimation.label_shift import LabelShift, label_shift
from adjudge.estimation.rate_view import (
    Rate,
    RateResult,
    assumes_of,
    estimate_figure,
    judge_facts,
    offer_declaration,
    other_methods,
    rate_headline,
)
from adjudge.estimation.sample import Sample, counts_of, missing
from adjudge.estimation.verdict_draw import ask_cause, find_cause, measure_judge
from adjudge.present.blocks import Block
from adjudge.present.result import Check, Count, Level, NotNegative, Proportion, frozen
from adjudge.present.text import count, level, number, show_interval
from adjudge.records import Interval
from adjudge.statistics.numbers import binomial_interval
from adjudge.validation import Seed, known_seed

#: How the labels were sampled, as far as it is known.
LabelsDrawn = Literal["declared", "recorded", "plan", "verdict", "unknown"]
IntervalMethod = Literal["wald", "profile"]
INTERVALS = ("wald", "profile")
#: From this share of labelled rows on, people's rate is the headline if nothing else is known.
NEARLY_ALL = 0.85
#: Why the labels cannot be used by other methods.
OF_VERDICT = "labels were drawn by verdict"
_SHARES = (
    "some labels are shares of people or ties: their mean is used; in the counts of labels, half "
    "or more is positive"
)
#: What helps if Eq. 6 covers too little.
_PROFILE = "report the profile interval, which keeps its level: --interval profile"


@dataclass(frozen=True, kw_only=True)
class RateInterval(Rate):
    """One rate of any result; `reason` explains a missing estimate or interval.

    It is of `n` rows, of which `n_labels` have a label. `naive` is the judge's own rate, if there
    is one judge. There can be an interval without an estimate, if a verdict has no label.
    """

    name: str | None
    estimate: float | None
    interval: Interval | None
    naive: float | None
    n: int
    n_labels: int
    reason: str | None

    @classmethod
    def of(cls, rate: Any, name: str | None, result: Any) -> RateInterval:
        """One rate of a result, which has the counts of rows and the reason."""
        numbers = {part: getattr(rate, part) for part in ("estimate", "interval", "naive")}
        rows = {part: getattr(result, part) for part in ("n", "n_labels", "reason")}
        return cls(name=name, **numbers, **rows)


@frozen
class EstimateResult(RateResult):
    """What `estimate` returns, whatever the rows are: the first fields of each kind.

    Each kind also has `method`, `n` rows of which `n_labels` have a label, and `intervals`: every
    number with its name. A result with one number, without `by`, also has it as `estimate`,
    `interval`, `low`, `high` and `naive`.
    """

    confidence_level: Level
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    if TYPE_CHECKING:  # fields of some kinds, properties of others

        @property
        def method(self) -> str: ...
        @property
        def n(self) -> int: ...
        @property
        def n_labels(self) -> int: ...

    else:

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            if name in ("estimate", "interval", "low", "high", "naive"):
                remedy = "use intervals(), which lists them"
                raise AttributeError(f"this {kind} has several numbers: {remedy}")
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    @abstractmethod
    def intervals(self) -> list[RateInterval]:
        """Every rate or mean of the result, with its interval."""


@dataclass(frozen=True, kw_only=True)
class Alternative(Rate):
    """One of the other estimators on the same rows, with its assumption."""

    method: str
    estimate: float | None
    interval: Interval | None
    assumption: str
    reason: str | None = None


def _check_rows_interval(result: Estimate) -> str | None:
    within = all(end is not None and 0 <= end <= 1 for end in result.rows_interval or ())
    return None if within else "rows_interval is outside [0, 1]"


@frozen
class Estimate(Rate, EstimateResult):
    """A rate, corrected for the judge's errors, with its interval.

    `estimate` and `interval` are None if the data allow no valid number; `reason` then explains
    why. If no row of one verdict has a label, there is an interval without an estimate. A number
    here is never outside [0, 1]. `interval_method` is wald, profile, jeffreys or exact.
    `rows_interval`, for labels that are a random sample, is only about these rows, and exact.
    `shared_interval`, of a group, also uses the rates of the other groups;
    `simultaneous_interval` is one of all groups that hold together.
    """

    kind: ClassVar[str] = "estimate"
    checks: ClassVar[tuple[Check, ...]] = (_check_rows_interval,)

    method: str
    interval_method: str
    estimate: float | None
    interval: Interval | None
    standard_error: NotNegative | None = None
    rows_interval: Interval | None = None
    shared_interval: Interval | None = None
    simultaneous_interval: Interval | None = None
    reason: str | None = None
    naive: float | None
    naive_interval: Interval | None
    sensitivity: Proportion | None
    sensitivity_interval: Interval | None
    specificity: Proportion | None
    specificity_interval: Interval | None
    n_test: Count
    n_calibration_positive: Count
    n_calibration_negative: Count
    #: Rows that test and calibrate: those of a plan, and all labelled ones if drawn by verdict.
    n_both: Count = 0
    judge_scale: str
    group: str | None = None
    why: str
    labels_drawn: str = "unknown"
    assumptions: tuple[str, ...]
    label_shift: LabelShift | None = None
    alternatives: tuple[Alternative, ...] = ()
    seed: Count | None = None

    @property
    def estimated(self) -> bool:
        """Whether there is a number: an estimate, or an interval alone."""
        return self.interval is not None

    @property
    def rows_about(self) -> str:
        """The rows that the rate and the judge's own rate are about."""
        if self.labels_drawn == "unknown" and self.n_test and self.n_calibration:
            return f"the {self.n_test:,} unlabelled rows"
        if self.labels_drawn == "plan" and self.n_test < self.n:
            return f"the {self.n_test:,} test rows"
        return f"all {self.n:,} rows"

    @property
    def whatever_the_rest(self) -> str:
        """The rates that the unlabelled rows leave possible, if nearly every row has a label."""
        if self.estimator.uses_judge or not 0 < self.n_test <= (1 - NEARLY_ALL) * self.n:
            return ""
        least = self.n_calibration_positive / self.n
        most = least + self.n_test / self.n
        rest = count(self.n_test, "row has", "rows have")
        says = f"{rest} no label: whatever people say there, the rate of all {self.n:,} rows is"
        return f"{says} from {number(least)} to {number(most)}"

    @property
    def estimator(self) -> Estimator | type[Estimator]:
        """The estimator that made it."""
        return known_estimator(self.method)

    @property
    def people_alone(self) -> Alternative | None:
        """The rate from the labels without the judge; None if that is this result itself."""
        alone = (a for a in self.alternatives if not known_estimator(a.method).uses_judge)
        return next(alone, None)

    @property
    def if_random(self) -> Alternative | None:
        """The result if the labels were declared a random sample, if that is not known."""
        if self.labels_drawn != "unknown" or not self.estimator.has_matrix:
            return None
        best = best_for_random_labels(self.judge_scale).name
        return next((other for other in self.alternatives if other.method == best), None)

    @property
    def people_are_narrower(self) -> bool:
        """Whether people alone would give a narrower interval, as widths are printed."""
        alone = None if self.people_alone is None else self.people_alone.width
        if alone is None or self.width is None:
            return False
        return round(alone, 3) < round(self.width, 3)

    @property
    def n_calibration(self) -> int:
        """All labelled rows that calibrate."""
        return self.n_calibration_positive + self.n_calibration_negative

    @property
    def n(self) -> int:
        """All rows, with and without a label."""
        return self.n_test + self.n_calibration - self.n_both

    @property
    def n_labels(self) -> int:
        """The rows with a label, which calibrate."""
        return self.n_calibration

    def intervals(self) -> list[RateInterval]:
        """The rate with its interval, as every kind of estimate has them."""
        return [RateInterval.of(self, self.group, self)]

    def view(self) -> list[Block]:
        """The rate; folded: how good the judge is, and the other methods."""
        labels = f"{count(self.n_calibration, 'human label')} ({self.n_calibration_positive:,} "
        labels += f"positive, {self.n_calibration_negative:,} negative)"
        rows = count(self.n_test, "test row")
        if self.labels_drawn == "verdict":
            rows = f"drawn by verdict from {count(self.n, 'row')}"
        details = [f"method: {self.why}"]
        if self.rows_interval is not None:
            details.append(
                f"exact interval for the human rate of these {self.n:,} "
                f"rows alone: {show_interval(self.rows_interval)}; over random samples of labels "
                f"it holds with at least {level(self.confidence_level)}, for any rows and any judge"
            )
        if self.label_shift is not None:
            details.append(f"label shift: {self.label_shift.explanation}")
        details += [f"{a.method} assumes: {a.assumption}" for a in self.alternatives]
        caption = (
            f"All methods on the same rows, with {level(self.confidence_level)} intervals; "
            f"this result is by {self.method}."
        )
        return self.show(
            rate_headline(self),
            *judge_facts(self),
            notes=[
                f"{labels}, {rows}",
                *filter(None, [self.whatever_the_rest]),
                *offer_declaration([self]),
            ],
            tables=other_methods(self),
            assumptions=self.assumptions,
            assumes=assumes_of(self.method, self.labels_drawn),
            others=details,
            figure=("rates", estimate_figure, caption),
        )


# --- the numbers ---


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of every sample; with `pool` all groups share one confusion matrix."""

    estimator: Estimator
    why: str
    labels_drawn: LabelsDrawn
    interval: str
    confidence_level: float
    pool: bool = False
    share: bool = False
    seed: Seed = 0
    #: Notes about labels that a model made, and about win rates.
    notes: tuple[str, ...] = ()

    @property
    def random_labels(self) -> bool:
        """Whether the labels are known to be a random sample of the test rows."""
        return self.labels_drawn in ("declared", "recorded")

    @cached_property
    def others(self) -> list[Estimator]:
        """The other estimators, for comparison."""
        return [other for other in all_estimators() if other is not self.estimator]

    @property
    def known_seed(self) -> int | None:
        """The seed as a result has it: None for a Generator, whose state is not known."""
        return known_seed(self.seed)


def how_drawn(
    rows: Grades, sample: Sample | None, *, declared: bool, by_verdict: bool = False
) -> LabelsDrawn:
    """How the labels were sampled; a recorded plan takes precedence over a declaration."""
    if by_verdict and declared:
        remedy = "labels are drawn at random or by verdict: give one of the two"
        raise ArgumentError("labels_by_verdict", True, remedy)
    if by_verdict:
        return "verdict"
    if sample is not None and sample.planned:
        return "plan"
    return "declared" if declared else "recorded" if rows.drawn_at_random else "unknown"


def best_for_random_labels(judge_scale: str) -> Estimator:
    """The estimator for labels that are a random sample of the test rows."""
    return CONDITIONAL if judge_scale == "binary" else PPI


def no_profile_for(sample: Sample) -> str | None:
    """The property of these rows that the profile interval cannot handle."""
    if sample.scale == "probability":
        return "probabilities (it needs verdicts of 0 and 1)"
    if sample.clusters is not None:
        return "clusters (it treats rows as independent)"
    if sample.strata is not None:
        return "strata"
    if sample.drawn_by_verdict:
        return "labels drawn by verdict"
    return "labels picked by a plan" if sample.planned else None


def independence(clustered: bool) -> str:
    """What is assumed about the dependence between rows."""
    if clustered:
        return "clusters are independent of each other; rows within one can be dependent"
    return "rows are independent of each other (otherwise name the cluster: --cluster, cluster=)"


def estimate_rate(
    sample: Sample,
    request: Request,
    *,
    group: str | None = None,
    dropped: Mapping[str, int] | None = None,
    warnings: tuple[str, ...] = (),
    checks: int = 1,
    unpooled: Sample | None = None,
    exact: tuple[float, float] | None = None,
) -> Estimate:
    """The complete result of one sample.

    `checks` is how many samples are checked for label shift together. `unpooled` is the sample with
    the labels of its rows only, if it has others.
    """
    estimator = request.estimator
    confidence = request.confidence_level
    profile = request.interval == "profile"
    outcome = _outcome(sample, request, confidence)
    judge_alone = NAIVE.compute(sample, confidence_level=confidence)
    recorded = request.labels_drawn == "recorded"
    shift = label_shift(sample, recorded=recorded, checks=checks)
    remedy = _PROFILE if no_profile_for(sample) is None else "label more rows"
    if sample.graded:
        warnings = (*warnings, _SHARES)
    warnings = (*warnings, *outcome.warnings, *(f"{text}; {remedy}" for text in outcome.doubts))
    if shift is not None and shift.doubtful and estimator.needs_random_labels:
        warnings += (f"label shift: {shift.explanation}{ask_cause(sample)}",)
    if request.labels_drawn == "unknown" and not request.pool:
        cause = find_cause(sample, estimator, checks=checks, confidence_level=confidence)
        if cause is not None and cause.certain:
            outcome = refusal(cause.text)
        elif cause is not None and estimator.uses_labels:
            warnings = (cause.text, *warnings)
    of_group = unpooled or sample
    clustered = sample.clusters is not None
    alternatives = tuple(
        _alternative(other, of_group if other.needs_labels_of_group else sample, confidence)
        for other in request.others
        if not (other.needs_verdicts and sample.scale == "probability")
    )
    return Estimate(
        method=estimator.name,
        interval_method="profile" if profile else estimator.interval(sample),
        estimate=outcome.rate,
        interval=outcome.interval(confidence),
        confidence_level=confidence,
        standard_error=outcome.standard_error,
        rows_interval=None if exact is None else Interval(*exact, level=confidence),
        simultaneous_interval=None
        if outcome.low is None
        else _simultaneous(sample, request, checks),
        reason=outcome.reason,
        naive=judge_alone.rate,
        naive_interval=judge_alone.interval(confidence),
        **_judge_quality(sample, confidence),
        n_test=sample.n,
        n_calibration_positive=sample.sums.halves,
        n_calibration_negative=sample.m - sample.sums.halves,
        n_both=sample.m if sample.drawn_by_verdict else _count_both(sample),
        judge_scale=sample.scale,
        group=group,
        why=request.why,
        labels_drawn=request.labels_drawn,
        assumptions=(estimator.assumption_for(sample), independence(clustered), *request.notes),
        label_shift=shift,
        alternatives=alternatives,
        warnings=warnings,
        dropped=dropped or {},
        seed=request.known_seed,
    )


def _count_both(sample: Sample) -> int:
    return int((sample.test & sample.labelled).sum()) if sample.planned else 0


def _outcome(sample: Sample, request: Request, level: float) -> Outcome:
    """The estimate by the method and the interval that are asked for."""
    estimator = request.estimator
    if request.interval == "profile":
        return estimator.estimate_profile(sample, confidence_level=level, seed=request.seed)
    return estimator.estimate(sample, confidence_level=level)


def _simultaneous(sample: Sample, request: Request, checks: int) -> Interval | None:
    """The interval of one of several groups, which hold together at the confidence level."""
    level = request.confidence_level
    if checks < 2:
        return None
    return _outcome(sample, request, one_of_many(level, checks)).interval(level)


def one_of_many(confidence_level: float, groups: int) -> float:
    """The level of each interval, if all are to hold together: the root of it (Šidák 1967).

    That is exact for independent groups. For normal estimates with any correlation, such as models
    that answer the same questions, all together have at least this level (Šidák's inequality).

    >>> round(one_of_many(0.95, 8), 4)
    0.9936
    """
    return float(confidence_level ** (1 / groups))


def exact_intervals(
    samples: Sequence[Sample], request: Request
) -> Sequence[tuple[float, float] | None]:
    """The exact intervals for the rows of samples, if their labels are a random sample of them."""
    usable = request.random_labels or request.labels_drawn == "verdict"
    if not usable or request.pool:
        return [None] * len(samples)
    exact = intervals_of(samples, confidence_level=request.confidence_level)
    return [None if s.graded else ends for s, ends in zip(samples, exact, strict=True)]


def _judge_quality(sample: Sample, confidence_level: float) -> dict[str, Any]:
    """Sensitivity and specificity with exact intervals; without if planned, then weighted.

    Of labels drawn by verdict they are weighted too, with intervals of draws.
    """
    names = ("sensitivity", "sensitivity_interval", "specificity", "specificity_interval")
    quality: dict[str, Any] = dict.fromkeys(names)
    if sample.scale != "binary" or sample.graded:
        return quality
    if sample.drawn_by_verdict:
        measured = measure_judge(sample, confidence_level)
        for name in ("sensitivity", "specificity"):
            quality |= {name: measured[name].estimate, f"{name}_interval": measured[name].interval}
    elif not sample.planned:
        c = counts_of(sample)
        for name, right, size in (("sensitivity", c.c1, c.m1), ("specificity", c.c0, c.m0)):
            if size > 0:
                ends = binomial_interval(right, size, confidence_level)
                quality[name] = right / size
                quality[f"{name}_interval"] = Interval(*ends, level=confidence_level)
    elif sample.weighted and missing(sample) is None:
        fit = correct_means(sample)
        quality |= {"sensitivity": fit.mu1, "specificity": 1 - fit.mu0}
    return quality


def _alternative(estimator: Estimator, sample: Sample, confidence_level: float) -> Alternative:
    """Another estimator on the same rows; for comparison, never for choosing."""
    assumption = estimator.assumption
    if sample.graded and not estimator.takes_shares:
        outcome = refusal("labels are shares of people")
    elif sample.planned and not estimator.takes_plan:
        outcome = refusal("labels were picked by a plan")
    elif sample.drawn_by_verdict and not estimator.takes_verdict_draw:
        outcome = refusal(OF_VERDICT)
    else:
        flat = sample.flat if estimator.needs_random_labels else sample.drawn(random=sample.random)
        outcome = estimator.estimate(flat, confidence_level=confidence_level)
        assumption = estimator.assumption_for(flat)
    return Alternative(
        method=estimator.name,
        estimate=outcome.rate,
        interval=outcome.interval(confidence_level),
        assumption=assumption,
        reason=outcome.reason,
    )
