"""Made-up writers behind the demo's answers, so that there is a win rate and a ranking to find.

Each pair's right and wrong answer are handed to two writers; the better writer gets the right one
more often. Who is better is decided here, so the demo can show the truth beside every estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from adjudge._validation import Seed, generator
from adjudge.records import Pair

#: Chances that each writer would be right; a battle goes to i with odds strength_i : strength_j.
STRENGTHS = {"Ada": 4.0, "Ben": 2.0, "Cleo": 1.0, "Dan": 0.5}
#: How often the writer whose win rate is estimated has the right answer, by construction.
CANDIDATE_RATE = 0.65


def candidate_rows(
    judgments: pl.DataFrame, *, labels: int, seed: Seed
) -> tuple[pl.DataFrame, float]:
    """One row per judged pair: did the judge (judge) and the truth (human) side with the candidate?

    `human` is hidden but for `labels` random rows, as if people had labelled only those. Returns
    the rows and the candidate's true win rate.
    """
    draw = generator(seed)
    known = judgments.filter(
        pl.col("verdict").is_not_null() & pl.col("label").is_in(["A", "B"])
    ).select("id", "verdict", "label")
    n = known.height
    wins = np.zeros(n, dtype=np.int64)
    wins[draw.permutation(n)[: round(CANDIDATE_RATE * n)]] = 1
    right = (known["verdict"] == known["label"]).to_numpy()
    judged = np.where(right, wins, 1 - wins)
    shown = np.zeros(n, dtype=bool)
    shown[draw.permutation(n)[:labels]] = True
    frame = pl.DataFrame(
        {
            "id": known["id"],
            "judge": judged,
            "human": pl.Series([int(w) if s else None for w, s in zip(wins, shown, strict=True)]),
        }
    )
    return frame, float(wins.mean())


def battles(pairs: Sequence[Pair], judgments: pl.DataFrame, *, seed: Seed) -> pl.DataFrame:
    """The judged pairs as battles between the writers, with the truth as people's vote."""
    draw = generator(seed)
    names = list(STRENGTHS)
    kind = {pair.id: pair.prompt_id or pair.id for pair in pairs}
    rows = []
    for row in judgments.iter_rows(named=True):
        if row["p_a"] is None or row["label"] not in ("A", "B"):
            continue
        one, other = (names[i] for i in draw.choice(len(names), size=2, replace=False))
        favoured = STRENGTHS[one] / (STRENGTHS[one] + STRENGTHS[other])
        winner, loser = (one, other) if draw.random() < favoured else (other, one)
        first, second = (winner, loser) if row["label"] == "A" else (loser, winner)
        rows.append(
            {
                "id": row["id"],
                "prompt_id": kind.get(row["id"], row["id"]),
                "model_a": first,
                "model_b": second,
                "human_pref": row["label"],
                "p_a": row["p_a"],
            }
        )
    return pl.DataFrame(rows)
