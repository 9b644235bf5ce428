"""What `evaluate`, `plan selection` and `reproduce scope` return; field names are JSON names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.results.base import Result
from adjudge.results.selection import counted, dropped_lines


@dataclass(frozen=True, kw_only=True)
class SignalQuality:
    """How good a confidence is on labelled rows."""

    signal: str
    judge: str
    protocol: str | None
    n: int
    n_no_verdict: int
    accuracy: float
    ece: float
    auroc: float | None
    auprc: float | None


@dataclass(frozen=True, kw_only=True)
class MethodRisk:
    """One method on one signal at one alpha, over the splits; a baseline promises nothing."""

    signal: str
    judge: str
    protocol: str | None
    method: str
    baseline: bool
    alpha: float
    coverage: float
    coverage_sd: float
    risk: float
    risk_sd: float
    ratio: float | None
    share_above: float


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A picture's data: reliability bins and the risk-coverage curve of one signal."""

    signal: str
    judge: str
    protocol: str | None
    bin_confidence: tuple[float, ...]
    bin_accuracy: tuple[float, ...]
    bin_count: tuple[int, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Evaluation(Result):
    """Uncertainty quality and selection over random splits, for every signal and method."""

    kind: ClassVar[str] = "evaluation"

    splits: int
    seed: int | None
    ties: str
    delta: float
    alphas: tuple[float, ...]
    cluster: str | None
    signals: tuple[SignalQuality, ...]
    methods: tuple[MethodRisk, ...]
    curves: tuple[Curve, ...] = field(repr=False)
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int]

    def lines(self) -> list[str]:
        told = [
            f"{s.judge}, {s.signal}: accuracy {s.accuracy:.3f}, ECE {s.ece:.3f} "
            f"({counted(s.n, 'row')})"
            for s in self.signals
        ]
        told += [f"note: {line}" for line in (*self.assumptions, *self.warnings)]
        return told + dropped_lines(self.dropped)


@dataclass(frozen=True, kw_only=True)
class PlanPoint:
    """What to expect from `n` calibration labels."""

    n: int
    coverage: float
    coverage_sd: float
    risk: float
    share_above: float
    share_feasible: float
    extrapolated: bool


@dataclass(frozen=True, kw_only=True)
class SelectionPlan(Result):
    """Expected coverage against the number of calibration labels."""

    kind: ClassVar[str] = "plan_selection"

    guarantee: str
    alpha: float
    delta: float | None
    judge: str
    gain: float
    n_labelled: int
    repeats: int
    seed: int | None
    recommended: int | None
    points: tuple[PlanPoint, ...]
    assumptions: tuple[str, ...]
    dropped: Mapping[str, int]

    def lines(self) -> list[str]:
        told = [
            f"{p.n:>6} {'label' if p.n == 1 else 'labels'}: "
            f"coverage {p.coverage:.3f} (sd {p.coverage_sd:.3f})"
            + (" (extrapolated)" if p.extrapolated else "")
            for p in self.points
        ]
        if self.recommended is None:
            told.append(
                f"every doubling shown still buys {self.gain:g} coverage or more: label more"
            )
        else:
            told.append(
                f"from {counted(self.recommended, 'label')} on, one more doubling buys less than "
                f"{self.gain:g} coverage"
            )
        told += [f"assumes: {line}" for line in self.assumptions]
        return told + dropped_lines(self.dropped)


@dataclass(frozen=True, kw_only=True)
class PublishedRisk:
    """One figure of the SCOPE paper; None where its text does not give the number."""

    dataset: str
    judge: str
    method: str
    alpha: float
    coverage: float | None
    risk: float | None


@dataclass(frozen=True, kw_only=True)
class ReproducedSet:
    """The paper's protocol on one data set: what was there, what was sampled, what came out."""

    dataset: str
    n_available: int
    n_sampled: int
    evaluation: Evaluation


@dataclass(frozen=True, kw_only=True)
class ScopeReproduction(Result):
    """The SCOPE paper's protocol on the data given, with its published figures."""

    kind: ClassVar[str] = "reproduction_scope"

    n_wanted: int
    splits: int
    seed: int
    datasets: tuple[ReproducedSet, ...]
    published: tuple[PublishedRisk, ...]
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        told = []
        for one in self.datasets:
            told.append(
                f"{one.dataset}: {one.n_sampled} of {counted(one.n_available, 'row')} without ties"
            )
            told += [f"  {line}" for line in one.evaluation.lines()]
        return [*told, *self.notes]
