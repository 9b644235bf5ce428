"""Results of several judges in one rate: a rate per group, next to simpler methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.results.estimation import warnings_by_group


@dataclass(frozen=True, kw_only=True)
class PanelRate:
    """One group's rate from several judges, next to simpler methods.

    `shared_low` and `shared_high` are the interval that uses the other groups' rates; `ppi_...`
    is ppi++ with the first judge alone, `human_only...` people alone. `weight` is lambda.
    """

    group: str | None
    method: str
    estimate: float | None
    low: float | None
    high: float | None
    standard_error: NotNegative | None
    weight: Proportion | None
    reason: str | None = None
    shared_low: float | None = None
    shared_high: float | None = None
    prior_mean: float | None = None
    prior_sd: NotNegative | None = None
    ppi: float | None
    ppi_low: float | None
    ppi_high: float | None
    human_only: Proportion | None
    human_only_low: float | None
    human_only_high: float | None
    naive: tuple[Proportion, ...]
    n_test: Count
    n_labels: Count
    warnings: tuple[str, ...] = ()

    @property
    def narrowing(self) -> float | None:
        """Width as a share of that of ppi++ with the first judge."""
        if self.low is None or self.high is None or self.ppi_low is None or self.ppi_high is None:
            return None
        return (self.high - self.low) / max(self.ppi_high - self.ppi_low, 1e-12)


@frozen
class PanelEstimate(Result):
    """Rates from several judges together, one per group; the intervals are approximate."""

    kind: ClassVar[str] = "panel_estimate"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("judges", "groups"),)

    judges: tuple[str, ...]
    by: str | None
    question: str | None
    confidence_level: Level
    groups: tuple[PanelRate, ...]
    labels_drawn: str
    promise: str
    share_promise: str | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """General warnings, then those of single groups, each once with the groups named."""
        return (*self.warnings, *warnings_by_group(self.groups))

    def view(self) -> list[Block]:
        from adjudge.present.views._panel import view_panel

        return view_panel(self)
