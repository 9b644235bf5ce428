"""What the reproduction of the reporting paper returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """One setting of the paper's simulation: a list entry per true rate."""

    figure: str
    n: int
    m: int
    specificity: float
    sensitivity: float
    rates: tuple[float, ...]
    naive: tuple[float, ...]
    corrected: tuple[float, ...]
    coverage_naive: tuple[float, ...]
    coverage: tuple[float, ...]
    coverage_adaptive: tuple[float, ...]
    length_equal: tuple[float, ...]
    length_adaptive: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ShiftBias:
    """Figure 5: bias of each estimator when the labelled rows have another rate."""

    calibration_rates: tuple[float, ...]
    test_rate: float
    bias: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class LengthCurve:
    """Figure 3: interval length against the number of labels, for one judge rate."""

    judge_rate: float
    labels: tuple[int, ...]
    equal: tuple[float, ...]
    adaptive: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class SingleRun:
    """Figure 6a: one run over the true rates, judge alone and corrected, with intervals."""

    naive: tuple[float, ...]
    naive_low: tuple[float, ...]
    naive_high: tuple[float, ...]
    corrected: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A number in the paper's text, and ours."""

    where: str
    claim: str
    paper: str
    ours: str
    agrees: bool


@dataclass(frozen=True, kw_only=True)
class ProtocolRow:
    """One model under the protocol of section 8.2."""

    model: str
    rows: int
    rate: float
    bias_naive: float
    bias_corrected: float | None
    coverage: float | None
    length: float | None
    refused: int
    paper_coverage: float | None = None
    paper_length: float | None = None


@frozen
class ReportingReproduction(Result):
    """The reporting paper's simulation or, with user data, its Chatbot Arena protocol."""

    kind: ClassVar[str] = "reproduction_reporting"

    repeats: int
    confidence_level: float
    seed: int
    settings: tuple[Simulation, ...]
    shift: ShiftBias | None
    lengths: tuple[LengthCurve, ...] = ()
    single_run: SingleRun | None = None
    claims: tuple[Claim, ...]
    protocol: tuple[ProtocolRow, ...] = ()
    splits: int | None = None
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    def _parts(self) -> Sequence[Any]:
        return self.protocol or self.claims
