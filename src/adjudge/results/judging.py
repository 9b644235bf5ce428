"""Results of a judge's run, of a dry run, and the list of available weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
    same_length,
)


@frozen
class Judging(Result):
    """Counts, costs and warnings of one run of one judge.

    `statuses` counts rows, `calls` counts calls of this run, `reused` calls answered from the
    store. `first_slot_share` is how often the answer shown first was preferred, over all orders
    asked (half for a draw): one half for a judge without position bias. `agreement` is the share of
    rows with a verdict and a label (without ties) where the two are equal; it is not corrected and
    not a promise. `undecided` rows have a score and no verdict; in `judge_ties` the judge's verdict
    is a tie. `median_answer_mass` is over all rows where the probability of the requested letters
    is known; below `min_answer_mass` rows are `off_answer`. `dropped` counts rows of the input that
    are not a pair, by reason; `notes` are about a public data set. `not_asked` subjects have no
    row: the run stopped before them.
    After a run that was interrupted twice, no rows are made and none are counted: `rows` is 0 and
    `not_asked` is None.
    """

    kind: ClassVar[str] = "judging"

    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    subjects: Count
    dropped: Mapping[str, Count] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: Count
    statuses: Mapping[str, Count]
    measured: Count
    not_asked: Count | None
    calls: Mapping[str, Count]
    reused: Count
    first_slot_share: Proportion | None
    first_slot_orders: Count
    agreement: float | None
    agreement_rows: Count
    undecided: Count = 0
    judge_ties: Count = 0
    median_answer_mass: Proportion | None = None
    min_answer_mass: Proportion | None = None
    prompt_tokens: Count
    completion_tokens: Count
    calls_without_tokens: Count
    cost: NotNegative | None
    cost_this_run: NotNegative | None
    price_source: str | None
    elapsed_s: NotNegative
    calls_per_second: NotNegative
    stopped: str | None
    output: str | None
    store: str | None

    @property
    def calls_made(self) -> int:
        """Calls made in this run."""
        return sum(self.calls.values())

    def view(self) -> list[Block]:
        from adjudge.present.views.judging import view_judging

        return view_judging(self)


@frozen
class JudgingPanel(Result):
    """One run of several judges on the same rows: the counts of each, and one file of all rows."""

    kind: ClassVar[str] = "judging_panel"
    rows_in: ClassVar[str] = "judges"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("judges"),)

    judges: tuple[Judging, ...]
    output: str | None
    store: str | None

    def view(self) -> list[Block]:
        from adjudge.present.views.judging import view_panel

        return view_panel(self)


@frozen
class JudgingCascade(Result):
    """One run of a cascade: each judge was asked only about rows that were still undecided.

    Of the subjects of each judge, `settled` ended there, `doubtful` continued because of doubt and
    `failed` continued because it had no usable answer. If the last judge failed, there is no
    verdict.
    """

    kind: ClassVar[str] = "judging_cascade"
    rows_in: ClassVar[str] = "judges"
    checks: ClassVar[tuple[Check, ...]] = (
        not_empty("judges"),
        same_length("judges", "settled", "doubtful", "failed"),
    )

    judges: tuple[Judging, ...]
    settled: tuple[Count, ...]
    doubtful: tuple[Count, ...]
    failed: tuple[Count, ...]
    output: str | None
    store: str | None

    @property
    def stopped(self) -> str | None:
        """What stopped the run before its end."""
        return self.judges[0].stopped

    def view(self) -> list[Block]:
        from adjudge.present.views.judging import view_cascade

        return view_cascade(self)


@frozen
class JudgingPlan(Result):
    """What a run would do, computed without a call: calls, tokens and cost.

    Tokens are estimated as characters divided by four, completions by their maximum length.
    `unknown_parts` of the fingerprint are known only after the server has answered: until then
    `judge_fingerprint` is that of the other parts.
    """

    kind: ClassVar[str] = "plan_judging"

    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    subjects: Count
    calls: Count
    kept: Count
    to_ask: Count
    prompt_tokens_estimate: Count
    completion_tokens_most: Count
    cost_estimate: NotNegative | None
    price_source: str | None
    unknown_parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def view(self) -> list[Block]:
        from adjudge.present.views.judging import view_plan

        return view_plan(self)


@frozen
class JudgingPlans(Result):
    """What a run of several judges would do."""

    kind: ClassVar[str] = "plan_judging_panel"
    rows_in: ClassVar[str] = "plans"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("plans"),)

    plans: tuple[JudgingPlan, ...]

    @property
    def cost_estimate(self) -> float | None:
        """For all judges together; None if the price of one is not known."""
        costs = [plan.cost_estimate for plan in self.plans if plan.cost_estimate is not None]
        return sum(costs) if len(costs) == len(self.plans) else None

    def view(self) -> list[Block]:
        from adjudge.present.views.judging import view_plans

        return view_plans(self)


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """Weights that `adjudge models pull` can download."""

    name: str
    judge: str
    description: str
    licence: str
    size: Count
    sha256: str
    cached: bool
    path: str


@frozen
class ModelList(Result):
    """All known weights."""

    kind: ClassVar[str] = "models"
    rows_in: ClassVar[str] = "models"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("models"),)

    folder: str
    models: tuple[KnownModel, ...]

    def view(self) -> list[Block]:
        from adjudge.present.views.judging import view_models

        return view_models(self)
