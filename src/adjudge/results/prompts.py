"""Results of comparing two prompts of one judge: how often its answers change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

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

#: The kind of the answers.
Answers = Literal["verdicts", "scores"]


@dataclass(frozen=True, kw_only=True)
class PromptChange:
    """One judge and criterion, on the rows that both prompts were asked about.

    `changed` is the probability that an answer to one prompt differs from an answer to the other.
    `again` is the same for two answers to one prompt, the mean of both, if each was asked more than
    once; `excess` is what the prompt adds to it. `shift` is the mean of second minus first and
    `distance` the mean absolute difference: of scores, or of P(A) if the judge gave one. A shift of
    P(A) has no meaning.
    """

    judge: str | None
    criterion: str | None
    n: Count
    clusters: Count
    changed: Proportion
    low: float | None
    high: float | None
    repeated: Count
    again: Proportion | None
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    distance: NotNegative | None
    shift: float | None
    shift_low: float | None
    shift_high: float | None
    #: Whether the prompt has a significant effect: more than a repeat, or on the mean score.
    more_than_again: bool
    shifted: bool


@frozen
class PromptSensitivity(Result):
    """Two prompts, the same rows: how often verdicts or scores change."""

    kind: ClassVar[str] = "prompt_sensitivity"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups"),)
    first: str
    second: str
    answers: Answers
    groups: tuple[PromptChange, ...]
    clustered_by: str
    floor: NotNegative
    confidence_level: Level
    dropped: Mapping[str, Count]
    assumptions: tuple[str, ...]

    def view(self) -> list[Block]:
        from adjudge.present.views._prompts import view_prompts

        return view_prompts(self)
