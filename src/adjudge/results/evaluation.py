"""What `evaluate`, `plan selection` and `reproduce scope` return; field names are JSON names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adjudge._text import group_name
from adjudge.results.base import Result, frozen, plain

#: A judge and the protocol it was asked by.
JudgeKey = tuple[str, str | None]


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


@frozen
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
    curves: tuple[Curve, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int]

    @property
    def judges(self) -> list[JudgeKey]:
        """Every judge and protocol, in the order of the file."""
        return list(dict.fromkeys((s.judge, s.protocol) for s in self.signals))

    def judge_name(self, key: JudgeKey) -> str:
        """The judge, with its protocol where it was asked by several."""
        judge, protocol = key
        name = group_name(judge, none="the judge")
        same = [one for one in self.judges if one[0] == judge]
        return name if len(same) == 1 else f"{name} ({protocol})"

    def main_signal(self, key: JudgeKey) -> SignalQuality:
        """The signal a judge is calibrated on: the entropy of both orders where there is one."""
        own = [s for s in self.signals if (s.judge, s.protocol) == key]
        return next((s for s in own if s.signal == "preference_entropy"), own[0])

    def paper_rows(self, key: JudgeKey) -> list[MethodRisk]:
        """Every method of one judge on the signal that the SCOPE paper gives it.

        Baselines run on one order, guarantees on the main signal; methods and alphas in order.
        """
        own = [m for m in self.methods if (m.judge, m.protocol) == key]
        main, order = self.main_signal(key).signal, list(dict.fromkeys(m.method for m in own))
        single = "single_order" if any(m.signal == "single_order" for m in own) else main
        kept = [m for m in own if m.signal == (single if m.baseline else main)]
        return sorted(kept, key=lambda m: (order.index(m.method), m.alpha))

    def _parts(self) -> Sequence[MethodRisk]:
        return self.methods


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


@frozen
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

    def _parts(self) -> Sequence[PlanPoint]:
        return self.points


@dataclass(frozen=True, kw_only=True)
class PublishedRisk:
    """One figure of the SCOPE paper; None where its text does not give the number."""

    dataset: str
    judge: str
    method: str
    alpha: float
    coverage: float | None
    risk: float | None

    def is_of(self, dataset: str, judge: str) -> bool:
        """Whether these names contain its data set, and its judge's model and size."""
        return _squeeze(self.dataset) in _squeeze(dataset) and _squeeze(self.judge) in _squeeze(
            judge
        )


@dataclass(frozen=True, kw_only=True)
class ReproducedSet:
    """The paper's protocol on one data set: what was there, what was sampled, what came out."""

    dataset: str
    n_available: int
    n_sampled: int
    evaluation: Evaluation


@frozen
class ScopeReproduction(Result):
    """The SCOPE paper's protocol on the data given, with its published figures."""

    kind: ClassVar[str] = "reproduction_scope"

    n_wanted: int
    splits: int
    seed: int
    datasets: tuple[ReproducedSet, ...]
    published: tuple[PublishedRisk, ...]
    notes: tuple[str, ...]

    def _parts(self) -> Sequence[Mapping[str, Any]]:
        return [
            {"dataset": one.dataset, **plain(row)}
            for one in self.datasets
            for row in one.evaluation.methods
        ]


def _squeeze(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
