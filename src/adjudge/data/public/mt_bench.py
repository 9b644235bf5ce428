"""MT-Bench human judgments: several people on each pair of answers, per turn.

Every row has the complete conversation of two turns; with `turn` 1 the vote is only on the first.
People saw the two models in either order. Pairs and labels put the first by name at A, so that
labels of one file fit the pairs of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from adjudge.data.formats import Format, Row, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.names import quote
from adjudge.data.public.texts import talk, winner_label

#: In the GPT-4 file of the same release, `tie (inconsistent)` is a verdict that changed.
_WINNERS = {
    "model_a": "model_a",
    "model_b": "model_b",
    **dict.fromkeys(("tie", "tie (bothbad)", "tie (inconsistent)"), "tie"),
}
_TURNED = {"A": "B", "B": "A", "tie": "tie"}


def battles(row: Row) -> Iterator[Record]:
    """One battle per vote; question and turn together are the prompt."""
    yield {**_vote(row), "judge": row.text("judge"), "winner": row.choice("winner", _WINNERS)}


def labels(row: Row) -> Iterator[Record]:
    """One label per person and pair; the ids are those of the pairs."""
    vote, label = _vote(row), winner_label(row.choice("winner", _WINNERS))
    if vote["model_a"] > vote["model_b"]:
        label = _TURNED[str(label)]
    yield {"id": vote["id"], "label": label, "rater": row.text("judge")}


def pairs(row: Row) -> Iterator[Record]:
    """One pair per vote; `merge` combines votes on the same answers."""
    vote = _vote(row)
    texts = talk(row, turns=vote["turn"])
    if vote["model_a"] > vote["model_b"]:
        vote["model_a"], vote["model_b"] = vote["model_b"], vote["model_a"]
        texts["response_a"], texts["response_b"] = texts["response_b"], texts["response_a"]
    yield {**texts, **vote, **next(labels(row))}


def merge(votes: Iterable[Record]) -> Iterator[Record]:
    """Each pair of answers once. Its label is the majority of votes, or empty without one."""
    first: dict[str, Record] = {}
    given: dict[str, Counter[str]] = {}
    for vote in votes:
        first.setdefault(vote["id"], vote)
        given.setdefault(vote["id"], Counter())[vote["label"]] += 1
    for key, pair in first.items():
        del pair["rater"]
        (best, count), *others = given[key].most_common(2)
        split = bool(others) and others[0][1] == count
        yield {**pair, "label": None if split else best, "raters": given[key].total()}


def _vote(row: Row) -> Record:
    question, turn = row.text("question_id"), row.text("turn")
    if turn not in ("1", "2"):
        raise row.error(f"{quote(turn)} is not known", "turn", "1 or 2")
    model_a, model_b = row.text("model_a"), row.text("model_b")
    low, high = sorted((model_a, model_b))
    return {
        "id": f"{question}|{turn}|{low}|{high}",
        "model_a": model_a,
        "model_b": model_b,
        "prompt_id": question,
        "turn": int(turn),
    }


MT_BENCH = Format(
    name="mt-bench",
    title="the MT-Bench human judgments",
    source="lmsys/mt_bench_human_judgments",
    signature=signature(
        "question_id turn judge model_a model_b winner conversation_a conversation_b",
        without="anony tstamp toxic_chat_tag openai_moderation",
    ),
    gives={"pairs": pairs, "battles": battles, "labels": labels},
    used=columns("question_id turn model_a model_b judge winner"),
    texts=columns("conversation_a conversation_b"),
    merge={"pairs": merge},
    notes=(
        "several people voted on a pair: its label is their majority, or empty without one",
        "questions repeat: prompt_id is the question",
    ),
)
