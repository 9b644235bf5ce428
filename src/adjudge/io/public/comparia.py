"""ComparIA votes: conversations of French users with two models, and which one they chose."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    rest,
    talked_pairs,
    text,
    winner_label,
)


def battles(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per vote."""
    for row, record in rows:
        yield _described(record, row, context)


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """One pair per vote, with the number of exchanges."""
    yield from talked_pairs(rows, context, _with_label)


def _with_label(record: Record, row: int, context: Context) -> Record:
    found = _described(record, row, context)
    return {**found, "label": winner_label(found.pop("winner"))}


def _described(record: Record, row: int, context: Context) -> Record:
    model_a = text(record, "model_a_name", row, context)
    model_b = text(record, "model_b_name", row, context)
    used = ("conversation_a", "conversation_b", "model_a_name", "model_b_name", "both_equal")
    session = record.get("conversation_pair_id")
    found = {
        **rest(record, *used, "chosen_model_name", "id"),
        "id": text(
            record, "id" if record.get("id") is not None else "conversation_pair_id", row, context
        ),
        "model_a": model_a,
        "model_b": model_b,
        "winner": _winner(record, row, context, model_a, model_b),
    }
    return found if session is None else {**found, "conversation_pair_id": str(session)}


def _winner(record: Record, row: int, context: Context, model_a: str, model_b: str) -> str | None:
    """Both equal is a tie. No choice and not equal is no vote: it does not become a tie."""
    if str(record.get("both_equal")).strip().lower() in {"true", "1"}:
        return "tie"
    chosen = record.get("chosen_model_name")
    if chosen is None or chosen == "":
        return None
    if model_a == model_b:
        raise context.error("the chosen model stands on both sides", row, "chosen_model_name")
    if chosen not in (model_a, model_b):
        raise context.error(
            f"{chosen!r} is neither {model_a!r} nor {model_b!r}", row, "chosen_model_name"
        )
    return "model_a" if chosen == model_a else "model_b"


FORMATS = (
    Format(
        name="comparia",
        source="ministere-culture/comparia-votes",
        gives={"pairs": pairs, "battles": battles},
        notes=(
            "a row with no choice and no tie has no winner",
            "a vote speaks of the whole conversation: keep exchanges == 1 to judge single answers",
        ),
    ),
)
