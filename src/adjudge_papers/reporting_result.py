"""Results of the reproduction of the reporting paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    same_length,
)
from adjudge_papers.items import SECTION, PaperItem


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """One setting of the paper's simulation: a list entry per true rate."""

    figure: str
    n: Count
    m: Count
    specificity: Proportion
    sensitivity: Proportion
    rates: tuple[Proportion, ...]
    naive: tuple[float, ...]
    corrected: tuple[float, ...]
    coverage_naive: tuple[Proportion, ...]
    coverage: tuple[Proportion, ...]
    coverage_adaptive: tuple[Proportion, ...]
    length_equal: tuple[NotNegative, ...]
    length_adaptive: tuple[NotNegative, ...]

    checks: ClassVar[tuple[Check, ...]] = (
        same_length(
            *("rates", "naive", "corrected", "coverage_naive", "coverage", "coverage_adaptive"),
            *("length_equal", "length_adaptive"),
        ),
    )


def _bias_per_rate(shift: ShiftBias) -> str | None:
    if len(shift.bias) < 2:
        return "bias has fewer than two estimators to compare"
    wanted = len(shift.calibration_rates)
    other = [name for name, values in shift.bias.items() if len(values) != wanted]
    return f"bias of {other[0]} does not have {wanted} entries, one per rate" if other else None


@dataclass(frozen=True, kw_only=True)
class ShiftBias:
    """Figure 5: bias of each estimator if the labelled rows have another rate."""

    calibration_rates: tuple[Proportion, ...]
    test_rate: Level
    bias: Mapping[str, tuple[float, ...]]

    checks: ClassVar[tuple[Check, ...]] = (_bias_per_rate,)


@dataclass(frozen=True, kw_only=True)
class LengthCurve:
    """Figure 3: interval length against the number of labels, for one judge rate."""

    judge_rate: Proportion
    labels: tuple[Count, ...]
    equal: tuple[float, ...]
    adaptive: tuple[float, ...]

    checks: ClassVar[tuple[Check, ...]] = (same_length("labels", "equal", "adaptive"),)


@dataclass(frozen=True, kw_only=True)
class SingleRun:
    """Figure 6a: one run over the true rates, judge alone and corrected, with intervals."""

    naive: tuple[float, ...]
    naive_low: tuple[float, ...]
    naive_high: tuple[float, ...]
    corrected: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("naive", "naive_low", "naive_high", "corrected", "low", "high"),
    )


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A number in the paper's text, and our number."""

    where: str
    claim: str
    paper: str
    ours: str
    agrees: bool


@dataclass(frozen=True, kw_only=True)
class ProtocolRow:
    """One model under the protocol of section 8.2."""

    model: str
    rows: Count
    rate: Proportion
    bias_naive: float
    bias_corrected: float | None
    coverage: Proportion | None
    length: NotNegative | None
    refused: Count
    #: With probabilities: from their own variance; Eq. 6 would treat them as shares.
    spread_coverage: Proportion | None = None
    spread_length: NotNegative | None = None
    paper_coverage: Proportion | None = None
    paper_length: float | None = None


def _run_over_the_rates(result: ReportingReproduction) -> str | None:
    if result.single_run is None or not result.settings:
        return None
    entries, rates = len(result.single_run.naive), {len(one.rates) for one in result.settings}
    return None if rates == {entries} else f"single_run has {entries} entries, not one per rate"


@frozen
class ReportingReproduction(Result):
    """The reporting paper's simulation, its Chatbot Arena protocol, and all its items."""

    kind: ClassVar[str] = "reproduction_reporting"
    section: ClassVar[tuple[str, str]] = SECTION
    checks: ClassVar[tuple[Check, ...]] = (_run_over_the_rates,)

    repeats: Count
    confidence_level: Level
    seed: Count
    settings: tuple[Simulation, ...]
    shift: ShiftBias | None
    lengths: tuple[LengthCurve, ...] = ()
    single_run: SingleRun | None = None
    claims: tuple[Claim, ...]
    protocol: tuple[ProtocolRow, ...] = ()
    #: The source of the rows; None if they are simulated.
    protocol_source: str | None = None
    protocol_judge: str | None = None
    probabilities: bool = False
    splits: Count | None = None
    items: tuple[PaperItem, ...] = ()
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    def _parts(self) -> Sequence[Any]:
        own = self.protocol_source is not None or not self.claims
        return self.protocol if own else self.claims

    def view(self) -> list[Block]:
        from adjudge_papers.reporting_view import view_reporting

        return view_reporting(self)
