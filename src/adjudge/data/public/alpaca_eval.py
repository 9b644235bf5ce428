"""AlpacaEval annotations: which of two outputs an annotator, usually a model, preferred.

`preference` is from 1 (output_1) to 2 (output_2): with weighted annotators it is 1 plus the
probability of output_2. The release already undoes its random order. 1.5, in older files 0, is a
tie; -1, in the annotators' caches, is a reply that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.names import quote
from adjudge.data.public.texts import short_hash

_WINNERS = {"A": "model_a", "B": "model_b", "tie": "tie"}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per annotation. Only a human preference (annotator_index) is a label."""
    p_a = _p_a(row)
    label = _side(p_a) if _by_person(row) and p_a is not None else None
    instruction, given = row.text("instruction"), row.get("input")
    yield {
        **_identify(row),
        "prompt": f"{instruction}\n\n{given}" if given else instruction,
        "response_a": row.text("output_1"),
        "response_b": row.text("output_2"),
        "label": label,
    }


def battles(row: Row) -> Iterator[Record]:
    """One battle per annotation: a person's is the winner, a model's is a verdict of `judge`."""
    p_a = _p_a(row)
    if p_a is None:
        raise UnusableRow("no preference")
    models = _identify(row)
    if not models["model_a"] or not models["model_b"]:
        raise row.error("is missing", "generator_1", "battles need both generators")
    if _by_person(row):
        yield {**models, "winner": _WINNERS[_side(p_a)], **_outputs(row)}
        return
    said = {"judge": row.get("annotator"), "verdict": _side(p_a), "p_a": p_a}
    yield {**models, "winner": None, **said, **_outputs(row)}


def judgments(row: Row) -> Iterator[Record]:
    """The annotator as a judge: p_a = 2 - preference."""
    p_a = _p_a(row)
    yield {
        **_identify(row),
        "judge": row.text("annotator"),
        "protocol": "alpaca-eval",
        "status": "unparsed" if p_a is None else "ok",
        "p_a": p_a,
        **_outputs(row),
    }


def _by_person(row: Row) -> bool:
    return "annotator" not in row.record and "annotator_index" in row.record


def _side(p_a: float) -> str:
    return "A" if p_a > 0.5 else "B" if p_a < 0.5 else "tie"


def _identify(row: Row) -> Record:
    return {
        "id": f"alpaca-eval-{row.number}",
        "model_a": row.get("generator_1"),
        "model_b": row.get("generator_2"),
        "prompt_id": short_hash(row.text("instruction")),
    }


def _outputs(row: Row) -> Record:
    """The length of each output, and its hash: a model can give one output to all prompts."""
    texts = {"a": row.text("output_1"), "b": row.text("output_2")}
    return {
        **{f"length_{side}": len(text) for side, text in texts.items()},
        **{f"answer_hash_{side}": short_hash(text) for side, text in texts.items()},
    }


def _p_a(row: Row) -> float | None:
    given = row.get("preference")
    if given is None:
        return None
    preference = row.number_in("preference", given)
    if preference == -1:
        return None
    if preference == 0:
        return 0.5
    if not 1 <= preference <= 2:
        raise row.error(
            f"{quote(given)} is out of range", "preference", "1 means output_1, 2 output_2"
        )
    return 2 - preference


ALPACA_EVAL = Format(
    name="alpaca-eval",
    title="AlpacaEval annotations",
    source="tatsu-lab/alpaca_eval, annotations.json",
    signature=signature(
        "instruction output_1 output_2 preference", "annotator annotator_index generator_1"
    ),
    gives={"pairs": pairs, "battles": battles, "judgments": judgments},
    used=columns("instruction output_1 output_2 generator_1 generator_2 annotator preference"),
    texts=columns("input raw_completion"),
    notes=("the annotator is a model: its preference is a verdict, not a label",),
)
