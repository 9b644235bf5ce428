"""The state of a labelling round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from adjudge.present.blocks import Block
from adjudge.present.result import Count, Proportion, Result, frozen


@dataclass(frozen=True, kw_only=True)
class RaterSummary:
    """One person's labels; `left_share` is how often the left side won among decided labels.

    `mean` is the share that passed, or the mean score.
    """

    rater: str
    labels: Count
    skipped: Count
    ties: Count
    left_share: Proportion | None
    left_low: float | None
    left_high: float | None
    mean: float | None = None


@dataclass(frozen=True, kw_only=True)
class RaterAgreement:
    """How well two people agree on the pairs (or answers) that both labelled."""

    rater_1: str
    rater_2: str
    pairs: Count
    raw: Proportion
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class RaterComment:
    """What one person wrote about one pair or answer; `label` is None if it was skipped."""

    id: str
    rater: str
    label: str | None
    comment: str


@frozen
class LabellingSummary(Result):
    """How many labels, by whom, sampled how, how well people agree, and what they commented.

    `about` is what was labelled: pairs, or answers by pass and fail (grades) or by scores.
    """

    kind: ClassVar[str] = "labelling"
    rows_in: ClassVar[str] = "raters"

    about: Literal["pairs", "grades", "scores"] = "pairs"
    pairs: Count
    pairs_labelled: Count
    n_labels: Count
    sampled_by: Mapping[str, Count] = field(default_factory=dict)
    raters: tuple[RaterSummary, ...] = ()
    agreement: tuple[RaterAgreement, ...] = ()
    comments: tuple[RaterComment, ...] = ()

    def view(self) -> list[Block]:
        from adjudge.present.views.labelling import view_labelling

        return view_labelling(self)
