"""What a policy saves of its doubt: a jury, a learned doubt or a cascade, each with its table.

A judge's own doubt saves nothing. Field names are JSON names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from adjudge.data.rows import Identity
from adjudge.present.blocks import Block, Note, Table, table_of
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    at_most,
    not_empty,
    same_length,
)
from adjudge.present.text import count, number, percent

if TYPE_CHECKING:
    from adjudge.policy.result import Policy

#: The source of lengths: the columns length_a and length_b, or the characters of the texts.
Lengths = Literal["length", "response"]
#: The source of a cascade's costs: measured dollars, or numbers from the user.
CostSource = Literal["dollars", "given"]


class SavedDoubt(ABC):
    #: Whether the verdict it accepts can differ from the judge's.
    learned: ClassVar[bool] = True
    #: What its threshold is about, because that is not a judge's own uncertainty.
    score: ClassVar[str] = "a learned doubt"

    @property
    def category_column(self) -> str | None:
        return None

    @property
    @abstractmethod
    def way(self) -> tuple[object, ...]:
        """All that decides a row's verdict and doubt."""

    def whose(self, judges: str) -> str:
        """Whose verdicts it accepts, given the names or the number of its judges."""
        return judges

    @abstractmethod
    def blocks(self, policy: Policy) -> list[Block]:
        """Its effect on the labels that calibrate."""


@dataclass(frozen=True, kw_only=True)
class JuryReport(SavedDoubt):
    """How several judges were combined, and what each would have accepted alone.

    Log odds are clipped at `most_odds`; `tail` is the slope outside. A `learned` jury has the
    weights of the mean here; what it learned is in the policy's `doubt`.
    """

    learned: ClassVar[bool] = False
    score: ClassVar[str] = "a jury's score"

    method: str
    judges: tuple[str, ...]
    weights: tuple[NotNegative, ...]
    most_odds: Positive
    tail: NotNegative
    n_training: Count
    coverage: Proportion
    coverage_alone: Mapping[str, Proportion]

    checks: ClassVar[tuple[Check, ...]] = (same_length("judges", "weights"),)

    @property
    def way(self) -> tuple[object, ...]:
        return (self.method, self.judges, self.weights)

    def whose(self, judges: str) -> str:
        return f"a jury of {judges}"

    def blocks(self, policy: Policy) -> list[Block]:
        coverages = {**self.coverage_alone, f"jury ({self.method})": self.coverage}
        caption = "Each judge alone and the jury, on the calibration labels"
        rows = [(judge, percent(coverage)) for judge, coverage in coverages.items()]
        return [Table(("judge", "coverage"), rows, caption)]


@dataclass(frozen=True, kw_only=True)
class DoubtReport(SavedDoubt):
    """A doubt learned from a share of the labels: all that `select` needs to compute it.

    The margin is the sum of column / scale * weight, `penalty` was chosen on the learning share;
    `at_largest_penalty` the doubt is close to the judge's own order. Of the `n_verdicts` that were
    not used for learning, `n_overturned` differ from the judge's, of a jury its first one's (with
    clusters only some of these calibrate). `coverage_without` is what the judge's own doubt accepts
    of the same rows.
    """

    columns: tuple[str, ...]
    scales: tuple[Positive, ...]
    weights: tuple[float, ...]
    penalty: Positive
    at_largest_penalty: bool
    lengths: Lengths | None
    category: str | None
    categories: tuple[str, ...]
    n_learning: Count
    n_verdicts: Count
    n_overturned: Count
    coverage_without: Proportion

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("columns", "scales", "weights"),
        not_empty("columns"),
        at_most("n_overturned", "n_verdicts"),
    )

    @property
    def category_column(self) -> str | None:
        return self.category

    @property
    def way(self) -> tuple[object, ...]:
        return (self.columns, self.scales, self.weights)

    def blocks(self, policy: Policy) -> list[Block]:
        judge = first = "the judge"
        if policy.jury is not None:
            judge = "the mean of the judges"
            first = policy.jury.judges[0]
        penalty = f"penalty {self.penalty:g}"
        if self.at_largest_penalty:
            penalty += " (the largest: the learned doubt stays close to that of the judge)"
        notes = [
            f"learned from {count(self.n_learning, 'label')} that are not used to calibrate; "
            f"{penalty}",
            f"on the calibration labels {percent(self.coverage_without)} accepted by the doubt of "
            f"{judge}, {percent(policy.coverage)} by the learned doubt",
            f"verdict differs from judge_verdict, that of {first}, in {self.n_overturned:,} of "
            f"{count(self.n_verdicts, 'row')}: the promise is about the learned verdict",
        ]
        return [Note(notes)]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One judge of a cascade, its cost per row, and what was learned about it and those before it.

    The margin is the sum of column / scale * weight, as in a learned doubt.
    """

    judge: str
    protocol: str | None
    judge_fingerprint: str | None = None
    fingerprint_parts: Mapping[str, Any] | None = None
    cost: NotNegative
    columns: tuple[str, ...]
    scales: tuple[Positive, ...]
    weights: tuple[float, ...]
    penalty: Positive

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("columns", "scales", "weights"),
        not_empty("columns"),
    )

    @property
    def identity(self) -> Identity:
        return Identity(self.judge, self.protocol, self.judge_fingerprint, self.fingerprint_parts)


@dataclass(frozen=True, kw_only=True)
class LearningShare:
    """The rows that a cascade is learned from: a seeded hash of this column is below `share`.

    Such a row never calibrates, with or without a label at the time of learning.
    """

    column: str
    share: Level
    seed: Count


@dataclass(frozen=True, kw_only=True)
class CascadeRule:
    """All that is needed to combine the stages' answers on a row into one verdict and one doubt."""

    stages: tuple[Stage, ...]
    tau: Proportion
    lengths: Lengths | None = None
    category: str | None = None
    categories: tuple[str, ...] = ()
    learning: LearningShare
    n_learning: Count

    checks: ClassVar[tuple[Check, ...]] = (not_empty("stages"),)

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(stage.judge for stage in self.stages)

    @property
    def members(self) -> tuple[tuple[str, str | None], ...]:
        return tuple((stage.judge, stage.protocol) for stage in self.stages)

    @property
    def way(self) -> tuple[object, ...]:
        """The parts that decide where a row ends, and with which verdict."""
        stages = [
            (s.judge, s.protocol, s.judge_fingerprint, s.columns, s.scales, s.weights)
            for s in self.stages
        ]
        return (self.tau, self.lengths, self.category, *stages)


@dataclass(frozen=True, kw_only=True)
class DroppedStage:
    """A judge without which as much is accepted, at no higher cost per accepted verdict."""

    judge: str
    cost_with: NotNegative
    cost_without: NotNegative
    coverage_with: Proportion
    coverage_without: Proportion


@dataclass(frozen=True, kw_only=True)
class CascadeReport(SavedDoubt):
    """The cascade of a policy, and its effect on the labels that calibrate.

    `stopped` rows end at each stage; `failed` is how often each judge gave no usable score. `cost`
    is the mean per row, `cost_last` that of the last judge alone, which would have accepted
    `coverage_last` of the same rows by its own doubt (None if it did not judge them).
    """

    rule: CascadeRule
    cost_source: CostSource
    cost: NotNegative
    cost_last: NotNegative
    coverage_last: Proportion | None
    n_verdicts: Count
    n_overturned: Count
    stopped: tuple[Count, ...]
    failed: tuple[Count, ...]
    dropped_stages: tuple[DroppedStage, ...] = ()

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("stopped", "failed"),
        at_most("n_overturned", "n_verdicts"),
    )

    @property
    def category_column(self) -> str | None:
        return self.rule.category

    @property
    def way(self) -> tuple[object, ...]:
        return self.rule.way

    def whose(self, judges: str) -> str:
        return f"a cascade of {count(len(self.rule.stages), 'judge')}"

    def blocks(self, policy: Policy) -> list[Block]:
        table = table_of(
            list(zip(self.rule.stages, self.stopped, self.failed, strict=True)),
            {
                "stage": lambda row: row[0].judge,
                "cost per row": lambda row: money(row[0].cost, self.cost_source),
                "ended": lambda row: number(row[1]),
                "share": lambda row: percent(row[1] / max(self.n_verdicts, 1)),
                "failed": lambda row: number(row[2]),
            },
            caption=f"The cascade on {count(self.n_verdicts, 'calibration row')}: a row ends at "
            f"the first judge with a doubt of at most tau {self.rule.tau:.3g}",
        )
        last = self.rule.stages[-1]
        alone = "" if self.coverage_last is None else f", {percent(self.coverage_last)} accepted"
        cost = money(self.cost, self.cost_source)
        cost_last = money(self.cost_last, self.cost_source)
        notes = [
            f"mean cost {cost} per row, {percent(policy.coverage)} accepted; {last.judge} alone "
            f"{cost_last}{alone}",
            f"learned from {count(self.rule.n_learning, 'row')} of the learning share, which "
            f"is not used to calibrate; {self.n_overturned:,} of "
            f"{count(self.n_verdicts, 'verdict')} differ from that of the last judge asked",
        ]
        dropped = [stage.judge for stage in self.dropped_stages]
        notes += [f"{judge} was dropped: it does not save cost" for judge in dropped]
        return [table, Note(notes)]


def money(cost: float, source: CostSource) -> str:
    """A cost: in dollars if it was measured, else as the user counts."""
    return f"${cost:.3g}" if source == "dollars" else f"{cost:,.4g}"
