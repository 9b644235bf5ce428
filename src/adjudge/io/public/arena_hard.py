"""Arena-Hard judgments, v0.1 and v2: a model against the baseline, judged in both orders.

The first game shows the baseline as A, the second the model. A verdict reads A>>B, A>B, A=B, B>A
or B>>A (or turned round, with <).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adjudge.io._schema import shown
from adjudge.io.public._convert import Context, Format, Numbered, Record, nested, rest, text

_VERDICT = re.compile(r"^\[*([AB])(>>|>|=|<|<<)([AB])\]*$")


def battles(rows: Numbered, context: Context) -> Iterator[Record]:
    """One battle per game, model_a being the model; `order` says whether it stood first (ab).

    `decisive` marks >>, which the benchmark's own score counts three times.
    """
    for row, record in rows:
        question = text(record, "question_id" if "question_id" in record else "uid", row, context)
        model = text(record, "model", row, context)
        baseline = record.get("baseline") or context.baseline or "baseline"
        games = nested(record, "games", row, context)
        if not isinstance(games, list) or len(games) > 2:
            raise context.error("holds no list of two games", row, "games")
        for number, game in enumerate(games):
            said = game.get("score") if isinstance(game, dict) else None
            if said is None:
                context.dropped["no verdict"] += 1
                continue
            first_wins, decisive = _read(said, row, context)
            model_first = number == 1
            winner = (
                "tie"
                if first_wins is None
                else ("model_a" if first_wins == model_first else "model_b")
            )
            yield {
                **rest(record, "question_id", "uid", "model", "baseline", "games"),
                "id": f"{question}|{model}|{number + 1}",
                "model_a": model,
                "model_b": str(baseline),
                "winner": winner,
                "decisive": decisive,
                "order": "ab" if model_first else "ba",
                "prompt_id": question,
                "judge": text(record, "judge", row, context),
            }


def _read(said: object, row: int, context: Context) -> tuple[bool | None, bool]:
    """Whether the first answer won (None: a tie), and whether clearly."""
    match = _VERDICT.match(str(said).strip())
    if match is None or match[1] == match[3]:
        raise context.error(
            f"score {shown(said)} is not known", row, "games", "such as A>>B or A=B"
        )
    left, sign, _ = match.groups()
    if sign == "=":
        return None, False
    left_wins = sign.startswith(">")
    return (left == "A") == left_wins, len(sign) == 2


FORMATS = (
    Format(
        name="arena-hard",
        source="lmarena/arena-hard-auto, model_judgment/*.jsonl",
        gives={"battles": battles},
        notes=(
            "winners are the judge's, one battle per order",
            "v0.1 files do not name their baseline: it is called `baseline` unless you name it",
        ),
    ),
)
