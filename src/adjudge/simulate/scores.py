"""Likert scores with known truth: raters who differ, judges with larger errors on some documents.

The quality of a response is 3 plus a part of the document, a part of the model and a part of the
response. Each rater reports it with noise, rounded to the scale. A judge sees

    quality + shift + hardness_d * (sqrt(likeness) * E_d + sqrt(1 - likeness) * e_row) * noise,

E_d is one error per document. With likeness = 1 all rows of a document have the same error, and ten
rows are worth one. Its score_probs are a normal curve around the value it saw. The width of the
curve is its true error there times `candour` (1: honest; 0.3: over-confident). Its score is their
mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr

from adjudge.errors import ArgumentError
from adjudge.validation import FloatArray, Seed, count, generator, non_negative, positive

SCALE = (1, 5)


@dataclass(frozen=True)
class SimulatedScores:
    """A frame in the scores format (raters rater1, rater2, ...), and the true values.

    `hardness` has a value per document, `quality` per document and model by criterion.
    """

    frame: pl.DataFrame
    hardness: FloatArray
    quality: Mapping[str, FloatArray]


def simulate_scores(
    *,
    documents: int = 30,
    models: int = 8,
    criteria: Mapping[str, float] | None = None,
    judges: Mapping[str, float] | None = None,
    raters: int = 3,
    rater_noise: float = 0.5,
    likeness: float = 0.5,
    hardness_spread: float = 0.5,
    candour: float = 1.0,
    shift: float = 0.0,
    seed: Seed = 0,
) -> SimulatedScores:
    """Draw every model on every document, scored by every judge on every criterion.

    `criteria` and `judges` map names to noise; a judge's error on a criterion is scaled by both.

    >>> simulate_scores(documents=2, models=3, seed=1).frame.height
    6
    """
    count(documents, "documents", least=1)
    count(models, "models", least=1)
    count(raters, "raters", least=1)
    non_negative(hardness_spread, "hardness_spread")
    positive(candour, "candour")
    if not 0 <= likeness <= 1:
        raise ArgumentError("likeness", likeness, "give a number in [0, 1]")
    by_criterion = dict(criteria) if criteria is not None else {"quality": 1.0}
    by_judge = dict(judges) if judges is not None else {"simulated": 0.8}
    draw = generator(seed)
    hardness = np.exp(draw.normal(0, hardness_spread, documents))
    doc = np.repeat(np.arange(documents), models)
    system = np.tile(np.arange(models), documents)
    steps = np.arange(SCALE[0], SCALE[1] + 1)
    edges = np.concatenate([[-np.inf], steps[:-1] + 0.5, [np.inf]])
    parts = []
    qualities: dict[str, FloatArray] = {}
    for criterion, criterion_noise in by_criterion.items():
        quality = (
            3.2
            + draw.normal(0, 0.4, documents)[doc]
            + draw.normal(0, 0.7, models)[system]
            + draw.normal(0, 0.4, len(doc))
        )
        qualities[criterion] = quality.reshape(documents, models)
        rated = quality[:, None] + draw.normal(0, rater_noise, (len(doc), raters))
        ratings = np.clip(np.floor(rated + 0.5), *SCALE)
        for judge, judge_noise in by_judge.items():
            width = non_negative(judge_noise, "judges") * criterion_noise * hardness[doc]
            together = np.sqrt(likeness) * draw.normal(size=documents)[doc]
            seen = quality + shift
            seen = seen + width * (together + np.sqrt(1 - likeness) * draw.normal(size=len(doc)))
            doubt = np.maximum(candour * np.hypot(width, 0.3), 0.15)
            curve = ndtr((edges[None, :] - seen[:, None]) / doubt[:, None])
            probs = np.diff(curve, axis=1)
            columns = {
                "id": [f"doc-{d}|system-{s}|{criterion}" for d, s in zip(doc, system, strict=True)],
                "doc_id": [f"doc-{d}" for d in doc],
                "model": [f"system-{s}" for s in system],
                "criterion": [criterion] * len(doc),
                "judge": [judge] * len(doc),
                "judge_score": steps[probs.argmax(axis=1)].astype(np.float64),
                "score_probs": probs.tolist(),
            }
            columns |= {f"rater{r + 1}": ratings[:, r] for r in range(raters)}
            parts.append(pl.DataFrame(columns))
    return SimulatedScores(frame=pl.concat(parts), hardness=hardness, quality=qualities)
