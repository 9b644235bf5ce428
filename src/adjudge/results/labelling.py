"""What a labelling round has gathered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen
from adjudge.results.checks import Count, Proportion


@dataclass(frozen=True, kw_only=True)
class RaterSummary:
    """One person's labels; `left_share` is how often the left side won where a side won."""

    rater: str
    labels: Count
    skipped: Count
    ties: Count
    left_share: Proportion | None
    left_low: float | None
    left_high: float | None


@dataclass(frozen=True, kw_only=True)
class RaterAgreement:
    """How far two people agree on the pairs both labelled."""

    rater_1: str
    rater_2: str
    pairs: Count
    raw: Proportion
    kappa: float | None
    alpha: float | None


@frozen
class LabellingSummary(Result):
    """How many labels, by whom, sampled how, and how far people agree."""

    kind: ClassVar[str] = "labelling"

    pairs: Count
    pairs_labelled: Count
    n_labels: Count
    sampled_by: Mapping[str, Count] = field(default_factory=dict)
    raters: tuple[RaterSummary, ...] = ()
    agreement: tuple[RaterAgreement, ...] = ()

    def _parts(self) -> Sequence[Any]:
        return self.raters
