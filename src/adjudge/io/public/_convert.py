"""What every public format shares: a row that checks itself, and the texts of conversations."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from adjudge.errors import DataError
from adjudge.io._schema import listed, shown

Record = dict[str, Any]
Kind = Literal["pairs", "battles", "judgments", "items", "labels", "human_scores"]


class LeftOut(Exception):  # noqa: N818 - not an error: the row is counted and the next one read
    """A published row that cannot be used; its words are the reason it is counted under."""


@dataclass(slots=True, kw_only=True)
class Context:
    """One reading: where it comes from, what was asked for, and what had to be left out."""

    where: str
    seed: int = 0
    baseline: str | None = None
    dropped: Counter[str] = field(default_factory=Counter)

    def coin(self, key: str) -> bool:
        """A fair coin that depends on the seed and the key alone, not on the order of rows."""
        return hashlib.blake2b(f"{self.seed}:{key}".encode(), digest_size=1).digest()[0] % 2 == 1


@dataclass(slots=True)
class Row:
    """One published row: its values, and refusals that name file, row and column."""

    record: Mapping[str, Any]
    number: int
    context: Context

    def error(self, problem: str, column: str, remedy: str | None = None) -> DataError:
        """A refusal that names file, row and column."""
        where = self.context.where
        return DataError(where, problem, row=self.number, column=column, remedy=remedy)

    def get(self, column: str) -> Any:
        """The value, or None where there is none; an empty field is none."""
        value = self.record.get(column)
        return None if value == "" else value

    def cell(self, column: str) -> Any:
        """The value of a column that must be there and filled."""
        value = self.record.get(column)
        if value is None:
            raise self.error(
                "is missing" if column not in self.record else "is empty",
                column,
                f"columns here: {listed(list(self.record))}",
            )
        return value

    def text(self, column: str) -> str:
        """The text of a column that must be there."""
        value = self.cell(column)
        if isinstance(value, str):
            return value
        if isinstance(value, (dict, list)):
            raise self.error("holds no text", column)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value)

    def nested(self, column: str) -> Any:
        """A list or object, which CSV carries as JSON or as Python writes it."""
        value = self.cell(column)
        if not isinstance(value, str):
            return value
        for read in (json.loads, ast.literal_eval):
            try:
                return _whole(read(value)) if "\\u" in value else read(value)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
        raise self.error(f"{shown(value)} is no list and no object", column)

    def number_in(self, column: str, value: Any) -> float:
        """A finite number found in a column."""
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = float("nan")
        if not abs(found) < float("inf"):
            raise self.error(f"{shown(value)} is not a number", column)
        return found


Converter = Callable[[Row], Iterable[Record]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A public data set: what it turns into, and how. Its signature stands in `_formats`."""

    name: str
    source: str
    gives: Mapping[Kind, Converter]
    #: Columns that are turned into something else; those not named here or in `texts` are kept.
    used: frozenset[str]
    #: Long columns that only pairs and items are made of.
    texts: frozenset[str] = frozenset()
    #: Where several rows speak of one pair: makes one of them.
    merge: Callable[[Iterable[Record]], Iterator[Record]] | None = None
    #: What a reader of the converted rows should know.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Checked rows, and how they came in."""

    frame: pl.DataFrame
    #: The public format's name as --from takes it; for a native file its kind.
    format: str
    #: What the rows are: pairs, battles, judgments, scores, items, labels or human_scores.
    kind: str
    #: Published rows (or games) that could not be used, by reason.
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What a person should know of the conversion; nothing for a native file."""
        told = [] if self.format == self.kind else [f"read as {self.format}"]
        told += [f"left out {n:,} rows: {reason}" for reason, n in self.dropped.items()]
        return told + [f"note: {note}" for note in self.notes]


def columns(names: str) -> frozenset[str]:
    """Column names out of one line."""
    return frozenset(names.split())


def winner_label(winner: str | None) -> str | None:
    """A battle's winner as a pair's label."""
    if winner is None:
        return None
    return {"model_a": "A", "model_b": "B"}.get(winner, "tie")


def short_hash(value: str) -> str:
    """A stable short name for a text, to tell which rows share a prompt."""
    return hashlib.blake2b(value.encode(), digest_size=8).hexdigest()


def dialogue(row: Row, column: str, *, turns: int | None = None) -> tuple[str, str, int]:
    """The opening message, what was answered, and the number of exchanges.

    A longer conversation is answered by all that follows its opening, with the later user
    messages marked, since only whole conversations were voted on. `turns` cuts it there.
    """
    messages = row.nested(column)
    if not isinstance(messages, list) or not all(isinstance(turn, dict) for turn in messages):
        raise row.error("holds no list of messages", column)
    spoken = [
        (str(turn.get("role")), content(turn.get("content"), row, column))
        for turn in messages
        if turn.get("role") != "system"
    ]
    if turns is not None:
        spoken = spoken[: 2 * turns]
    if len(spoken) < 2 or spoken[0][0] != "user":
        raise LeftOut("a conversation holds no question with an answer")
    opening, answers = spoken[0][1], spoken[1:]
    exchanges = sum(role == "user" for role, _ in spoken)
    if len(answers) == 1:
        return opening, answers[0][1], exchanges
    marked = [said if i == 0 else f"[{role}]\n{said}" for i, (role, said) in enumerate(answers)]
    return opening, "\n\n".join(marked), exchanges


def content(value: Any, row: Row, column: str) -> str:
    """A message's text: a plain one, or the text parts of a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise row.error("holds a message that is no text", column)
    parts = []
    for part in value:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("image") is None and part.get("type") != "image":
            parts.append(str(part.get("text") or ""))
        else:
            raise LeftOut("holds an image")
    return "\n".join(parts)


def talk(row: Row, *, turns: int | None = None) -> Record:
    """What a pair takes from conversation_a and conversation_b."""
    prompt, response_a, exchanges = dialogue(row, "conversation_a", turns=turns)
    other, response_b, _ = dialogue(row, "conversation_b", turns=turns)
    if prompt != other:
        raise LeftOut("the two conversations open differently")
    return {
        "prompt": prompt,
        "response_a": response_a,
        "response_b": response_b,
        "prompt_id": short_hash(prompt),
        "exchanges": exchanges,
    }


def _whole(value: Any) -> Any:
    """Half of a surrogate pair, which no file takes, becomes the mark of a lost character."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
