"""Arena-Hard judgments, v0.1 and v2: a model against the baseline, judged in both orders.

The first game shows the baseline as A, the second the model. A verdict is A>>B, A>B, A=B, B>A or
B>>A (or the same with <); the judge can have written something else between the brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record

_VERDICT = re.compile(r"^\[*([AB])(>>|>|=|<|<<)([AB])\]*$")


def battles(row: Row) -> Iterator[Record | UnusableRow]:
    """One battle per game; model_a is the model, and `order` is ab if it was shown first.

    The judge's choice is a verdict: there are no votes of people, so there is no winner.
    `decisive` marks >>, which the benchmark's score counts three times.
    """
    question = row.text("question_id" if "question_id" in row.record else "uid")
    model = row.text("model")
    baseline = row.get("baseline") or row.context.baseline or "baseline"
    games = row.nested("games")
    if not isinstance(games, list) or len(games) > 2:
        raise row.error("has no list of two games", "games")
    for number, game in enumerate(games):
        said = game.get("score") if isinstance(game, dict) else None
        written = _VERDICT.match(str(said).strip())
        if written is None or written[1] == written[3]:
            yield UnusableRow("no verdict" if said is None else "a verdict that is not known")
            continue
        left, sign, _ = written.groups()
        first_wins = (left == "A") == sign.startswith(">")
        model_first = number == 1
        verdict = "A" if first_wins == model_first else "B"
        yield {
            "id": f"{question}|{model}|{number + 1}",
            "model_a": model,
            "model_b": str(baseline),
            "winner": None,
            "verdict": "tie" if sign == "=" else verdict,
            "decisive": len(sign) == 2,
            "order": "ab" if model_first else "ba",
            "prompt_id": question,
            "judge": row.text("judge"),
        }


ARENA_HARD = Format(
    name="arena-hard",
    title="Arena-Hard judgments",
    source="lmarena/arena-hard-auto, model_judgment/*.jsonl",
    signature=signature("model judge games", "question_id uid"),
    gives={"battles": battles},
    used=columns("question_id uid model baseline games judge"),
    notes=(
        "verdicts are the judge's, one battle per order; there are no votes",
        "v0.1 files do not name their baseline: it is `baseline` unless you name it",
    ),
)
