"""Clean rows of each kind, small and always the same, and what the opposite of a value is."""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Any

Row = dict[str, Any]

#: The columns in which the judge's answer to a judgment is written.
PREFERENCE = ("p_fwd", "p_rev", "p_a", "verdict")


def grades(questions: int = 60, *, labelled: int = 30) -> list[Row]:
    """Two systems' answers, graded 0 or 1; people graded the answers to the first questions."""
    rng = random.Random(1)
    rows = []
    for question in range(questions):
        for model, rate in (("old", 0.55), ("new", 0.7)):
            human = int(rng.random() < rate)
            judge = human if rng.random() < 0.85 else 1 - human
            rows.append(
                {
                    "id": f"r{question}-{model}",
                    "prompt_id": f"q{question}",
                    "model": model,
                    "judge": judge,
                    "human": human if question < labelled else None,
                    "judge_name": "g1",
                }
            )
    return rows


def runs() -> list[Row]:
    """Two runs of each question by each system, labelled or not together."""
    rows = grades()
    for at, row in enumerate(rows):
        row["prompt_id"] = f"q{at // 4}"
    return rows


def judgments(
    n: int = 90, *, labelled: int = 90, judge: str = "g1", every_wrong: int = 0
) -> list[Row]:
    """Verdicts on pairs with their probabilities; every so many of them is turned round."""
    rng = random.Random(2)
    rows = []
    for i in range(n):
        label = rng.choice("AB")
        probability = rng.choice([0.55, 0.65, 0.8, 0.9, 0.97, 0.99])
        is_right = rng.random() < probability
        p_a = probability if (label == "A") == is_right else 1 - probability
        if every_wrong and i % every_wrong == 0:
            p_a = 1 - p_a
        p_a = round(p_a, 4)
        row = {
            "id": f"r{i}",
            "judge": judge,
            "protocol": "preference",
            "p_fwd": p_a,
            "p_rev": p_a,
            "p_a": p_a,
            "verdict": "A" if p_a > 0.5 else "B",
            "prompt_id": f"q{i}",
            "judge_fingerprint": f"f-{judge}",
        }
        if labelled:
            row["label"] = label if i < labelled else None
        rows.append(row)
    return rows


def two_judges() -> list[Row]:
    """Judgments of a cheap judge and of a strong one on the same pairs."""
    return [*judgments(judge="cheap", every_wrong=5), *judgments(judge="strong")]


def pairs(n: int = 24) -> list[Row]:
    rng = random.Random(3)
    return [
        {
            "id": f"r{i}",
            "prompt": f"Question {i}?",
            "response_a": f"First answer {i}.",
            "response_b": f"Second answer {i}, longer.",
            "label": rng.choice("AB"),
            "prompt_id": f"q{i}",
        }
        for i in range(n)
    ]


def scores(documents: int = 16) -> list[Row]:
    """Scores from 1 to 5 of two systems' answers, and people's."""
    rng = random.Random(4)
    rows = []
    for document in range(documents):
        for model in ("old", "new"):
            human = rng.randint(1, 5)
            judge = min(5, max(1, human + rng.choice([-1, 0, 0, 1])))
            rows.append(
                {
                    "id": f"r{document}-{model}",
                    "doc_id": f"d{document}",
                    "model": model,
                    "criterion": "quality",
                    "judge": "g1",
                    "judge_score": judge,
                    "human_score": human,
                }
            )
    return rows


def tournaments(documents: int = 8) -> list[Row]:
    """Every two of four systems compared on every document."""
    rng = random.Random(5)
    return [
        {
            "doc_id": f"d{document}",
            "model_a": first,
            "model_b": second,
            "judge": "g1",
            "criterion": "quality",
            "verdict": "A" if rng.random() < 0.75 else "B",
        }
        for document in range(documents)
        for first, second in combinations(("s0", "s1", "s2", "s3"), 2)
    ]


def battles(n: int = 150) -> list[Row]:
    """Battles of four models, with a person's vote and the judge's scores from 0 to 10."""
    rng = random.Random(6)
    strengths = {"m0": 1.0, "m1": 0.5, "m2": 0.0, "m3": -0.5}
    rows = []
    for i in range(n):
        model_a, model_b = rng.sample(sorted(strengths), 2)
        gap = strengths[model_a] - strengths[model_b]
        vote = "A" if rng.random() < 1 / (1 + math.exp(-gap)) else "B"
        difference = gap + rng.gauss(0, 0.5)
        rows.append(
            {
                "id": f"r{i}",
                "prompt_id": f"q{i}",
                "model_a": model_a,
                "model_b": model_b,
                "human_pref": vote,
                "score_a": round(5 + difference / 2, 3),
                "score_b": round(5 - difference / 2, 3),
                "judge": "g1",
            }
        )
    return rows


def without_columns(rows: list[Row], *columns: str) -> list[Row]:
    return [
        {column: value for column, value in row.items() if column not in columns} for row in rows
    ]


def labels_of(rows: list[Row], column: str) -> list[Row]:
    """People's answers in this column as rows of a file of labels, one for each id."""
    labels = {row["id"]: row[column] for row in rows if row[column] is not None}
    return [{"id": id_, "label": label, "sampled_by": "random"} for id_, label in labels.items()]


_OTHER_SIDE = {"A": "B", "B": "A", "tie": "tie"}
#: A number and its opposite have this sum.
_SUMS = {
    **dict.fromkeys(("judge", "human", "label", "p_fwd", "p_rev", "p_a"), 1),
    **dict.fromkeys(("judge_score", "human_score"), 6),
    **dict.fromkeys(("score_a", "score_b"), 10),
}


def opposite(column: str, value: Any) -> Any:
    """The opposite answer; a missing one stays missing.

    >>> opposite("verdict", "A"), opposite("p_a", 0.8), opposite("judge_score", 2)
    ('B', 0.2, 4)
    """
    if value is None or value in _OTHER_SIDE:
        return _OTHER_SIDE.get(value)
    return round(_SUMS[column] - value, 4)
