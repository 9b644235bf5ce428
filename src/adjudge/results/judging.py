"""What a run of a judge came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjudge.results.base import Result


@dataclass(frozen=True, kw_only=True)
class Judging(Result):
    """Counts, costs and first signs of trouble of one run of one judge.

    `statuses` counts rows, `calls` counts calls of this run, `reused` calls answered from the
    store. `first_slot_share` is how often the answer shown first was preferred, over all orders
    asked (half for a draw): one half for a judge without position bias. `agreement` is the share
    of rows with a verdict and a label (ties aside) where the two are equal; no correction, no
    promise. `undecided` rows carry a number and no verdict. `dropped` counts rows of the input
    that hold no pair, by reason; `notes` is what is to be known of a public data set. `not_asked`
    subjects have no row: the run stopped before them.
    After an interrupted run no rows are made and none are counted: `rows` is 0 and `not_asked` is
    None.
    """

    kind: ClassVar[str] = "judging"

    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    subjects: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: int
    statuses: Mapping[str, int]
    measured: int
    not_asked: int | None
    calls: Mapping[str, int]
    reused: int
    first_slot_share: float | None
    first_slot_orders: int
    agreement: float | None
    agreement_rows: int
    undecided: int = 0
    prompt_tokens: int
    completion_tokens: int
    calls_without_tokens: int
    cost: float | None
    cost_this_run: float | None
    price_source: str | None
    elapsed_s: float
    calls_per_second: float
    stopped: str | None
    output: str | None
    store: str | None

    @property
    def calls_made(self) -> int:
        """Calls made in this run."""
        return sum(self.calls.values())

    def lines(self) -> list[str]:
        """The run in words."""
        told = [f"{self.judge} asked by {self.protocol}: {self.rows:,} rows"]
        if self.stopped == "interrupted":
            told = [f"{self.judge} asked by {self.protocol}: interrupted, no rows made"]
        else:
            told.append("  " + _counted(self.statuses))
        if self.dropped:
            told.append(f"  dropped from the input: {_counted(self.dropped)}")
        if self.not_asked:
            told.append(f"  {self.not_asked:,} of {self.subjects:,} not asked yet")
        made = f"calls: {self.calls_made:,} made"
        if self.calls_made:
            made += f" in {self.elapsed_s:.1f} s ({self.calls_per_second:,.1f} a second)"
            failed = {name: n for name, n in self.calls.items() if name != "ok"}
            if failed:
                made += f", of them {_counted(failed)}"
        told.append(made + f"; {self.reused:,} reused from the store")
        if self.first_slot_share is not None:
            told.append(
                f"the answer shown first was preferred in {100 * self.first_slot_share:.1f} % of "
                f"{self.first_slot_orders:,} answers"
            )
        if self.undecided:
            told.append(
                f"no verdict in {self.undecided:,} of {self.measured:,} rows with a number: "
                "neither answer is ahead"
            )
        if self.agreement is not None:
            told.append(
                f"verdict equals label in {100 * self.agreement:.1f} % of {self.agreement_rows:,} "
                "rows that have both"
            )
        told.append(self._tokens())
        if self.output is not None:
            told.append(f"rows in {self.output}")
        told += [f"note: {note}" for note in self.notes]
        return told

    def _tokens(self) -> str:
        told = f"tokens: {self.prompt_tokens:,} read, {self.completion_tokens:,} written this run"
        if self.calls_without_tokens:
            told += f" ({self.calls_without_tokens:,} calls told no count)"
        if self.cost_this_run is None:
            return told + "; cost unknown: no price for this model, give --prices FILE"
        if self.cost_this_run == 0 and self.cost == 0:
            return told + "; no charge"
        all_rows = "" if self.cost is None else f", ${self.cost:,.4f} for all rows"
        return told + f"; cost ${self.cost_this_run:,.4f}{all_rows} ({self.price_source})"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "none"


@dataclass(frozen=True, kw_only=True)
class JudgingPlan(Result):
    """What a run would do, found without asking anybody: calls, tokens and cost.

    Tokens are estimated as characters over four; completions at their allowed length.
    """

    kind: ClassVar[str] = "judging_plan"

    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    subjects: int
    calls: int
    kept: int
    to_ask: int
    prompt_tokens_estimate: int
    completion_tokens_most: int
    cost_estimate: float | None
    price_source: str | None

    def lines(self) -> list[str]:
        """The plan in words."""
        told = [
            f"{self.judge} asked by {self.protocol}, {self.subjects:,} subjects",
            f"calls: {self.calls:,}, of them {self.kept:,} kept already, {self.to_ask:,} to ask",
            f"tokens: about {self.prompt_tokens_estimate:,} to read (characters / 4), "
            f"at most {self.completion_tokens_most:,} to write",
        ]
        if self.cost_estimate is None:
            told.append("cost unknown: no price for this model, give --prices FILE")
        elif self.cost_estimate == 0:
            told.append("no charge")
        else:
            told.append(f"cost about ${self.cost_estimate:,.4f} ({self.price_source})")
        return told
