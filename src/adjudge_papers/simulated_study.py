"""A complete study as in the diagnosis paper: the same judges compare summaries and score them.

Scores are those of `simulate_scores`. On document d a judge prefers model i to j if

    quality_di - quality_dj + slip * width_d * L_dij + again * L_ask  >  0,

L is standard logistic, one draw per pair and one for each time it is asked; width_d is the error
of its scores on the document: the noise of the judge, of the criterion, and the document's
hardness. So a hard document has cycles and large errors, and an easy one has neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from adjudge.simulate.scores import simulate_scores
from adjudge.validation import FloatArray, Seed, count, generator, non_negative

CRITERIA = {"coherence": 0.9, "consistency": 1.6, "fluency": 1.8, "relevance": 0.6}
JUDGES = {f"simulated {at + 1}": noise for at, noise in enumerate((0.6, 0.7, 0.9, 0.8))}


@dataclass(frozen=True)
class SimulatedStudy:
    """Frames in the scores and the tournaments format, and the hardness of each document."""

    scores: pl.DataFrame
    tournaments: pl.DataFrame
    hardness: FloatArray


def simulate_study(
    *,
    documents: int = 30,
    models: int = 8,
    criteria: Mapping[str, float] = CRITERIA,
    judges: Mapping[str, float] = JUDGES,
    repeats: int = 3,
    slip: float = 0.25,
    again: float = 0.05,
    seed: Seed = 0,
) -> SimulatedStudy:
    """Draw both protocols on the same documents; by default with the paper's size.

    >>> study = simulate_study(documents=2, models=3, repeats=1, seed=1)
    >>> study.scores.height, study.tournaments.height  # 16 judges and criteria, 6 or 2 x 3 rows
    (96, 96)
    """
    count(models, "models", least=2)
    count(repeats, "repeats", least=1)
    non_negative(slip, "slip")
    non_negative(again, "again")
    draw = generator(seed)
    drawn = simulate_scores(
        documents=documents, models=models, criteria=criteria, judges=judges, seed=draw
    )
    i, j = np.array(list(combinations(range(models), 2))).T
    doc_names = [f"doc-{d}" for d in range(documents)]
    names = np.array([f"system-{s}" for s in range(models)])
    parts = []
    for judge, judge_noise in judges.items():
        for criterion, criterion_noise in criteria.items():
            quality = drawn.quality[criterion]
            width = judge_noise * criterion_noise * drawn.hardness
            noise = slip * width[:, None] * draw.logistic(size=(documents, len(i)))
            lean = quality[:, i] - quality[:, j] + noise
            for repeat in range(repeats):
                asked = lean + again * draw.logistic(size=lean.shape)
                parts.append(
                    pl.DataFrame(
                        {
                            "doc_id": np.repeat(doc_names, len(i)),
                            "model_a": np.tile(names[i], documents),
                            "model_b": np.tile(names[j], documents),
                            "judge": [judge] * lean.size,
                            "criterion": [criterion] * lean.size,
                            "order": ["ab"] * lean.size,
                            "repeat": [str(repeat)] * lean.size,
                            "verdict": np.where(asked > 0, "A", "B").ravel(),
                        }
                    )
                )
    return SimulatedStudy(scores=drawn.frame, tournaments=pl.concat(parts), hardness=drawn.hardness)
