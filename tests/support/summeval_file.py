"""A file in SummEval's layout, its ratings and texts made up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

CRITERIA = ("coherence", "consistency", "fluency", "relevance")


def write_summeval(
    path: Path, *, documents: int = 32, systems: int = 16, articles: bool = True
) -> Path:
    """Every system on every document, three experts and five crowd workers each."""
    rng = np.random.default_rng(6)
    with path.open("w", encoding="utf-8") as out:
        for system in range(systems):
            for document in range(documents):
                quality = int(rng.integers(2, 6))
                row = {
                    "id": f"dm-test-{document}",
                    "model_id": f"M{system}",
                    "decoded": f"Summary {system} of article {document}.",
                    "expert_annotations": _rate(rng, quality, 3),
                    "turker_annotations": _rate(rng, quality, 5),
                }
                if articles:
                    row["text"] = f"Article {document}."
                out.write(json.dumps(row) + "\n")
    return path


def _rate(rng: np.random.Generator, quality: int, raters: int) -> list[dict[str, int]]:
    return [
        {name: min(max(quality + int(rng.integers(-1, 2)), 1), 5) for name in CRITERIA}
        for _ in range(raters)
    ]
