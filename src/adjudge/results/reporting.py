"""What the reproduction of the reporting paper returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.results.base import Result


@dataclass(frozen=True, kw_only=True)
class Simulated(Result):
    """One setting of the paper's simulation: a list entry per true rate."""

    kind: ClassVar[str] = "simulated_reporting"

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
class Shifted(Result):
    """Figure 5: bias of each estimator when the labelled rows have another rate."""

    kind: ClassVar[str] = "shifted_reporting"

    calibration_rates: tuple[float, ...]
    test_rate: float
    bias: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class LengthCurve(Result):
    """Figure 3: interval length against the number of labels, for one judge rate."""

    kind: ClassVar[str] = "length_curve"

    judge_rate: float
    labels: tuple[int, ...]
    equal: tuple[float, ...]
    adaptive: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class SingleRun(Result):
    """Figure 6a: one run over the true rates, judge alone and corrected, with intervals."""

    kind: ClassVar[str] = "single_run"

    naive: tuple[float, ...]
    naive_low: tuple[float, ...]
    naive_high: tuple[float, ...]
    corrected: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Claim(Result):
    """A number in the paper's text beside ours."""

    kind: ClassVar[str] = "claim"

    where: str
    claim: str
    paper: str
    ours: str
    agrees: bool


@dataclass(frozen=True, kw_only=True)
class ProtocolRow(Result):
    """One model under the protocol of section 8.2."""

    kind: ClassVar[str] = "protocol_row"

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


@dataclass(frozen=True, kw_only=True)
class ReportingReproduction(Result):
    """The reporting paper's simulation and, with user data, its Chatbot Arena protocol."""

    kind: ClassVar[str] = "reproduce_reporting"

    replications: int
    confidence_level: float
    seed: int
    settings: tuple[Simulated, ...]
    shift: Shifted | None
    lengths: tuple[LengthCurve, ...] = ()
    single_run: SingleRun | None = None
    claims: tuple[Claim, ...]
    protocol: tuple[ProtocolRow, ...] = ()
    splits: int | None = None
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        told = [
            f"{one.where}: {one.claim}: paper {one.paper}, ours {one.ours}"
            + ("" if one.agrees else " (differs)")
            for one in self.claims
        ]
        told += [
            f"{row.model}: bias {row.bias_naive:+.3f} naive, "
            + (
                "no corrected estimate"
                if row.bias_corrected is None
                else f"{row.bias_corrected:+.3f} corrected, coverage {row.coverage:.0%}"
            )
            for row in self.protocol
        ]
        aside = (f"set aside: {size} rows, {why}" for why, size in self.dropped.items())
        return [*told, *(f"note: {text}" for text in self.notes), *aside]
