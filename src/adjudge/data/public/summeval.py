"""SummEval: summaries scored 1 to 5 on four criteria by three experts and five crowd workers."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, columns, signature
from adjudge.data.json_files import Record

CRITERIA = ("coherence", "consistency", "fluency", "relevance")


def items(row: Row) -> Iterator[Record]:
    """One item per summary: the article is the prompt."""
    if not row.get("text"):
        raise row.error(
            "has no articles", "text", "add them first, with the release's pair_data.py"
        )
    yield {**_identify(row), "prompt": row.text("text"), "response": row.text("decoded")}


def human_scores(row: Row) -> Iterator[Record]:
    """One row per summary and criterion: expert1 to expert3, and the crowd's mean."""
    names = _identify(row)
    experts = _ratings(row, "expert_annotations")
    crowd = _ratings(row, "turker_annotations") if row.get("turker_annotations") else []
    for criterion in CRITERIA:
        given = {
            f"expert{i}": row.number_in("expert_annotations", one.get(criterion))
            for i, one in enumerate(experts, start=1)
        }
        others = [row.number_in("turker_annotations", one.get(criterion)) for one in crowd]
        mean = sum(others) / len(others) if others else None
        yield {**names, "criterion": criterion, **given, "turker_mean": mean}


def _identify(row: Row) -> Record:
    document, model = row.text("id"), row.text("model_id")
    return {"id": f"{document}|{model}", "doc_id": document, "model": model}


def _ratings(row: Row, column: str) -> list[Record]:
    ratings = row.nested(column)
    if not isinstance(ratings, list) or not all(isinstance(one, dict) for one in ratings):
        raise row.error("has no list of annotations", column)
    return ratings


SUMMEVAL = Format(
    name="summeval",
    title="the SummEval annotations",
    source="Yale-LILY/SummEval, model_annotations.aligned.jsonl",
    signature=signature("id model_id decoded expert_annotations"),
    gives={"items": items, "human_scores": human_scores},
    used=columns("id model_id expert_annotations turker_annotations"),
    texts=columns("text decoded references reference filepath"),
    notes=("the file has human scores and no judge's scores: judge the items, then join",),
)
