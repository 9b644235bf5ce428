"""Shared code of several public data sets: votes, and the texts of conversations."""

from __future__ import annotations

import hashlib
from typing import Any

from adjudge.data.formats import Row, UnusableRow
from adjudge.data.json_files import Record


def winner_label(winner: str | None) -> str | None:
    """A battle's winner as a pair's label."""
    if winner is None:
        return None
    return {"model_a": "A", "model_b": "B"}.get(winner, "tie")


def short_hash(value: str) -> str:
    """A stable short hash of a text, to see which rows share a prompt."""
    return hashlib.blake2b(value.encode(), digest_size=8).hexdigest()


def dialogue(row: Row, column: str, *, turns: int | None = None) -> tuple[str, str, int]:
    """The opening message, the answer, and the number of exchanges.

    In a longer conversation the answer is everything after the opening, with the later user
    messages marked, since people voted on complete conversations. `turns` cuts it there.
    """
    messages = row.nested(column)
    if not isinstance(messages, list) or not all(isinstance(turn, dict) for turn in messages):
        raise row.error("has no list of messages", column)
    spoken = [
        (str(turn.get("role")), content(turn.get("content"), row, column))
        for turn in messages
        if turn.get("role") != "system"
    ]
    if turns is not None:
        spoken = spoken[: 2 * turns]
    if len(spoken) < 2 or spoken[0][0] != "user":
        raise UnusableRow("a conversation has no question with an answer")
    opening, answers = spoken[0][1], spoken[1:]
    exchanges = sum(role == "user" for role, _ in spoken)
    if len(answers) == 1:
        return opening, answers[0][1], exchanges
    marked = [said if i == 0 else f"[{role}]\n{said}" for i, (role, said) in enumerate(answers)]
    return opening, "\n\n".join(marked), exchanges


def content(value: Any, row: Row, column: str) -> str:
    """A message's text: plain text, or the text parts of a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise row.error("has a message that is not text", column)
    parts = []
    for part in value:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("image") is None and part.get("type") != "image":
            parts.append(str(part.get("text") or ""))
        else:
            raise UnusableRow("contains an image")
    return "\n".join(parts)


def talk(row: Row, *, turns: int | None = None) -> Record:
    """The fields of a pair from conversation_a and conversation_b."""
    prompt, response_a, exchanges = dialogue(row, "conversation_a", turns=turns)
    other, response_b, _ = dialogue(row, "conversation_b", turns=turns)
    if prompt != other:
        raise UnusableRow("the two conversations have different openings")
    return {
        "prompt": prompt,
        "response_a": response_a,
        "response_b": response_b,
        "prompt_id": short_hash(prompt),
        "exchanges": exchanges,
    }
