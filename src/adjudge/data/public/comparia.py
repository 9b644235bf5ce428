"""ComparIA votes: conversations of French users with two models, and which one they chose."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.public.texts import talk, winner_label


def battles(row: Row) -> Iterator[Record]:
    """One battle per vote."""
    yield {**_identify(row), "winner": _winner(row)}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per vote, with the number of exchanges."""
    yield {**_identify(row), "label": winner_label(_winner(row)), **talk(row)}


def _identify(row: Row) -> Record:
    model_a, model_b = (row.get(column) for column in ("model_a_name", "model_b_name"))
    if model_a is None or model_b is None:
        raise UnusableRow("a model has no name")
    return {
        "id": row.text("id" if row.get("id") is not None else "conversation_pair_id"),
        "model_a": str(model_a),
        "model_b": str(model_b),
    }


def _winner(row: Row) -> str | None:
    """Both equal is a tie. A row without a choice that is not equal has no vote."""
    if str(row.get("both_equal")).strip().lower() in {"true", "1"}:
        return "tie"
    chosen = row.get("chosen_model_name")
    if chosen is None:
        return None
    sides = [side for side in ("model_a", "model_b") if row.get(f"{side}_name") == chosen]
    if len(sides) != 1:
        raise UnusableRow("the chosen model is not one of the two")
    return sides[0]


COMPARIA = Format(
    name="comparia",
    title="the ComparIA votes",
    source="ministere-culture/comparia-votes",
    signature=signature("model_a_name model_b_name chosen_model_name both_equal"),
    gives={"pairs": pairs, "battles": battles},
    used=columns("id model_a_name model_b_name chosen_model_name both_equal"),
    texts=columns("conversation_a conversation_b"),
    notes=(
        "a row with no choice and no tie has no winner",
        "a vote is about the complete conversation: keep exchanges == 1 to judge single answers",
    ),
)
