"""AlpacaEval annotations: which of two outputs an annotator, mostly a model, preferred.

`preference` runs from 1 (output_1) to 2 (output_2): with weighted annotators it is 1 plus the
probability of output_2. The release already undoes its own random order. 0 and 1.5 are draws.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.io._schema import shown
from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    numbers,
    rest,
    short_hash,
    text,
)

_USED = ("instruction", "input", "output_1", "output_2", "generator_1", "generator_2", "preference")


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """One pair per annotation. Only a person's preference (annotator_index) is a label."""
    for row, record in rows:
        p_a = _p_a(record, row, context)
        by_person = "annotator" not in record and "annotator_index" in record
        label = None
        if by_person and p_a is not None:
            label = "A" if p_a > 0.5 else "B" if p_a < 0.5 else "tie"
        yield {
            **rest(record, *_USED, "raw_completion"),
            **_named(record, row, context),
            "response_a": text(record, "output_1", row, context),
            "response_b": text(record, "output_2", row, context),
            "label": label,
        }


def battles(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per annotation; the winner is the annotator's, named in `judge`."""
    for row, record in rows:
        p_a = _p_a(record, row, context)
        if p_a is None:
            context.dropped["no preference"] += 1
            continue
        named = _named(record, row, context)
        if not named["model_a"] or not named["model_b"]:
            raise context.error("is missing", row, "generator_1", "battles need both generators")
        named.pop("prompt")
        winner = "model_a" if p_a > 0.5 else "model_b" if p_a < 0.5 else "tie"
        judge = record.get("annotator")
        yield {**named, "winner": winner, "judge": judge, "p_a": p_a}


def judgments(rows: Numbered, context: Context) -> Iterator[Record]:
    """The annotator as a judge: p_a = 2 - preference."""
    for row, record in rows:
        p_a = _p_a(record, row, context)
        named = _named(record, row, context)
        named.pop("prompt")
        yield {
            **named,
            "judge": text(record, "annotator", row, context),
            "protocol": "alpaca-eval",
            "status": "unparsed" if p_a is None else "ok",
            "p_a": p_a,
        }


def _named(record: Record, row: int, context: Context) -> Record:
    instruction = text(record, "instruction", row, context)
    given = record.get("input")
    return {
        "id": f"alpaca-eval-{row}",
        "prompt": f"{instruction}\n\n{given}" if given else instruction,
        "model_a": record.get("generator_1"),
        "model_b": record.get("generator_2"),
        "prompt_id": short_hash(instruction),
    }


def _p_a(record: Record, row: int, context: Context) -> float | None:
    given = record.get("preference")
    if given is None or given == "":
        return None
    preference = numbers(given, "preference", row, context)
    if preference == 0:
        return 0.5
    if not 1 <= preference <= 2:
        raise context.error(
            f"{shown(given)} is out of range", row, "preference", "1 means output_1, 2 output_2"
        )
    return 2 - preference


FORMATS = (
    Format(
        name="alpaca-eval",
        source="tatsu-lab/alpaca_eval, annotations.json",
        gives={"pairs": pairs, "battles": battles, "judgments": judgments},
        notes=("the annotator is a model: its preference is a verdict, not a label",),
    ),
)
