"""Was a card edited, and do the rows still give it? What changed between two cards?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ClassVar, Unpack

from adjudge.data.tables import TableLike
from adjudge.data.writing import read_json
from adjudge.errors import DataError, StoreMissingError
from adjudge.gating.card import JudgeCard, ReadingCard, make_card, read_card
from adjudge.present.blocks import Block, Headline, Note, Table, explain, notes_of, table_of
from adjudge.present.kinds import from_dict
from adjudge.present.result import (
    Count,
    DigestState,
    Result,
    digest_of,
    digest_state,
    frozen,
    problem_in_tree,
)
from adjudge.present.text import DASH, clip, count, left_out

#: When it was made and until when it holds cannot be computed again.
_NOT_MEASURED = ("made", "expires")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A line of a card that differs; None if one of the two has no such line."""

    line: str
    old: str | None
    new: str | None


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    return tuple(
        Change(line=line, old=old.get(line), new=new.get(line))
        for line in {**old, **new}
        if old.get(line) != new.get(line)
    )


def _table(changes: tuple[Change, ...], old: str, new: str) -> Table:
    columns = {
        "line": lambda change: change.line,
        old: lambda change: change.old or DASH,
        new: lambda change: change.new or DASH,
    }
    return table_of(changes, columns, text_columns=3)


@frozen
class CardCheck(Result):
    """Whether a card is as it was written, and whether it still holds.

    `changes` are lines of the card that the rows do not give, if rows were given. `unreadable`
    names what contradicts itself in the file. `judged` is how many rows were judged since it was
    made, if it expires after a number of them (`expires_after`); `not_counted` says why not.
    """

    kind: ClassVar[str] = "card_check"
    rows_in: ClassVar[str] = "changes"

    path: str
    digest: DigestState
    unreadable: str | None = None
    with_rows: bool = False
    changes: tuple[Change, ...] = ()
    expired: str | None = None
    expires_after: Count | None = None
    judged: Count | None = None
    not_counted: str | None = None
    assumptions: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def intact(self) -> bool:
        """Whether it was not edited, agrees with the rows, and has not expired."""
        whole = self.digest == "matches" and self.unreadable is None
        return whole and not self.changes and self.expired is None

    def view(self) -> list[Block]:
        state = "its digest matches"
        if self.digest != "matches":
            state = "its digest is missing" if self.digest == "missing" else "its digest differs"
        if self.unreadable is not None:
            state = f"{state}; {self.unreadable}"
        elif self.with_rows:
            rows = f"{count(len(self.changes), 'line')} differ" if self.changes else "it agrees"
            state = f"{state}, and {rows.replace('1 line differ', '1 line differs')} with the rows"
        note = "The digest detects mistakes, not attacks: who edits a card can write a new digest."
        remedy = "Make it again: adjudge card make ROWS."
        if not self.intact:
            why = "was changed" if self.expired is None else "does not hold"
            text = f"{self.path} {why}: {'; '.join(filter(None, (self.expired, state)))}"
            blocks: list[Block] = [Headline(text, remedy, tone="bad")]
        else:
            blocks = [Headline(f"{self.path} is unchanged: {state}")]
        if self.changes:
            blocks.append(_table(self.changes, "on the card", "by the rows"))
        more = "" if self.with_rows else " Give the rows to compute its numbers again."
        blocks.append(Note([note + more]))
        if self.not_counted is not None:
            blocks.append(Note([f"rows judged since it was made: {self.not_counted}"]))
        elif self.judged is not None and self.expires_after is not None:
            rows = count(self.expires_after, "row")
            blocks.append(Note([f"{self.judged:,} of {rows} were judged since it was made"]))
        return [*blocks, *notes_of(left_out(self.dropped)), *explain(self.assumptions)]


@frozen
class CardDiff(Result):
    """What changed from one card to the next."""

    kind: ClassVar[str] = "card_diff"
    rows_in: ClassVar[str] = "changes"

    old: str
    new: str
    changes: tuple[Change, ...]

    def view(self) -> list[Block]:
        if not self.changes:
            return [Headline(f"{self.new} says what {self.old} says")]
        names = ", ".join(change.line for change in self.changes[:6])
        more = "" if len(self.changes) <= 6 else f" and {len(self.changes) - 6} more"
        lines = f"{count(len(self.changes), 'line')} changed: {clip(names, 120)}{more}"
        return [Headline(lines, decision=lines), _table(self.changes, self.old, self.new)]


def verify_card(
    card: str | Path,
    rows: TableLike | None = None,
    *,
    today: date | None = None,
    **reading: Unpack[ReadingCard],
) -> CardCheck:
    """Whether a card was edited, still holds, and, given its rows, says what they say.

    Args:
        card: The card that `card make` wrote.
        rows: The judged rows it was made of, to compute its numbers again. With the options of
            `card make`.
        today: The day for which it is checked.
        **reading: What it was made of: see `ReadingCard` and `adjudge.data.Reading`.
    """
    loaded = read_json(card, remedy="give a card that adjudge card make wrote")
    if not isinstance(loaded, Mapping) or loaded.get("kind") != JudgeCard.kind:
        raise DataError(card, "is not a card", remedy="give one that adjudge card make wrote")
    if (problem := problem_in_tree(loaded)) is not None:
        return CardCheck(path=str(card), digest="differs", unreadable=problem)
    digest = digest_state(loaded)
    try:
        read = from_dict({**loaded, "digest": digest_of(loaded)}, JudgeCard, source=card)
    except DataError as error:
        return CardCheck(path=str(card), digest=digest, unreadable=error.problem)
    changes: tuple[Change, ...] = ()
    of_rows: dict[str, Any] = {}
    if rows is not None:
        again = make_card(
            rows,
            slices=read.evaluation.slices_by,
            confidence_level=read.evaluation.confidence_level,
            seed=read.evaluation.seed or 0,
            **reading,
        )
        old = read.lines()
        new = again.lines()
        both = [line for line in old if line in new and line not in _NOT_MEASURED]
        measured = again.evaluation
        of_rows = {"assumptions": measured.assumptions, "dropped": measured.dropped}
        changes = _changes({k: old[k] for k in both}, {k: new[k] for k in both})
    judged: int | None = None
    not_counted: str | None = None
    if read.expires_after is not None:
        store = reading.get("store")
        counted: int | str = "give --store to count them"
        try:
            counted = counted if store is None else read.count_judged(store)
        except StoreMissingError as error:
            counted = f"not counted: {error}"
        judged = counted if isinstance(counted, int) else None
        not_counted = counted if isinstance(counted, str) else None
    return CardCheck(
        path=str(card),
        digest=digest,
        with_rows=rows is not None,
        changes=changes,
        expired=read.expired(today or datetime.now(UTC).date(), judged or 0),
        expires_after=read.expires_after,
        judged=judged,
        not_counted=not_counted,
        **of_rows,
    )


def diff_cards(old: JudgeCard | str | Path, new: JudgeCard | str | Path) -> CardDiff:
    """What changed from one card of a judge to the next: judge, prompt, labels, numbers, dates.

    Args:
        old: The earlier card.
        new: The later card.
    """
    cards = [each if isinstance(each, JudgeCard) else read_card(each) for each in (old, new)]
    names = [
        f"made {card.made_on}" if isinstance(each, JudgeCard) else Path(each).name
        for each, card in zip((old, new), cards, strict=True)
    ]
    if names[0] == names[1]:
        names = ["the old card", "the new card"]
    before, after = (card.lines() for card in cards)
    return CardDiff(old=names[0], new=names[1], changes=_changes(before, after))
