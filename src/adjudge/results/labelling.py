"""What a labelling round has gathered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudge.results.base import Result


@dataclass(frozen=True, kw_only=True)
class RaterSummary:
    """One person's labels; `left_share` is how often the left side won where a side won."""

    rater: str
    labels: int
    skipped: int
    ties: int
    left_share: float | None
    left_low: float | None
    left_high: float | None


@dataclass(frozen=True, kw_only=True)
class RaterAgreement:
    """How far two people agree on the pairs both labelled."""

    rater_1: str
    rater_2: str
    pairs: int
    raw: float
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class LabellingSummary(Result):
    """How many labels, by whom, sampled how, and how far people agree."""

    kind = "labelling"

    pairs: int
    pairs_labelled: int
    n_labels: int
    sampled_by: Mapping[str, int] = field(default_factory=dict)
    raters: tuple[RaterSummary, ...] = ()
    agreement: tuple[RaterAgreement, ...] = ()

    def lines(self) -> list[str]:
        """The round in words."""
        told = [f"{self.n_labels:,} labels on {self.pairs_labelled:,} of {self.pairs:,} pairs"]
        if self.sampled_by:
            kinds = ", ".join(f"{n:,} by {how}" for how, n in self.sampled_by.items())
            told.append(f"sampled: {kinds}")
        if self.sampled_by.get("doubt"):
            told.append("labels sampled by doubt are refused by calibrate; the random ones are not")
        for rater in self.raters:
            line = f"{rater.rater}: {rater.labels:,} labels, {rater.ties:,} ties"
            line += f", {rater.skipped:,} skipped"
            if rater.left_share is not None:
                line += (
                    f"; chose the left side {rater.left_share:.0%} of the time "
                    f"[{rater.left_low:.0%}, {rater.left_high:.0%}]"
                )
            told.append(line)
        return told + [
            f"{pair.rater_1} and {pair.rater_2}: agree on {pair.raw:.0%} of {pair.pairs:,} "
            f"pairs, kappa {_known(pair.kappa)}, Krippendorff's alpha {_known(pair.alpha)}"
            for pair in self.agreement
        ]


def _known(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"
