"""SummEval: summaries scored 1 to 5 on four criteria by three experts and five crowd workers."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.errors import DataError
from adjudge.io.public._convert import Context, Format, Numbered, Record, nested, numbers, text

CRITERIA = ("coherence", "consistency", "fluency", "relevance")


def items(rows: Numbered, context: Context) -> Iterator[Record]:
    """One item per summary: the article is the prompt."""
    for row, record in rows:
        if not record.get("text"):
            raise DataError(
                context.where,
                "has no articles",
                row=row,
                column="text",
                remedy="pair it with them first, with the release's own pair_data.py",
            )
        document, model = _key(record, row, context)
        yield {
            "id": f"{document}|{model}",
            "prompt": text(record, "text", row, context),
            "response": text(record, "decoded", row, context),
            "doc_id": document,
            "model": model,
        }


def human_scores(rows: Numbered, context: Context) -> Iterator[Record]:
    """One row per summary and criterion: expert1 to expert3, and the crowd's mean."""
    for row, record in rows:
        document, model = _key(record, row, context)
        experts = _ratings(record, "expert_annotations", row, context)
        crowd = (
            _ratings(record, "turker_annotations", row, context)
            if record.get("turker_annotations")
            else []
        )
        for criterion in CRITERIA:
            given = {
                f"expert{i}": numbers(one.get(criterion), "expert_annotations", row, context)
                for i, one in enumerate(experts, start=1)
            }
            others = [
                numbers(one.get(criterion), "turker_annotations", row, context) for one in crowd
            ]
            yield {
                "id": f"{document}|{model}",
                "doc_id": document,
                "model": model,
                "criterion": criterion,
                **given,
                "turker_mean": sum(others) / len(others) if others else None,
            }


def _key(record: Record, row: int, context: Context) -> tuple[str, str]:
    return text(record, "id", row, context), text(record, "model_id", row, context)


def _ratings(record: Record, column: str, row: int, context: Context) -> list[Record]:
    found = nested(record, column, row, context)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise context.error("holds no list of annotations", row, column)
    return found


FORMATS = (
    Format(
        name="summeval",
        source="Yale-LILY/SummEval, model_annotations.aligned.jsonl",
        gives={"items": items, "human_scores": human_scores},
        notes=("the file holds people's scores and no judge's: judge the items, then join",),
    ),
)
