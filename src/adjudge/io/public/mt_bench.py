"""MT-Bench human judgments: several people on each pair of answers, per turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from adjudge.io._schema import shown
from adjudge.io.public._convert import (
    Context,
    Format,
    Numbered,
    Record,
    dialogue,
    text,
    winner_label,
)

_WINNERS = ("model_a", "model_b", "tie")
_TURNED = {"model_a": "model_b", "model_b": "model_a", "tie": "tie"}


def battles(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per vote; question and turn together are the prompt."""
    for row, record in rows:
        vote = _vote(record, row, context)
        yield {**vote, "winner": _winner(record, row, context)}


def labels(rows: Numbered, context: Context) -> Iterator[Record]:
    """One label per person and pair; the ids are those of the pairs."""
    first: dict[str, str] = {}
    for row, record in rows:
        vote = _vote(record, row, context)
        winner = _winner(record, row, context)
        if first.setdefault(vote["id"], vote["model_a"]) != vote["model_a"]:
            winner = _TURNED[winner]
        yield {"id": vote["id"], "label": winner_label(winner), "rater": vote["judge"]}


def pairs(rows: Numbered, context: Context) -> Iterator[Record]:
    """Each pair of answers once. Its label is what most people said; without a majority, none.

    Two models are one pair in either order; the first order seen stays.
    """
    found: dict[str, Record] = {}
    votes: dict[str, Counter[str]] = {}
    for row, record in rows:
        vote = _vote(record, row, context)
        winner = _winner(record, row, context)
        if vote["id"] not in found:
            prompt, response_a, _ = dialogue(record, "conversation_a", row, context)
            _, response_b, _ = dialogue(record, "conversation_b", row, context)
            texts = {"prompt": prompt, "response_a": response_a, "response_b": response_b}
            found[vote["id"]] = {**vote, **texts}
            votes[vote["id"]] = Counter()
        elif found[vote["id"]]["model_a"] != vote["model_a"]:
            winner = _TURNED[winner]
        votes[vote["id"]][winner] += 1
    for key, pair in found.items():
        pair.pop("judge")
        (best, count), *others = votes[key].most_common(2)
        split = bool(others) and others[0][1] == count
        label = None if split else winner_label(best)
        yield {**pair, "label": label, "raters": votes[key].total()}


def _vote(record: Record, row: int, context: Context) -> Record:
    question = text(record, "question_id", row, context)
    turn = text(record, "turn", row, context)
    model_a, model_b = (text(record, c, row, context) for c in ("model_a", "model_b"))
    low, high = sorted((model_a, model_b))
    return {
        "id": f"{question}|{turn}|{low}|{high}",
        "model_a": model_a,
        "model_b": model_b,
        "judge": text(record, "judge", row, context),
        "prompt_id": question,
        "turn": int(turn) if turn.isdigit() else turn,
    }


def _winner(record: Record, row: int, context: Context) -> str:
    said = text(record, "winner", row, context)
    if said == "tie (inconsistent)":  # how the GPT-4 file of the same release writes it
        return "tie"
    if said not in _WINNERS:
        raise context.error(f"{shown(said)} is not known", row, "winner")
    return said


FORMATS = (
    Format(
        name="mt-bench",
        source="lmsys/mt_bench_human_judgments",
        gives={"pairs": pairs, "battles": battles, "labels": labels},
        notes=(
            "several people voted on a pair: its label is their majority, or empty without one",
            "questions repeat: prompt_id is the question",
        ),
    ),
)
