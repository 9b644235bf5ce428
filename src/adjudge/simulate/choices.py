"""Several responses to each prompt, all pairs of them judged, with a known best response.

Response i of a prompt has a quality q_i. People's best is the response with the largest q_i plus
noise. Of two responses they prefer the one that is larger in the same draw. The judge sees `skill`
q_i plus an error for the response, which all of its comparisons share, and an error for the
comparison. Its log odds are multiplied by `sharpness`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.validation import Seed, count, generator


def simulate_choices(
    prompts: int,
    *,
    responses: int = 4,
    skill: float = 1.0,
    noise: float = 0.5,
    sharpness: float = 4.0,
    missing: float = 0.0,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Judgments of all pairs: id, prompt_id, model_a, model_b, p_a, label, best.

    A share `missing` of the comparisons is left out.

    >>> rows = simulate_choices(2, responses=3)
    >>> rows.height, sorted(rows["model_a"].unique())
    (6, ['response-1', 'response-2'])
    """
    count(prompts, "prompts", least=1)
    size = count(responses, "responses", least=2)
    gen = generator(seed)
    quality = gen.normal(size=(prompts, size))
    liked = quality + 0.3 * gen.gumbel(size=quality.shape)
    seen = skill * quality + noise * gen.normal(size=quality.shape)
    first, second = map(np.array, zip(*combinations(range(size), 2), strict=True))
    jitter = 0.3 * noise * gen.normal(size=(prompts, len(first)))
    p_a = expit(sharpness * (seen[:, first] - seen[:, second] + jitter))
    label = np.where(liked[:, first] > liked[:, second], "A", "B")
    prompt = np.repeat(np.arange(prompts), len(first))
    columns: dict[str, Any] = {
        "id": [f"prompt-{q:05d}/{i + 1}-{j + 1}" for q in range(prompts)
               for i, j in zip(first, second, strict=True)],
        "prompt_id": [f"prompt-{q:05d}" for q in prompt],
        "model_a": [f"response-{i + 1}" for i in np.tile(first, prompts)],
        "model_b": [f"response-{j + 1}" for j in np.tile(second, prompts)],
        "judge": "simulated",
        "p_a": p_a.ravel().round(6),
        "label": label.ravel(),
        "best": [f"response-{i + 1}" for i in liked.argmax(axis=1)[prompt]],
    }  # fmt: skip
    kept = gen.random(len(prompt)) >= missing
    return pl.DataFrame(columns).filter(pl.Series(kept))
