"""The SoftElo release: arena battles with the human vote and a judge's rubric scores.

There human_pref and judge_pref count for B: 0 = A wins, 1 = B wins, 0.5 = tie. The scores are kept
and read with the battles; an empty object is a reply that could not be parsed.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, columns, signature
from adjudge.data.json_files import Record

_WINNERS = {0.0: "model_a", 1.0: "model_b", 0.5: "tie"}


def battles(row: Row) -> Iterator[Record]:
    """One battle per row; `judge_winner` is the judge's verdict."""
    prompt, language = row.get("instruction_id_hash"), row.get("meta_lang")
    lengths = {f"length_{side}": row.get(f"len_{side}") for side in ("a", "b")}
    yield {
        "id": row.text("row_id" if "row_id" in row.record else "battle_id"),
        "model_a": row.text("model_a"),
        "model_b": row.text("model_b"),
        "winner": _winner(row, "human_pref"),
        "judge_winner": _winner(row, "judge_pref"),
        **({"prompt_id": str(prompt)} if prompt else {}),
        **({"language": language} if language else {}),
        **{
            ours: row.number_in(f"len_{ours[-1]}", given)
            for ours, given in lengths.items()
            if given is not None
        },
    }


def _winner(row: Row, column: str) -> str | None:
    remedy = "0 means A, 1 means B, 0.5 a tie"
    return row.number_choice(column, row.get(column), _WINNERS, remedy)


SOFTELO = Format(
    name="softelo",
    title="the SoftElo release",
    source="kargibora/SoftElo, annotations CSV",
    signature=signature(
        "model_a model_b human_pref judge_pref scores_a scores_b", "row_id battle_id"
    ),
    gives={"battles": battles},
    used=columns(
        "row_id battle_id model_a model_b human_pref judge_pref instruction_id_hash meta_lang "
        "len_a len_b"
    ),
    notes=("human_pref is read as in the release: 0 = A wins, 1 = B wins",),
)
