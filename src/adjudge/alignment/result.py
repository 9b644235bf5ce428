"""What an alignment returns and shows: the gain with its interval, prompts, changed rows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figure import ForestRow, forest_figure
from adjudge.present.result import (
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
)
from adjudge.present.text import count, percent
from adjudge.records import Interval, Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge.judges.interface import Prompt
    from adjudge.policy.result import Policy

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


@dataclass(frozen=True, kw_only=True)
class PastLook:
    """One look at certify, as the store keeps it: fingerprints of the two judges."""

    look: Count
    own: str
    chosen: str


@frozen
class Alignment(Result):
    """The gain of the chosen prompt over the user's own, on labels that the search never saw.

    `chosen` is None if the user's own prompt stays; certify was then not asked, and there is no
    gain. `gain` is the plain difference of the accuracies over prompts. A row without a verdict
    counts as wrong.
    """

    kind: ClassVar[str] = "alignment"
    rows_in: ClassVar[str] = "tried"

    judge: str
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
    ledger: tuple[PastLook, ...] = ()
    n_propose: Count
    n_select: Count
    n_certify: Count
    smallest_gain: NotNegative
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
    alpha: Level
    guarantee: str
    accepted_share: Proportion | None = None
    seed: Count
    store: str
    dropped: Mapping[str, Count] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether the interval of the gain is above zero."""
        return self.interval is not None and self.interval.low is not None and self.interval.low > 0

    def view(self) -> list[Block]:
        return _view(self)


def _view(result: Alignment) -> list[Block]:
    prompts = f"{count(len(result.tried), 'prompt')} tried, {count(result.calls, 'call')}"
    if result.cost is not None:
        prompts += f", ${result.cost:,.2f}"
    blocks: list[Block] = [_headline(result, prompts)]
    if result.chosen is not None:
        policy = "no policy"
        if result.accepted_share is not None:
            policy = f"{result.guarantee} accepts {percent(result.accepted_share)}"
        blocks.append(Note([f"policy: {policy} at alpha {result.alpha:g}"]))
    blocks += [
        table_of(
            ("own", "aligned") if result.gain is not None else (),
            {
                "prompt": str,
                "accuracy": lambda which: _number(getattr(result, f"{which}_accuracy")),
                "interval": lambda which: _interval(getattr(result, f"{which}_interval")),
                "dollars a row": lambda which: _number(
                    getattr(result, f"{which}_cost_per_row"), digits=5
                ),
            },
            caption="Both prompts on labels that the search never saw",
            detail=True,
        ),
        table_of(
            result.tried,
            {
                "prompt": lambda tried: tried.name,
                "rows of select": lambda tried: f"{tried.rows:,}",
                "accuracy": lambda tried: _number(tried.accuracy),
                "dropped": lambda tried: tried.dropped or "",
            },
            caption="All prompts that were tried",
            detail=True,
        ),
    ]
    if result.changed:
        blocks.append(_changed(result.changed))
    if result.suspects:
        text = (
            f"{count(len(result.suspects), 'label')} to check: all good prompts disagree with "
            "them. Relabel them without showing this list, mixed with other rows: "
        )
        listed = text + ", ".join(result.suspects[:_SHOWN])
        blocks.append(Note([listed], detail=True, title="Suspect labels"))
    if result.aligned_prompt is not None and result.aligned_prompt != result.own_prompt:
        blocks.append(Note(_difference(result), detail=True, title="What changed in the prompt"))
    if result.ledger:
        looks = [f"look {past.look}: {past.chosen} against {past.own}" for past in result.ledger]
        blocks.append(Note(looks, detail=True, title="Looks at these labels"))
    if result.gain is not None:
        caption = "Accuracy on labels that the search never saw, with both intervals."
        blocks.append(Figure("alignment", lambda: _draw(result), caption))
    dropped = [f"left out, {count(n, 'row')}: {reason}" for reason, n in result.dropped.items()]
    return [
        *blocks,
        *notes_of(dropped),
        *explain(result.assumptions),
        *warnings_of(result.warnings),
    ]


def _headline(result: Alignment, prompts: str) -> Headline:
    if result.chosen is None or result.gain is None:
        text = (
            f"No gain shown: the own prompt stays. On {count(result.n_select, 'label')} of the "
            f"search it is right on {percent(result.own_on_select)}"
        )
        if result.best_on_select is not None:
            text += f", the best other prompt on {percent(result.best_on_select)}"
        action = (
            f"{prompts}. The {count(result.n_certify, 'label')} kept for the final number were "
            f"not used; they can show a gain of {_points(result.smallest_gain)} or more."
        )
        return Headline(text, action, "bad")
    where = (
        f"on {count(result.n_certify, 'label')} that the search never saw "
        f"(look {result.look} of {result.looks})"
    )
    text = f"Gain {result.gain:.3f}, {_interval(result.interval)}, {where}"
    if not result.shown:
        text = f"No gain shown: {text[0].lower()}{text[1:]}"
    action = (
        f"own {_number(result.own_accuracy)} {_ends(result.own_interval)}, aligned "
        f"{_number(result.aligned_accuracy)} {_ends(result.aligned_interval)}"
    )
    if result.own_interval is not None:
        action += f" ({percent(result.own_interval.level)} intervals)"
    action += f"; chosen: {result.chosen}, of {prompts}"
    return Headline(text, action, "good" if result.shown else "bad")


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _interval(interval: Interval | None) -> str:
    return (
        "no interval"
        if interval is None
        else f"{percent(interval.level)} interval {_ends(interval)}"
    )


def _ends(interval: Interval | None) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return "no interval"
    return f"[{interval.low:.3f}, {interval.high:.3f}]"


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _changed(rows: Sequence[ChangedRow]) -> Block:
    fixed = sum(row.change == "fixed" for row in rows)
    return table_of(
        rows[:_SHOWN],
        {
            "row": lambda row: row.id,
            "change": lambda row: row.change,
            "people": lambda row: row.label,
            "before": lambda row: row.before or "none",
            "after": lambda row: row.after or "none",
        },
        caption=f"Changed verdicts: {fixed} fixed, {len(rows) - fixed} broken",
        text_columns=5,
        detail=True,
    )


def _difference(result: Alignment) -> list[str]:
    before = result.own_prompt.splitlines()
    after = (result.aligned_prompt or "").splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return [line for line in lines if not line.startswith("@@")][:_SHOWN]


def _draw(result: Alignment) -> Drawing:
    rows = [
        ForestRow("own prompt", result.own_accuracy or 0.0, result.own_interval),
        ForestRow("aligned prompt", result.aligned_accuracy or 0.0, result.aligned_interval),
    ]
    title = f"Gain {result.gain:.3f} {_ends(result.interval)} on {result.n_certify} labels"
    return forest_figure(rows, title=title, axis="right verdicts, %")


@frozen
class AlignmentPlan(Result):
    """What `align` would do: the parts, the smallest gain that can be shown, the most calls."""

    kind: ClassVar[str] = "plan_alignment"

    judge: str
    n_propose: Count
    n_select: Count
    n_certify: Count
    candidates: Count
    smallest_gain: NotNegative
    looks_left: Count
    most_calls: Count
    most_cost: NotNegative | None
    dropped: Mapping[str, Count] = field(default_factory=dict)

    def view(self) -> list[Block]:
        cost = (
            "no price is known"
            if self.most_cost is None
            else f"about ${self.most_cost:,.2f} at most"
        )
        text = (
            f"{count(self.n_certify, 'label')} for the final number can show a gain of "
            f"{_points(self.smallest_gain)} or more"
        )
        parts = (
            f"{self.n_propose:,} labels to propose, {self.n_select:,} to select, "
            f"{self.n_certify:,} to certify; {count(self.looks_left, 'look')} left"
        )
        tried = count(self.candidates, "candidate")
        calls = f"{tried}, {count(self.most_calls, 'call')} at most; {cost}"
        return [Headline(text, f"{parts}. {calls}.")]


@dataclass(frozen=True)
class AlignmentRun:
    """The result with everything that it leaves behind."""

    result: Alignment
    prompt: Prompt
    demonstrations: Sequence[Subject]
    policy: Policy | None
    suspects: Sequence[Mapping[str, Any]]
    changed: Sequence[Mapping[str, Any]]

    def __str__(self) -> str:
        return str(self.result)

    def write(self, folder: str | Path, *, command: str | None = None) -> list[Path]:
        """Write prompt, demonstrations, result, policy, changed rows and suspect labels."""
        import polars as pl

        from adjudge.atomic import make_folder, replacing
        from adjudge.data import write_result, write_rows

        place = Path(folder)
        make_folder(place)
        declared = "".join(f"{key}: {value}\n" for key, value in self.prompt.answer.items())
        text = self.prompt.text + (f"\n--- answer ---\n{declared}" if declared else "")
        written = [place / "prompt.txt"]
        with replacing(written[0]) as scratch:
            scratch.write_text(text, encoding="utf-8")
        tables = {
            "demonstrations": [_row(subject) for subject in self.demonstrations],
            "changed": self.changed,
            "suspects": self.suspects,
        }
        for name, rows in tables.items():
            if rows:
                frame = pl.DataFrame(list(rows), infer_schema_length=None)
                written.append(write_rows(frame, place / f"{name}.jsonl"))
        if self.policy is not None:
            written.append(write_result(self.policy, place / "policy.json", command=command))
        written.append(write_result(self.result, place / "alignment.json", command=command))
        return written


def _row(subject: Subject) -> dict[str, Any]:
    """All columns of a demonstration: a prompt can name any. New rows can have the same id."""
    values = {each.name: getattr(subject, each.name) for each in fields(subject)}
    del values["extra"]
    filled = {name: value for name, value in values.items() if value is not None}
    return {**filled, **subject.extra, "id": f"demonstration {subject.id}"}
