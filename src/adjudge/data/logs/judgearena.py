"""JudgeArena battles (`battles.parquet`): some judged by a model, some by people.

`source` is llm-judge or human. `pref` is 0 if A wins and 1 if B wins. Written from JudgeArena's
documentation, and not yet tested on a file that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.values import is_missing
from adjudge.data.names import quote

_WINNERS = {"model_a": "model_a", "model_b": "model_b", "tie": "tie", "tie (bothbad)": "tie"}
_VERDICTS = {"model_a": "A", "model_b": "B", "tie": "tie", "tie (bothbad)": "tie"}


def battles(row: Row) -> Iterator[Record | UnusableRow]:
    """One battle per row: a human vote is the winner, a judge's is a verdict."""
    source = row.text("source")
    winner = row.choice("winner", _WINNERS, "use model_a, model_b or tie")
    battle = {
        "id": f"row-{row.number}",
        "model_a": row.text("model_a"),
        "model_b": row.text("model_b"),
        "prompt_id": row.get("question_id"),
        "source": source,
    }
    if source == "human":
        yield {**battle, "winner": winner, "labelled_by": "person"}
        return
    if source != "llm-judge":
        raise row.error(f"{quote(source)} is not known", "source", "use llm-judge or human")
    if is_missing(row.record.get("pref")):
        # Without a preference the reply could not be read, and the winner is tie.
        raise UnusableRow("a judge's reply that could not be read")
    yield {
        **battle,
        "winner": None,
        "judge": row.get("judge_model"),
        "verdict": _VERDICTS[row.text("winner")],
        "p_a": 1 - row.number_in("pref", row.record["pref"]),
    }


JUDGEARENA = Format(
    name="judgearena",
    title="JudgeArena battles",
    source="OpenEuroLLM/JudgeArena, battles.parquet",
    signature=signature("model_a model_b winner source pref"),
    gives={"battles": battles},
    used=columns("model_a model_b winner source pref question_id judge_model"),
    log=True,
    notes=("untried: written from JudgeArena's documentation, not tested on its files",),
)
