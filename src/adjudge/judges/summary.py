"""What a run of judges returns, or would do: counts, costs and warnings, and how they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Headline,
    Note,
    notes_of,
    remarks_of,
    table_of,
)
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
from adjudge.present.text import clip_names, count, left_out, number, percent

_RESUME = "Run the same command again to resume."
#: If the letters that were asked for have less, most of what the judge writes is something else.
_LOW_MASS = 0.5


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
    row: the run stopped before them. `servers` and `served_models` count rows by what the server
    says it is; a row that two models answered is an error, and is asked again by the next run.
    After a run that was interrupted twice there are no rows, and `not_asked` is None.
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
    servers: Mapping[str, Count] = field(default_factory=dict)
    served_models: Mapping[str, Count] = field(default_factory=dict)
    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: Count = 0
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
        return sum(self.calls.values())

    @property
    def warnings(self) -> list[str]:
        """Lines about subjects that were not asked, and about a server that changed."""
        words = f"{self.not_asked or 0:,} of {count(self.subjects, 'subject')} not asked yet"
        lines = [words] if self.not_asked else []
        named = {"several models answered": self.served_models, "several servers": self.servers}
        for change, counts in named.items():
            if len(counts) > 1:
                first = Counter(counts).most_common(4)
                rest = len(counts) - 4
                shown = ", ".join(f"{name} ({count(n, 'row')})" for name, n in first)
                lines.append(f"warning: {change}: {shown}{f', {rest} more' * (rest > 0)}")
        return lines

    def view(self) -> list[Block]:
        facts = [Fact("calls", number(self.calls_made), self._calls())]
        if self.first_slot_share is not None:
            share = percent(self.first_slot_share)
            answers = count(self.first_slot_orders, "answer")
            facts.append(Fact("answer shown first preferred", share, f"of {answers}"))
        if self.agreement is not None:
            labelled = f"of {count(self.agreement_rows, 'row')} with both"
            facts.append(Fact("verdict matches label", percent(self.agreement), labelled))
        if open_rows := self.undecided + self.judge_ties:
            ties = f"{count(self.judge_ties, 'judge tie')}, never accepted"
            why = ties if self.judge_ties else "neither answer is ahead"
            scored = f"of {count(self.measured, 'scored row')}: {why}"
            facts.append(Fact("no verdict", number(open_rows), scored))
        details = []
        if (mass := self.median_answer_mass) is not None:
            limit = f"median; a row below {percent(self.min_answer_mass)} is off_answer"
            if mass < _LOW_MASS:
                facts.append(Fact("probability of the letters", percent(mass), limit))
            else:
                details.append(f"probability of the letters asked for: {percent(mass)}, {limit}")
        cached = f" ({self.cached_tokens:,} from the provider's cache)" * (self.cached_tokens > 0)
        tokens = f"{self.prompt_tokens:,} read{cached}, {self.completion_tokens:,} written"
        if unknown := self.calls_without_tokens:
            tokens += f"; {count(unknown, 'call')} without a count"
        total = number(self.prompt_tokens + self.completion_tokens)
        details.append(f"tokens this run: {total}, {tokens}")
        facts.append(self._cost())
        headline = _headline(f"{self.judge} asked by {self.protocol}", [self])
        notes = _notes([self], f"rows written to {self.output}")
        return [headline, Facts(facts), *notes_of(notes), Note(details, detail=True)]

    def brief(self, name: str) -> Fact:
        """Its numbers in one line, next to those of other judges."""
        slot = self.first_slot_share
        matches = self.agreement
        parts = []
        if slot is not None:
            parts.append(f"first slot {percent(slot)}")
        if matches is not None:
            parts.append(f"matches labels {percent(matches)}")
        if self.cost_this_run != 0:
            parts.append(f"cost {_dollars(self.cost_this_run)}")
        return Fact(name, f"{self.measured:,}/{self.rows:,}", ", ".join(parts))

    def _calls(self) -> str:
        parts = []
        if self.calls_made:
            # As many digits as agree with each other: 0.0 s at 15,100.2 a second do not.
            seconds = f"{self.elapsed_s:.1f}" if self.elapsed_s >= 1 else f"{self.elapsed_s:.2g}"
            rate = f"{self.calls_per_second:,.{1 if self.calls_per_second < 100 else 0}f}"
            parts.append(f"{seconds} s, {rate} a second")
            if failed := {name: n for name, n in self.calls.items() if name != "ok"}:
                parts.append(_list(failed))
        return ", ".join([*parts, f"{self.reused:,} reused"])

    def _cost(self) -> Fact:
        all_rows = "" if self.cost is None else f"${self.cost:,.4f} for all rows; "
        source = f"{all_rows}{self.price_source}"
        free = self.cost == 0
        return _cost_fact("cost this run", self.cost_this_run, source, free=free)


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
        runs = self.judges
        names = clip_names([run.judge for run in runs], 20)
        headline = _headline(f"{count(len(runs), 'judge')} asked by {runs[0].protocol}", runs)
        facts = Facts([run.brief(name) for run, name in zip(runs, names, strict=True)])
        notes = _notes(runs, f"rows of all judges written to {self.output}")
        return [headline, facts, *remarks_of(notes)]


@frozen
class JudgingCascade(Result):
    """One run of a cascade: each judge was asked only about rows that were still undecided.

    Of the subjects of each judge, `settled` ended there, `doubtful` continued because of doubt and
    `failed` continued, or ended without a verdict, because it had no usable answer.
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

    def view(self) -> list[Block]:
        stages = list(zip(self.judges, self.settled, self.doubtful, self.failed, strict=True))
        subjects = self.judges[0].subjects
        last = self.judges[-1]
        whose = f"cascade of {count(len(stages), 'judge')}"
        legend = (
            "settled: no other judge was asked; doubt, failed: passed to the next judge; calls and "
            "cost: of this run"
        )
        written = f"rows of all judges written to {self.output}; adjudge select decides on them"
        if (stopped := self.judges[0].stopped) is not None:
            headline = Headline(f"{whose}: stopped ({stopped}) at {last.judge}", _RESUME)
        else:
            asked = f"{last.subjects:,} of {count(subjects, 'subject')}"
            if subjects:
                asked += f" ({percent(last.subjects / subjects)})"
            if escalated := sum(self.failed[:-1]):
                asked += f"; {count(escalated, 'subject')} passed on because a judge failed"
            headline = Headline(f"{whose}: {last.judge} was asked about {asked}")
        return [
            headline,
            table_of(
                stages,
                {
                    "judge": lambda stage: stage[0].judge,
                    "asked": lambda stage: number(stage[0].subjects),
                    "settled": lambda stage: number(stage[1]),
                    "doubt": lambda stage: number(stage[2]),
                    "failed": lambda stage: number(stage[3]),
                    "calls": lambda stage: number(stage[0].calls_made),
                    "reused": lambda stage: number(stage[0].reused),
                    "cost": lambda stage: _dollars(stage[0].cost_this_run),
                },
                optional=("reused",),
            ),
            *notes_of([legend, *_notes(self.judges, written)]),
        ]


@frozen
class JudgingPlan(Result):
    """What a run would do, computed without a call: calls, tokens and cost.

    Tokens are estimated as characters divided by four, completions by their maximum length. At most
    `cached_tokens_most` of the prompts are in the provider's cache; `cost_least` is the cost then.
    Of the `images` to send, `image_tokens` are in the estimates, by the rule that the maker of the
    judge publishes; where no rule is known, `images_not_counted` are not. `unknown_parts` of the
    fingerprint are known only after the server has answered: until then `judge_fingerprint` is that
    of the other parts.
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
    cached_tokens_most: Count = 0
    completion_tokens_most: Count
    cost_estimate: NotNegative | None
    cost_least: NotNegative | None = None
    price_source: str | None
    unknown_parts: tuple[str, ...] = ()
    images: Count = 0
    image_tokens: Count = 0
    images_not_counted: Count = 0

    def view(self) -> list[Block]:
        parts = ", ".join(self.unknown_parts)
        unknown = f"fingerprint: {parts} unknown until the server has answered a first question"
        asked = f"{self.judge} asked by {self.protocol}, {count(self.subjects, 'subject')}"
        read = number(self.prompt_tokens_estimate)
        counted = self.images - self.images_not_counted
        how = "characters / 4"
        if counted:
            how += f"; {count(counted, 'image')}: {count(self.image_tokens, 'token')}"
        written = number(self.completion_tokens_most)
        stored = f"{self.kept:,} of them in the store already"
        cost = "cost without images, about" if self.images_not_counted else "cost, about"
        facts = [
            Fact("calls", number(self.calls), stored),
            Fact("tokens to read, about", read, how),
            Fact("tokens to write, at most", written),
            _cost_fact(cost, self.cost_estimate, str(self.price_source)),
        ]
        if cached := self.cached_tokens_most:
            again = f"{cached:,} of the tokens to read were then read before"
            least = "cost, if the provider caches"
            facts.append(_cost_fact(least, self.cost_least, f"at least; {again}"))
        headline = Headline(f"{asked}: {count(self.to_ask, 'call')} to make")
        notes = [unknown] if parts else []
        return [headline, Facts(facts), *notes_of([*notes, *self.remarks])]

    @property
    def remarks(self) -> list[str]:
        """What is not in the estimates."""
        if not self.images_not_counted:
            return []
        sent = count(self.images_not_counted, "image")
        return [f"{sent} to send: tokens not known before the replies, and not in these numbers"]


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
        plans = self.plans
        cost = self.cost_estimate
        calls = count(sum(plan.to_ask for plan in plans), "call")
        price = f", about {_dollars(cost)}" if cost else ""
        if cost is None:
            price = "; no price for some of them: give --prices FILE"
        asked = f"{count(len(plans), 'judge')} asked by {plans[0].protocol}"
        return [
            Headline(f"{asked}, {count(plans[0].subjects, 'subject')}: {calls} to make{price}"),
            table_of(
                plans,
                {
                    "judge": lambda plan: plan.judge,
                    "calls": lambda plan: number(plan.calls),
                    "in the store": lambda plan: number(plan.kept),
                    "to read, about": lambda plan: number(plan.prompt_tokens_estimate),
                    "to write, at most": lambda plan: number(plan.completion_tokens_most),
                    "cost, about": lambda plan: _dollars(plan.cost_estimate),
                },
            ),
            *notes_of([f"{plan.judge}: {line}" for plan in plans for line in plan.remarks]),
        ]


def _headline(asked: str, runs: Sequence[Judging]) -> Headline:
    written = sum(run.rows for run in runs)
    if runs[0].stopped == "interrupted":
        rows = "no rows" if runs[0].not_asked is None else count(written, "complete row")
        return Headline(f"{asked}: interrupted, {rows} written", _RESUME)
    statuses = sum((Counter(run.statuses) for run in runs), Counter[str]())
    text = f"{asked}: {count(written, 'row')}, {_list(statuses)}"
    if written == sum(run.measured for run in runs):
        return Headline(text)
    return Headline(text, "Rows without a score are not used by other commands.", tone="bad")


def _notes(runs: Sequence[Judging], written: str) -> list[str]:
    """What was left out, what to look at, where the rows were `written`, and notes on the data."""
    named = [(f"{run.judge}: " if len(runs) > 1 else "", run.warnings) for run in runs]
    return [
        *left_out(runs[0].dropped, "input row"),
        *(f"{judge}{line}" for judge, lines in named for line in lines),
        *([] if runs[0].output is None else [written]),
        *(f"note: {note}" for note in runs[0].notes),
    ]


def _cost_fact(name: str, cost: float | None, source: str, *, free: bool = True) -> Fact:
    """A cost; without the name of its price if there is none, or if all rows are `free`."""
    if cost is None:
        return Fact("cost", "unknown", "no price for this model: give --prices FILE")
    return Fact("cost", "none") if free and cost == 0 else Fact(name, f"${cost:,.4f}", source)


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.4f}" if cost else "none"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "none"
