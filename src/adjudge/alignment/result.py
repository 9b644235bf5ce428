"""What an alignment returns and shows: the gain with its interval, prompts, changed rows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from adjudge.alignment.candidates import with_answer
from adjudge.alignment.parts import Look
from adjudge.atomic import make_folder, replacing
from adjudge.data import write_result, write_rows
from adjudge.judges.interface import Prompt
from adjudge.policy.result import Policy
from adjudge.present.blocks import (
    Block,
    Columns,
    Figure,
    Headline,
    Note,
    explain,
    notes_of,
    table_of,
)
from adjudge.present.figure import ForestRow, forest_figure
from adjudge.present.result import Correlation, Count, NotNegative, Proportion, Result, frozen
from adjudge.present.text import count, number, percent, show_interval
from adjudge.records import Interval, Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: Rows of a long list that a page shows.
_SHOWN = 40


@dataclass(frozen=True, kw_only=True)
class TriedPrompt:
    """A candidate: its accuracy on rows of select, and why it was dropped."""

    name: str
    rows: Count
    accuracy: Proportion | None
    dropped: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChangedRow:
    """A certify row whose verdict became right (fixed) or wrong (broken)."""

    id: str
    change: str
    label: str
    before: str | None
    after: str | None
    texts: Mapping[str, str]


@frozen
class _Parts(Result):
    """The labels of each part, and what those kept for the final number can show."""

    judge: str
    n_propose: Count
    n_select: Count
    n_certify: Count
    certify_questions: Count
    smallest_gain: NotNegative
    dropped: Mapping[str, Count] = field(default_factory=dict)

    def can_show(self, rest: str) -> str:
        """These labels, what they are, and the gain that they can show."""
        labels = count(self.n_certify, "label")
        if self.certify_questions < self.n_certify:
            labels += f" on {self.certify_questions:,} questions"
        return f"{labels} {rest} can show a gain of {100 * self.smallest_gain:.1f} points or more"


@frozen
class Alignment(_Parts):
    """The gain of the chosen prompt over the user's own, on labels that the search never saw.

    `chosen` is None if the user's own prompt stays; certify was then not asked, and there is no
    gain. `gain` is the plain difference of the accuracies over questions. A row without a verdict
    counts as wrong.
    """

    kind: ClassVar[str] = "alignment"
    rows_in: ClassVar[str] = "tried"

    proposer: str | None
    protocol: str
    chosen: str | None
    gain: Correlation | None = None
    interval: Interval | None = None
    own_accuracy: Proportion | None = None
    own_interval: Interval | None = None
    aligned_accuracy: Proportion | None = None
    aligned_interval: Interval | None = None
    look: Count | None = None
    looks: Count
    ledger: tuple[Look, ...] = ()
    own_on_select: Proportion
    best_on_select: Proportion | None
    tried: tuple[TriedPrompt, ...]
    own_prompt: str
    aligned_prompt: str | None = None
    demonstrations: Count = 0
    reason: bool = False
    changed: tuple[ChangedRow, ...] = ()
    suspects: tuple[str, ...] = ()
    calls: Count
    cost: NotNegative | None
    own_cost_per_row: NotNegative | None = None
    aligned_cost_per_row: NotNegative | None = None
    alpha: Proportion
    guarantee: str
    accepted_share: Proportion | None = None
    seed: Count
    store: str
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether the interval of the gain is above zero."""
        return self.interval is not None and self.interval.low is not None and self.interval.low > 0

    def view(self) -> list[Block]:
        dropped = [f"left out, {count(n, 'row')}: {reason}" for reason, n in self.dropped.items()]
        looks = [f"look {look.look}: {look.chosen} against {look.own}" for look in self.ledger]
        listed = ", ".join(self.suspects[:_SHOWN])
        suspects = (
            f"{count(len(self.suspects), 'label')} to check: all good prompts disagree with them. "
            f"Relabel them without showing this list, mixed with other rows: {listed}"
        )
        columns: Columns[TriedPrompt] = {
            "prompt": lambda tried: tried.name,
            "rows of select": lambda tried: f"{tried.rows:,}",
            "accuracy": lambda tried: number(tried.accuracy),
            "dropped": lambda tried: tried.dropped or "",
        }
        caption = "All prompts that were tried"
        blocks: list[Block] = [_headline(self)]
        if self.gain is not None:
            blocks += _compared(self)
        blocks.append(table_of(self.tried, columns, caption=caption, detail=True))
        if self.suspects:
            blocks.append(Note([suspects], detail=True, title="Suspect labels"))
        if looks:
            blocks.append(Note(looks, detail=True, title="Looks at these labels"))
        warnings = [f"warning: {text}" for text in self.warnings]
        return [
            *blocks,
            *notes_of(dropped),
            *explain(self.assumptions),
            *notes_of(warnings, tone="bad"),
        ]


def _headline(result: Alignment) -> Headline:
    asked = sum(tried.rows > 0 for tried in result.tried)
    prompts = f"{count(asked, 'prompt')} tried"
    if unusable := len(result.tried) - asked:
        prompts += f", {count(unusable, 'rewrite')} not usable"
    prompts += f", {count(result.calls, 'call')}"
    if result.cost is not None:
        prompts += f", ${result.cost:,.2f}"
    if result.gain is None or result.interval is None:
        text = (
            f"No gain shown: the own prompt stays. On {count(result.n_select, 'label')} of the "
            f"search it is right on {percent(result.own_on_select)}"
        )
        if result.best_on_select is not None:
            text += f", the best other prompt on {percent(result.best_on_select)}"
        unused = result.can_show("kept for the final number were not used; they")
        action = f"{prompts}. The {unused}."
        return Headline(text, action, "bad", "Keep your own prompt: no gain shown")
    ends = f"{percent(result.interval.level)} interval {show_interval(result.interval)}"
    text = (
        f"Gain {number(result.gain)}, {ends}, on {count(result.n_certify, 'label')} that the "
        f"search never saw (look {result.look} of {result.looks})"
    )
    if not result.shown:
        text = f"No gain shown: {text[0].lower()}{text[1:]}"
    action = (
        f"own {number(result.own_accuracy)} {show_interval(result.own_interval)}, aligned "
        f"{number(result.aligned_accuracy)} {show_interval(result.aligned_interval)}"
    )
    if result.own_interval is not None:
        action += f" ({percent(result.own_interval.level)} intervals)"
    action += f"; chosen: {result.chosen}, of {prompts}"
    gain = f"{number(result.gain)} {show_interval(result.interval)}"
    decision = f"Use prompt {result.chosen}: gain {gain}"
    if not result.shown:
        decision = f"Keep your own prompt: no gain shown, {gain}"
    return Headline(text, action, "good" if result.shown else "bad", decision)


def _compared(result: Alignment) -> list[Block]:
    """Both prompts on certify."""
    accepted = percent(result.accepted_share)
    policy = f"policy: {result.guarantee} accepts {accepted} at alpha {result.alpha:g}"
    own_cost = number(result.own_cost_per_row, 5)
    aligned_cost = number(result.aligned_cost_per_row, 5)
    costs = f"Dollars a row: own {own_cost}, aligned {aligned_cost}"
    blocks: list[Block] = [Note([policy]), Note([costs], detail=True, title="Cost")]
    before = result.own_prompt.splitlines()
    after = (result.aligned_prompt or "").splitlines()
    changes = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    lines = [line for line in changes if not line.startswith("@@")][:_SHOWN]
    if lines:
        blocks.append(Note(lines, detail=True, title="What changed in the prompt"))
    columns: Columns[ChangedRow] = {
        "row": lambda row: row.id,
        "change": lambda row: row.change,
        "people": lambda row: row.label,
        "before": lambda row: row.before or "none",
        "after": lambda row: row.after or "none",
    }
    fixed = sum(row.change == "fixed" for row in result.changed)
    caption = f"Changed verdicts: {fixed} fixed, {len(result.changed) - fixed} broken"
    shown = result.changed[:_SHOWN]
    blocks.append(table_of(shown, columns, caption=caption, text_columns=5, detail=True))
    accuracies = "Accuracy on labels that the search never saw, with both intervals."
    return [*blocks, Figure("alignment", partial(_accuracy_figure, result), accuracies)]


def _accuracy_figure(result: Alignment) -> Drawing:
    rows = [
        ForestRow("own prompt", result.own_accuracy or 0.0, result.own_interval),
        ForestRow("aligned prompt", result.aligned_accuracy or 0.0, result.aligned_interval),
    ]
    gain = f"{number(result.gain)} {show_interval(result.interval)}"
    title = f"Gain {gain} on {result.n_certify} labels"
    return forest_figure(rows, title=title, axis="right verdicts, %")


@frozen
class AlignmentPlan(_Parts):
    """What `align` would do: the parts, the smallest gain that can be shown, the most calls."""

    kind: ClassVar[str] = "plan_alignment"

    candidates: Count
    looks_left: Count
    most_calls: Count
    most_cost: NotNegative | None

    def view(self) -> list[Block]:
        cost = "no price is known"
        if self.most_cost is not None:
            cost = f"about ${self.most_cost:,.2f} at most"
        looks = count(self.looks_left, "look")
        calls = f"{count(self.candidates, 'candidate')}, {count(self.most_calls, 'call')} at most"
        parts = (
            f"{self.n_propose:,} labels to propose, {self.n_select:,} to select, "
            f"{self.n_certify:,} to certify; {looks} left. {calls}; {cost}."
        )
        return [Headline(self.can_show("for the final number"), parts)]


@dataclass(frozen=True)
class AlignmentRun:
    """The result with everything that it leaves behind."""

    result: Alignment
    prompt: Prompt
    demonstrations: Sequence[Subject]
    policy: Policy | None
    suspects: Sequence[Mapping[str, str]]

    def __str__(self) -> str:
        return str(self.result)

    def write(self, folder: str | Path, *, command: str | None = None) -> list[Path]:
        """Write prompt, demonstrations, result, policy, changed rows and suspect labels."""
        place = Path(folder)
        make_folder(place)
        written = [place / "prompt.txt"]
        with replacing(written[0]) as scratch:
            scratch.write_text(with_answer(self.prompt.text, self.prompt), encoding="utf-8")
        changed = [{**row.pop("texts"), **row} for row in map(asdict, self.result.changed)]
        tables: dict[str, Sequence[Mapping[str, Any]]] = {
            "demonstrations": [_row(subject) for subject in self.demonstrations],
            "changed": changed,
            "suspects": self.suspects,
        }
        for name, rows in tables.items():
            if rows:
                frame = pl.DataFrame(rows, infer_schema_length=None)
                written.append(write_rows(frame, place / f"{name}.jsonl"))
        for name, result in {"policy": self.policy, "alignment": self.result}.items():
            if result is not None:
                written.append(write_result(result, place / f"{name}.json", command=command))
        return written


def _row(subject: Subject) -> dict[str, Any]:
    """All columns of a demonstration: a prompt can name any. New rows can have the same id."""
    columns = {**asdict(subject), **subject.extra, "id": f"demonstration {subject.id}"}
    return {name: value for name, value in columns.items() if name != "extra" and value is not None}
