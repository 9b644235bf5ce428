"""What every public format shares: a converter per kind of rows, and the texts of conversations."""

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
Numbered = Iterable[tuple[int, Record]]


@dataclass(slots=True, kw_only=True)
class Context:
    """One reading: where it comes from, what was asked for, and what had to be left out."""

    where: str
    seed: int = 0
    baseline: str | None = None
    dropped: Counter[str] = field(default_factory=Counter)

    def error(self, problem: str, row: int, column: str, remedy: str | None = None) -> DataError:
        """A refusal that names file, row and column."""
        return DataError(self.where, problem, row=row, column=column, remedy=remedy)

    def coin(self, key: str) -> bool:
        """A fair coin that depends on the seed and the key alone, not on the order of rows."""
        return hashlib.blake2b(f"{self.seed}:{key}".encode(), digest_size=1).digest()[0] % 2 == 1


Converter = Callable[[Numbered, Context], Iterator[Record]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A public data set: what it turns into, and how. Its columns stand in `_formats`."""

    name: str
    source: str
    gives: Mapping[Kind, Converter]
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


def cell(record: Mapping[str, Any], column: str, row: int, context: Context) -> Any:
    """The value of a column that must be there and filled."""
    value = record.get(column)
    if value is None:
        raise context.error(
            "is missing" if column not in record else "is empty",
            row,
            column,
            f"columns here: {listed(list(record))}",
        )
    return value


def text(record: Mapping[str, Any], column: str, row: int, context: Context) -> str:
    """The text of a column that must be there."""
    value = cell(record, column, row, context)
    if isinstance(value, (dict, list)):
        raise context.error("holds no text", row, column)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def nested(record: Mapping[str, Any], column: str, row: int, context: Context) -> Any:
    """A list or object, which CSV carries as JSON or as Python writes it."""
    value = cell(record, column, row, context)
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    raise context.error(f"{shown(value)} is no list and no object", row, column)


def numbers(value: Any, column: str, row: int, context: Context) -> float:
    """A finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not abs(found) < float("inf"):
        raise context.error(f"{shown(value)} is not a number", row, column)
    return found


def rest(record: Mapping[str, Any], *used: str) -> Record:
    """The columns that were not turned into something else."""
    return {name: value for name, value in record.items() if name not in used}


def winner_label(winner: str | None) -> str | None:
    """A battle's winner as a pair's label."""
    if winner is None:
        return None
    return {"model_a": "A", "model_b": "B"}.get(winner, "tie")


def short_hash(value: str) -> str:
    """A stable short name for a text, to tell which rows share a prompt."""
    return hashlib.blake2b(value.encode(), digest_size=8).hexdigest()


class ImageError(Exception):
    """A conversation that holds a picture: no text protocol can judge it."""


def dialogue(
    record: Mapping[str, Any], column: str, row: int, context: Context
) -> tuple[str, str, int]:
    """The opening message, what was answered, and the number of exchanges.

    A longer conversation is answered by all that follows its opening, with the later user
    messages marked, since only whole conversations were voted on.
    """
    turns = nested(record, column, row, context)
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise context.error("holds no list of messages", row, column)
    spoken = [
        (str(turn.get("role")), content(turn.get("content"), column, row, context))
        for turn in turns
        if turn.get("role") != "system"
    ]
    if len(spoken) < 2 or spoken[0][0] != "user":
        raise context.error("holds no question with an answer", row, column)
    opening, answers = spoken[0][1], spoken[1:]
    exchanges = sum(role == "user" for role, _ in spoken)
    if len(answers) == 1:
        return opening, answers[0][1], exchanges
    marked = [said if i == 0 else f"[{role}]\n{said}" for i, (role, said) in enumerate(answers)]
    return opening, "\n\n".join(marked), exchanges


def content(value: Any, column: str, row: int, context: Context) -> str:
    """A message's text: a plain one, or the text parts of a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise context.error("holds a message that is no text", row, column)
    parts = []
    for part in value:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("image") is None and part.get("type") != "image":
            parts.append(str(part.get("text") or ""))
        else:
            raise ImageError
    return "\n".join(parts)


def talked_pairs(
    rows: Numbered,
    context: Context,
    describe: Callable[[Record, int, Context], Record],
) -> Iterator[Record]:
    """Pairs from conversation_a and conversation_b; `describe` gives the other columns."""
    for row, record in rows:
        try:
            prompt, response_a, exchanges = dialogue(record, "conversation_a", row, context)
            other, response_b, _ = dialogue(record, "conversation_b", row, context)
        except ImageError:
            context.dropped["holds an image"] += 1
            continue
        if prompt != other:
            context.dropped["the two conversations open differently"] += 1
            continue
        yield {
            **describe(record, row, context),
            "prompt": prompt,
            "response_a": response_a,
            "response_b": response_b,
            "prompt_id": short_hash(prompt),
            "exchanges": exchanges,
        }
