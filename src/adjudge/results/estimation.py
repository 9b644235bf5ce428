"""What the estimation room returns: corrected rates, their intervals, differences and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.results.base import Result


def _range(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def _level(confidence_level: float) -> str:
    return f"{100 * confidence_level:g} %"


def _counted(dropped: Mapping[str, int]) -> list[str]:
    return [f"set aside: {count} rows, {reason}" for reason, count in dropped.items() if count]


@dataclass(frozen=True, kw_only=True)
class LabelShift(Result):
    """Do the labelled rows look like the test rows, as far as the judge's verdicts can tell?"""

    kind: ClassVar[str] = "label_shift"

    judge_rate_calibration: float
    judge_rate_test: float
    difference: float
    p_value: float | None
    rules_out: tuple[str, ...]
    explanation: str

    def lines(self) -> list[str]:
        return [self.explanation]


@dataclass(frozen=True, kw_only=True)
class Alternative(Result):
    """One of the other estimators, on the same rows, with what it would have to assume."""

    kind: ClassVar[str] = "estimate_alternative"

    method: str
    estimate: float | None
    low: float | None
    high: float | None
    assumption: str
    reason: str | None = None
    ruled_out: bool = False


@dataclass(frozen=True, kw_only=True)
class Estimate(Result):
    """A rate, corrected for the judge's errors, with its interval.

    `estimate`, `low` and `high` are None when the data allow no honest number; `reason` then says
    why. A number here is never outside [0, 1].
    """

    kind: ClassVar[str] = "estimate"

    method: str
    interval: str
    estimate: float | None
    low: float | None
    high: float | None
    confidence_level: float
    standard_error: float | None = None
    reason: str | None = None
    naive: float | None
    naive_low: float | None
    naive_high: float | None
    sensitivity: float | None
    sensitivity_low: float | None
    sensitivity_high: float | None
    specificity: float | None
    specificity_low: float | None
    specificity_high: float | None
    n_test: int
    n_calibration_positive: int
    n_calibration_negative: int
    judge_scale: str
    group: str | None = None
    why: str
    assumptions: tuple[str, ...]
    label_shift: LabelShift | None = None
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None

    @property
    def estimated(self) -> bool:
        """Whether there is a number."""
        return self.estimate is not None

    @property
    def n_calibration(self) -> int:
        """All labelled rows that calibrate."""
        return self.n_calibration_positive + self.n_calibration_negative

    def lines(self) -> list[str]:
        said = _level(self.confidence_level)
        who = f"{self.group}: " if self.group is not None else ""
        if self.estimate is None:
            told = [f"{who}no {self.method} estimate: {self.reason}"]
            if self.low is not None:
                told.append(f"{said} interval {_range(self.low, self.high)}")
        else:
            told = [
                f"{who}rate {self.estimate:.3f}, {said} interval "
                f"{_range(self.low, self.high)} ({self.method}, {self.interval})"
            ]
        if self.naive is not None:
            told.append(
                f"naive judge rate {self.naive:.3f}, {_range(self.naive_low, self.naive_high)}: "
                "the judge's errors are not in it"
            )
        told += self._judge_lines()
        told.append(
            f"{self.n_test} test rows; {self.n_calibration} human labels "
            f"({self.n_calibration_positive} positive, {self.n_calibration_negative} negative)"
        )
        told.append(f"method: {self.why}")
        told += [f"assumes: {text}" for text in self.assumptions]
        if self.label_shift is not None:
            told += [f"label shift: {text}" for text in self.label_shift.lines()]
        told += [f"warning: {text}" for text in self.warnings]
        return told + _counted(self.dropped)

    def _judge_lines(self) -> list[str]:
        if self.sensitivity is None and self.specificity is None:
            return []
        parts = []
        for name, value, low, high in (
            ("sensitivity", self.sensitivity, self.sensitivity_low, self.sensitivity_high),
            ("specificity", self.specificity, self.specificity_low, self.specificity_high),
        ):
            if value is not None:
                parts.append(f"{name} {value:.3f} {_range(low, high)}")
        return ["judge: " + ", ".join(parts)]


@dataclass(frozen=True, kw_only=True)
class GroupedEstimate(Result):
    """One estimate per group; `pooled` says whether they share one confusion matrix."""

    kind: ClassVar[str] = "estimate_groups"

    method: str
    interval: str
    confidence_level: float
    by: str
    pooled: bool
    groups: tuple[Estimate | ClassEstimate, ...]
    judge_differs_p_value: float | None = None
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None

    @property
    def refused(self) -> tuple[str, ...]:
        """Groups without a number."""
        return tuple(str(one.group) for one in self.groups if not one.estimated)

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """Warnings of the whole, then those of single groups, each once with the groups named."""
        flagged: dict[str, list[str]] = {}
        for one in self.groups:
            for text in one.warnings:
                flagged.setdefault(text, []).append(str(one.group))
        told = (f"{', '.join(names)}: {text}" for text, names in flagged.items())
        return (*self.warnings, *told)

    def lines(self) -> list[str]:
        told = []
        for one in self.groups:
            told += [one.lines()[0]] if isinstance(one, Estimate) else one.shares()
        if self.refused:
            told.append(f"no estimate for {len(self.refused)} of {len(self.groups)} groups")
        told += [f"warning: {text}" for text in self.all_warnings]
        return told + _counted(self.dropped)


@dataclass(frozen=True, kw_only=True)
class ClassRate(Result):
    """The corrected share of one class."""

    kind: ClassVar[str] = "class_rate"

    label: str
    estimate: float | None
    low: float | None
    high: float | None
    naive: float
    n_calibration: int
    recall: float | None


@dataclass(frozen=True, kw_only=True)
class ClassEstimate(Result):
    """Corrected shares of more than two classes, from the inverse of the confusion matrix."""

    kind: ClassVar[str] = "estimate_classes"

    method: str
    interval: str
    confidence_level: float
    classes: tuple[ClassRate, ...]
    confusion: tuple[tuple[float, ...], ...] | None
    condition_number: float | None
    reason: str | None = None
    n_test: int
    n_calibration: int
    group: str | None = None
    assumptions: tuple[str, ...]
    why: str
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def estimated(self) -> bool:
        """Whether every class has a number."""
        return all(one.estimate is not None for one in self.classes)

    def shares(self) -> list[str]:
        """One line for each class, under the group's name."""
        told = [f"{self.group}:"] if self.group is not None else []
        if self.reason:
            told.append(f"no {self.method} estimate: {self.reason}")
        for one in self.classes:
            share = "no estimate" if one.estimate is None else f"{one.estimate:.3f}"
            told.append(
                f"{one.label}: {share} {_range(one.low, one.high)}, naive {one.naive:.3f}, "
                f"{one.n_calibration} labels"
            )
        if self.condition_number is not None:
            told.append(f"condition number of the confusion matrix {self.condition_number:.2f}")
        return [*told, f"{self.n_test} test rows; {self.n_calibration} human labels"]

    def lines(self) -> list[str]:
        told = [*self.shares(), f"method: {self.why}"]
        told += [f"assumes: {text}" for text in self.assumptions]
        told += [f"warning: {text}" for text in self.warnings]
        return told + _counted(self.dropped)


@dataclass(frozen=True, kw_only=True)
class RateDifference(Result):
    """Corrected rate of A minus that of B, paired where rows share a cluster."""

    kind: ClassVar[str] = "estimate_difference"

    a: str
    b: str
    method: str
    interval: str
    estimate: float | None
    low: float | None
    high: float | None
    confidence_level: float
    standard_error: float | None
    unpaired_standard_error: float | None
    reason: str | None = None
    naive: float | None
    pooled: bool
    shared_clusters: int
    clusters: int
    estimate_a: Estimate
    estimate_b: Estimate
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        if self.estimate is None:
            told = [f"no difference: {self.reason}"]
        else:
            told = [
                f"{self.a} minus {self.b}: {self.estimate:+.3f}, {_level(self.confidence_level)} "
                f"interval {_range(self.low, self.high)}"
            ]
            if self.low is not None and self.high is not None:
                decided = self.low > 0 or self.high < 0
                told.append(
                    "the interval leaves out zero: the rates differ"
                    if decided
                    else "the interval holds zero: these labels do not tell the two apart"
                )
        if self.naive is not None:
            told.append(f"naive difference {self.naive:+.3f}")
        told += [one.lines()[0] for one in (self.estimate_a, self.estimate_b)]
        if self.standard_error is not None and self.unpaired_standard_error is not None:
            paired = (
                f"; {self.unpaired_standard_error:.4f} if the pairing were ignored "
                f"({self.shared_clusters} of {self.clusters} clusters hold rows of both)"
            )
            told.append(f"standard error {self.standard_error:.4f}{paired * bool(self.clusters)}")
        told += [f"assumes: {text}" for text in self.assumptions]
        told += [f"warning: {text}" for text in self.warnings]
        return told + _counted(self.dropped)


@dataclass(frozen=True, kw_only=True)
class NextLabels(Result):
    """What more labels would buy: the expected width after adding them in one of several ways."""

    kind: ClassVar[str] = "next_labels"

    extra: int
    how: str
    m0: int
    m1: int
    expected_width: float


@dataclass(frozen=True, kw_only=True)
class RatePlan(Result):
    """How many labels, split how, for an interval of a given width; and is the judge worth it?"""

    kind: ClassVar[str] = "plan_rate"

    m0: int | None = None
    m1: int | None = None
    expected_width: float | None = None
    human_only_width: float | None = None
    recommendation: str
    target_width: float | None = None
    confidence_level: float
    rate: float | None = None
    judge_rate: float
    sensitivity: float
    specificity: float
    n_test: int
    labels: int | None = None
    optimal_m0: int | None = None
    optimal_m1: int | None = None
    optimal_width: float | None = None
    expected_draws: int | None = None
    random_m: int | None = None
    random_width: float | None = None
    ppi_width: float | None = None
    human_only_labels: int | None = None
    ppi_labels: int | None = None
    verdict_m0: int | None = None
    verdict_m1: int | None = None
    verdict_width: float | None = None
    judge_helps: bool
    variance_ratio: float | None = None
    proposition_61: tuple[float, float] | None = None
    proposition_61_says: bool
    reason: str | None = None
    next_labels: tuple[NextLabels, ...] = ()
    how_to_draw: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        told = [self.recommendation]
        if self.reason is not None and self.reason not in self.recommendation:
            told.append(self.reason)
        if self.m0 is not None and self.expected_width is not None:
            told.append(
                f"split by class (Algorithm 1): {self.m1} labels of human class 1 and {self.m0} of "
                f"class 0, expected width {self.expected_width:.3f}; about {self.expected_draws} "
                "more random draws fill both"
            )
        if self.random_width is not None:
            told.append(
                f"the same {self.labels} labels drawn at random: width {self.random_width:.3f} "
                f"(misclassification), {self.ppi_width:.3f} (ppi++), "
                f"{self.human_only_width:.3f} (people alone)"
            )
        if self.verdict_width is not None:
            told.append(
                f"drawn by the judge's verdict, {self.verdict_m1} of verdict 1 and "
                f"{self.verdict_m0} of verdict 0: width {self.verdict_width:.3f} (conditional)"
            )
        if self.variance_ratio is not None:
            told.append(
                f"variance against people alone: {self.variance_ratio:.2f} times; "
                + ("the judge helps" if self.judge_helps else "people alone do better")
            )
        told += [
            f"{step.extra} more labels, {step.how}: width {step.expected_width:.3f}"
            for step in self.next_labels
        ]
        told += [f"how to draw: {text}" for text in self.how_to_draw]
        told += [f"assumes: {text}" for text in self.assumptions]
        return told + [f"warning: {text}" for text in self.warnings]
