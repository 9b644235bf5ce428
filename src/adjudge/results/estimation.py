"""Results of the estimation room: corrected rates, their intervals, differences and plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from adjudge.present.blocks import Block
from adjudge.present.result import Count, Level, NotNegative, Proportion, Result, frozen, plain


def method_if_random(judge_scale: str) -> str:
    """The method for labels that are a random sample of the test rows."""
    return "conditional" if judge_scale == "binary" else "ppi++"


def _width(one: Alternative | Estimate) -> float | None:
    if one.estimate is None or one.low is None or one.high is None:
        return None
    return one.high - one.low


@frozen
class LabelShift(Result):
    """Whether the labelled rows look like the test rows, judged by the judge's verdicts."""

    kind: ClassVar[str] = "label_shift"

    judge_rate_calibration: Proportion
    judge_rate_test: Proportion
    difference: float
    p_value: Proportion | None
    rules_out: tuple[str, ...]
    explanation: str

    def view(self) -> list[Block]:
        from adjudge.present.views.estimation import view_shift

        return view_shift(self)


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One of the other estimators on the same rows, with its assumption."""

    method: str
    estimate: float | None
    low: float | None
    high: float | None
    assumption: str
    reason: str | None = None
    ruled_out: bool = False

    @property
    def width(self) -> float | None:
        """The width of the interval; None without an estimate."""
        return _width(self)


@frozen
class Estimate(Result):
    """A rate, corrected for the judge's errors, with its interval.

    `estimate`, `low` and `high` are None if the data allow no valid number; `reason` then explains
    why. A number here is never outside [0, 1]. `rows_low` and `rows_high`, for labels that are a
    random sample, are only about these rows, and exact.
    """

    kind: ClassVar[str] = "estimate"

    method: str
    interval: str
    estimate: float | None
    low: float | None
    high: float | None
    confidence_level: Level
    standard_error: NotNegative | None = None
    rows_low: Proportion | None = None
    rows_high: Proportion | None = None
    reason: str | None = None
    naive: float | None
    naive_low: float | None
    naive_high: float | None
    sensitivity: Proportion | None
    sensitivity_low: float | None
    sensitivity_high: float | None
    specificity: Proportion | None
    specificity_low: float | None
    specificity_high: float | None
    n_test: Count
    n_calibration_positive: Count
    n_calibration_negative: Count
    judge_scale: str
    group: str | None = None
    why: str
    labels_drawn: str = "unknown"
    assumptions: tuple[str, ...]
    label_shift: LabelShift | None = None
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    @property
    def estimated(self) -> bool:
        """Whether there is a number."""
        return self.estimate is not None

    @property
    def ruled_out(self) -> bool:
        """Whether the check for label shift contradicts the method's assumption."""
        return self.label_shift is not None and self.method in self.label_shift.rules_out

    @property
    def people_alone(self) -> Alternative | None:
        """The rate from the labels without the judge; None if that is this result itself."""
        return next((one for one in self.alternatives if one.method == "human-only"), None)

    @property
    def if_random(self) -> Alternative | None:
        """The result if the labels were declared a random sample, if that is not known."""
        if self.labels_drawn != "unknown" or self.method != "misclassification":
            return None
        best = method_if_random(self.judge_scale)
        return next((one for one in self.alternatives if one.method == best), None)

    @property
    def width(self) -> float | None:
        """The width of the interval; None without an estimate."""
        return _width(self)

    @property
    def people_are_narrower(self) -> bool:
        """Whether people alone would give a narrower interval."""
        alone = None if self.people_alone is None else self.people_alone.width
        return alone is not None and self.width is not None and alone < self.width

    @property
    def n_calibration(self) -> int:
        """All labelled rows that calibrate."""
        return self.n_calibration_positive + self.n_calibration_negative

    def view(self) -> list[Block]:
        from adjudge.present.views.estimation import view_estimate

        return view_estimate(self)


@dataclass(frozen=True, kw_only=True)
class ClassRate:
    """The corrected share of one class."""

    label: str
    estimate: float | None
    low: float | None
    high: float | None
    naive: float
    n_calibration: Count
    recall: Proportion | None
    human_only: Proportion | None = None
    human_only_low: float | None = None
    human_only_high: float | None = None


@frozen
class ClassEstimate(Result):
    """Corrected shares of more than two classes, from the inverse of the confusion matrix."""

    kind: ClassVar[str] = "class_estimate"

    method: str
    interval: str
    confidence_level: Level
    classes: tuple[ClassRate, ...]
    confusion: tuple[tuple[float, ...], ...] | None
    condition_number: float | None
    reason: str | None = None
    n_test: Count
    n_calibration: Count
    group: str | None = None
    assumptions: tuple[str, ...]
    why: str
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def estimated(self) -> bool:
        """Whether every class has a number."""
        return all(one.estimate is not None for one in self.classes)

    def _parts(self) -> Sequence[Any]:
        return [{"group": self.group, **plain(one)} for one in self.classes]

    def view(self) -> list[Block]:
        from adjudge.present.views._classes import view_classes

        return view_classes(self)


@frozen
class GroupedEstimate(Result):
    """One estimate per group; `pooled` is true if they share one confusion matrix."""

    kind: ClassVar[str] = "grouped_estimate"

    method: str
    interval: str
    confidence_level: Level
    by: str
    pooled: bool
    groups: tuple[Estimate | ClassEstimate, ...]
    judge_differs_p_value: Proportion | None = None
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    @property
    def refused(self) -> tuple[str, ...]:
        """Groups without a number."""
        return tuple(str(one.group) for one in self.groups if not one.estimated)

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """General warnings, then those of single groups, each once with the groups named."""
        return (*self.warnings, *warnings_by_group(self.groups))

    def _parts(self) -> Sequence[Any]:
        return [part for one in self.groups for part in one._parts()]

    def view(self) -> list[Block]:
        from adjudge.present.views.estimation import view_groups

        return view_groups(self)


@frozen
class RateDifference(Result):
    """Corrected rate of A minus that of B, paired if rows share a cluster."""

    kind: ClassVar[str] = "rate_difference"

    a: str
    b: str
    method: str
    interval: str
    estimate: float | None
    low: float | None
    high: float | None
    confidence_level: Level
    standard_error: NotNegative | None
    unpaired_standard_error: NotNegative | None
    reason: str | None = None
    naive: float | None
    human_only: float | None = None
    human_only_low: float | None = None
    human_only_high: float | None = None
    pooled: bool
    shared_clusters: Count
    clusters: Count
    estimate_a: Estimate
    estimate_b: Estimate
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval lies on one side of zero; None if there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low > 0 or self.high < 0

    def view(self) -> list[Block]:
        from adjudge.present.views.estimation import view_difference

        return view_difference(self)


class HasWarnings(Protocol):
    """A part of a result that is about one group."""

    @property
    def group(self) -> str | None: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


def warnings_by_group(groups: Iterable[HasWarnings]) -> tuple[str, ...]:
    """Warnings of single groups, each once with the groups named."""
    named: dict[str, list[str]] = {}
    for one in groups:
        for text in one.warnings:
            named.setdefault(text, []).append(one.group or "all rows")
    return tuple(f"{', '.join(names)}: {text}" for text, names in named.items())


@dataclass(frozen=True, kw_only=True)
class NextLabels:
    """The effect of more labels: the expected width after adding them in one of several ways."""

    extra: Count
    how: str
    m0: Count
    m1: Count
    expected_width: NotNegative


@frozen
class RatePlan(Result):
    """How many labels, in which split, for a given interval width; and does the judge help?"""

    kind: ClassVar[str] = "plan_rate"

    m0: Count | None = None
    m1: Count | None = None
    expected_width: NotNegative | None = None
    human_only_width: NotNegative | None = None
    recommendation: str
    target_width: NotNegative | None = None
    confidence_level: Level
    rate: Proportion | None = None
    judge_rate: Proportion
    sensitivity: Proportion
    specificity: Proportion
    n_test: Count
    labels: Count | None = None
    optimal_m0: Count | None = None
    optimal_m1: Count | None = None
    optimal_width: NotNegative | None = None
    expected_draws: Count | None = None
    random_m: Count | None = None
    random_width: NotNegative | None = None
    ppi_width: NotNegative | None = None
    human_only_labels: Count | None = None
    conditional_labels: Count | None = None
    conditional_width: NotNegative | None = None
    simulated_coverage: Proportion | None = None
    verdict_m0: Count | None = None
    verdict_m1: Count | None = None
    verdict_width: NotNegative | None = None
    judge_helps: bool
    variance_ratio: float | None = None
    proposition_51: Count | None = None
    proposition_61: tuple[float, float] | None = None
    proposition_61_says: bool
    reason: str | None = None
    next_labels: tuple[NextLabels, ...] = ()
    how_to_draw: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def _parts(self) -> Sequence[Any]:
        return self.next_labels or [self]

    def view(self) -> list[Block]:
        from adjudge.present.views._rate_plan import view_plan

        return view_plan(self)
