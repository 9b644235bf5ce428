"""The SoftElo release: arena battles with the human vote and a judge's rubric scores.

There human_pref and judge_pref count for B: 0 = A wins, 1 = B wins, 0.5 = tie.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.io._schema import shown
from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    nested,
    numbers,
    rest,
    text,
)

_WINNERS = {0.0: "model_a", 1.0: "model_b", 0.5: "tie"}


def battles(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per row; `judge_winner` is the judge's own verdict beside its scores."""
    used = (
        *("row_id", "battle_id", "human_pref", "judge_pref", "scores_a", "scores_b"),
        *("meta_lang", "instruction_id_hash"),
    )
    for row, record in rows:
        prompt = record.get("instruction_id_hash")
        yield {
            **rest(record, *used),
            "id": text(record, "row_id" if "row_id" in record else "battle_id", row, context),
            "model_a": text(record, "model_a", row, context),
            "model_b": text(record, "model_b", row, context),
            "winner": _winner(record, "human_pref", row, context),
            "judge_winner": _winner(record, "judge_pref", row, context),
            "scores_a": _scores(record, "scores_a", row, context),
            "scores_b": _scores(record, "scores_b", row, context),
            **({"prompt_id": str(prompt)} if prompt else {}),
            **({"language": record["meta_lang"]} if record.get("meta_lang") else {}),
        }


def _winner(record: Record, column: str, row: int, context: Context) -> str | None:
    given = record.get(column)
    if given is None or given == "":
        return None
    value = numbers(given, column, row, context)
    if value not in _WINNERS:
        raise context.error(
            f"{shown(given)} is not known", row, column, "0 means A, 1 means B, 0.5 a tie"
        )
    return _WINNERS[value]


def _scores(record: Record, column: str, row: int, context: Context) -> dict[str, float] | None:
    """Criterion and number; an empty object is a reply that could not be parsed."""
    if not record.get(column):
        return None
    found = nested(record, column, row, context)
    if not isinstance(found, dict):
        raise context.error("holds no object of criterion and number", row, column)
    return {
        str(name): numbers(value, column, row, context)
        for name, value in found.items()
        if value is not None
    } or None


FORMATS = (
    Format(
        name="softelo",
        source="kargibora/SoftElo, annotations CSV",
        gives={"battles": battles},
        notes=("human_pref is read as there: 0 = A wins, 1 = B wins",),
    ),
)
