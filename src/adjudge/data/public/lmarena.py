"""LMArena (Chatbot Arena): 33k conversations, and the 55k, 100k and 140k preferences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adjudge.data.formats import Format, Row, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.public.texts import short_hash, talk, winner_label

#: The 140k release writes both_bad instead of tie (bothbad).
_WINNERS = {
    "model_a": "model_a",
    "model_b": "model_b",
    "tie": "tie",
    "tie (bothbad)": "tie (bothbad)",
    "both_bad": "tie (bothbad)",
}


def battles(row: Row) -> Iterator[Record]:
    """One battle per vote, without the conversations."""
    yield {**_identify(row), "winner": _winner(row)}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per vote, with the number of `exchanges`, so that single turns can be kept."""
    yield {**_identify(row), "label": winner_label(_winner(row)), **talk(row)}


def _identify(row: Row) -> Record:
    return {
        "id": row.text("question_id" if "question_id" in row.record else "id"),
        "model_a": row.text("model_a"),
        "model_b": row.text("model_b"),
    }


def _winner(row: Row) -> str | None:
    return None if row.get("winner") is None else row.choice("winner", _WINNERS)


def battles_55k(row: Row) -> Iterator[Record]:
    """One battle per vote of the 55k release."""
    yield {**_identify(row), "winner": _winner_55k(row)}


def pairs_55k(row: Row) -> Iterator[Record]:
    """The 55k release: prompt and responses are lists of messages as JSON text."""
    asked, a, b = (_messages(row, column) for column in ("prompt", "response_a", "response_b"))
    yield {
        **_identify(row),
        "label": winner_label(_winner_55k(row)),
        "prompt": asked[0],
        "response_a": _talk(a, asked),
        "response_b": _talk(b, asked),
        "prompt_id": short_hash(asked[0]),
        "exchanges": len(asked),
    }


def _winner_55k(row: Row) -> str:
    options = {"model_a": "winner_model_a", "model_b": "winner_model_b", "tie": "winner_tie"}
    yes = {"1", "1.0", "true"}
    marked = [
        name for name, column in options.items() if str(row.cell(column)).strip().lower() in yes
    ]
    if len(marked) != 1:
        raise row.error("does not mark a single winner", "winner_model_a", "set one of the three")
    return marked[0]


def _messages(row: Row, column: str) -> list[str]:
    messages = row.list_in(column, "messages")
    return ["" if message is None else str(message) for message in messages]


def _talk(answers: list[str], asked: list[str]) -> str:
    said = [answers[0]]
    for question, answer in zip(asked[1:], answers[1:], strict=False):
        said += [f"[user]\n{question}", f"[assistant]\n{answer}"]
    return "\n\n".join(said)


_NOTES = (
    "a vote is about the complete conversation: keep exchanges == 1 to judge single answers",
    "prompt_id is a hash of the opening message",
)


_BATTLE = "model_a model_b winner conversation_a conversation_b"


CONVERSATIONS_33K = Format(
    name="lmarena-33k",
    title="the Chatbot Arena 33k conversations",
    source="lmsys/chatbot_arena_conversations",
    signature=signature(
        f"question_id turn judge {_BATTLE}", "anony tstamp toxic_chat_tag openai_moderation"
    ),
    gives={"pairs": pairs, "battles": battles},
    used=columns("question_id id model_a model_b winner"),
    texts=columns("conversation_a conversation_b full_conversation"),
    notes=_NOTES,
)
PREFERENCES_55K = Format(
    name="lmarena-55k",
    title="the LMArena 55k preferences",
    source="lmarena-ai/arena-human-preference-55k",
    signature=signature(
        "id model_a model_b prompt response_a response_b winner_model_a winner_model_b winner_tie"
    ),
    gives={"pairs": pairs_55k, "battles": battles_55k},
    used=columns("id model_a model_b winner_model_a winner_model_b winner_tie"),
    texts=columns("prompt response_a response_b"),
    notes=_NOTES,
)
PREFERENCES_100K = replace(
    CONVERSATIONS_33K,
    name="lmarena-100k",
    title="the LMArena 100k preferences",
    source="lmarena-ai/arena-human-preference-100k",
    signature=signature(
        f"question_id turn {_BATTLE}",
        "judge_hash conv_metadata category_tag dedup_tag",
        without="judge",
    ),
)
PREFERENCES_140K = replace(
    CONVERSATIONS_33K,
    name="lmarena-140k",
    title="the LMArena 140k preferences",
    source="lmarena-ai/arena-human-preference-140k",
    signature=signature(f"id evaluation_order full_conversation {_BATTLE}"),
    notes=(
        *_NOTES,
        "with evaluation_order above 1 the vote came after earlier exchanges, which the file lacks",
    ),
)
