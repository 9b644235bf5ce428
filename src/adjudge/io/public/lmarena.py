"""LMArena (Chatbot Arena): 33k conversations, and the 55k, 100k and 140k preferences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.io._schema import shown
from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    cell,
    nested,
    rest,
    short_hash,
    talked_pairs,
    text,
    winner_label,
)

#: The 140k release writes both_bad for what the others call tie (bothbad).
_WINNERS = {
    "model_a": "model_a",
    "model_b": "model_b",
    "tie": "tie",
    "tie (bothbad)": "tie (bothbad)",
    "both_bad": "tie (bothbad)",
}
_TALK = ("conversation_a", "conversation_b", "full_conversation")


def battles(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per vote; the conversations themselves are left behind."""
    for row, record in rows:
        yield _described(record, row, context)


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """One pair per vote. Votes on a conversation carry `exchanges`, to keep single turns only."""
    yield from talked_pairs(rows, context, _with_label)


def _with_label(record: Record, row: int, context: Context) -> Record:
    found = _described(record, row, context)
    return {**found, "label": winner_label(found.pop("winner"))}


def _described(record: Record, row: int, context: Context) -> Record:
    return {
        **rest(record, *_TALK, "question_id", "id", "winner"),
        "id": text(record, "question_id" if "question_id" in record else "id", row, context),
        "model_a": text(record, "model_a", row, context),
        "model_b": text(record, "model_b", row, context),
        "winner": _winner(record, row, context),
    }


def _winner(record: Record, row: int, context: Context) -> str | None:
    if record.get("winner") is None:
        return None
    said = text(record, "winner", row, context)
    if said not in _WINNERS:
        raise context.error(f"{shown(said)} is not known", row, "winner")
    return _WINNERS[said]


def pairs_55k(rows: Numbered, context: Context) -> Iterator[Record]:
    """The 55k release: prompt and responses are lists of messages written as JSON text."""
    for row, record in rows:
        found = _described_55k(record, row, context)
        asked, a, b = (
            _messages(record, column, row, context)
            for column in ("prompt", "response_a", "response_b")
        )
        yield {
            **found,
            "label": winner_label(found.pop("winner")),
            "prompt": asked[0],
            "response_a": _talk(a, asked),
            "response_b": _talk(b, asked),
            "prompt_id": short_hash(asked[0]),
            "exchanges": len(asked),
        }


def battles_55k(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per vote of the 55k release."""
    for row, record in rows:
        yield _described_55k(record, row, context)


def _described_55k(record: Record, row: int, context: Context) -> Record:
    options = {"model_a": "winner_model_a", "model_b": "winner_model_b", "tie": "winner_tie"}
    marked = [name for name, column in options.items() if _one(cell(record, column, row, context))]
    if len(marked) != 1:
        raise context.error("marks no single winner", row, "winner_model_a", "set one of the three")
    return {
        **rest(record, *options.values(), "prompt", "response_a", "response_b"),
        "id": text(record, "id", row, context),
        "winner": marked[0],
    }


def _one(value: Any) -> bool:
    return str(value).strip().lower() in {"1", "1.0", "true"}


def _messages(record: Record, column: str, row: int, context: Context) -> list[str]:
    found = nested(record, column, row, context)
    if not isinstance(found, list) or not found:
        raise context.error("holds no list of messages", row, column)
    return ["" if message is None else str(message) for message in found]


def _talk(answers: list[str], asked: list[str]) -> str:
    said = [answers[0]]
    for question, answer in zip(asked[1:], answers[1:], strict=False):
        said += [f"[user]\n{question}", f"[assistant]\n{answer}"]
    return "\n\n".join(said)


_NOTES = (
    "a vote speaks of the whole conversation: keep exchanges == 1 to judge single answers",
    "prompt_id is a hash of the opening message",
)
FORMATS = (
    Format(
        name="lmarena-33k",
        source="lmsys/chatbot_arena_conversations",
        gives={"pairs": pairs, "battles": battles},
        notes=_NOTES,
    ),
    Format(
        name="lmarena-55k",
        source="lmarena-ai/arena-human-preference-55k",
        gives={"pairs": pairs_55k, "battles": battles_55k},
        notes=_NOTES,
    ),
    Format(
        name="lmarena-100k",
        source="lmarena-ai/arena-human-preference-100k",
        gives={"pairs": pairs, "battles": battles},
        notes=_NOTES,
    ),
    Format(
        name="lmarena-140k",
        source="lmarena-ai/arena-human-preference-140k",
        gives={"pairs": pairs, "battles": battles},
        notes=(
            *_NOTES,
            "with evaluation_order above 1 the vote came after earlier exchanges that are not here",
        ),
    ),
)
