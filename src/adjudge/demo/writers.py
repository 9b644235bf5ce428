"""Invented writers of the demo's answers: they give it a win rate and a ranking to estimate.

Two writers get the right and the wrong answer of each pair. The better writer gets the right one
more often. The writers' strengths are set here, so the demo can show the truth next to estimates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from adjudge.records import Pair
from adjudge.validation import Seed, generator

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gia", "Hugo", "Ines", "Jon", "Kira", "Liam"]
#: Writer i beats writer j with odds strength_i : strength_j; from 4 down to 1/4 in equal steps.
STRENGTHS = {name: 2.0 ** (2 - 4 * k / (len(NAMES) - 1)) for k, name in enumerate(NAMES)}
#: How often the writer whose win rate is estimated has the right answer, by construction.
CANDIDATE_RATE = 0.65


def candidate_rows(
    judgments: pl.DataFrame, *, labels: int, seed: Seed
) -> tuple[pl.DataFrame, float]:
    """One row per judged pair: did the judge (judge) and the truth (human) prefer the candidate?

    `human` is given for `labels` random rows only, as if people had labelled only those. Returns
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
    """The judged pairs as battles, with the truth as people's vote.

    On each pair all writers meet in pairs drawn at random, and the judge's one answer is used for
    all of these battles. They share a prompt, and the intervals treat them as one cluster.
    """
    draw = generator(seed)
    prompts = {pair.id: pair.prompt_id or pair.id for pair in pairs}
    rows = []
    for row in judgments.iter_rows(named=True):
        if row["p_a"] is None or row["label"] not in ("A", "B"):
            continue
        seats = draw.permutation(len(NAMES)).reshape(-1, 2)
        for one, other in ((NAMES[i], NAMES[j]) for i, j in seats):
            favoured = STRENGTHS[one] / (STRENGTHS[one] + STRENGTHS[other])
            winner, loser = (one, other) if draw.random() < favoured else (other, one)
            first, second = (winner, loser) if row["label"] == "A" else (loser, winner)
            rows.append(
                {
                    "id": f"{row['id']}-{first}-{second}",
                    "prompt_id": prompts.get(row["id"], row["id"]),
                    "model_a": first,
                    "model_b": second,
                    "human_pref": row["label"],
                    "p_a": row["p_a"],
                }
            )
    return pl.DataFrame(rows)
