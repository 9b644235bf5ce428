"""RewardBench 1 and 2: a response known to be better, and one or more known to be worse.

Published with the better one first, which a judge that likes the first answer would ace. So each
pair is laid out by a fair coin that depends on the seed and the pair's id alone; `chosen_at` and
`placement_seed` record it.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    content,
    nested,
    rest,
    text,
)


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """RewardBench 1: one pair per row."""
    used = ("id", "prompt", "chosen", "rejected", "chosen_model", "rejected_model")
    for row, record in rows:
        key = f"{text(record, 'subset', row, context)}/{text(record, 'id', row, context)}"
        yield _placed(
            key,
            text(record, "prompt", row, context),
            (text(record, "chosen", row, context), record.get("chosen_model")),
            (text(record, "rejected", row, context), record.get("rejected_model")),
            context,
            rest(record, *used),
        )


def pairs_2(rows: Numbered, context: Context) -> Iterator[Record]:
    """RewardBench 2: each right answer against each wrong one; prompt_id keeps them together."""
    used = ("id", "prompt", "chosen", "rejected", "models", "additional_metadata")
    for row, record in rows:
        prompt_id = text(record, "id", row, context)
        good = _texts(record, "chosen", row, context)
        bad = _texts(record, "rejected", row, context)
        for i, chosen in enumerate(good):
            for j, rejected in enumerate(bad):
                found = _placed(
                    f"{prompt_id}/{i}-{j}",
                    text(record, "prompt", row, context),
                    (chosen, None),
                    (rejected, None),
                    context,
                    rest(record, *used),
                )
                yield {**found, "prompt_id": prompt_id}


def _texts(record: Record, column: str, row: int, context: Context) -> list[str]:
    found = nested(record, column, row, context)
    if not isinstance(found, list) or not found:
        raise context.error("holds no list of responses", row, column)
    return [content(response, column, row, context) for response in found]


def _placed(
    key: str,
    prompt: str,
    chosen: tuple[str, str | None],
    rejected: tuple[str, str | None],
    context: Context,
    others: Record,
) -> Record:
    at_a = context.coin(key)
    first, second = (chosen, rejected) if at_a else (rejected, chosen)
    return {
        **others,
        "id": key,
        "prompt": prompt,
        "response_a": first[0],
        "response_b": second[0],
        "model_a": first[1],
        "model_b": second[1],
        "label": "A" if at_a else "B",
        "chosen_at": "A" if at_a else "B",
        "placement_seed": context.seed,
    }


_NOTE = "which side the chosen response stands on is a seeded coin per pair (chosen_at)"
FORMATS = (
    Format(
        name="rewardbench",
        source="allenai/reward-bench",
        gives={"pairs": pairs},
        notes=(_NOTE,),
    ),
    Format(
        name="rewardbench-2",
        source="allenai/reward-bench-2",
        gives={"pairs": pairs_2},
        notes=(_NOTE, "one prompt gives several pairs: prompt_id tells them"),
    ),
)
