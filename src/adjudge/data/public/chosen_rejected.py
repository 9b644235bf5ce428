"""Preference pairs: a prompt, the chosen response and the rejected one.

Responses are texts, or conversations that repeat the prompt. Without a prompt column, the prompt is
the common beginning of both conversations. As in RewardBench a seeded coin decides the sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from adjudge.data.conversations import NotTextError, is_conversation, render_conversation
from adjudge.data.formats import Format, Row, UnusableRow, columns, place_chosen, signature
from adjudge.data.json_files import Record
from adjudge.data.names import content_hash

_PROMPTS = ("prompt", "question", "instruction", "input", "query")
#: How hh-rlhf marks the speakers in one text.
_PERSON, _ASSISTANT = "\n\nHuman:", "\n\nAssistant:"


def pairs(row: Row) -> Iterator[Record]:
    """One pair per row; without an id, a hash of its texts is the id."""
    chosen, rejected = (_spoken(row, column) for column in ("chosen", "rejected"))
    at = _shared(chosen, rejected)
    asked = next((name for name in _PROMPTS if row.get(name) is not None), None)
    if asked is None and at == 0:
        raise row.error("is missing", "prompt", "name yours: --column prompt=NAME")
    prompt = _write(row, "chosen", chosen[:at]) if asked is None else _said(row, asked)
    better, worse = (
        _write(row, column, said[at:])
        for column, said in (("chosen", chosen), ("rejected", rejected))
    )
    if better == worse:
        raise UnusableRow("chosen and rejected are the same")
    given = row.get("id")
    key = content_hash([prompt, better, worse]) if given is None else row.text("id")
    models = row.get("chosen_model"), row.get("rejected_model")
    yield place_chosen(row, key, prompt, (better, models[0]), (worse, models[1]))


def _spoken(row: Row, column: str) -> list[Any]:
    """Messages, or one text; for hh-rlhf the text before the last answer, and that answer."""
    value = row.cell(column)
    if is_conversation(value):
        return list(value)
    text = row.text(column)
    before, marked, answer = text.rpartition(_ASSISTANT)
    if marked and text.startswith(_PERSON):
        return [before.strip(), answer.strip()]
    return [text]


def _shared(chosen: list[Any], rejected: list[Any]) -> int:
    """The number of messages that both share at the start; at least one is left to judge."""
    pairs = zip(chosen[:-1], rejected[:-1], strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _said(row: Row, column: str) -> str:
    value = row.cell(column)
    return _write(row, column, list(value)) if is_conversation(value) else row.text(column)


def _write(row: Row, column: str, said: list[Any]) -> str:
    if said and isinstance(said[0], str):
        return str(said[0])
    try:
        return render_conversation(said)
    except NotTextError as error:
        raise row.error(str(error), column, "give text: a judge can only be shown text") from None


CHOSEN_REJECTED = Format(
    name="chosen-rejected",
    title="pairs of a chosen and a rejected response",
    source="prompt, chosen, rejected",
    signature=signature("chosen rejected", without="response_a response_b"),
    gives={"pairs": pairs},
    used=columns("id chosen_model rejected_model"),
    texts=columns("chosen rejected prompt question instruction input query"),
    notes=("a seeded coin per pair decides on which side the chosen response is (chosen_at)",),
)
