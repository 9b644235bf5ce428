"""The interface of an estimator, and its outcome: a raw number and its interval, or a reason."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from adjudge.errors import ArgumentError
from adjudge.estimation.sample import (
    TOO_FEW,
    Sample,
    active_clusters,
    clamp,
    few_clusters,
    freedom_of_clusters,
    spread,
)
from adjudge.records import Interval
from adjudge.validation import FloatArray, Seed


class Outcome(NamedTuple):
    """A raw estimate with its interval clipped to [0, 1], or the reason why there is none.

    `estimate` can lie outside [0, 1]. Only the final result uses the clipped `rate`, so that
    combinations stay unbiased. `centre` and `half` are the interval before clipping, which strata
    need. `doubts` name cases in which a Wald-type interval covers too little; callers add a remedy.
    """

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    centre: float | None = None
    half: float | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """The estimate clipped to [0, 1]."""
        return None if self.estimate is None else clamp(self.estimate)

    def interval(self, level: float) -> Interval | None:
        """The interval of a result, None if there is none."""
        return None if self.low is None else Interval(self.low, self.high, level)


class Estimator(ABC):
    """One way to estimate the rate that people would give: what it needs, what it assumes.

    A new estimator is a subclass with `name`, `assumption` and `compute`, and a line in
    the registry (or `register_estimator`).
    """

    name: ClassVar[str]
    #: Its number, as people call it.
    title: ClassVar[str] = "corrected rate"
    #: What it assumes, in general; `assumption_for` has what it assumes about one sample.
    assumption: ClassVar[str]
    #: The same in a few words, for tables; and if the labels were picked by a plan.
    assumes: ClassVar[str] = ""
    assumes_with_plan: ClassVar[str] = ""
    uses_judge: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = True
    #: Its labels must be a random sample of the test rows: a label shift biases it.
    needs_random_labels: ClassVar[bool] = True
    #: They must be labels of the same group: those of other groups cannot be pooled with them.
    needs_labels_of_group: ClassVar[bool] = False
    #: The judge must say 0 or 1: no probabilities, and one class against the rest.
    needs_verdicts: ClassVar[bool] = False
    #: Labels can be shares of people. Otherwise it counts right and wrong verdicts.
    takes_shares: ClassVar[bool] = True
    #: Labels can be picked by a plan, with unequal probabilities.
    takes_plan: ClassVar[bool] = False
    #: Labels can be drawn by verdict, at rates that are not known.
    takes_verdict_draw: ClassVar[bool] = False
    #: It corrects by a confusion matrix, which strata, pooled groups and a profile interval need.
    has_matrix: ClassVar[bool] = False

    @abstractmethod
    def compute(self, sample: Sample, *, confidence_level: float) -> Outcome:
        """The raw estimate; its interval can lie outside [0, 1]."""

    def assumption_for(self, sample: Sample) -> str:
        """What it assumes about this sample."""
        return self.assumption

    def interval(self, sample: Sample) -> str:
        """The name of its interval for this sample."""
        return "wald"

    def estimate(self, sample: Sample, *, confidence_level: float) -> Outcome:
        """The estimate, refused if its interval lies outside [0, 1] or is all of [0, 1]."""
        outcome = self.compute(sample, confidence_level=confidence_level)
        return refuse_everything(refuse_outside(outcome))

    def estimate_profile(self, sample: Sample, *, confidence_level: float, seed: Seed) -> Outcome:
        """The same with the profile interval, for an estimator that `has_matrix`."""
        raise ArgumentError("interval", "profile", f"is not available for {self.name}")


def refusal(reason: str) -> Outcome:
    return Outcome(reason=reason)


def with_interval(
    estimate: float,
    centre: float,
    half: float,
    se: float,
    warnings: tuple[str, ...] = (),
    doubts: tuple[str, ...] = (),
) -> Outcome:
    """An estimate with the interval centre -+ half, clipped to [0, 1]."""
    low = clamp(centre - half)
    high = clamp(centre + half)
    return Outcome(estimate, low, high, se, centre, half, None, warnings, doubts)


def widen(
    sample: Sample,
    estimate: float,
    influence_of_rows: Callable[[], FloatArray],
    confidence_level: float,
    *,
    se: float | None = None,
    floor: float = 0.0,
    around: tuple[float, float] | None = None,
    freedom: int | None = None,
    warnings: tuple[str, ...] = (),
    doubts: tuple[str, ...] = (),
) -> Outcome:
    """An estimate with a normal interval; with clusters, Student's, widened by their variance.

    The influence of a row is its contribution to the estimate's error; they sum to zero. `se` is
    the standard error of independent rows, by default from the influence values. `floor` replaces
    it if it is zero. `around` is the centre of the interval and the standard error there, if they
    are not the estimate and `se` (Eq. 6). `freedom` gives Student's quantile for independent rows
    too. Refused with fewer than two clusters.
    """
    active = active_clusters(sample)
    if active is not None and active < 2:
        return refusal(TOO_FEW)
    influence = influence_of_rows() if se is None or active is not None else None
    of_clusters = freedom_of_clusters(sample)
    degrees = of_clusters or freedom
    # A group of independent rows has sums alone; to read its rows would cut them out of the file.
    labelled = None if active is None else sample.labelled
    wide = spread(influence, sample.clusters, active, labelled, confidence_level, degrees)
    if se is None and influence is not None:
        se = math.sqrt(float(influence @ influence))
    se = (se or 0.0) * wide.inflation or floor
    centre = estimate
    half = wide.critical * se
    if around is not None:
        centre = around[0]
        half = wide.critical * around[1] * wide.inflation
    warnings = (*warnings, *few_clusters(active, of_clusters))
    return with_interval(estimate, centre, half, se, warnings, doubts)


def refuse_outside(outcome: Outcome) -> Outcome:
    """The outcome, or a refusal if its entire interval lies outside [0, 1].

    Clipping such an interval would leave [0, 0] or [1, 1]: certainty from an assumption that the
    rows contradict. If the true rate is 0 or 1 and the assumption holds, this happens by chance to
    the interval of Eq. 6 in at most 2.2 % of samples at 95 % (docs/estimation.md).
    """
    reason = why_outside(outcome)
    return outcome if reason is None else refusal(reason)


def refuse_everything(outcome: Outcome) -> Outcome:
    """The outcome, or a refusal if its interval is all of [0, 1] and so not informative."""
    if outcome.low is None or outcome.high is None or outcome.low > 0 or outcome.high < 1:
        return outcome
    because = "" if outcome.reason is None else f"{outcome.reason}; "
    return refusal(
        f"{because}the interval is all of [0, 1]: every rate is compatible with these "
        "labels; label more rows, or use another judge"
    )


def why_outside(outcome: Outcome, wider: float = 1.0) -> str | None:
    """Why this is not a result, if no rate within centre -+ `wider` * half is between 0 and 1."""
    centre = outcome.centre
    half = outcome.half
    if outcome.estimate is None or centre is None or half is None:
        return None
    if centre - wider * half < 1 and centre + wider * half > 0:
        return None
    return (
        f"before clipping, the rate was {outcome.estimate:.3f} and its entire interval "
        f"[{centre - half:.3f}, {centre + half:.3f}] was outside [0, 1]: the judge's errors on "
        "these test rows differ from those on the labelled ones, so these labels cannot correct "
        "them; label some of these test rows (for a group: its own labels, not pooled ones)"
    )
