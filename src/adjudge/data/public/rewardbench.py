"""RewardBench 1 and 2: a response known to be better, and one or more known to be worse.

It is published with the better response first, which a judge with position bias would solve. So a
fair coin decides the sides of each pair. It depends only on the seed and the pair's id; `chosen_at`
and `placement_seed` record it.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, columns, place_chosen, signature
from adjudge.data.json_files import Record
from adjudge.data.public.texts import content


def pairs(row: Row) -> Iterator[Record]:
    """RewardBench 1: one pair per row."""
    subset = row.text("subset")
    chosen = row.text("chosen"), row.get("chosen_model")
    rejected = row.text("rejected"), row.get("rejected_model")
    key = f"{subset}/{row.text('id')}"
    yield {**place_chosen(row, key, row.text("prompt"), chosen, rejected), "subset": subset}


def pairs_2(row: Row) -> Iterator[Record]:
    """RewardBench 2: each right answer with each wrong one; they share a prompt_id."""
    prompt_id = row.text("id")
    rejected = _texts(row, "rejected")
    for i, chosen in enumerate(_texts(row, "chosen")):
        for j, other in enumerate(rejected):
            key, prompt = f"{prompt_id}/{i}-{j}", row.text("prompt")
            pair = place_chosen(row, key, prompt, (chosen, None), (other, None))
            yield {**pair, "prompt_id": prompt_id}


def _texts(row: Row, column: str) -> list[str]:
    return [content(response, row, column) for response in row.list_in(column, "responses")]


_NOTE = "a seeded coin per pair decides on which side the chosen response is (chosen_at)"
REWARDBENCH = Format(
    name="rewardbench",
    title="RewardBench",
    source="allenai/reward-bench",
    signature=signature(
        "id prompt chosen rejected subset chosen_model rejected_model", without="num_correct"
    ),
    gives={"pairs": pairs},
    used=columns("id subset chosen_model rejected_model"),
    texts=columns("prompt chosen rejected"),
    notes=(_NOTE,),
)
REWARDBENCH_2 = Format(
    name="rewardbench-2",
    title="RewardBench 2",
    source="allenai/reward-bench-2",
    signature=signature(
        "id prompt chosen rejected subset", "num_correct num_incorrect total_completions"
    ),
    gives={"pairs": pairs_2},
    used=columns("id"),
    texts=columns("prompt chosen rejected models additional_metadata"),
    notes=(_NOTE, "one prompt gives several pairs: they share its prompt_id"),
)
